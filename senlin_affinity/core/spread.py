"""An even spread of servers over the domains of a criterion: what is asked for.

Shapes::

    [{'by': 'rack', 'max_skew': 1, 'max_per_domain': 4, 'mode': 'hard'}]

Units: numbers of servers. ``max_skew`` is the servers in the fullest domain less those in the
emptiest eligible one, 1 or more; ``max_per_domain`` of None is no limit.

Errors: InvalidSpec with the path of what is wrong.

Source: Kubernetes' PodTopologySpread for ``max_skew``; Nomad's spread and distinct_property.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.numbers import whole
from senlin_affinity.core.suggestion import meant, nearest

ZONE = 'availability_zone'
HARD, SOFT = 'hard', 'soft'
#: What a zone is called for short.
_SHORT = ('az', 'azs', 'zone', 'zones')
_MOST = 'max_per_domain'
_KEYS = ('by', 'max_skew', _MOST, 'mode')
_EXAMPLE = '{by: rack, max_skew: 1}'
_CRITERIA = f'{ZONE}, or a metadata key of aggregates, such as rack'


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

    def as_dict(self) -> dict[str, Any]:
        """As a person would write it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def hint(spreads: Iterable[Spread]) -> str | None:
    """Which criterion is probably meant to be the zone: a metadata key may be any word."""
    named = [spread.by for spread in spreads]
    if ZONE in named:
        return None
    near = [by for by in named if by.lower() in _SHORT or nearest(by.lower(), (ZONE,))]
    return f'a spread by {" and by ".join(near)}: did you mean {ZONE}?' if near else None


def read_all(values: Any, path: str) -> tuple[Spread, ...]:
    """What a person wrote: a list of spreads, each over other domains."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InvalidSpec(f'must be a list such as [{_EXAMPLE}], not {reprlib.repr(values)}', path)
    spreads: dict[str, Spread] = {}
    for number, value in enumerate(values):
        spread = read(value, f'{path}[{number}]')
        if spread.by in spreads:
            first = list(spreads).index(spread.by)
            raise InvalidSpec(
                f'{spread.by!r} is that of {path}[{first}], too: write both as one',
                f'{path}[{number}].by',
            )
        spreads[spread.by] = spread
    return tuple(spreads.values())


def read(value: Any, path: str) -> Spread:
    """What a person wrote: one spread."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping such as {_EXAMPLE}, not {reprlib.repr(value)}', path)
    for key in value:
        if key not in _KEYS:
            raise InvalidSpec(f'unknown key: {meant(str(key), _KEYS)}', f'{path}.{key}')
    mode = value.get('mode', HARD)
    if mode not in (HARD, SOFT):
        raise InvalidSpec(f'must be {HARD} or {SOFT}, not {reprlib.repr(mode)}', f'{path}.mode')
    return Spread(
        _by(value, f'{path}.by'),
        whole(value.get('max_skew', 1), f'{path}.max_skew', 1),
        whole(value[_MOST], f'{path}.{_MOST}', 1) if _MOST in value else None,
        mode,
    )


def _by(value: Mapping[str, Any], path: str) -> str:
    if 'by' not in value:
        raise InvalidSpec(f'is missing: write {_CRITERIA}', path)
    by = value['by']
    if not isinstance(by, str) or not by:
        raise InvalidSpec(f'must be {_CRITERIA}, not {reprlib.repr(by)}', path)
    if by != by.strip():
        raise InvalidSpec(f'{reprlib.repr(by)} has blanks around it: leave them out', path)
    return by
