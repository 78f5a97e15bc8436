"""The verdicts of one constraint about all hosts, and the numbers of servers that follow.

Example::

    Column.of([Verdict.passed('drs.host'), Verdict.rejected('drs.down')], array([0, 0, 1]))

Units: numbers of servers; ``INFINITE`` in place of None.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from senlin_affinity.model.bounds import Bounds
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.scenario.columns import INFINITE, Columns, Numbers

#: Values up to so many times their number are indexes of an array; others are sorted.
_MOST_DENSE = 8


def number(limit: int | None) -> int:
    """Return a limit as an element of an array."""
    return INFINITE if limit is None else min(limit, INFINITE - 1)


def limit(number: int) -> int | None:
    """Return an element of an array as a limit; None: unlimited."""
    return None if number >= INFINITE else int(number)


def in_order(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return a number for each value in the order of appearance, and the first index of each.

    ``[7, 7, 3]`` gives ``[0, 0, 1]`` and ``[0, 2]``.
    """
    size = len(values)
    if not size:
        return values, values
    if values.max() > _MOST_DENSE * size:
        values = np.unique(values, return_inverse=True)[1].reshape(-1)
    first = np.full(int(values.max()) + 1, size)
    first[values[::-1]] = np.arange(size - 1, -1, -1)
    order = np.argsort(first, kind='stable')[: np.count_nonzero(first < size)]
    rank = np.empty_like(first)
    rank[order] = np.arange(len(order))
    return rank[values], first[order]


def distinct(verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[int]]:
    """Return the verdicts without repetitions, and the index of each verdict among these."""
    found: list[Verdict] = []
    numbers: list[int] = []
    number_of: dict[Hashable, int] = {}
    number_by_id: dict[int, int] = {}
    every = [*verdicts]  # an id belongs to one of them as long as all exist
    for verdict in every:
        number = number_by_id.get(id(verdict))
        if number is None:
            key = verdict.outcome, verdict.code, verdict.bounds, repr(verdict.facts)
            number = number_by_id[id(verdict)] = number_of.setdefault(key, len(found))
            if number == len(found):
                found.append(verdict)
        numbers.append(number)
    return found, numbers


@dataclass(frozen=True)
class Column:
    """The verdicts about all hosts, as indexes into ``verdicts``, and their bounds.

    ``is_counted``: the numbers differ between hosts that share a verdict, which is then an example;
    ``facts`` has the facts that differ as well, by name, for each of the verdicts. A plain column
    (:meth:`plain`) has arrays of the standard library.
    """

    verdicts: Sequence[Verdict]
    verdict_of: Numbers
    lower: Numbers
    expected: Numbers
    upper: Numbers
    facts: Sequence[Mapping[str, Numbers]] | None = None
    is_counted: bool = False

    @classmethod
    def of(
        cls, verdicts: Sequence[Verdict], verdict_of: Numbers, *, is_counted: bool = False
    ) -> Column:
        """Return the column whose bounds are those of the verdicts."""
        bounds = np.array([[*map(number, each.bounds)] for each in verdicts], np.int64)
        lower, expected, upper = bounds.reshape(-1, 3).T.take(verdict_of, axis=1)
        return cls(verdicts, verdict_of, lower, expected, upper, is_counted=is_counted)

    @classmethod
    def of_all(cls, verdict: Verdict, size: int) -> Column:
        """Return the column with one verdict about all of so many hosts."""
        lower, expected, upper = (np.broadcast_to(number(each), size) for each in verdict.bounds)
        return cls([verdict], np.broadcast_to(0, size), lower, expected, upper)

    @classmethod
    def by_name(
        cls, columns: Columns, default: Verdict, verdict_of: Mapping[str, Verdict]
    ) -> Column:
        """Return the column with verdicts by service host; ``default`` for all other hosts."""
        if not verdict_of:
            return cls.of_all(default, len(columns.hosts))
        verdicts, (_default, *numbers) = distinct([default, *verdict_of.values()])
        return cls.of(verdicts, columns.counted(dict(zip(verdict_of, numbers, strict=True))))

    def verdict(self, index: int) -> Verdict:
        """Return the verdict about the host at this index."""
        which = int(self.verdict_of[index])
        verdict = self.verdicts[which]
        if self.facts is None:
            return verdict
        bounds = Bounds(*(limit(each[index]) for each in (self.lower, self.expected, self.upper)))
        own = {name: int(each[index]) for name, each in self.facts[which].items()}
        return replace(verdict, facts={**own, **verdict.facts}, bounds=bounds)

    def verdicts_at(self, indexes: Numbers) -> list[Verdict]:
        """Return the verdict about each of the hosts at these indexes."""
        if self.facts is not None:
            return [self.verdict(index) for index in indexes.tolist()]
        if len(self.verdicts) == 1:
            return [*self.verdicts] * len(indexes)
        return [self.verdicts[number] for number in self.verdict_of[indexes].tolist()]

    def plain(self) -> Column:
        """Return the column as plain values, without arrays of numpy."""
        facts = self.facts and tuple(
            {name: plain(each) for name, each in own.items()} for own in self.facts
        )
        lower, expected, upper = map(plain, (self.lower, self.expected, self.upper))
        verdict_of = plain(self.verdict_of)
        return Column(
            tuple(self.verdicts), verdict_of, lower, expected, upper, facts, self.is_counted
        )


def plain(numbers: Numbers) -> Any:
    """Return the numbers as an array of the standard library, which is a plain value."""
    return array('q', numbers.tobytes())
