"""Checks parsed JSON by tables of fields, and says where it is wrong.

Shapes::

    FLAVOR = (Field('id', text), Field('vcpus', AMOUNT), Field('swap', AMOUNT, 0))
    Flavor(*values({'id': '1', 'vcpus': 2}, FLAVOR))

Errors: InvalidSpec with the path inside of the thing; :func:`below` puts the place of the thing
before it. An unknown key is an error: a mistyped one would silently mean "not known".
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from senlin_affinity.core import suggestion
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.plain import is_plain

T = TypeVar('T')
#: Halves of characters, which JSON can spell, and UTF-8 can not.
_SURROGATE = re.compile('[\ud800-\udfff]')
#: So much of a wrong value is shown.
_LONGEST = 80


class Field(NamedTuple):
    """A key, what its value must be, and the value where it is left out (``...``: it may not)."""

    key: str
    check: Callable[[Any], Any]
    default: Any = ...


def values(item: Any, fields: Collection[Field]) -> list[Any]:
    """The checked values of an object, in the order of the fields."""
    known = [field.key for field in fields]
    if type(item) is not dict:
        raise wrong(f'must be an object with {", ".join(known)}', item)
    if not item.keys() <= set(known):
        raise unknown_key(item, known)
    made = []
    for key, check, default in fields:
        value = item.get(key, default)
        if value is ...:
            raise InvalidSpec('is missing', key)
        try:
            made.append(check(value))
        except InvalidSpec as error:
            raise below(key, error) from error
    return made


def each(items: Any, read: Callable[[Any], T], key: str) -> tuple[T, ...]:
    """Read a list of things, which must differ in a key."""
    if type(items) is not list:
        raise wrong('must be a list', items)
    made: list[T] = []
    seen: dict[Any, int] = {}
    for number, item in enumerate(items):
        try:
            made.append(read(item))
        except InvalidSpec as error:
            raise below(f'[{number}]', error) from error
        first = seen.setdefault(getattr(made[-1], key), number)
        if first != number:
            raise InvalidSpec(f'is that of number {first}, too', f'[{number}].{key}')
    return tuple(made)


# -- what a value may be


def text(value: Any) -> str:
    """A string that can be shown: a name or an id."""
    if type(value) is not str:
        raise wrong('must be a string', value)
    return shown(value)


def shown(value: str, path: str = '') -> str:
    """The string, if a terminal can show it as it is."""
    if not is_plain(value):
        raise wrong('must be text without control characters or lone surrogates', value, path)
    return value


def flag(value: Any) -> bool:
    """A boolean."""
    if type(value) is not bool:
        raise wrong('must be true or false', value)
    return value


def number(at_least: int, value: Any) -> int:
    """A whole number that is not too small."""
    if type(value) is not int or value < at_least:
        raise wrong(f'must be an integer of {at_least} or more', value)
    return value


AMOUNT, SIZE = partial(number, 0), partial(number, 1)


def or_null(check: Callable[[Any], T], value: Any) -> T | None:
    """What the check makes of it, or null."""
    return None if value is None else check(value)


def texts_by_name(value: Any) -> dict[str, str]:
    """An object of strings, which may hold whatever Nova stores."""
    if type(value) is not dict:
        raise wrong('must be an object of strings', value)
    for name, item in value.items():
        if type(item) is not str:
            raise wrong('must be a string', item, name)
        for each in (name, item):
            if not each.isprintable() and _SURROGATE.search(each):
                raise wrong('must be text that UTF-8 can write', each, name)
    return dict(value)


# -- what is said of a value


def wrong(message: str, value: object, path: str = '') -> InvalidSpec:
    """The error about a value."""
    found = reprlib.repr(value)
    if len(found) > _LONGEST:
        found = f'{found[:_LONGEST]}...'
    return InvalidSpec(f'{message}, not {found}', path)


def missing_or(message: str, item: Mapping[str, Any], key: str) -> InvalidSpec:
    """The error about a value that is wrong or not there."""
    if key not in item:
        return InvalidSpec(f'is missing: it {message}', key)
    return wrong(message, item[key], key)


def unknown_key(item: Iterable[str], known: Collection[str]) -> InvalidSpec:
    """The error about a key that is none, with the nearest that is one."""
    key = next(key for key in item if key not in known)
    return InvalidSpec(f'unknown key: {suggestion.meant(key, known)}', key)


def below(place: str, error: InvalidSpec) -> InvalidSpec:
    """The error, with its path below a place."""
    dot = '.' if error.path and not error.path.startswith('[') else ''
    return InvalidSpec(error.message, f'{place}{dot}{error.path}')
