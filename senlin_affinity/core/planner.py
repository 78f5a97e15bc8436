"""Will N more servers fit, where would they go, and what is against it?

The way of the data: a request is looked up in a snapshot (``question``), and every constraint is
asked about every host (``assessment``), which gives each host a room; ``capacity`` adds them up.
The servers are placed one by one on the host with the fewest members and placed servers, then by
its name (with soft-affinity: the most). What comes of it is a Decision. The hosts are reported as
they stand after the placements, which is when their room is used up.

Affinity: all servers go to one host, that of the members if there are any. If there are none, Nova
chooses the host, and the capacity is that of the host with the most room: "at most". A host is a
service host here, which may have several hypervisors (``service_hosts``).

Units: numbers of servers. The cost follows the number of hosts that differ, and N log hosts.

Errors: InvalidSpec for a name that the snapshot does not hold. That nothing fits is no error.

Source: RX-01, RX-02; document 002 for the rules of a group.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from functools import cache

from senlin_affinity.core import capacity, filters, remedies, service_hosts
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
    def chosen() -> list[int]:
        return _choose(question, hosts or (), rows, number)

    return Decision(
        fits=room.fits(wanted),
        wanted=wanted,
        capacity=room.most,
        at_most=room.at_most,
        request=request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        place=lambda: _placed(question, hosts or (), chosen()),
        stand=lambda: None if hosts is None else stand(question, of_hosts, hosts, rows, chosen()),
        find_remedies=lambda now: remedies.find(question, constraints, decide, now),
    )


def _asks(question: Question) -> tuple[str, ...]:
    return () if question.demand is None else question.demand.unmodelled


def _choose(
    question: Question, hosts: Sequence[Host], rows: Sequence[Row], number: int
) -> list[int]:
    """The host of each of so many servers, one by one, by its place among the hosts."""
    if not number:
        return []
    group, members = question.server_group, question.members_on
    policy = '' if group is None else group.policy
    sign = -1 if policy == SOFT_AFFINITY else 1
    rooms = [row.certain for row in rows]
    waiting: dict[str, list[int]] = {}
    if service_hosts.are_counted(question):
        places = service_hosts.by_name(hosts)
        waiting = {name: [index for index in each if rooms[index]] for name, each in places}
        firsts = [each.pop(0) for each in waiting.values() if each]
    else:
        firsts = [index for index, room in enumerate(rooms) if room]
    names = [host.host for host in hosts]
    free = [(sign * members.get(names[index], 0), names[index], index) for index in firsts]
    if capacity.is_open_affinity(question):
        most = {
            index: sum(rooms[each] for each in (index, *waiting.get(name, ())))
            for _held, name, index in free
        }
        free = sorted(free, key=lambda item: (-most[item[2]], item[1]))[:1]
    heapq.heapify(free)
    placed: Counter[int] = Counter()
    chosen: list[int] = []
    while free and len(chosen) < number:
        held, name, index = free[0]
        chosen.append(index)
        placed[index] += 1
        if placed[index] < rooms[index]:
            heapq.heapreplace(free, (held + sign, name, index))
        elif waiting.get(name):
            heapq.heapreplace(free, (held + sign, name, waiting[name].pop(0)))
        else:
            heapq.heappop(free)
    return chosen


def _placed(
    question: Question, hosts: Sequence[Host], chosen: Sequence[int]
) -> tuple[PlacedServer, ...]:
    group = None if question.server_group is None else question.server_group.id
    return tuple(
        [PlacedServer(hosts[index].host, hosts[index].availability_zone, group) for index in chosen]
    )
