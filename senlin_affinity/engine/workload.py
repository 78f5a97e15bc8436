"""Plan several requests together: whether all of their servers fit, and where.

Example::

    plan = plan_requests([('web', web), ('db', db)], scenario, constraints)
    plan.fits      True: they fit in this order, on these hosts
    plan.line()    'fits in this order on these hosts: 5 of 5 servers placed'

1. Each request is decided alone. ``workload_bounds`` proves that they do not fit together, from
   sums. The decision about a request that does not even fit alone does not count the others.
2. Otherwise, the requests are placed one after the other, in their order, as Nova would. If some
   do not fit, other orders follow: the hardest first, then those that did not fit, also on the
   hosts with the least room. A plan for which no order was found proves nothing.
3. ``workload_bounds`` proves, where it is cheap, that they fit whichever hosts Nova picks.

Members of a group of affinity go to a host that has room for the whole group, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from senlin_affinity.engine.assign import filled
from senlin_affinity.engine.capacity import has_unknown_host
from senlin_affinity.engine.decide import Step, decide, decision_of
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.evaluation import Evaluation
from senlin_affinity.engine.unspecified import Assignment
from senlin_affinity.engine.workload_bounds import (
    Alone,
    by_group,
    fits_anywhere,
    homes,
    lower_of,
    obstacles,
)
from senlin_affinity.engine.workload_plan import PlannedRequest as PlannedRequest
from senlin_affinity.engine.workload_plan import WorkloadPlan as WorkloadPlan
from senlin_affinity.model.request import Request
from senlin_affinity.scenario.constraint import Constraint
from senlin_affinity.scenario.scenario import Scenario

#: Orders that are tried: as many as evaluate this number of hosts, at least FEWEST.
_HOSTS, _FEWEST, _MOST = 200_000, 4, 24


@dataclass(frozen=True)
class _Trial:
    """The steps of the requests, by their position in the list, and the order of placement."""

    order: tuple[int, ...]
    steps: tuple[Step, ...]

    @property
    def left(self) -> list[int]:
        """The requests of which not all servers are placed, in the order of placement."""
        return [each for each in self.order if not _is_placed(self.steps[each])]

    @property
    def quality(self) -> tuple[int, int]:
        """The negative number of requests that are left, and of those with a caveat."""
        caveats = sum(bool(each.assignment.total.caveats) for each in self.steps)
        return -len(self.left), -caveats


def _is_placed(step: Step) -> bool:
    evaluation = step.evaluation
    return bool(evaluation.fits) and len(step.assignment.chosen) == evaluation.request.count


def _is_sure(step: Step) -> bool:
    """Check whether Nova certainly accepts the servers on their hosts."""
    assignment = step.assignment
    if not assignment.total.caveats:
        return True
    lower = lower_of(step.evaluation, assignment)
    return all(number <= lower[at] for at, number in Counter(assignment.chosen).items())


def plan_requests(
    requests: Sequence[tuple[str, Request]],
    scenario: Scenario,
    constraints: Sequence[Constraint],
    *,
    new_groups: int | None = None,
    remedies: bool = True,
    not_read: Iterable[str] = (),
    removed: Iterable[str] = (),
) -> WorkloadPlan:
    """Plan requests of one project, each with its name.

    :param new_groups: the number of server groups that are created; None: those of the requests.
    :param remedies: whether to search for remedies for the first request that does not fit.
    :param not_read: see WorkloadPlan, also about ``removed``.
    """
    alone = [
        Alone.of(name, step)
        for name, request in requests
        for step in decide([request], scenario, constraints)
    ]
    groups = {each.request.server_group for each in alone}
    if new_groups is None:
        new_groups = sum(group is not None and group.is_planned for group in groups)
    found = obstacles(alone, scenario, new_groups)
    search = _Search(alone, scenario, constraints)
    best, tried = search.best(1 if found else search.most)
    rejected = (at for at, step in enumerate(best.steps) if step.evaluation.fits is False)
    explained = next(rejected, -1)
    shown = [
        PlannedRequest(
            each.name,
            _decision(each, step, remedies=remedies and at == explained),
            None if each.request.server_group is None else each.request.server_group.name,
            is_sure=_is_sure(step),
            is_alone=each.is_rejected,
        )
        for at, (each, step) in enumerate(zip(alone, best.steps, strict=True))
    ]
    return WorkloadPlan(
        tuple(shown),
        tuple(alone[at].name for at in best.order),
        tuple(found),
        is_any_host=not found and not best.left and fits_anywhere(alone, scenario, new_groups),
        tried=tried,
        not_read=tuple(not_read),
        removed=tuple(removed),
    )


def _decision(alone: Alone, step: Step, *, remedies: bool) -> Decision:
    """Return the decision about a request, on the cloud without the others if it is rejected there.

    Its servers are where the step placed them, beside those of the others, and its remedies are
    enough beside them.
    """
    beside = decision_of(step, remedies=remedies)
    if not alone.is_rejected:
        return beside
    decision = decision_of(alone.step, remedies=False)
    return replace(decision, placements=beside.placements, remedies=beside.remedies)


class _Search:
    """The search for an order in which all servers are placed."""

    def __init__(
        self, alone: Sequence[Alone], scenario: Scenario, constraints: Sequence[Constraint]
    ) -> None:
        self._alone, self._scenario, self._constraints = alone, scenario, constraints
        size = (len(scenario.hosts) or 1) * (len(alone) or 1)
        self.most = min(_MOST, max(_FEWEST, _HOSTS // size)) if len(scenario.hosts) else 1
        #: How many servers of the list each host competes for.
        self._wanted = np.zeros(len(scenario.hosts))
        for each in alone:
            self._wanted += each.usable * (each.count / max(1, int(each.usable.sum())))
        self._homes = by_group(alone)

    def best(self, most: int) -> tuple[_Trial, int]:
        """Return the best of so many orders, and the number of orders that were tried."""
        order = (*range(len(self._alone)),)
        best = self._trial(order, is_tight=False)
        tried, now, seen = 1, best, {(order, False)}
        while best.left and tried < most:
            is_tight = tried % 2 == 1
            order = self._hardest() if tried < 3 else (*now.left, *self._rest(now))
            if (order, is_tight) in seen:
                order = (*order[1:], *order[:1])
            if (order, is_tight) in seen:
                tried += 1
                continue
            seen.add((order, is_tight))
            now = self._trial(order, is_tight=is_tight)
            best = max(best, now, key=lambda each: each.quality)
            tried += 1
        return best, tried

    def _trial(self, order: tuple[int, ...], *, is_tight: bool) -> _Trial:
        """Place the requests in this order."""
        requests = [self._alone[at].request for at in order]

        def choose(now: Evaluation, assigned: Assignment) -> Sequence[int] | None:
            return self._choose(now, assigned, is_tight=is_tight)

        steps = [*decide(requests, self._scenario, self._constraints, choose)]
        return _Trial(order, tuple(steps[order.index(at)] for at in range(len(order))))

    def _choose(
        self, now: Evaluation, assigned: Assignment, *, is_tight: bool
    ) -> Sequence[int] | None:
        """Return the host of each server, by index; None if Nova's choice is as good.

        The first servers of a group of affinity go to a host for the whole group. If tight, servers
        go to the hosts for which the fewest others compete, then to those with the least room. Only
        hosts that certainly take them count, if these are enough.
        """
        request, table, count = now.request, now.table, now.request.count
        fits, certain = table.expected, lower_of(now, assigned)
        if certain.sum() >= count:
            fits = certain
        if request.server_group is not None and has_unknown_host(request, now.scenario):
            own = self._homes[request.server_group.id]
            fits = np.where(homes(own, now.scenario) & (fits >= count), count, 0)
            if not fits.any():
                return None
        elif not is_tight or now.domains is not None:
            return None
        if not now.fits:
            return None
        ranks = now.scenario.columns.name_ranks
        keys = (ranks, table.free, self._wanted) if is_tight else (ranks, -table.free)
        return filled(fits, count, *keys)

    def _hardest(self) -> tuple[int, ...]:
        """Return the positions of the requests, those with the least capacity per server first."""

        def ease(at: int) -> tuple[bool, float, int]:
            each = self._alone[at]
            capacity = each.step.evaluation.capacity
            is_grouped = each.request.server_group is not None
            return not is_grouped, (capacity or 0) / (each.count or 1), -sum(each.least.values())

        return (*sorted(range(len(self._alone)), key=ease),)

    def _rest(self, trial: _Trial) -> Iterable[int]:
        left = trial.left
        return (each for each in trial.order if each not in left)
