"""An even spread of servers over the domains of a criterion: what is asked for.

The way of the data: a mapping that a person wrote becomes a :class:`Spread`.

Shapes::

    {'by': 'rack', 'max_skew': 1, 'max_per_domain': 4, 'mode': 'hard'}

Units: numbers of servers. ``max_skew`` is the servers in the fullest domain less those in the
emptiest eligible one, 1 or more; ``max_per_domain`` of None is no limit.

Errors: InvalidSpec with the path of what is wrong.

Source: Kubernetes' PodTopologySpread for ``max_skew``; Nomad's spread and distinct_property.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.near import meant
from senlin_affinity.core.whole import whole

ZONE = 'availability_zone'
HARD, SOFT = 'hard', 'soft'
_KEYS = ('by', 'max_skew', 'max_per_domain', 'mode')


@dataclass(frozen=True)
class Spread:
    """Over which domains (``by``: the zone, or a metadata key of aggregates), and how evenly."""

    by: str
    max_skew: int = 1
    max_per_domain: int | None = None
    mode: str = HARD

    @property
    def is_hard(self) -> bool:
        """Does it refuse hosts? A soft one only orders them."""
        return self.mode == HARD


def read(value: Any, path: str) -> Spread:
    """What a person wrote: one spread."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping with by, max_skew, ..., not {value!r}', path)
    for key in value:
        if key not in _KEYS:
            raise InvalidSpec(f'is not known: {meant(str(key), _KEYS)}', f'{path}.{key}')
    by = value.get('by')
    if not isinstance(by, str) or not by.strip():
        raise InvalidSpec(
            'must be availability_zone, or a metadata key of aggregates, such as rack', f'{path}.by'
        )
    mode = value.get('mode', HARD)
    if mode not in (HARD, SOFT):
        raise InvalidSpec(f'must be {HARD} or {SOFT}, not {mode!r}', f'{path}.mode')
    most = value.get('max_per_domain')
    return Spread(
        by,
        whole(value.get('max_skew', 1), f'{path}.max_skew', 1),
        None if most is None else whole(most, f'{path}.max_per_domain', 1),
        mode,
    )
