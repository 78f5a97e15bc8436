"""The smallest change that makes a request fit: found by planning again with one thing changed.

Data flow: each constraint makes questions with something changed out of the one that did not fit;
the smallest of each kind of change that fits goes out, smallest first. If no change alone is
enough, those that give more than there is go out, the most helpful first; of equals, those that are
certain stand before those that are "at most".

Units: ``size`` counts what is changed: steps of ``max_server_per_host``, hosts, servers of a quota,
one zone. A soft policy, or a rule given up, weighs as much as all the servers that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from senlin_affinity.core.planning import blame
from senlin_affinity.core.planning.decision import Kind, Remedy
from senlin_affinity.core.planning.evaluation import Evaluation, evaluate
from senlin_affinity.core.planning.host_reports import Standing
from senlin_affinity.core.planning.replanner import Change, Replanner


@runtime_checkable
class Remedying(Protocol):
    """A constraint that knows what would satisfy it."""

    def remedies(self, planner: Replanner) -> Iterable[Change]:
        """The changes that would lead to more room by this rule, each planned by the planner."""


def find(now: Evaluation, standing: Standing | None) -> tuple[Remedy, ...]:
    """What would help, the smallest change first; ``now`` is how it is."""
    planner = Replanner(now)
    changes = [*_satisfied(planner), *_rules_given_up(planner, standing)]
    enough = [change.remedy for change in changes if change.then.fits]
    if enough:
        return tuple(sorted(enough, key=_effort))
    some = [change.remedy for change in changes if change.remedy.capacity > (now.capacity or 0)]
    return tuple(sorted(some, key=lambda item: (-item.capacity, *_effort(item))))


def _satisfied(planner: Replanner) -> Iterator[Change]:
    """What each constraint knows itself."""
    for constraint in planner.constraints:
        if isinstance(constraint, Remedying):
            with blame.blaming(constraint, 'remedies'):
                for change in constraint.remedies(planner):
                    if not isinstance(change, Change):
                        raise ValueError(f'each answer must be a Change, not {change!r}')
                    yield change


def _effort(remedy: Remedy) -> tuple[int, bool, int]:
    """Of one size, what is certain comes first, and what the asker can change."""
    return remedy.size, remedy.capacity_is_upper_bound, list(Kind).index(remedy.kind)


def _rules_given_up(planner: Replanner, standing: Standing | None) -> Iterator[Change]:
    """Without a rule that is in the way, and that says itself that it may be given up."""
    against = {row.by for row in standing.kinds} if standing is not None else set()
    for constraint in planner.constraints:
        if constraint.name in against and getattr(constraint, 'may_be_given_up', False):
            others = [item for item in planner.constraints if item is not constraint]
            then = evaluate(planner.resolved, others)
            change = f'without {constraint.name}'
            yield planner.change('rule_given_up', change, planner.wanted, then, kind=Kind.GIVEN_UP)
