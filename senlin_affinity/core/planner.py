"""Will N more servers fit, where would they go, and what is against it?

The way of the data: a request is looked up in a snapshot (``question``), and every constraint is
asked about every host (``assessment``), which gives each host a room; ``capacity`` adds them up.
The servers are placed one by one on the host with the fewest members and placed servers, then by
its name (with soft-affinity: the most). What comes of it is a Decision. The hosts are reported as
they stand after the placements, which is when their room is used up.

Affinity: all servers go to one host, that of the members if there are any. If there are none, Nova
chooses the host, and the capacity is that of the host with the most room: "at most".

Units: numbers of servers. The cost follows the number of hosts that differ, and N log hosts.

Errors: InvalidSpec for a name that the snapshot does not hold. That nothing fits is no error.

Source: RX-01, RX-02; document 002 for the rules of a group.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from functools import cache

from senlin_affinity.core import capacity, filters, remedies
from senlin_affinity.core.assessment import Row, assess
from senlin_affinity.core.constraint import Constraint, HostConstraint, RequestConstraint
from senlin_affinity.core.decision import Decision, PlacedServer
from senlin_affinity.core.objects import CloudSnapshot, Host, PlacementRequest, Question, Rules
from senlin_affinity.core.question import ask
from senlin_affinity.core.server_group import SOFT_AFFINITY
from senlin_affinity.core.standing import stand


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint],
    rules: Rules | None = None,
) -> Decision:
    """The decision about a request."""
    return decide(ask(request, snapshot, rules), constraints)


def decide(question: Question, constraints: Sequence[Constraint]) -> Decision:
    """The decision about a question, whose names are looked up."""
    of_hosts = [item for item in constraints if isinstance(item, HostConstraint)]
    request = {
        item.name: item.check_request(question)
        for item in constraints
        if isinstance(item, RequestConstraint)
    }
    hosts = question.snapshot.hosts
    rows = assess(question, of_hosts, hosts or ())
    modelled = {name for item in constraints for name in item.filters}
    unmodelled = (*filters.unmodelled(question, modelled), *_asks(question))
    room = capacity.measure(question, hosts, rows, request.values(), unmodelled)
    wanted = question.request.count
    number = min(wanted, room.certain)

    @cache
    def chosen() -> list[Host]:
        return _choose(question, hosts or (), rows, number)

    return Decision(
        fits=room.fits(wanted),
        wanted=wanted,
        capacity=room.most,
        at_most=room.at_most,
        request=request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        place=lambda: _placed(question, chosen()),
        stand=lambda: None if hosts is None else stand(question, of_hosts, hosts, rows, chosen()),
        find_remedies=lambda now: remedies.find(question, constraints, decide, now),
    )


def _asks(question: Question) -> tuple[str, ...]:
    return () if question.demand is None else question.demand.unmodelled


def _choose(
    question: Question, hosts: Sequence[Host], rows: Sequence[Row], number: int
) -> list[Host]:
    """The host of each of so many servers, one by one."""
    if not number:
        return []
    group, members = question.server_group, question.members_on
    policy = '' if group is None else group.policy
    sign = -1 if policy == SOFT_AFFINITY else 1
    free = [
        (sign * members.get(host.host, 0), host.host, index)
        for index, (host, row) in enumerate(zip(hosts, rows, strict=True))
        if row.is_certain and row.room
    ]
    if capacity.is_open_affinity(question):
        free = sorted(free, key=lambda item: (-(rows[item[2]].room or 0), item[1]))[:1]
    heapq.heapify(free)
    placed: Counter[int] = Counter()
    chosen: list[Host] = []
    while free and len(chosen) < number:
        held, name, index = free[0]
        chosen.append(hosts[index])
        placed[index] += 1
        if placed[index] < (rows[index].room or 0):
            heapq.heapreplace(free, (held + sign, name, index))
        else:
            heapq.heappop(free)
    return chosen


def _placed(question: Question, chosen: Sequence[Host]) -> tuple[PlacedServer, ...]:
    group = None if question.server_group is None else question.server_group.id
    return tuple([PlacedServer(host.host, host.availability_zone, group) for host in chosen])
