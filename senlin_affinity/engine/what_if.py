"""Evaluate a request that did not fit again with a change, and bisect for the smallest change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from senlin_affinity.engine.changes import carry_out, commands_of
from senlin_affinity.engine.decision import Remedy
from senlin_affinity.engine.evaluation import Evaluation, evaluate
from senlin_affinity.engine.table import evaluate_hosts
from senlin_affinity.engine.unspecified import is_decisive
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.proposal import Change, Data
from senlin_affinity.model.request import Request
from senlin_affinity.nova import candidate_query
from senlin_affinity.scenario.constraint import is_of_hosts
from senlin_affinity.scenario.scenario import Scenario


class WhatIfResult(NamedTuple):
    """The data of a change, and the evaluation with it."""

    data: Data
    after: Evaluation

    @property
    def capacity(self) -> int:
        """The upper bound with the change; 0 if it is unknown or unlimited."""
        return self.after.capacity or 0


class PlannedRemedy(NamedTuple):
    """A remedy, and the evaluation with it."""

    remedy: Remedy
    after: Evaluation


@dataclass(frozen=True)
class WhatIf:
    """A request that did not fit, to evaluate with changes.

    ``can_follow`` tells which changes the owner of the request can make; None: all of them.
    """

    before: Evaluation
    can_follow: Callable[[Data], bool] | None = None

    def allows(self, data: Data) -> bool:
        """Check whether the owner can make the change."""
        return self.can_follow is None or self.can_follow(data)

    @property
    def request(self) -> Request:
        """The request."""
        return self.before.request

    @property
    def cloud(self) -> Cloud:
        """The cloud."""
        return self.before.scenario.cloud

    @property
    def wanted(self) -> int:
        """The number of requested servers."""
        return self.request.count

    @property
    def missing(self) -> int:
        """The requested number less the capacity (0 if unknown)."""
        return self.wanted - (self.before.capacity or 0)

    def plan(self, data: Data) -> WhatIfResult:
        """Evaluate the request with the change in ``data`` (``changes.carry_out``)."""
        return self._result(data, *carry_out(data, self.request, self.before.scenario))

    def plan_hosts(self, data: Data, changed: Mapping[int, Host]) -> WhatIfResult:
        """Evaluate the request with these hosts, by index, as the result of ``data``."""
        return self._result(data, self.request, self.before.scenario.with_hosts(changed))

    def _result(self, data: Data, request: Request, scenario: Scenario) -> WhatIfResult:
        rejected = self.cloud.rejected
        why = rejected.get(candidate_query.query(self.request, self.cloud) or '')
        if why is not None:  # Placement may reject the changed query for the same reason
            query = candidate_query.query(request, scenario.cloud) or ''
            scenario = scenario.with_parts(rejected={**rejected, query: why})
        after = evaluate(request, scenario, self.before.constraints, is_brief=True)
        return WhatIfResult(data, after)

    def rooms(self, hosts: Sequence[Host], without: str = '') -> list[int]:
        """Return the upper bound of each host, without a named constraint and without domains.

        An unknown or unlimited bound is 0.
        """
        others = [
            item for item in self.before.constraints if is_of_hosts(item) and item.name != without
        ]
        scenario = Scenario.of_hosts(self.cloud, hosts)
        return [room or 0 for room in evaluate_hosts(self.request, others, scenario).room()]

    def smallest(
        self,
        high: int,
        guess: int,
        attempt: Callable[[int], WhatIfResult],
        room: Callable[[int], int] | None = None,
    ) -> tuple[int, WhatIfResult]:
        """Return the smallest number from 1 to ``high`` that is enough, and the result with it.

        If ``high`` is not enough, the smallest that helps as much; ``high`` if that does not help.

        :param guess: the number to try first.
        :param attempt: evaluates a number; a larger one never has less capacity.
        :param room: the most that a number adds, without domains.
        """
        plan = cache(attempt)

        def capacity(number: int) -> int:
            return plan(number).capacity

        low, guess, now = 1, min(max(1, guess), high), self.before.capacity or 0
        enough = self.wanted

        def is_hopeless(number: int) -> bool:
            if room is None or self.before.domains is not None:
                return False
            return now + room(number) < enough

        if capacity(guess) < enough:
            enough = min(enough, capacity(high))
        if enough <= now:
            return high, plan(high)
        tries = iter((guess, guess - 1) if guess < high else (guess - 1,))
        while low < high:
            middle = next(tries, high)
            if not low <= middle < high:
                middle = (low + high) // 2
            if not is_hopeless(middle) and capacity(middle) >= enough:
                high = middle
            else:
                low = middle + 1
        return high, plan(high)

    def remedy(
        self, proposal: Change, planned: WhatIfResult, *, has_operator_note: bool = False
    ) -> PlannedRemedy:
        """Return the remedy with the data and the capacity of the result.

        The capacity is an upper bound with caveats, or if :func:`is_decisive`.
        """
        after = planned.after
        remedy = Remedy(
            proposal.code,
            proposal.change,
            planned.capacity,
            proposal.size,
            bool(after.total.caveats) or is_decisive(after),
            proposal.kind,
            planned.data,
            commands_of(planned.data, self.request, self.before.scenario),
            proposal.for_tenant,
            has_operator_note,
        )
        return PlannedRemedy(remedy, after)
