"""Check the value of an extra spec: its type, its limits and its format.

Example::

    {'type': int, 'min': 1}                                 {'type': bool}
    {'type': str, 'enum': ['isolate', 'none']}              {'type': str, 'pattern': r'[a-z]+'}
    Value.read({'type': int, 'min': 1}).complaint('0') == "must be a whole number of 1 or more, ..."

``min`` and ``max`` are inclusive; None means no limit, and an empty ``enum`` any string. Numbers
and booleans are parsed as in Nova: Python's ``int`` (surrounding blanks, a sign, single
underscores) and the words of oslo.utils for true and false in any case.

Raises: InvalidSpec for an invalid definition (its path begins with ``value``), also for a pattern
together with an enum, unlike Nova.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from senlin_affinity.extra_specs import hints
from senlin_affinity.model.errors import InvalidSpec, quoted
from senlin_affinity.model.numbers import FALSE, TRUE
from senlin_affinity.model.suggestion import meant, typo_of

BOOLEANS = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)
_KINDS: Mapping[type, tuple[str, ...]] = {int: ('min', 'max'), bool: (), str: ('pattern', 'enum')}


@dataclass(frozen=True)
class Value:
    """The constraints on a value, made from the specification's mapping by :meth:`read`.

    ``regex`` is the compiled ``pattern``; it must match the whole value.
    """

    type: type
    description: str = ''
    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kinds = _KINDS.get(self.type) if isinstance(self.type, type) else None
        if kinds is None:
            raise InvalidSpec(f'must be int, bool or str, not {self.type!r}', 'value.type')
        if not isinstance(self.description, str):
            raise InvalidSpec(f'must be a text, not {self.description!r}', 'value.description')
        for key in ('min', 'max', 'pattern', 'enum'):
            if key not in kinds and getattr(self, key) not in (None, ()):
                raise InvalidSpec(f'is not allowed for {self.type.__name__}', f'value.{key}')
        self._check_limits()
        enum = _words(self.enum)
        if self.pattern is not None and enum:
            raise InvalidSpec('give a pattern or an enum, not both', 'value.pattern')
        regex = None if self.pattern is None else compiled(self.pattern, 'value.pattern')
        vars(self).update(enum=enum, regex=regex)

    @classmethod
    def read(cls, given: Value | Mapping[str, Any]) -> Value:
        """Return the value of a definition, from a mapping such as ``{'type': int}``."""
        if isinstance(given, Value):
            return given
        if not isinstance(given, Mapping):
            raise InvalidSpec(f"must be a mapping such as {{'type': int}}, not {given!r}", 'value')
        check_keys(given, [each.name for each in fields(cls) if each.init], 'value')
        if 'type' not in given:
            raise InvalidSpec('is missing: write int, bool or str', 'value.type')
        if 'enum' in given and not given['enum']:
            raise InvalidSpec('must not be empty: remove it, or add values', 'value.enum')
        return cls(**given)

    def complaint(self, text: object, name: str = '') -> str | None:
        """Return why a value (of the extra spec ``name``) is invalid, or None."""
        if not isinstance(text, str):
            return f'must be a string, not {quoted(text)}'
        if self._takes(text):
            return None
        near = typo_of(text, self.enum) if self.enum else None
        hint = hints.of_value(name, text) or (near and f'did you mean {near}?')
        return f'must be {self.wanted()}, not {quoted(text)}{f": {hint}" if hint else ""}'

    def parsed(self, text: str) -> int | bool | str:
        """Return the number, boolean or string of a valid value."""
        if self.type is int:
            return int(text)
        return BOOLEANS[text.strip().lower()] if self.type is bool else text

    def wanted(self) -> str:
        """Describe the allowed values: 'a whole number of 1 or more'."""
        if self.enum:
            return f'one of {", ".join(self.enum)}'
        if self.pattern is not None:
            return f'of the form {self.pattern}'
        if self.type is bool:
            return 'a boolean such as true or false'
        if self.type is str:
            return 'a string'
        if self.min is not None and self.max is not None:
            return f'a whole number from {self.min} to {self.max}'
        if self.min is not None:
            return f'a whole number of {self.min} or more'
        if self.max is not None:
            return f'a whole number of {self.max} or less'
        return 'a whole number'

    def _takes(self, text: str) -> bool:
        if self.enum:
            return text in self.enum
        if self.regex is not None:
            return self.regex.fullmatch(text) is not None
        if self.type is bool:
            return text.strip().lower() in BOOLEANS
        if self.type is not int:
            return True
        try:
            number = int(text)
        except ValueError:
            return False
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def _check_limits(self) -> None:
        for key in ('min', 'max'):
            limit = getattr(self, key)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
                raise InvalidSpec(f'must be an integer, not {limit!r}', f'value.{key}')
        if self.min is not None and self.max is not None and self.min > self.max:
            raise InvalidSpec(f'must be {self.min} or more, not {self.max}', 'value.max')


def compiled(pattern: object, path: str) -> re.Pattern[str]:
    """Return the compiled pattern, grouped so that it can be part of a longer one."""
    if not isinstance(pattern, str):
        raise InvalidSpec(f'must be a regular expression, not {pattern!r}', path)
    try:
        return re.compile(f'(?:{pattern})')
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidSpec(f'{pattern!r} is not a regular expression: {error}', path) from error


def check_keys(given: Mapping[str, Any], known: Collection[str], path: str) -> None:
    """Raise InvalidSpec if a mapping has an unknown key."""
    for key in given:
        if key not in known:
            raise InvalidSpec(f'unknown key {key!r}: {meant(str(key), known)}', path)


def _words(enum: object) -> tuple[str, ...]:
    if not isinstance(enum, list | tuple) or not all(isinstance(word, str) for word in enum):
        raise InvalidSpec(f'must be a list of strings, not {enum!r}', 'value.enum')
    if len(set(enum)) != len(enum):
        raise InvalidSpec('names a value twice', 'value.enum')
    return tuple(enum)
