"""Walks a JSON text: its outer objects and lists step by step, what is in them by the json module.

A list of a hundred thousand things is read thing by thing, and what one was parsed into is gone
before the next one.

Shapes::

    walk = Walk('{"a": [1, 2], "b": null}')
    for name in walk.members():
        [walk.value() for _ in walk.items()] if name == 'a' else walk.value()
    walk.end()

Errors: json.JSONDecodeError, as from the json module; InvalidSpec with the path inside of a value
for a key that an object has twice, of which the json module would keep the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from senlin_affinity.core.errors import InvalidSpec

TWICE = 'is there twice'
_BLANK = re.compile(r'[ \t\n\r]*')


class _Twice(Exception):
    """A key is in an object twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_once)
#: An object is a tuple of pairs here, which can hold a key twice.
_SEEKER = json.JSONDecoder(object_pairs_hook=tuple)


class Walk:
    """A place in a JSON text, never in front of a blank."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._go(0)

    @property
    def next(self) -> str:
        """The character here; '' at the end."""
        return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """The whole value here; goes behind it."""
        try:
            value, end = _DECODER.raw_decode(self._text, self._at)
        except _Twice as error:
            value, _end = _SEEKER.raw_decode(self._text, self._at)
            raise InvalidSpec(TWICE, next(_twice(value)).removeprefix('.')) from error
        self._go(end)
        return value

    def items(self) -> Iterator[None]:
        """One step for each item of the list here; the caller takes the value."""
        return self._each(']', lambda: None)

    def members(self) -> Iterator[str]:
        """The names in the object here; the caller takes the value after each."""
        return self._each('}', self._name)

    def end(self) -> None:
        """Nothing may be left."""
        if self.next:
            raise self._error('Extra data')

    def _each(self, closing: str, begin: Any) -> Iterator[Any]:
        self._go(self._at + 1)
        if self.next == closing:
            self._go(self._at + 1)
            return
        while True:
            yield begin()
            if self.next not in (',', closing):
                raise self._error("Expecting ',' delimiter")
            is_end = self.next == closing
            self._go(self._at + 1)
            if is_end:
                return

    def _name(self) -> str:
        if self.next != '"':
            raise self._error('Expecting property name enclosed in double quotes')
        name: str = self.value()
        if self.next != ':':
            raise self._error("Expecting ':' delimiter")
        self._go(self._at + 1)
        return name

    def _go(self, to: int) -> None:
        blank = _BLANK.match(self._text, to)
        self._at = blank.end() if blank else to

    def _error(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._at)


def _twice(value: Any) -> Iterator[str]:
    """The paths of the keys that are there twice, in what the seeker read."""
    if isinstance(value, tuple):
        seen: set[str] = set()
        for name, item in value:
            if name in seen:
                yield f'.{name}'
            seen.add(name)
            yield from (f'.{name}{inner}' for inner in _twice(item))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from (f'[{number}]{inner}' for inner in _twice(item))
