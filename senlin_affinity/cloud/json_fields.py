"""Read, check and write values as JSON objects, by one table of fields per class.

Example::

    FLAVOR = Schema(Flavor, Field('id', text), Field('vcpus', amount), Field('swap', amount))
    FLAVOR.read({'id': '1', 'vcpus': 2}) == Flavor('1', 2)
    FLAVOR.write(Flavor('1', 2)) == '{"id": "1", "vcpus": 2, "swap": 0}'

Raises: InvalidSpec with the path inside of the value. Unknown and duplicate keys are errors: a
mistyped key would silently mean "unknown".
"""

from __future__ import annotations

import dataclasses
import json
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from senlin_affinity.model import suggestion
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.terminal_text import is_plain

T = TypeVar('T')
#: Lone surrogates, which JSON can express and UTF-8 cannot.
_SURROGATE = re.compile('[\ud800-\udfff]')
#: The characters that an error shows of a value.
_LONGEST = 80
_NO_LIST = 'must be a list of strings'
#: Returns the JSON text of a value; keys and sets are sorted.
encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=sorted).encode


class DuplicateKey(NamedTuple):
    """An object with this duplicate key; every check rejects it."""

    key: str


def _checked(pairs: list[tuple[str, Any]]) -> dict[str, Any] | DuplicateKey:
    """Return the pairs as a dict, or the key that occurs again first as a DuplicateKey."""
    item = dict(pairs)
    if len(item) == len(pairs):
        return item
    names = [name for name, _value in pairs]
    return DuplicateKey(next(name for number, name in enumerate(names) if name in names[:number]))


#: Decodes a JSON text.
decode = json.JSONDecoder(object_pairs_hook=_checked).decode


class Field(NamedTuple):
    """A key, the function that checks and converts its value, and the one that returns its JSON.

    If ``is_rare``, the default is not written.
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
    """Yield a field with these functions for each key."""
    return (Field(key, read, write, is_rare) for key in keys)


class Schema(Generic[T]):
    """The fields of a dataclass or a named tuple, in the order of the file."""

    def __init__(self, made: Callable[..., T], *fields: Field) -> None:
        self.fields = {field.key: field for field in fields}
        #: The values of fields that are left out.
        self.defaults = defaults_of(made)
        self._made = made
        self._needed = [key for key in self.fields if key not in self.defaults]
        self._written = [
            (f', "{key}": ', attrgetter(key), self.defaults[key] if is_rare else ..., write)
            for key, _read, write, is_rare in fields
        ]

    def read(self, item: Any) -> T:
        """Convert decoded JSON to an instance.

        Raise InvalidSpec for anything but an object, then for an unknown key, a missing key, or the
        first invalid value in the order of the fields. The default object itself, such as null for
        None, is not checked.
        """
        if type(item) is not dict:
            raise wrong(f'must be an object with {", ".join(self.fields)}', item)
        for key in item:
            if key not in self.fields:
                raise InvalidSpec(f'unknown key: {suggestion.meant(key, self.fields)}', key)
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
        """Return the JSON text of an instance, without rare fields that have their default."""
        text = ''
        for key, get, default, write in self._written:
            value = get(thing)
            if value != default:
                text += key + write(value)
        return f'{{{text[2:]}}}'


def defaults_of(made: Any) -> Mapping[str, Any]:
    """Return the default of each field that has one, by field: of a dataclass or named tuple."""
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
    """Convert the items of a list with ``read``; raise InvalidSpec for another type.

    The path of an error begins with the item: ``[3].uuid``.

    :param keys: attributes; two items that agree in all of them are an error.
    :param words: the beginning of the error for another type.
    """
    if type(items) is not list:
        raise wrong(words, items)
    made: list[T] = []
    numbers: dict[Any, int] = {}
    identity = attrgetter(*keys) if keys else None
    for number, item in enumerate(items):
        try:
            made.append(read(item))
        except InvalidSpec as error:
            raise below(f'[{number}]', error) from error
        if identity is not None:
            first = numbers.setdefault(identity(made[-1]), number)
            if first != number:
                raise InvalidSpec(f'is the same as in item {first}', f'[{number}].{keys[0]}')
    return tuple(made)


def by_name(
    words: str, name: Callable[[str], str], read: Callable[[Any], T]
) -> Callable[[Any], dict[str, T]]:
    """Return a function that converts an object with arbitrary keys: ``{name(key): read(value)}``.

    It raises InvalidSpec for another type, and for two equal ``name(key)``.

    :param words: the beginning of the error for another type.
    :param name: checks a key and returns its canonical form.
    """

    def read_all(item: Any) -> dict[str, T]:
        if type(item) is not dict:
            raise wrong(words, item)
        made: dict[str, T] = {}
        key = ''
        try:
            for key, value in item.items():
                known = name(key)
                if known in made:
                    raise InvalidSpec(f'is {known}, which occurs twice')
                made[known] = read(value)
        except InvalidSpec as error:
            raise below(key, error) from error
        return made

    return read_all


def text(value: Any, words: str = 'must be a string') -> str:
    """Return a string without control characters or lone surrogates unchanged, also ''.

    Otherwise, raise InvalidSpec, which begins with ``words`` for another type.
    """
    if type(value) is not str:
        raise wrong(words, value)
    if not value.isprintable() and not is_plain(value):
        raise wrong('must be text without control characters or lone surrogates', value)
    return value


def stored(value: Any) -> str:
    """Return a string without lone surrogates unchanged; raise InvalidSpec for anything else."""
    if type(value) is not str:
        raise wrong('must be a string', value)
    if not value.isprintable() and _SURROGATE.search(value):
        raise wrong('must not contain lone surrogates', value)
    return value


def flag(value: Any) -> bool:
    """Return a boolean unchanged; raise InvalidSpec for anything else."""
    if type(value) is not bool:
        raise wrong('must be true or false', value)
    return value


def _integer(least: int, value: Any) -> int:
    """Return an integer of ``least`` or more unchanged; raise InvalidSpec for anything else."""
    if type(value) is not int or value < least:
        raise wrong(f'must be an integer of {least} or more', value)
    return value


amount, size = partial(_integer, 0), partial(_integer, 1)


def wrong(message: str, value: object) -> InvalidSpec:
    """Return the error "``message``, not ``value``", with at most 80 characters of the value.

    For a DuplicateKey: "occurs twice", with the key as path.
    """
    if isinstance(value, DuplicateKey):
        return InvalidSpec('occurs twice', value.key)
    found = reprlib.repr(value)
    if len(found) > _LONGEST:
        found = f'{found[:_LONGEST]}...'
    return InvalidSpec(f'{message}, not {found}')


def below(place: str, error: InvalidSpec) -> InvalidSpec:
    """Return the error with ``place`` before its path: "a" and "b" give "a.b", "[0]" gives "a[0]".

    '' gives "a".
    """
    is_index = re.match(r'\[\d+\]', error.path)  # a name may begin with a bracket, too
    dot = '.' if error.path and not is_index else ''
    return InvalidSpec(error.message, f'{place}{dot}{error.path}')


def texts(
    gathered: Callable[[Iterable[str]], frozenset[str]], one: Callable[[Any], str]
) -> Callable[[Any], frozenset[str]]:
    """Return a function that converts a list of strings to a set; equal sets become one object.

    It raises InvalidSpec for anything else, and with the place of an item that ``one`` rejects.

    :param gathered: makes the set.
    :param one: checks an item, and returns its canonical form.
    """
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
            found = gathered(each(value, one))  # raises the error with its place
        return shared.setdefault(found, found)

    return read
