"""What somebody told of the options: their values, and that they are as usual.

Shapes::

    Told(filters=('ComputeFilter',), values={'drs_pattern': 'esx'}, keys=frozenset({'drs_pattern'}),
         found=('[affinity] drs_pattern', '[affinity] enabled_filters'))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Told:
    """The filters that the scheduler runs (None: nobody says), and options of constraints.

    ``values`` are those that are not their defaults, by their keys; ``keys`` are of all that
    somebody told. ``found`` names the options that a file has, and that count.
    """

    filters: tuple[str, ...] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    found: tuple[str, ...] = ()

    def over(self, other: Told) -> Told:
        """All of this, and of the other what this does not say."""
        kept = {key: value for key, value in other.values.items() if key not in self.keys}
        return Told(
            other.filters if self.filters is None else self.filters,
            {**kept, **self.values},
            self.keys | other.keys,
            (*other.found, *self.found),
        )
