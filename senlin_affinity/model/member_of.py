"""Parse ``member_of``: the aggregates that a provider must, and must not, be a member of.

Example, where U and V are UUIDs::

    U           in U                             !U           not in U
    in:U,V      in U, or in V, or in both        !in:U,V      neither in U nor in V

No values admit every provider. An aggregate that is required and forbidden is forbidden.

Raises: InvalidSpec with the path of each value (``member_of[1]``) and the correct form.

Source: https://blueprints.launchpad.net/nova/+spec/negative-aggregate-membership, Placement's API
from 1.32. Deviation: all UUIDs are converted to one spelling, because Placement accepts every
spelling but finds only the stored one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from senlin_affinity.model.errors import InvalidSpec, Mistakes, quoted

FORMS = 'U, in:U,V, !U or !in:U,V'

_HEX = re.compile(r'([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})')
_SPELT = re.compile('-'.join(f'[0-9a-f]{{{length}}}' for length in (8, 4, 4, 4, 12)))


def canonical(text: str) -> str | None:
    """Convert a UUID to lower case with hyphens; return None if Placement would not accept it.

    Upper case, braces, ``urn:uuid:``, and hyphens anywhere are accepted.
    """
    bare = text.replace('urn:', '').replace('uuid:', '').strip('{}').replace('-', '')
    found = _HEX.fullmatch(bare.lower()) if bare.isascii() else None
    return '-'.join(found.groups()) if found else None


@lru_cache(maxsize=16_384)
def spelt(uuid: str) -> str:
    """Convert a UUID to its canonical form; return any other text unchanged."""
    text = str(uuid)
    return text if _SPELT.fullmatch(text) else canonical(text) or text


if TYPE_CHECKING:
    CanonicalUuids = frozenset[str]
else:

    class CanonicalUuids(frozenset):
        """A set of UUIDs, which it converts to their canonical form."""

        __slots__ = ()

        def __new__(cls, uuids: Iterable[str] = ()) -> CanonicalUuids:
            """Return the set itself if it is canonical already."""
            return uuids if type(uuids) is cls else super().__new__(cls, map(spelt, uuids))


@dataclass(frozen=True, eq=False)
class MemberOf:
    """The aggregates that a provider must and must not be a member of.

    A provider must be in one aggregate of each set of ``required``. The order of the sets does not
    affect equality. All UUIDs are in canonical form.
    """

    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not all(self.required):
            raise InvalidSpec('a required set must contain at least one aggregate')
        # Plain sets: isdisjoint iterates over the smaller set only if neither is a subclass.
        required = (frozenset(map(spelt, any_of)) for any_of in self.required)
        vars(self).update(
            required=tuple(dict.fromkeys(required)),
            forbidden=frozenset(map(spelt, self.forbidden)),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemberOf):
            return NotImplemented
        return self._asked == other._asked

    def __hash__(self) -> int:
        return hash(self._asked)

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)

    @classmethod
    def parse(cls, values: Iterable[str], path: str = 'member_of') -> MemberOf:
        """Parse values that name aggregates by their UUIDs."""
        return read(values, path, _uuid)

    def admits(self, aggregate_uuids: Collection[str]) -> bool:
        """Check whether a provider in exactly these aggregates satisfies the expression."""
        is_disjoint = CanonicalUuids(aggregate_uuids).isdisjoint
        if not is_disjoint(self.forbidden):
            return False
        for any_of in self.required:  # noqa: SIM110 - a generator costs more than the sets do
            if is_disjoint(any_of):
                return False
        return True

    def to_query(self) -> list[str]:
        """Return the values for ``member_of=``: the required, sorted; then one forbidden."""
        values = sorted(_written(any_of) for any_of in self.required)
        return [*values, f'!{_written(self.forbidden)}'] if self.forbidden else values

    @property
    def _asked(self) -> tuple[frozenset[frozenset[str]], frozenset[str]]:
        return frozenset(self.required), self.forbidden


def read(values: Iterable[str], path: str, look_up: Callable[[str], str]) -> MemberOf:
    """Parse values in this grammar.

    :param look_up: returns the UUID that a part means, or raises InvalidSpec without a path.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidSpec(f'must be a list of values such as {FORMS}, not {quoted(values)}', path)
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    mistakes = Mistakes()
    for index, value in enumerate(values):
        try:
            is_forbidden, parts = _split(value)
            found = frozenset(look_up(part) for part in parts)
        except InvalidSpec as error:
            mistakes.add(error.message, f'{path}[{index}]')
            continue
        if is_forbidden:
            forbidden |= found
        else:
            required.append(found)
    mistakes.check()
    return MemberOf(tuple(required), frozenset(forbidden))


def hint(part: str) -> str:
    """Return a hint in brackets for a misspelled prefix (``IN:``, ``not:``), or ''."""
    if part.lower().startswith('in:'):
        return ' (write the prefix in lower case: in:)'
    if part.lower().startswith('not:'):
        return ' (write a forbidden aggregate as !U)'
    return ''


def _split(value: object) -> tuple[bool, list[str]]:
    """Return whether the value forbids its aggregates, and its parts."""
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string such as {FORMS}, not {quoted(value)}')
    if not value.strip():
        raise InvalidSpec(f'is empty: write {FORMS}')
    _check_blanks(value)
    not_sign = '!' if value.startswith('!') else ''
    rest = value.removeprefix('!')
    prefix = f'{not_sign}in:' if rest.startswith('in:') else not_sign
    listed = value.removeprefix(prefix)
    if not listed:
        raise InvalidSpec(f'{prefix} must be followed by an aggregate: {prefix}U')
    if not prefix.endswith('in:') and ',' in listed:
        raise InvalidSpec(
            f'{quoted(value)} names several aggregates without a prefix: '
            f'write {not_sign}in:U,V{hint(rest)}'
        )
    parts = listed.split(',') if prefix.endswith('in:') else [listed]
    for part in parts:
        _check(part, prefix, value)
    return bool(not_sign), parts


def _check(part: str, prefix: str, value: str) -> None:
    if not part:
        raise InvalidSpec(f'{quoted(value)} has an empty part: remove the comma')
    _check_blanks(part)
    if part.startswith('!'):
        if prefix == 'in:':
            raise InvalidSpec(
                f'{quoted(part)} must not follow in:, which requires aggregates: write forbidden '
                'aggregates as a separate value, !U or !in:U,V'
            )
        raise InvalidSpec(f'{quoted(part)} needs no ! after {prefix}')
    if part.startswith('in:'):
        raise InvalidSpec(f'{quoted(part)} repeats the prefix: write {prefix} once, {prefix}U,V')
    if hint(part):
        raise InvalidSpec(f'{quoted(part)} is not an aggregate{hint(part)}')


def _check_blanks(text: str) -> None:
    if text != text.strip():
        raise InvalidSpec(f'{quoted(text)} has blanks around it: remove them')


def _uuid(part: str) -> str:
    found = canonical(part)
    if found is None:
        raise InvalidSpec(f'{quoted(part)} is not the UUID of an aggregate')
    return found


def _written(uuids: Collection[str]) -> str:
    return ('in:' if len(uuids) > 1 else '') + ','.join(sorted(uuids))
