"""Numbers for things of which many are equal: whatever follows from one is worked out once.

Shapes::

    numbered(['a', 'b', 'a']) == Numbered(numbers=[0, 1, 0], firsts=[0, 1])

Units: numbers and places count from 0; numbers are given in the order of appearance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import count
from typing import NamedTuple, TypeVar

_Each = TypeVar('_Each')


class Numbered(NamedTuple):
    """The number of each thing, and the place of the first one with each number."""

    numbers: list[int]
    firsts: list[int]


def numbered(things: Iterable[Hashable]) -> Numbered:
    """The things in numbers; equal ones have the same."""
    known: defaultdict[Hashable, int] = defaultdict(count().__next__)
    numbers = [*map(known.__getitem__, things)]
    firsts: list[int] = []
    for number in range(len(known)):  # each comes first after the first of the one before
        firsts.append(numbers.index(number, firsts[-1] + 1 if firsts else 0))
    return Numbered(numbers, firsts)


def patched(old: Sequence[_Each], places: Sequence[int], new: Sequence[_Each]) -> list[_Each]:
    """The old ones with new ones at these places, of which the last may come after all others."""
    inside = bisect_left(places, len(old))
    merged = [*old, *new[inside:]]
    for place, each in zip(places[:inside], new, strict=False):
        merged[place] = each
    return merged


def renumbered(
    old: Sequence[int], known: int, places: Sequence[int], new: Sequence[int]
) -> list[int]:
    """The same of numbers, where the new ones come after so many that are known."""
    return patched(old, places, [number + known for number in new])
