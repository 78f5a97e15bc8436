"""The values of options and filters that configuration files or nova.conf specify.

Example::

    Settings(filters=('ComputeFilter',), values={'drs_pattern': 'esx'},
             keys=frozenset({'drs_pattern'}),
             found=('[affinity] drs_pattern', '[affinity] enabled_filters'))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.nova.reservations import REQUEST_FILTER_KEYS


@dataclass(frozen=True)
class Settings:
    """The scheduler filters (None: not specified) and the options of constraints.

    ``values`` are those that are not defaults, by key; ``keys`` are all specified ones. ``found``
    names the options that a file contains and that count.
    """

    filters: tuple[str, ...] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    found: tuple[str, ...] = ()

    def over(self, other: Settings) -> Settings:
        """Return the options of both settings; this one takes precedence over the other.

        For options of this project's request filter, the other one does.
        """
        given = other.keys & REQUEST_FILTER_KEYS
        keys = self.keys - given
        kept = {key: value for key, value in other.values.items() if key not in keys}
        own = {key: value for key, value in self.values.items() if key in keys}
        return Settings(
            other.filters if self.filters is None else self.filters,
            {**kept, **own},
            keys | other.keys,
            (*other.found, *self.found),
        )
