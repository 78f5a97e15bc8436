"""What is said about every host, in columns: a row that hosts of a kind share, and their numbers.

Shapes::

    rows      [open, open, refused]         what the rules say, but for figures
    columns   {'resources': [room of 4, room of 9, exhausted]}      what the rules by figures say
    rooms     [4, 9, 0]                     servers, infinite: not known, or no limit
    certain   [4, 9, 0]                     those of them that are there whatever is not known
    frees     [4, 9, 0]                     what the resources leave, whatever else limits it
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, TypeVar, cast

from senlin_affinity.core.planning.rows import Kinds, Row
from senlin_affinity.core.verdict import Verdict

_Each = TypeVar('_Each')
_LIMIT, _ROOM, _IS_AT_MOST = map(attrgetter, ('limit', 'room', 'is_at_most'))

#: What each rule by figures says about each host, by the rule's name.
Columns = Mapping[str, Sequence[Verdict]]


class Looks(NamedTuple):
    """How hosts look in some of their fields."""

    fields: frozenset[str]
    values: Sequence[Hashable]


@dataclass(frozen=True)
class Table:
    """What is said about some hosts, each at its place."""

    rows: Sequence[Row]
    columns: Columns
    rooms: Sequence[float]
    certain: Sequence[int]
    frees: Sequence[int]
    looks: Looks

    @cached_property
    def is_at_most(self) -> bool:
        """Is the room of some host "at most"?"""
        return any(map(_IS_AT_MOST, self.rows))

    def verdicts(self, place: int) -> Mapping[str, Verdict]:
        """All that is said about one host."""
        return verdicts(self.rows[place], self.columns, place)

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
            patched(self.rows, places, other.rows),
            {
                name: patched(self.columns[name], places, column)
                for name, column in other.columns.items()
            },
            patched(self.rooms, places, other.rooms),
            patched(self.certain, places, other.certain),
            patched(self.frees, places, other.frees),
            Looks(self.looks.fields, patched(self.looks.values, places, other.looks.values)),
        )

    def at(self, places: Sequence[int]) -> Table:
        """The same of the hosts at these places alone."""

        def chosen(each: Sequence[_Each]) -> list[_Each]:
            return [*map(each.__getitem__, places)]

        return Table(
            chosen(self.rows),
            {name: chosen(column) for name, column in self.columns.items()},
            chosen(self.rooms),
            chosen(self.certain),
            chosen(self.frees),
            Looks(self.looks.fields, chosen(self.looks.values)),
        )

    def but(self, rows: Mapping[int, Row]) -> Table:
        """The same with other rows of some hosts, which say all of these."""
        told, rooms, certain = list(self.rows), list(self.rooms), list(self.certain)
        columns = {name: list(column) for name, column in self.columns.items()}
        for place, row in rows.items():
            told[place], rooms[place] = row, row.limit
            certain[place] = int(row.limit) if row.is_known and row.limit != math.inf else 0
            for name, column in columns.items():
                column[place] = row.verdicts[name]
        return Table(told, columns, rooms, certain, self.frees, self.looks)


def patched(old: Sequence[_Each], places: Sequence[int], new: Sequence[_Each]) -> list[_Each]:
    """The old ones with new ones at these places, of which the last may come after all others."""
    inside = bisect_left(places, len(old))
    merged = [*old, *new[inside:]]
    for place, each in zip(places[:inside], new, strict=False):
        merged[place] = each
    return merged


def verdicts(row: Row, columns: Columns, place: int) -> Mapping[str, Verdict]:
    """All that is said about the host at a place, which has this row."""
    return {**row.verdicts, **{name: column[place] for name, column in columns.items()}}


def table(
    rows: Sequence[Row], columns: Columns, looks: Looks, kinds: Kinds, *, is_known: bool
) -> Table:
    """The numbers that follow; ``is_known``: nothing is unknown of any of the hosts."""
    of_rules = {name: _rooms(column) for name, column in columns.items()}
    rooms: list[float] = list(map(_LIMIT, rows))
    if of_rules:
        rooms = list(map(min, rooms, *of_rules.values()))
    free = [of_rules[name] for name in of_rules if name in kinds.by_resources]
    frees = list(map(min, *free)) if len(free) > 1 else free[0] if free else [0] * len(rows)
    certain = _certain(rows, rooms, is_known)
    return Table(rows, columns, rooms, certain, _whole(frees), looks)


def _rooms(column: Sequence[Verdict]) -> list[float]:
    rooms = list(map(_ROOM, column))
    return [math.inf if room is None else room for room in rooms] if None in rooms else rooms


def _whole(rooms: Sequence[float]) -> list[int]:
    """What is not known counts for nothing."""
    if math.inf in rooms:
        rooms = [0 if room == math.inf else room for room in rooms]
    return cast('list[int]', rooms)


def _certain(rows: Sequence[Row], rooms: Sequence[float], is_known: bool) -> list[int]:
    if not is_known:
        rooms = [room if row.is_known else 0 for row, room in zip(rows, rooms, strict=True)]
    return _whole(rooms)
