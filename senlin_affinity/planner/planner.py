"""Decide whether N more servers fit, where they would go, and what rejects the others.

1. ``resolution`` resolves the names of a request in a snapshot.
2. ``evaluation`` evaluates all constraints, which gives the number of servers that fit.
3. ``assumptions`` finds its assumptions, and ``unspecified`` its lower bound.
4. ``assignment`` chooses the host of each server; ``host_reports`` reports the resulting hosts.
5. ``search`` finds changes that would help, if the request does not fit.

Raises: InvalidSpec for a name that the snapshot does not contain; ConstraintError for a constraint
that fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from senlin_affinity.model import member_locations
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.request import PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.planner import assumptions, search, unspecified
from senlin_affinity.planner.decision import Decision, PlacedServer
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.planner.host_reports import hosts_after
from senlin_affinity.planner.resolution import resolve
from senlin_affinity.planner.row import capacity_constraints
from senlin_affinity.scenario.constraint import Constraint


def plan(
    request: PlacementRequest,
    snapshot: CloudSnapshot,
    constraints: Sequence[Constraint],
    rules: Rules | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Resolve the names of the request in the snapshot, and :func:`decide`."""
    return decide(resolve(request, snapshot, rules), constraints, remedies=remedies)


def decide(
    resolved: ResolvedRequest, constraints: Sequence[Constraint], *, remedies: bool = True
) -> Decision:
    """Return whether the servers fit, where they go, and what would help if ``fits`` is False.

    ``fits`` is True up to the expected number, False above the upper bound, None between them (as
    with unknown hosts). Raise PluginError for a constraint of another class.
    """
    for item in constraints:
        if not isinstance(item, Constraint):
            raise PluginError(f'{item!r} is not an instance of a subclass of Constraint')
    evaluation = evaluate(resolved, constraints)
    total, chosen, unsure = unspecified.weigh(evaluation)
    after = None if resolved.snapshot.hosts is None else hosts_after(evaluation, chosen)
    is_helped = remedies and evaluation.fits is False
    changed = search.planned(evaluation, after) if is_helped else ()
    group = None if resolved.server_group is None else resolved.server_group.id
    return Decision(
        fits=evaluation.fits,
        wanted=resolved.request.count,
        capacity=evaluation.capacity,
        at_most=total.caveats,
        placements=tuple(
            PlacedServer(host.host, host.availability_zone, group)
            for host in map(evaluation.hosts.__getitem__, chosen)
        ),
        request=evaluation.request,
        reasons={code: reason for item in constraints for code, reason in item.reasons.items()},
        hosts_after=after,
        remedies=search.find(evaluation, changed) if is_helped else (),
        assumptions=(
            *assumptions.mattering(assumptions.find(resolved, constraints), total),
            *unsure,
        ),
        capacity_certain=total.bounds.lower or 0,
        of_hosts=total.of_hosts,
        tried=tuple(each.remedy for each in changed if each.remedy.for_tenant),
        violated=member_locations.violated(resolved.server_group),
        about_capacity=capacity_constraints(constraints),
    )
