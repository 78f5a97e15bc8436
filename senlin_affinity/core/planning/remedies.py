"""The smallest change that makes a request fit: found by planning again with one thing changed.

Data flow: each constraint makes questions with something changed out of the one that did not fit;
the smallest of each kind of change that fits goes out, smallest first. If no change alone is
enough, those that give more than there is go out, the most helpful first; of equals, those that are
certain stand before those that are "at most".

Units: ``size`` counts what is changed: steps of ``max_server_per_host``, hosts, servers of a quota,
one zone. A soft policy, or a rule given up, weighs as much as all the servers that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations
from typing import Protocol, runtime_checkable

from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.planning import blame, other_flavors
from senlin_affinity.core.planning.decision import FEWER, TWO, Kind, Remedy
from senlin_affinity.core.planning.evaluation import Evaluation
from senlin_affinity.core.planning.host_reports import Standing
from senlin_affinity.core.planning.replanner import Change, Planned, Replanner
from senlin_affinity.core.planning.rows import Row, is_by_resources
from senlin_affinity.core.reasons import is_for_owner

#: Two changes are sought for so many of those that help most.
_MOST_FIRSTS = 2
#: So many pairs of rules are looked at which refuse a host together.
_MOST_JOINT = 2


@runtime_checkable
class Remedying(Protocol):
    """A constraint that knows what would satisfy it."""

    def remedies(self, planner: Replanner) -> Iterable[Change]:
        """The changes that would lead to more room by this rule, each planned by the planner."""


def planned(now: Evaluation, standing: Standing | None) -> tuple[Change, ...]:
    """Each change alone, whether it helps or not; ``now`` is how it is."""
    planner = Replanner(now)
    return (*_satisfied(planner, planner.constraints), *_rules_given_up(planner, standing))


def find(now: Evaluation, changes: Sequence[Change]) -> tuple[Remedy, ...]:
    """What would help, the smallest change first."""
    planner = Replanner(now)
    enough = [change.remedy for change in changes if change.then.fits]
    if enough:
        return (*sorted(enough, key=_effort), *_fewer(planner))
    some = [change for change in changes if change.remedy.capacity > (now.capacity or 0)]
    some.sort(key=lambda each: (-each.remedy.capacity, *_effort(each.remedy)))
    pairs = [*_pairs(planner, changes, some)]
    if all(pair.kind is Kind.GIVEN_UP or 'new_hosts' in pair.data for pair in pairs):
        pairs += _joint(planner)
    pairs.sort(key=_effort)
    return (*pairs, *(change.remedy for change in some), *_fewer(planner))


def _fewer(planner: Replanner) -> Iterator[Remedy]:
    """What fits now. It changes nothing, so it is no part of what would help."""
    certain = planner.now.room.certain
    if certain:
        then = planner.plan({'count': certain})
        change = f'{certain} server{"s" * (certain > 1)} in place of {planner.wanted}'
        size, kind = planner.wanted - certain, Kind.GIVEN_UP
        yield planner.change(FEWER, change, size, then, kind=kind).remedy


def _pairs(
    planner: Replanner, changes: Sequence[Change], some: Sequence[Change]
) -> Iterator[Remedy]:
    """Two changes that are enough together: the best ones, each with one that it leads to.

    A quota that is in the way is one of the two in any case.
    """
    quotas = [change for change in changes if change.remedy.code == 'quota']
    for first in quotas or some[:_MOST_FIRSTS]:
        one, then = first.remedy, Replanner(first.then)
        seconds = _satisfied(then, then.constraints[::-1])  # the cheap ones come first
        for two, enough in (change for change in seconds if change.then.fits):
            if one.data.keys().isdisjoint(two.data):
                yield _both(planner, one, two, enough)
                break


def _both(planner: Replanner, one: Remedy, two: Remedy, then: Evaluation) -> Remedy:
    """One change, and the other one after it."""
    both = Planned({**one.data, **two.data}, then)
    kind = max(one.kind, two.kind, key=list(Kind).index)
    change, size = f'{one.change}, and {two.change}', one.size + two.size
    return planner.change(TWO, change, size, both, kind=kind).remedy


def _joint(planner: Replanner) -> Iterator[Remedy]:
    """Two changes of which perhaps neither helps alone, where two rules refuse a host.

    The first is what one of them needs as if the other were not there, which is satisfied then.
    """
    for rules in islice(_together_against(planner), _MOST_JOINT):
        for one, two in permutations(rules):
            bare = planner.plan({'given_up': [two.name]}).then
            enough = (each for each in _satisfied(Replanner(bare), [one]) if each.then.fits)
            if (first := next(enough, None)) is not None:
                data = first.remedy.data
                then = Replanner(planner.plan(data).then)
                for second, fitting in _satisfied(then, [two]):
                    if fitting.fits and data.keys().isdisjoint(second.data):
                        yield _both(planner, first.remedy, second, fitting)
                        return


def _together_against(planner: Replanner) -> Iterator[tuple[Constraint, ...]]:
    """Two rules that refuse a host, and no other one does, if they know what would satisfy them."""
    known = {
        item.name: item
        for item in planner.constraints
        if isinstance(item, Remedying) and not is_by_resources(item)
    }
    for names in dict.fromkeys(_against(row) for row in planner.now.table.used):
        if len(names) == 2 and known.keys() >= {*names}:
            yield tuple(known[name] for name in names)


def _against(row: Row) -> tuple[str, ...]:
    return tuple(name for name, verdict in row.verdicts.items() if not verdict)


def _satisfied(planner: Replanner, constraints: Iterable[Constraint]) -> Iterator[Change]:
    """What each constraint knows itself."""
    for constraint in constraints:
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
    now = planner.resolved
    against = {row.by for row in standing.kinds} if standing is not None else set()
    for constraint in planner.constraints:
        if constraint.name in against and getattr(constraint, 'may_be_given_up', False):
            with blame.blaming(constraint, 'without'):
                without = getattr(constraint, 'without', None)
                data = {'given_up': [constraint.name]} if without is None else dict(without(now))
                data, flavor = other_flavors.named(now, data)
                change, then = f'without {constraint.name}{flavor}', planner.plan(data)
            yield planner.change(
                'rule_given_up',
                change,
                planner.wanted,
                then,
                kind=Kind.GIVEN_UP,
                is_owners=is_for_owner(constraint.reasons),
            )
