"""Will N more servers fit, where would they go, and what is against it?

The way of the data: a request is looked up in a snapshot (``question``), and every constraint is
asked about every host (``assessment``), which gives each host a room, and about sets of hosts
(``domains``); ``capacity`` adds them up. The servers are placed one by one (``choice``). What comes
of it is a Decision. The hosts are reported as they stand after the placements, which is when their
room is used up.

Affinity: all servers go to one host, that of the members if there are any. If there are none, Nova
chooses the host, and the capacity is that of the host with the most room: "at most". A host is a
service host here, which may have several hypervisors.

Units: numbers of servers. The cost follows the number of hosts that differ, and N log hosts.

Errors: InvalidSpec for a name that the snapshot does not hold. That nothing fits is no error.

Source: RX-01, RX-02; document 002 for the rules of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from senlin_affinity.core import capacity, domains, filters, remedies
from senlin_affinity.core.assessment import assess
from senlin_affinity.core.choice import choose
from senlin_affinity.core.constraint import Constraint, HostConstraint, RequestConstraint
from senlin_affinity.core.decision import Decision, PlacedServer
from senlin_affinity.core.objects import CloudSnapshot, Host, PlacementRequest, Question, Rules
from senlin_affinity.core.question import ask
from senlin_affinity.core.standing import stand

#: Where criteria cross, no more servers than this are tried one by one.
_MOST_TRIED = 100_000


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
    together = capacity.is_open_affinity(question)
    found = domains.survey(question, constraints, hosts or (), rows, is_together=together)
    told = rows if found is None else found.rows
    if found is not None and found.crossing:
        found = replace(found, certain=len(choose(question, hosts or (), rows, found, _MOST_TRIED)))
    modelled = {name for item in constraints for name in item.filters}
    unmodelled = (*filters.unmodelled(question, modelled), *_asks(question))
    room = capacity.measure(question, hosts, told, found, request.values(), unmodelled)
    wanted = question.request.count
    number = min(wanted, room.certain)

    @cache
    def chosen() -> list[int]:
        return choose(question, hosts or (), rows, found, number)

    return Decision(
        fits=room.fits(wanted),
        wanted=wanted,
        capacity=room.most,
        at_most=room.at_most,
        request=request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        place=lambda: _placed(question, hosts or (), chosen()),
        stand=lambda: (
            None if hosts is None else stand(question, constraints, hosts, rows, chosen())
        ),
        find_remedies=lambda now: remedies.find(question, constraints, decide, now),
    )


def _asks(question: Question) -> tuple[str, ...]:
    return () if question.demand is None else question.demand.unmodelled


def _placed(
    question: Question, hosts: Sequence[Host], chosen: Sequence[int]
) -> tuple[PlacedServer, ...]:
    group = None if question.server_group is None else question.server_group.id
    return tuple(
        [PlacedServer(hosts[index].host, hosts[index].availability_zone, group) for index in chosen]
    )
