"""What a rule by figures says about each of many hosts, each answer kept once.

Shapes: of three hosts, of which two share an answer; its key is what ``id`` says of it::

    keys      [key of room 4, key of room 9, key of room 4]
    verdicts  {key of room 4: room of 4, key of room 9: room of 9}

Units: the rooms are numbers of servers; infinite: there is no limit, or it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

from senlin_affinity.core.planning.numbering import patched
from senlin_affinity.core.verdict import Verdict

_Each = TypeVar('_Each')


@dataclass(frozen=True, eq=False)
class Column(Sequence[Verdict]):
    """The answers, host by host; more of them may be known than the hosts have."""

    keys: Sequence[int]
    verdicts: Mapping[int, Verdict]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Column:
        """The column of these answers."""
        if isinstance(verdicts, Column):
            return verdicts
        each = [*verdicts]
        keys = [*map(id, each)]
        return cls(keys, dict(zip(keys, each, strict=True)))

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

    def each(self, work: Callable[[Verdict], _Each]) -> list[_Each]:
        """What ``work`` makes of the answer about each host."""
        made = {key: work(verdict) for key, verdict in self.verdicts.items()}
        return [*map(made.__getitem__, self.keys)]

    @property
    def rooms(self) -> list[float]:
        """The room on each host."""
        return self.each(lambda said: math.inf if said.room is None else said.room)

    def at(self, places: Iterable[int]) -> Column:
        """Those at some places."""
        return Column([*map(self.keys.__getitem__, places)], self.verdicts)

    def patched(self, places: Sequence[int], other: Column) -> Column:
        """The same with others at these places, of which the last may come after all hosts."""
        keys = patched(self.keys, places, other.keys)
        return Column(keys, {**self.verdicts, **other.verdicts})
