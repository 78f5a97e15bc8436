"""What a rule by figures says about each of many hosts, each answer kept once.

Shapes: of three hosts, of which two share an answer; its key is what ``id`` says of it::

    keys      [key of room 4, key of room 9, key of room 4]
    verdicts  {key of room 4: room of 4, key of room 9: room of 9}

Units: the rooms are numbers of servers; infinite: there is no limit, or it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

from senlin_affinity.core.planning.numbering import patched
from senlin_affinity.core.planning.rows import look_of, sure
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Column(Sequence[Verdict]):
    """The answers, host by host; more of them may be known than the hosts have."""

    keys: Sequence[int]
    verdicts: Mapping[int, Verdict]
    reasons: Mapping[str, Reason] = field(default_factory=dict)

    @classmethod
    def of(cls, verdicts: Iterable[Verdict], reasons: Mapping[str, Reason] | None = None) -> Column:
        """The column of these answers of a rule that has these reasons."""
        if isinstance(verdicts, Column):
            return cls(verdicts.keys, verdicts.verdicts, reasons or {})
        each = [*verdicts]
        keys = [*map(id, each)]
        return cls(keys, dict(zip(keys, each, strict=True)), reasons or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Verdict]:
        return map(self.verdicts.__getitem__, self.keys)

    @overload
    def __getitem__(self, place: int) -> Verdict: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Verdict]: ...

    def __getitem__(self, place: int | slice) -> Verdict | Sequence[Verdict]:
        if isinstance(place, slice):
            return [*self][place]
        return self.verdicts[self.keys[place]]

    @cached_property
    def rooms(self) -> Sequence[float]:
        """The room on each host."""
        rooms = {
            key: math.inf if verdict.room is None else verdict.room
            for key, verdict in self.verdicts.items()
        }
        return [*map(rooms.__getitem__, self.keys)]

    @cached_property
    def sure(self) -> Sequence[float]:
        """What of it is there on each host whatever makes it "at most"."""
        rooms = {key: sure(verdict) for key, verdict in self.verdicts.items()}
        return [*map(rooms.__getitem__, self.keys)]

    @cached_property
    def marks(self) -> Sequence[int]:
        """A number for each answer: equal where rows tell the same of them."""
        known: dict[Hashable, int] = {}
        marks = {
            key: known.setdefault(look_of(verdict, self.reasons), len(known))
            for key, verdict in self.verdicts.items()
        }
        return [*map(marks.__getitem__, self.keys)]

    def at(self, places: Iterable[int]) -> Column:
        """Those at some places."""
        return Column([*map(self.keys.__getitem__, places)], self.verdicts, self.reasons)

    def patched(self, places: Sequence[int], other: Column) -> Column:
        """The same with others at these places, of which the last may come after all hosts."""
        keys = patched(self.keys, places, other.keys)
        return Column(keys, {**self.verdicts, **other.verdicts}, self.reasons)
