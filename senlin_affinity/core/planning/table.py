"""What is said about every host, in columns: the kind of each, and its numbers.

Shapes::

    kinds     [open, refused]               rows: what the rules say, but for figures
    kind_of   [0, 0, 1]                     the number of each host's row
    columns   {'resources': [room of 4, room of 9, exhausted]}      what the rules by figures say
    rooms     [4, 9, 0]                     servers, infinite: not known, or no limit
    certain   [4, 9, 0]                     those of them that are there whatever is not known
    frees     [4, 9, 0]                     what the resources leave, whatever else limits it
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeVar, cast

from senlin_affinity.core.planning.column import Column
from senlin_affinity.core.planning.looks import Looks
from senlin_affinity.core.planning.numbering import patched, renumbered
from senlin_affinity.core.planning.rows import Row
from senlin_affinity.core.verdict import Verdict

_Each = TypeVar('_Each')

#: What each rule by figures says about each host, by the rule's name.
Columns = Mapping[str, Column]


@dataclass(frozen=True)
class Table:
    """What is said about some hosts, each at its place."""

    kinds: Sequence[Row]
    kind_of: Sequence[int]
    columns: Columns
    rooms: Sequence[float]
    certain: Sequence[int]
    frees: Sequence[int]
    looks: Looks

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The row of each host."""
        return [*map(self.kinds.__getitem__, self.kind_of)]

    @cached_property
    def is_at_most(self) -> bool:
        """Is the room of some host "at most"?"""
        return any(row.is_at_most for row in self.used)

    @cached_property
    def used(self) -> Sequence[Row]:
        """The rows that some host has, each once."""
        return [self.kinds[kind] for kind in {*self.kind_of}]

    @cached_property
    def sure(self) -> Sequence[int]:
        """The servers that are there whatever makes the room of a host "at most"."""
        if not self.is_at_most:
            return self.certain
        rooms = [*map([row.sure for row in self.kinds].__getitem__, self.kind_of)]
        for column in self.columns.values():
            rooms = _least(rooms, column.sure)
        return _whole(rooms)

    def verdicts(self, place: int) -> Mapping[str, Verdict]:
        """All that is said about one host."""
        return verdicts(self.kinds[self.kind_of[place]], self.columns, place)

    @property
    def known_rooms(self) -> tuple[int | None, ...]:
        """The rooms; None where they are not known, or without a limit."""
        if math.inf in self.rooms:
            return tuple(None if room == math.inf else int(room) for room in self.rooms)
        return cast('tuple[int, ...]', tuple(self.rooms))

    def patched(self, places: Sequence[int], other: Table) -> Table:
        """The same with what another one says of the hosts at these places.

        The last of them may come after all hosts.
        """
        return Table(
            [*self.kinds, *other.kinds],
            renumbered(self.kind_of, len(self.kinds), places, other.kind_of),
            {
                name: self.columns[name].patched(places, column)
                for name, column in other.columns.items()
            },
            patched(self.rooms, places, other.rooms),
            patched(self.certain, places, other.certain),
            patched(self.frees, places, other.frees),
            self.looks.patched(places, other.looks),
        )

    def at(self, places: Sequence[int]) -> Table:
        """The same of the hosts at these places alone."""

        def chosen(each: Sequence[_Each]) -> list[_Each]:
            return [*map(each.__getitem__, places)]

        return Table(
            self.kinds,
            chosen(self.kind_of),
            {name: column.at(places) for name, column in self.columns.items()},
            chosen(self.rooms),
            chosen(self.certain),
            chosen(self.frees),
            self.looks.at(places),
        )

    def but(self, rows: Mapping[int, Row]) -> Table:
        """The same with other rows of some hosts, which say all of these."""
        kinds, kind_of = [*self.kinds], [*self.kind_of]
        rooms, certain = list(self.rooms), list(self.certain)
        answers = {name: [*column] for name, column in self.columns.items()}
        numbers: dict[int, int] = {}
        for place, row in rows.items():
            kind_of[place] = numbers.setdefault(id(row), len(kinds))
            if kind_of[place] == len(kinds):
                kinds.append(row)
            rooms[place] = row.limit
            certain[place] = int(row.limit) if row.is_known and row.limit != math.inf else 0
            for name, each in answers.items():
                each[place] = row.verdicts[name]
        columns = {
            name: Column.of(each, self.columns[name].reasons) for name, each in answers.items()
        }
        return Table(kinds, kind_of, columns, rooms, certain, self.frees, self.looks)


def verdicts(
    row: Row, columns: Mapping[str, Sequence[Verdict]], place: int
) -> Mapping[str, Verdict]:
    """All that is said about the host at a place, which has this row."""
    return {**row.verdicts, **{name: column[place] for name, column in columns.items()}}


def table(
    rows: Sequence[Row],
    kind_of: Sequence[int],
    columns: Columns,
    looks: Looks,
    by_resources: frozenset[str],
) -> Table:
    """The numbers that follow; ``by_resources`` are the rules that read resources."""
    of_rules = {name: column.rooms for name, column in columns.items()}
    limits = [row.limit for row in rows]
    rooms = [*map(limits.__getitem__, kind_of)]
    for each in of_rules.values():
        rooms = _least(rooms, each)
    free = [each for name, each in of_rules.items() if name in by_resources]
    frees = reduce(_least, free) if free else [0] * len(rooms)
    certain = rooms
    if not all(row.is_known for row in rows):
        is_known = [row.is_known for row in rows]
        known = map(is_known.__getitem__, kind_of)
        certain = [room if known else 0 for room, known in zip(rooms, known, strict=True)]
    return Table(rows, kind_of, columns, rooms, _whole(certain), _whole(frees), looks)


def _least(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one if one < two else two for one, two in zip(some, others, strict=True)]


def _whole(rooms: Sequence[float]) -> list[int]:
    """What is not known counts for nothing."""
    if math.inf in rooms:
        rooms = [0 if room == math.inf else room for room in rooms]
    return cast('list[int]', rooms)
