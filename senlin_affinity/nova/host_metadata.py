"""Merge the metadata of all aggregates of a host as Nova's filters do.

Example::

    HostMetadata([{'disk': 'ssd, nvme'}, {'disk': 'hdd'}], ['fast', 'slow']).values('disk')
        == ['ssd', 'nvme', 'hdd']

A value is split at commas and stripped; a value that is not a string is unchanged. Aggregates
without names are called "aggregate 1" and so on; metadata of None are empty.

Source: ``nova/scheduler/filters/utils.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FORCE = 'force_metadata_check'
SCOPE = 'aggregate_instance_extra_specs:'

#: The booleans of oslo.utils (``strutils.bool_from_string``), in lower case.
TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
FALSE = frozenset(('0', 'f', 'false', 'off', 'n', 'no'))


@dataclass(frozen=True)
class HostMetadata:
    """The metadata of each aggregate of a host, and the names of the aggregates."""

    aggregates: Sequence[Mapping[str, str]] = field(hash=False)
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.aggregates is None or None in self.aggregates:
            found = tuple(metadata or {} for metadata in self.aggregates or ())
            object.__setattr__(self, 'aggregates', found)

    def values(self, key: str) -> list[Any]:
        """Return all values of a key; empty if no aggregate has it."""
        values: list[Any] = []
        for metadata in self.aggregates:
            if key in metadata:
                text = metadata[key]
                if not isinstance(text, str):
                    values.append(text)
                elif ',' in text:
                    values += map(str.strip, text.split(','))
                else:
                    values.append(text.strip())
        return values

    def forced_keys(self, ignored: tuple[str, ...] = ()) -> dict[str, set[str]]:
        """Return the keys, with the reserved one, of the aggregates that force their metadata.

        The keys have no scope; the values are all spellings of a key on this host. Keys that begin
        with an ignored prefix are left out.
        """
        forced: dict[str, set[str]] = {}
        for metadata in self.aggregates:
            if FORCE in metadata and _word(metadata) in TRUE:
                for spelling in metadata:
                    if spelling == FORCE or not str(spelling).startswith(ignored):
                        forced.setdefault(unscoped(spelling), set())
        for spelling in set().union(*self.aggregates) if forced else ():
            key = unscoped(spelling)
            if key in forced:
                forced[key].add(spelling)
        return forced

    def holders(self, spellings: Collection[str]) -> str:
        """Return the names of the aggregates with one of the keys, or else of all, or "none"."""
        named = self._named()
        holders = [name for name, metadata in named if not metadata.keys().isdisjoint(spellings)]
        return ', '.join(sorted(holders or [name for name, _ in named])) or 'none'

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for each ``force_metadata_check`` that is not a boolean."""
        return tuple(
            f'{FORCE} is {metadata[FORCE]!r} in {name}, which is not a boolean, so it has no effect'
            for name, metadata in self._named()
            if FORCE in metadata and _word(metadata) not in TRUE | FALSE
        )

    def _named(self) -> list[tuple[str, Mapping[str, str]]]:
        names = self.names or [f'aggregate {i}' for i, _ in enumerate(self.aggregates, 1)]
        return list(zip(names, self.aggregates, strict=False))


def unscoped(spelling: str) -> str:
    """Return a key without the escape scope, which does not change its meaning."""
    key = str(spelling)
    while key.startswith(SCOPE):
        key = key[len(SCOPE) :]
    return key


def _word(metadata: Mapping[str, str]) -> str:
    return str(metadata[FORCE]).strip().lower()
