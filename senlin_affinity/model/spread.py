"""Parse a required spread of servers over the domains of a criterion (zones, racks).

Example::

    [{'by': 'rack', 'max_skew': 1, 'max_per_domain': 4, 'mode': 'hard'}]

``max_skew`` is the difference between the fullest domain and the emptiest eligible one, 1 or more,
as in Kubernetes' PodTopologySpread. A ``max_per_domain`` of None sets no limit.

Raises: InvalidSpec with all mistakes, each with its path.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.suggestion import meant, nearest

ZONE = 'availability_zone'
HARD, SOFT = 'hard', 'soft'
_SHORT = ('az', 'azs', 'zone', 'zones')
_MOST = 'max_per_domain'
_KEYS = ('by', 'max_skew', _MOST, 'mode')
_EXAMPLE = '{by: rack, max_skew: 1}'
_CRITERIA = f'{ZONE}, or a metadata key of aggregates, such as rack'


@dataclass(frozen=True)
class Spread:
    """Domains (``by``: the zone, or a metadata key of aggregates) and their allowed imbalance."""

    by: str
    max_skew: int = 1
    max_per_domain: int | None = None
    mode: str = HARD

    @property
    def is_hard(self) -> bool:
        """Return whether the spread rejects hosts; a soft one only orders them."""
        return self.mode == HARD

    def as_dict(self) -> dict[str, Any]:
        """Return the spread as in a spec."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def hint(spreads: Iterable[Spread]) -> str | None:
    """Return a question if a criterion looks like ``availability_zone`` and none is, else None."""
    named = [spread.by for spread in spreads]
    if ZONE in named:
        return None
    near = [by for by in named if by.lower() in _SHORT or nearest(by.lower(), (ZONE,))]
    return f'a spread by {" and by ".join(near)}: did you mean {ZONE}?' if near else None


def read_all(values: Any, path: str) -> tuple[Spread, ...]:
    """Parse a list of spreads, each with its own criterion."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InvalidSpec(f'must be a list such as [{_EXAMPLE}], not {reprlib.repr(values)}', path)
    mistakes = Mistakes()
    spreads: dict[str, Spread] = {}
    places: dict[str, int] = {}
    for number, value in enumerate(values):
        with mistakes.collected():
            spread = read(value, f'{path}[{number}]')
            first = places.setdefault(spread.by, number)
            if first < number:
                raise InvalidSpec(
                    f'{spread.by!r} is also in {path}[{first}]: combine both spreads',
                    f'{path}[{number}].by',
                )
            spreads[spread.by] = spread
    mistakes.check()
    return tuple(spreads.values())


def read(value: Any, path: str) -> Spread:
    """Parse one spread."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping such as {_EXAMPLE}, not {reprlib.repr(value)}', path)
    mistakes = Mistakes()
    unknown = [key for key in value if key not in _KEYS]
    for key in unknown:
        mistakes.add(f'unknown key: {meant(str(key), _KEYS)}', f'{path}.{key}')
    mode = value.get('mode', HARD)
    if mode not in (HARD, SOFT):
        mistakes.add(f'must be {HARD} or {SOFT}, not {reprlib.repr(mode)}', f'{path}.mode')
    if 'by' in value or not unknown:  # else "by" is probably misspelled
        with mistakes.collected():
            by = _by(value, f'{path}.by')
    with mistakes.collected():
        max_skew = whole(value.get('max_skew', 1), f'{path}.max_skew', 1)
    with mistakes.collected():
        most = whole(value[_MOST], f'{path}.{_MOST}', 1) if _MOST in value else None
    mistakes.check()
    return Spread(by, max_skew, most, mode)


def _by(value: Mapping[str, Any], path: str) -> str:
    if 'by' not in value:
        raise InvalidSpec(f'is missing: write {_CRITERIA}', path)
    by = value['by']
    if not isinstance(by, str) or not by:
        raise InvalidSpec(f'must be {_CRITERIA}, not {reprlib.repr(by)}', path)
    if by != by.strip():
        raise InvalidSpec(f'{reprlib.repr(by)} has blanks around it: remove them', path)
    return by
