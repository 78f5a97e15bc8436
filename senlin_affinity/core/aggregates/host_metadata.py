"""The metadata of all aggregates of a host, merged as Nova's filters merge them.

Shapes::

    HostMetadata([{'disk': 'ssd, nvme'}, {'disk': 'hdd'}], ['fast', 'slow']).values('disk')
        == ['ssd', 'nvme', 'hdd']

Units: a value is several at its commas, blanks around them taken off; what is no text is kept as
it is. Aggregates without names are called "aggregate 1" and so on; metadata of None are none.

Source: document 000; ``nova/scheduler/filters/utils.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FORCE = 'force_metadata_check'
SCOPE = 'aggregate_instance_extra_specs:'

#: How oslo.utils reads a boolean (``strutils.bool_from_string``), in lower case.
TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
FALSE = frozenset(('0', 'f', 'false', 'off', 'n', 'no'))


@dataclass(frozen=True)
class HostMetadata:
    """The metadata of each aggregate that a host is in, and the names of the aggregates."""

    aggregates: Sequence[Mapping[str, str]] = field(hash=False)
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.aggregates is None or None in self.aggregates:
            found = tuple(metadata or {} for metadata in self.aggregates or ())
            object.__setattr__(self, 'aggregates', found)

    def values(self, key: str) -> list[Any]:
        """All values of a key; empty where no aggregate has it."""
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

    def forced_keys(self) -> dict[str, set[str]]:
        """The keys, the reserved one too, of the aggregates that force theirs upon flavors.

        Each without its scope, and with all spellings of it on this host.
        """
        forced: dict[str, set[str]] = {}
        for metadata in self.aggregates:
            if FORCE in metadata and _word(metadata) in TRUE:
                for spelling in metadata:
                    forced.setdefault(unscoped(spelling), set())
        for spelling in set().union(*self.aggregates) if forced else ():
            key = unscoped(spelling)
            if key in forced:
                forced[key].add(spelling)
        return forced

    def holders(self, spellings: Collection[str]) -> str:
        """The aggregates that have a key; where none has it all of them, or "none"."""
        named = self._named()
        holders = [name for name, metadata in named if not metadata.keys().isdisjoint(spellings)]
        return ', '.join(sorted(holders or [name for name, _ in named])) or 'none'

    def warnings(self) -> tuple[str, ...]:
        """What an operator should be told of this metadata."""
        if not any(FORCE in metadata for metadata in self.aggregates):
            return ()
        return tuple(
            f'{FORCE} is {metadata[FORCE]!r} in {name}, which is no boolean: it does not force'
            for name, metadata in self._named()
            if FORCE in metadata and _word(metadata) not in TRUE | FALSE
        )

    def _named(self) -> list[tuple[str, Mapping[str, str]]]:
        names = self.names or [f'aggregate {i}' for i, _ in enumerate(self.aggregates, 1)]
        return list(zip(names, self.aggregates, strict=False))


def unscoped(spelling: str) -> str:
    """A key without the escape scope, which says the same."""
    key = str(spelling)
    while key.startswith(SCOPE):
        key = key[len(SCOPE) :]
    return key


def _word(metadata: Mapping[str, str]) -> str:
    return str(metadata[FORCE]).strip().lower()
