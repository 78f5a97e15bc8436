"""Document 001: which aggregates a provider must be in, and which it must not be in.

Data flow: values of Placement's ``member_of`` come in, one frozen :class:`MemberOf` comes out; it
judges the aggregates of a provider, and writes the values back in one canonical form.

Shapes, where U, V and W are UUIDs::

    U           in U                             !U           not in U
    in:U,V      in U, or in V, or in both        !in:U,V      neither in U nor in V

    MemberOf.parse(['W', 'in:U,V', '!X'])        in W, and in U or V, and not in X

Units: nothing given admits every provider. An aggregate on both sides is forbidden.

Errors: InvalidSpec with the place (``member_of[1]``), the part that is wrong, and how to write it.

Source: document 001, Placement's API from 1.32. We differ on purpose: UUIDs are written in one way,
since Placement takes every spelling of a UUID and finds only the one that was stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from senlin_affinity.core.errors import InvalidSpec

FORMS = 'U, in:U,V, !U or !in:U,V'

_HEX = re.compile(r'([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})')
_SPELT = re.compile('-'.join(f'[0-9a-f]{{{length}}}' for length in (8, 4, 4, 4, 12)))
_WRONG_CASE = re.compile(r'in:', re.IGNORECASE)
_WORDED = re.compile(r'not:', re.IGNORECASE)
_LONGEST_SHOWN = 80
#: An expression remembers about so many UUIDs.
_MOST_JUDGED = 16_384


def canonical(text: str) -> str | None:
    """A UUID in lower case with hyphens, from any spelling that Placement takes; else None.

    It takes upper case, braces, ``urn:uuid:``, and hyphens wherever they are.
    """
    bare = text.replace('urn:', '').replace('uuid:', '').strip('{}').replace('-', '')
    found = _HEX.fullmatch(bare.lower()) if bare.isascii() else None
    return '-'.join(found.groups()) if found else None


@lru_cache(maxsize=16_384)
def spelt(uuid: str) -> str:
    """A UUID as it is compared; what is no UUID stays as it is, and matches itself."""
    text = str(uuid)
    return text if _SPELT.fullmatch(text) else canonical(text) or text


class Spelt(frozenset[str]):
    """UUIDs as they are compared: many hosts and providers share one such set."""

    __slots__ = ()


def all_spelt(uuids: Iterable[str]) -> Spelt:
    """The same of all of them."""
    return uuids if isinstance(uuids, Spelt) else Spelt(map(spelt, uuids))


@dataclass(frozen=True, eq=False)
class MemberOf:
    """What the aggregates of a provider must and must not be.

    Each set of ``required`` is an OR. Two expressions are equal when they ask for the same; the
    order of the values is kept, and means nothing. All UUIDs are held in one spelling.
    """

    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    #: UUIDs that were asked about, and need no other spelling.
    _judged: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        if not all(self.required):
            raise InvalidSpec('a required set without an aggregate: no provider is in it')
        # Plain sets: Python asks the smaller of two only where the other is no subclass.
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
        """Read values that name aggregates by their UUIDs."""
        return read(values, path, _uuid)

    def admits(self, aggregate_uuids: Collection[str]) -> bool:
        """May a provider that is in exactly these aggregates be used? In any spelling."""
        own: Any = aggregate_uuids
        kind = type(own)
        if kind is not Spelt and (kind is not frozenset or not self._judged.issuperset(own)):
            own = self._spelt(own)
        is_disjoint = own.isdisjoint
        if not is_disjoint(self.forbidden):
            return False
        for any_of in self.required:  # noqa: SIM110 - a generator costs more than the sets do
            if is_disjoint(any_of):
                return False
        return True

    def to_query(self) -> list[str]:
        """The values for ``member_of=``: the required ones sorted, then one for the forbidden."""
        values = sorted(_written(any_of) for any_of in self.required)
        return [*values, f'!{_written(self.forbidden)}'] if self.forbidden else values

    def _spelt(self, uuids: Collection[str]) -> Spelt:
        found = all_spelt(uuids)
        if len(self._judged) > _MOST_JUDGED:
            self._judged.clear()
        self._judged.update(found.intersection(uuids))
        return found

    @property
    def _asked(self) -> tuple[frozenset[frozenset[str]], frozenset[str]]:
        return frozenset(self.required), self.forbidden


def read(values: Iterable[str], path: str, look_up: Callable[[str], str]) -> MemberOf:
    """Read values in this grammar; ``look_up`` gives the UUID that a part of one means.

    :param look_up: raises an InvalidSpec without a path for a part that means no aggregate.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidSpec(f'must be a list of values such as {FORMS}, not {shown(values)}', path)
    required: list[frozenset[str]] = []
    forbidden: set[str] = set()
    for index, value in enumerate(values):
        try:
            is_forbidden, parts = _split(value)
            found = frozenset(look_up(part) for part in parts)
        except InvalidSpec as error:
            raise InvalidSpec(error.message, f'{path}[{index}]') from error
        if is_forbidden:
            forbidden |= found
        else:
            required.append(found)
    return MemberOf(tuple(required), frozenset(forbidden))


def shown(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f'{text[:_LONGEST_SHOWN]}...'


def hint(part: str) -> str:
    """What somebody may have meant who wrote a part that is no aggregate."""
    if _WRONG_CASE.match(part):
        return ' (the prefix is written in lower case, in:)'
    if _WORDED.match(part):
        return ' (a forbidden aggregate is written with a !, as !U)'
    return ''


def _split(value: object) -> tuple[bool, list[str]]:
    """Is the value about forbidden aggregates, and which parts does it have?"""
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string such as {FORMS}, not {shown(value)}')
    if not value.strip():
        raise InvalidSpec(f'is empty: write {FORMS}')
    _check_blanks(value)
    not_sign = '!' if value.startswith('!') else ''
    rest = value.removeprefix('!')
    prefix = f'{not_sign}in:' if rest.startswith('in:') else not_sign
    listed = value.removeprefix(prefix)
    if not listed:
        raise InvalidSpec(f'{prefix} without an aggregate: write one behind it, {prefix}U')
    if not prefix.endswith('in:') and ',' in listed:
        raise InvalidSpec(
            f'{shown(value)} names several aggregates without a prefix: '
            f'write {not_sign}in: before the first, {not_sign}in:U,V{hint(rest)}'
        )
    parts = listed.split(',') if prefix.endswith('in:') else [listed]
    for part in parts:
        _check(part, prefix, value)
    return bool(not_sign), parts


def _check(part: str, prefix: str, value: str) -> None:
    if not part:
        raise InvalidSpec(f'{shown(value)} has an empty part: take the comma out')
    _check_blanks(part)
    if part.startswith('!'):
        if prefix == 'in:':
            raise InvalidSpec(
                f'{shown(part)} can not be forbidden behind in:, where all are required: '
                'write it as a value of its own, with ! (or with !in: for several)'
            )
        raise InvalidSpec(f'{shown(part)} is forbidden by {prefix} already: leave its ! out')
    if part.startswith('in:'):
        raise InvalidSpec(f'{shown(part)} has a prefix too many: write {prefix} once, {prefix}U,V')
    if hint(part):
        raise InvalidSpec(f'{shown(part)} reads as no aggregate{hint(part)}')


def _check_blanks(text: str) -> None:
    if text != text.strip():
        raise InvalidSpec(f'{shown(text)} has blanks around it: leave them out')


def _uuid(part: str) -> str:
    found = canonical(part)
    if found is None:
        raise InvalidSpec(f'{shown(part)} is not the UUID of an aggregate')
    return found


def _written(uuids: Collection[str]) -> str:
    return ('in:' if len(uuids) > 1 else '') + ','.join(sorted(uuids))
