"""Will N more servers fit, where would they go, and what is against it?

Data flow: a request is looked up in a snapshot (``resolution``), and every constraint is asked
(``evaluation``), which says how many servers fit. They are placed one by one (``choice``), and the
hosts are reported as they stand after that (``host_reports``). Where the request does not fit, what
would help is looked for (``remedies``); what nobody told goes beside it (``assumptions``).

With affinity and no members Nova chooses the one host: the capacity is that of the host with the
most room, "at most". A host is a service host here, which may have several hypervisors.

Units: numbers of servers. The cost follows the number of hosts that differ, and N log hosts.

Errors: InvalidSpec for a name that the snapshot does not hold. That nothing fits is no error.
"""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.core import group_places
from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.core.planning import assumptions
from senlin_affinity.core.planning import remedies as changes
from senlin_affinity.core.planning.decision import Decision, PlacedServer
from senlin_affinity.core.planning.evaluation import evaluate
from senlin_affinity.core.planning.host_reports import stand
from senlin_affinity.core.planning.resolution import resolve


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint],
    rules: Rules | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """The decision about a request."""
    return decide(resolve(request, snapshot, rules), constraints, remedies=remedies)


def decide(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], *, remedies: bool = True
) -> Decision:
    """The decision about a request whose names are looked up; ``remedies`` are what would help."""
    now = evaluate(resolved, constraints)
    chosen = now.chosen()
    standing = None if resolved.snapshot.hosts is None else stand(now, chosen)
    is_helped = remedies and now.fits is False
    changed = changes.planned(now, standing) if is_helped else ()
    group = None if resolved.server_group is None else resolved.server_group.id
    return Decision(
        fits=now.fits,
        wanted=resolved.request.count,
        capacity=now.capacity,
        at_most=now.room.at_most,
        placements=_placed(now.hosts, chosen, group),
        request=now.request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        standing=standing,
        remedies=changes.find(now, changed) if is_helped else (),
        assumptions=assumptions.mattering(assumptions.find(resolved, constraints), now.room),
        firm=now.room.firm,
        tried=tuple(each.remedy for each in changed if each.remedy.is_owners),
        violated=group_places.violated(resolved.server_group),
    )


def _placed(
    hosts: Sequence[Host], chosen: Sequence[int], group: str | None
) -> tuple[PlacedServer, ...]:
    """The servers on the hosts at these places; what is equal is one object."""
    placed = {
        place: PlacedServer(hosts[place].host, hosts[place].availability_zone, group)
        for place in {*chosen}
    }
    return tuple(map(placed.__getitem__, chosen))
