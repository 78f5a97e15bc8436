"""Reads, checks and writes things as JSON objects, by one table of fields for each class.

Shapes::

    FLAVOR = Schema(Flavor, Field('id', text), Field('vcpus', amount), Field('swap', amount))
    FLAVOR.read({'id': '1', 'vcpus': 2}) == Flavor('1', 2)
    FLAVOR.write(Flavor('1', 2)) == '{"id": "1", "vcpus": 2, "swap": 0}'

What a field is where it is left out, the class says.

Errors: InvalidSpec with the path inside of the thing; :func:`below` puts the place of the thing
before it. An unknown key is an error: a mistyped one would silently mean "not known". So is a key
that an object has twice (:class:`Twice`), of which the json module would keep the last.
"""

from __future__ import annotations

import dataclasses
import json
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from senlin_affinity.model import suggestion
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.terminal_text import is_plain

T = TypeVar('T')
#: Halves of characters, which JSON can spell, and UTF-8 can not.
_SURROGATE = re.compile('[\ud800-\udfff]')
#: So much of a wrong value is shown.
_LONGEST = 80
_NO_LIST = 'must be a list of strings'
#: A value as JSON; what has no order is sorted.
encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=sorted).encode


class Twice(NamedTuple):
    """What stands for an object that has a key twice: every check refuses it, with its path."""

    key: str


def _checked(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Twice:
    item = dict(pairs)
    if len(item) == len(pairs):
        return item
    names = [name for name, _value in pairs]
    return Twice(next(name for number, name in enumerate(names) if name in names[:number]))


#: Decodes JSON; an object that has a key twice becomes a :class:`Twice`.
decode = json.JSONDecoder(object_pairs_hook=_checked).decode


class Field(NamedTuple):
    """A key, what checks its value, and what makes JSON of it.

    One that ``is_rare`` is written only where it is not what it is when it is left out.
    """

    key: str
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = encode
    is_rare: bool = False


def alike(
    read: Callable[[Any], Any],
    *keys: str,
    write: Callable[[Any], Any] = encode,
    is_rare: bool = False,
) -> Iterator[Field]:
    """Fields that are read, and written, in the same way."""
    return (Field(key, read, write, is_rare) for key in keys)


class Schema(Generic[T]):
    """The fields of a class, a dataclass or a named tuple, in the order of the file."""

    def __init__(self, made: Callable[..., T], *fields: Field) -> None:
        self.fields = {field.key: field for field in fields}
        #: The values of what may be left out.
        self.defaults = defaults_of(made)
        self._made = made
        self._needed = [key for key in self.fields if key not in self.defaults]
        self._written = [
            (f', "{key}": ', attrgetter(key), self.defaults[key] if is_rare else ..., write)
            for key, _read, write, is_rare in fields
        ]

    def read(self, item: Any) -> T:
        """Return the thing of decoded JSON; a value that may be None may be null."""
        if type(item) is not dict:
            raise wrong(f'must be an object with {", ".join(self.fields)}', item)
        if not self.fields.keys() >= item.keys():
            raise unknown_key(item, self.fields)
        for key in self._needed:
            if key not in item:
                raise InvalidSpec('is missing', key)
        values = {}
        for key, field in self.fields.items():
            if key in item and (value := item[key]) is not self.defaults.get(key, ...):
                try:
                    values[key] = field.read(value)
                except InvalidSpec as error:
                    raise below(key, error) from error
        return self._made(**values)

    def write(self, thing: T) -> str:
        """The thing as JSON."""
        text = ''
        for key, get, default, write in self._written:
            value = get(thing)
            if value != default:
                text += key + write(value)
        return f'{{{text[2:]}}}'


def defaults_of(made: Any) -> Mapping[str, Any]:
    """Return the default values of the fields of a class that have one."""
    if not dataclasses.is_dataclass(made):
        return made._field_defaults  # type: ignore[no-any-return]
    return {
        field.name: field.default_factory() if callable(field.default_factory) else field.default
        for field in dataclasses.fields(made)
        if callable(field.default_factory) or field.default is not dataclasses.MISSING
    }


def each(
    items: Any, read: Callable[[Any], T], *keys: str, words: str = 'must be a list'
) -> tuple[T, ...]:
    """Read a list of things, which must differ in these keys together."""
    if type(items) is not list:
        raise wrong(words, items)
    made: list[T] = []
    seen: dict[Any, int] = {}
    identity = attrgetter(*keys) if keys else None
    for number, item in enumerate(items):
        try:
            made.append(read(item))
        except InvalidSpec as error:
            raise below(f'[{number}]', error) from error
        if identity is not None:
            first = seen.setdefault(identity(made[-1]), number)
            if first != number:
                raise InvalidSpec(f'is that of number {first}, too', f'[{number}].{keys[0]}')
    return tuple(made)


def by_name(
    words: str, name: Callable[[str], str], read: Callable[[Any], T]
) -> Callable[[Any], dict[str, T]]:
    """Reads an object that may have any keys, as far as ``name`` lets them."""

    def read_all(item: Any) -> dict[str, T]:
        if type(item) is not dict:
            raise wrong(words, item)
        made: dict[str, T] = {}
        key = ''
        try:
            for key, value in item.items():
                known = name(key)
                if known is not key and known in made:
                    raise InvalidSpec(f'is {known}, which is there already')
                made[known] = read(value)
        except InvalidSpec as error:
            raise below(key, error) from error
        return made

    return read_all


def text(value: Any, words: str = 'must be a string') -> str:
    """A string that a terminal can show as it is: a name or an id."""
    if type(value) is not str:
        raise wrong(words, value)
    if not value.isprintable() and not is_plain(value):
        raise wrong('must be text without control characters or lone surrogates', value)
    return value


def stored(value: Any) -> str:
    """A string of whatever Nova stores."""
    if type(value) is not str:
        raise wrong('must be a string', value)
    if not value.isprintable() and _SURROGATE.search(value):
        raise wrong('must be text that UTF-8 can write', value)
    return value


def flag(value: Any) -> bool:
    """A boolean."""
    if type(value) is not bool:
        raise wrong('must be true or false', value)
    return value


def _at_least(least: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or value < least:
            raise wrong(f'must be an integer of {least} or more', value)
        return value

    return check


amount, size = _at_least(0), _at_least(1)


def wrong(message: str, value: object) -> InvalidSpec:
    """The error about a value."""
    if isinstance(value, Twice):
        return InvalidSpec('is there twice', value.key)
    found = reprlib.repr(value)
    if len(found) > _LONGEST:
        found = f'{found[:_LONGEST]}...'
    return InvalidSpec(f'{message}, not {found}')


def unknown_key(item: Iterable[str], known: Collection[str]) -> InvalidSpec:
    """The error about a key that is none, with the nearest that is one."""
    key = next(key for key in item if key not in known)
    return InvalidSpec(f'unknown key: {suggestion.meant(key, known)}', key)


def below(place: str, error: InvalidSpec) -> InvalidSpec:
    """The error, with its path below a place."""
    dot = '.' if error.path and not error.path.startswith('[') else ''
    return InvalidSpec(error.message, f'{place}{dot}{error.path}')


def texts(
    gathered: Callable[[Iterable[str]], frozenset[str]], one: Callable[[Any], str]
) -> Callable[[Any], frozenset[str]]:
    """Return a reader of lists of strings; equal lists become one object, as equal strings do."""
    one = cache(one)
    shared: dict[frozenset[str], frozenset[str]] = {}

    def read(value: Any) -> frozenset[str]:
        if type(value) is not list:
            raise wrong(_NO_LIST, value)
        try:
            found = gathered(map(one, value))
        except (InvalidSpec, TypeError) as error:
            if not all(type(item) is str for item in value):
                raise wrong(_NO_LIST, value) from error
            each(value, one)  # raises the error with its place
            raise
        return shared.setdefault(found, found)

    return read
