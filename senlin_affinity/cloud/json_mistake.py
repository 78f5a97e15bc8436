"""Find the first mistake in a decoded JSON document, and word it in one line with its path.

msgspec rejects a document with the path of one mistake, but hides the keys of objects with
arbitrary keys, and expects readers who know Python's types. This module is only called for a
document that msgspec rejected, and for duplicate keys, which msgspec accepts.

Example::

    mistake({'hosts': [{'host': 'a', 'resources': {'VCPU': {'capacity': -1}}}]}, SnapshotFile)
        InvalidSpec('must be an integer of 0 or more, not -1', 'hosts[0].resources.VCPU.capacity')

Raises: nothing; the errors are returned.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import inspect

from senlin_affinity.model import suggestion
from senlin_affinity.model.errors import InvalidSpec

#: Lone surrogates, which JSON can express and UTF-8 cannot.
_SURROGATE = re.compile('[\ud800-\udfff]')
#: The characters that an error shows of a value.
_LONGEST = 80


class DuplicateKey(NamedTuple):
    """An object with this duplicate key."""

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


def mistake(document: Any, kind: type) -> InvalidSpec | None:
    """Return the first mistake of a decoded document for this type; None if there is none."""
    return next(_mistakes(document, inspect.type_info(kind)), None)


def duplicate_key(document: Any, path: str = '') -> InvalidSpec | None:
    """Return the error for the first duplicate key of a decoded document; None if it has none."""
    if isinstance(document, DuplicateKey):
        return InvalidSpec('occurs twice', below(path, document.key))
    items: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(document, dict):
        items = iter(document.items())
    elif isinstance(document, list):
        items = enumerate(document)
    found = (duplicate_key(value, below(path, key)) for key, value in items)
    return next(filter(None, found), None)


def below(path: str, key: str | int) -> str:
    """Return the path of a key or an index: "a", "a.b", "a[0]"."""
    if isinstance(key, int):
        return f'{path}[{key}]'
    return f'{path}.{key}' if path else key


def wrong(message: str, value: object, path: str = '') -> InvalidSpec:
    """Return the error "``message``, not ``value``", with at most 80 characters of the value."""
    found = reprlib.repr(value)
    if len(found) > _LONGEST:
        found = f'{found[:_LONGEST]}...'
    return InvalidSpec(f'{message}, not {found}', path)


def _mistakes(
    value: Any, kind: inspect.Type, path: str = '', note: str = ''
) -> Iterator[InvalidSpec]:
    """Yield the mistakes of a value, those of its parts in the order of the fields.

    :param note: what the value should be, in the words of its definition.
    """
    if isinstance(kind, inspect.Metadata):
        note = (kind.extra_json_schema or {}).get('description', note)
        yield from _mistakes(value, kind.type, path, note)
    elif isinstance(kind, inspect.UnionType):
        (inner,) = (each for each in kind.types if not isinstance(each, inspect.NoneType))
        if value is not None:
            for error in _mistakes(value, inner, path, note):
                is_of_part = error.path != path or isinstance(inner, inspect.Metadata)
                yield error if is_of_part else InvalidSpec(_or_null(error.message), path)
    elif isinstance(kind, inspect.StructType):
        yield from _in_struct(value, kind, path)
    elif isinstance(kind, inspect.DictType):
        yield from _in_dict(value, kind, path)
    elif isinstance(kind, inspect.VarTupleType | inspect.FrozenSetType):
        yield from _in_list(value, kind, path)
    elif type(value) is str and _SURROGATE.search(value):
        yield wrong('must not contain lone surrogates', value, path)
    elif not _is_valid(value, kind):
        yield wrong(f'must be {note or _words(kind, value)}', value, path)


def _or_null(message: str) -> str:
    """Return "must be a list, not 1" as "must be a list, or null, not 1"."""
    words, comma, value = message.partition(', not ')
    return f'{words}, or null{comma}{value}'


def _in_struct(value: Any, kind: inspect.StructType, path: str) -> Iterator[InvalidSpec]:
    names = [field.encode_name for field in kind.fields]
    if type(value) is not dict:
        yield wrong(f'must be an object with {", ".join(names)}', value, path)
        return
    for key in value:
        if key not in names:
            yield InvalidSpec(f'unknown key: {suggestion.meant(key, names)}', below(path, key))
    for field in kind.fields:
        here = below(path, field.encode_name)
        if field.encode_name in value:
            yield from _mistakes(value[field.encode_name], field.type, here)
        elif field.required:
            note = getattr(field.type, 'extra_json_schema', None) or {}
            words = f': it must be {note["description"]}' if 'description' in note else ''
            yield InvalidSpec(f'is missing{words}', here)


def _in_dict(value: Any, kind: inspect.DictType, path: str) -> Iterator[InvalidSpec]:
    if type(value) is not dict:
        is_text = isinstance(kind.value_type, inspect.StrType)
        yield wrong(f'must be an object{" with strings" if is_text else ""}', value, path)
        return
    for key, item in value.items():
        yield from _mistakes(item, kind.value_type, below(path, key))


def _in_list(value: Any, kind: Any, path: str) -> Iterator[InvalidSpec]:
    is_text = isinstance(kind.item_type, inspect.StrType)
    if type(value) is not list:
        yield wrong(f'must be a list{" of strings" if is_text else ""}', value, path)
        return
    for number, item in enumerate(value):
        yield from _mistakes(item, kind.item_type, below(path, number))


def _is_valid(value: Any, kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.StrType):
        return type(value) is str and len(value) >= (kind.min_length or 0)
    if isinstance(kind, inspect.BoolType):
        return type(value) is bool
    if isinstance(kind, inspect.IntType):
        return type(value) is int and _at_least(kind) <= value <= _at_most(kind, value)
    if isinstance(kind, inspect.CustomType):
        if issubclass(kind.cls, frozenset):
            return type(value) is list and all(type(each) is str for each in value)
        return type(value) is dict
    return True


def _at_least(kind: inspect.IntType) -> int:
    return kind.ge if kind.ge is not None else -(2**63)


def _at_most(kind: inspect.IntType, value: int) -> int:
    return kind.le if kind.le is not None else value


def _words(kind: inspect.Type, value: Any) -> str:
    """Return what the value should be: "a string", "an integer of 0 or more"."""
    if isinstance(kind, inspect.BoolType):
        return 'true or false'
    if isinstance(kind, inspect.IntType):
        if type(value) is int and value > _at_most(kind, value):
            return f'at most {kind.le}'
        return f'an integer of {_at_least(kind)} or more'
    if isinstance(kind, inspect.CustomType):
        return 'a list of strings' if issubclass(kind.cls, frozenset) else 'an object'
    return 'a string'
