"""A number of servers that is known only within limits. None is unlimited.

Example::

    Bounds(2, 5, 5) & Bounds.exactly(4) == Bounds(2, 4, 4)
    Bounds(2, 5, 5) + Bounds.exactly(4) == Bounds(6, 9, 9)
    Bounds.any_of([Bounds.exactly(1), Bounds.exactly(4)]) == Bounds(1, 4, 4)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Bounds(NamedTuple):
    """The guaranteed, the expected and the largest possible number of servers.

    ``lower`` is guaranteed. ``expected`` holds if no caveat applies. ``upper`` holds if everything
    unknown is favourable.
    """

    lower: int | None
    expected: int | None
    upper: int | None

    @classmethod
    def exactly(cls, number: int | None) -> Bounds:
        """Return the bounds of a number that is known."""
        return cls(number, number, number)

    @classmethod
    def at_most(cls, number: int | None, lower: int | None = 0) -> Bounds:
        """Return the bounds of a number to which a caveat applies; ``lower`` is guaranteed."""
        return cls(_fold(min, (lower, number)), number, number)

    @classmethod
    def unknown(cls, upper: int | None = None) -> Bounds:
        """Return bounds that expect 0 servers, with this upper bound."""
        return cls(0, 0, upper)

    @classmethod
    def any_of(cls, choices: Iterable[Bounds]) -> Bounds:
        """Return the bounds if Nova chooses one of these alternatives; 0 if there are none."""
        every = [*choices]
        if not every:
            return NONE
        lower, expected, upper = zip(*every, strict=True)
        return cls(_fold(min, lower), _fold(max, expected), _fold(max, upper))

    @property
    def is_known(self) -> bool:
        """Return whether nothing unknown may raise the number."""
        return self.expected == self.upper

    @property
    def is_exact(self) -> bool:
        """Return whether the number is known, and no caveat applies."""
        return self.lower == self.upper

    @property
    def is_at_most(self) -> bool:
        """Return whether a caveat applies: fewer servers than expected may fit."""
        return self.lower != self.expected

    def fits(self, count: int) -> bool | None:
        """Return whether so many servers are expected to fit; None if unknown."""
        if self.expected is None or count <= self.expected:
            return True
        return None if self.upper is None or count <= self.upper else False

    def __and__(self, other: Bounds) -> Bounds:
        """Return the tighter of two limits on the same servers."""
        if other is UNLIMITED:
            return self
        if self is UNLIMITED:
            return other
        return Bounds(*(_fold(min, pair) for pair in zip(self, other, strict=True)))

    def __add__(self, other: object) -> Bounds:
        """Return the number of servers on two disjoint sets of hosts."""
        if not isinstance(other, Bounds):
            return NotImplemented
        return Bounds(*(_fold(sum, pair) for pair in zip(self, other, strict=True)))


def _fold(
    function: Callable[[Iterable[float]], float], numbers: Iterable[int | None]
) -> int | None:
    return finite(function([limited(number) for number in numbers]))


def limited(number: int | None) -> float:
    """Return the number, or infinity for None."""
    return math.inf if number is None else number


def finite(number: float) -> int | None:
    """Return the number as an integer, or None for infinity."""
    return None if number == math.inf else int(number)


UNLIMITED = Bounds.exactly(None)
NONE = Bounds.exactly(0)
