"""Checks what a person wrote, value by value; each check says what to write instead.

Errors: :class:`InvalidSpec` with the path that it was given.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from senlin_affinity.core.errors import InvalidSpec


def mapping(value: Any, path: str) -> dict[str, Any]:
    """Take a mapping, as a copy; nothing written (None) is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidSpec('must be a mapping', path=path)
    return dict(value)


def name(value: Any, path: str) -> str:
    """Take a name."""
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'"{value}" is no name: a text is wanted', path=path)
    return value


def names(value: Any, path: str) -> tuple[str, ...]:
    """Take a list of different names; nothing written (None) is an empty one."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise InvalidSpec('must be a list of names', path=path)
    seen: list[str] = []
    for item in value:
        if name(item, path) in seen:
            raise InvalidSpec(f'"{item}" is there twice', path=path)
        seen.append(item)
    return tuple(seen)


def text(value: Any, path: str) -> str:
    """Take a text: YAML's bare true and 1 would not be what was meant."""
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'must be a text: write "{value}" in quotes', path=path)
    return value


def texts(value: Any, path: str) -> dict[str, str]:
    """Take a mapping of texts, such as metadata."""
    return {
        name(key, path): text(item, f'{path}.{key}') for key, item in mapping(value, path).items()
    }


def flag(value: Any, path: str) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise InvalidSpec('must be true or false', path=path)
    return value


def integer(value: Any, smallest: int, path: str) -> int:
    """Take a whole number, not below the smallest."""
    if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
        raise InvalidSpec(f'must be a whole number of {smallest} or more', path=path)
    return value


def refuse_unknown(values: Mapping[str, Any], known: Iterable[str], path: str) -> None:
    """Refuse a key that is not known, with the nearest one that is."""
    known = tuple(known)
    for key in values:
        if key not in known:
            where = f'{path}.{key}' if path else str(key)
            advice = hint(key, known) or f'; known are: {", ".join(known)}'
            raise InvalidSpec(f'unknown key{advice}', path=where)


def hint(word: Any, known: Iterable[str]) -> str:
    """Say which of the known words may have been meant; empty when none is near."""
    close = difflib.get_close_matches(str(word), tuple(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ''
