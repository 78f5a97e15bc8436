"""Which aggregates to ask Placement for, so that all hosts of its answer keep to rules about them.

The hosts are known by the sets of aggregates that they are in, and a rule lets a set in or not: a
host may be refused for an aggregate that it is in, or for one that it lacks.

Shapes::

    leaving([{ssd}, {hdd}, {}], lambda each: ssd in each)   ==   in:ssd and !hdd

``leaving`` asks for no other hosts than those that are let in, ``keeping`` for no fewer.

Units: an expression of at most a hundred aggregates of each kind; the address of a request has an
end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from senlin_affinity.core.member_of import MemberOf

_MOST = 100


def leaving(
    sets: Iterable[frozenset[str]], admits: Callable[[frozenset[str]], bool]
) -> MemberOf | None:
    """Leaves hosts in some of the sets that are let in, and none in any other; None: none such.

    Of what does so, it is that which leaves the most: without those that only others are in; of the
    rest, with one that none of the others is in; or this alone.
    """
    good, bad = _split(sets, admits)
    used, others = frozenset().union(*good), frozenset().union(*bad)
    forbidden = others - used
    left = frozenset().union(*filter(forbidden.isdisjoint, bad))
    for required, without in (None, forbidden), (used - left, forbidden), (used - others, ()):
        if required == frozenset() or len(without) > _MOST:
            continue
        some = () if required is None else (frozenset(sorted(required)[:_MOST]),)
        asked = MemberOf(some, frozenset(without))
        if any(map(asked.admits, good)) and not any(map(asked.admits, bad)):
            return asked
    return None


def keeping(
    sets: Iterable[frozenset[str]], admits: Callable[[frozenset[str]], bool]
) -> frozenset[str] | None:
    """Aggregates of which every host that is let in is in one, and few others are; None: no host is
    let in. Empty: there are no such, or too many.
    """
    good, bad = _split(sets, admits)
    if not good:
        return None
    used, others = frozenset().union(*good), frozenset().union(*bad)
    for required in (used - others, used):
        if len(required) <= _MOST and not any(map(required.isdisjoint, good)):
            return required
    return frozenset()


def _split(
    sets: Iterable[frozenset[str]], admits: Callable[[frozenset[str]], bool]
) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """The sets that are let in, and the others."""
    good: list[frozenset[str]] = []
    bad: list[frozenset[str]] = []
    for each in {*sets}:
        (good if admits(each) else bad).append(each)
    return good, bad
