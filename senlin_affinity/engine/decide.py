"""Decide whether servers fit, where they go, and what rejects the others.

One request follows the other, on one cloud that can be changed::

    decide([request], scenario, constraints)                      do these servers fit?
    decide(requests, scenario, constraints)                       do they all fit, in this order?
    decide([request], scenario.disable(['cmp-1']), constraints)   and without this host?

1. ``evaluation`` evaluates all constraints, which gives the number of servers that fit.
2. ``unspecified`` finds its lower bound, and ``assign`` the host of each server.
3. A :class:`Step` holds the result; the scenario with the new servers is that of the next request.
4. :func:`decision_of` makes plain values of a step. ``host_reports`` evaluates the hosts again,
   with the new servers: the codes of the answer are those after them. If the request does not fit,
   ``remedies`` evaluates changes of the hosts without the new servers.

Raises: ConstraintError for a constraint that fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from senlin_affinity.engine import capacity
from senlin_affinity.engine.decision import Decision, PlacedServer
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.engine.host_reports import hosts_after
from senlin_affinity.engine.remedies import rank_changes, try_changes
from senlin_affinity.engine.table import capacity_constraints
from senlin_affinity.engine.unspecified import Assignment, with_unspecified
from senlin_affinity.engine.what_if import WhatIf
from senlin_affinity.model import server_group
from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.request import Request
from senlin_affinity.nova import quota_charges
from senlin_affinity.scenario.columns import Columns
from senlin_affinity.scenario.constraint import Constraint, reasons_of
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class Step:
    """A request that was evaluated, its servers, and the scenario with them.

    ``constraints`` are all of them, also the waived ones.
    """

    evaluation: Evaluation
    constraints: Sequence[Constraint]
    assignment: Assignment
    after: Scenario


def decide(
    requests: Iterable[Request],
    scenario: Scenario,
    constraints: Sequence[Constraint],
    choose: Callable[[Evaluation, Assignment], Sequence[int] | None] | None = None,
) -> Iterator[Step]:
    """Yield a step for each request; each step counts the servers of all earlier requests.

    Quotas count them, too. Raise PluginError for a constraint of another class.

    :param choose: returns the host index of each server; None, as without it, chooses as Nova does.
    """
    for item in constraints:
        if not isinstance(item, Constraint):
            raise PluginError(f'{item!r} is not an instance of a subclass of Constraint')
    begin, placed = scenario.columns, list[tuple[Request, int]]()
    for request in requests:
        scenario = _charged(scenario, begin, placed, request)
        evaluation = evaluate(request, scenario, constraints)
        assignment = with_unspecified(evaluation)
        chosen = None if choose is None else choose(evaluation, assignment)
        if chosen is not None:
            assignment = assignment._replace(chosen=chosen)
        scenario = scenario.place(request, Counter(assignment.chosen))
        placed.append((request, len(assignment.chosen)))
        yield Step(evaluation, constraints, assignment, scenario)


def _charged(
    scenario: Scenario, begin: Columns, placed: Sequence[tuple[Request, int]], request: Request
) -> Scenario:
    """Return the scenario with the quotas of a request after so many servers of earlier ones.

    :param begin: the columns without these servers.
    """
    known = begin.cloud.quotas
    if not placed or not known or request.are_quotas_ignored:
        return scenario
    quotas = quota_charges.charged(known, placed, request)
    return replace(scenario, columns=begin.with_hosts({}, quotas=quotas))


def plan(
    request: Request,
    scenario: Scenario,
    constraints: Sequence[Constraint],
    *,
    remedies: bool = True,
    can_follow: Callable[[Data], bool] | None = None,
) -> Decision:
    """Return the decision about one request.

    :param can_follow: tells which changes may be remedies, by their data; None: all of them.
    """
    (step,) = decide([request], scenario, constraints)
    return decision_of(step, remedies=remedies, can_follow=can_follow)


def decision_of(
    step: Step, *, remedies: bool = True, can_follow: Callable[[Data], bool] | None = None
) -> Decision:
    """Return whether the servers fit, where they go, and what would help if ``fits`` is False.

    ``fits`` is True up to the expected number, False above the upper bound, None between them (as
    with unknown hosts). ``hosts_after``, and so the codes of the line, are those after the servers
    were placed; remedies start from the hosts before.
    """
    evaluation, constraints = step.evaluation, step.constraints
    request, cloud = evaluation.request, evaluation.scenario.cloud
    total, unsure = step.assignment.total, step.assignment.assumptions
    after = None if cloud.hosts is None else hosts_after(evaluation, step.after)
    is_helped = remedies and evaluation.fits is False
    what_if = WhatIf(evaluation, can_follow)
    changed = try_changes(what_if, after) if is_helped else ()
    return Decision(
        fits=evaluation.fits,
        wanted=request.count,
        capacity=evaluation.capacity,
        at_most=tuple(each.text for each in total.caveats),
        placements=_placements(step),
        request=evaluation.verdicts,
        reasons=reasons_of(constraints),
        hosts_after=after,
        remedies=rank_changes(what_if, changed) if is_helped else (),
        assumptions=(
            *capacity.mattering(capacity.find(request, cloud, evaluation.declared), total),
            *unsure,
        ),
        capacity_certain=total.bounds.lower or 0,
        of_hosts=total.of_hosts,
        tried=tuple(each.remedy for each in changed if each.remedy.for_tenant),
        violated=server_group.violated(request.server_group),
        about_capacity=capacity_constraints(constraints),
        is_host_named=request.is_host_named,
    )


def _placements(step: Step) -> tuple[PlacedServer, ...]:
    """Return the hosts of the servers of a step."""
    request, hosts = step.evaluation.request, step.evaluation.hosts
    group = None if request.server_group is None else request.server_group.id
    return tuple(
        PlacedServer(host.host, host.availability_zone, group)
        for host in map(hosts.__getitem__, step.assignment.chosen)
    )
