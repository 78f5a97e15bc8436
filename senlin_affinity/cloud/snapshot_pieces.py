"""Parses a list in a snapshot's text in pieces: all of its JSON needs ten times the memory.

Data flow: a piece ends where one object ends and the next one begins, spaced as the first two of
the list are. It is parsed as a list of its own, by orjson where that is installed. The last piece
ends where the list does, which the json module finds.

Shapes::

    text = '{"hosts": [{"host": "a"}, {"host": "b"}]}'
    Pieces(text, 11).parse(11) == ([{'host': 'a'}, {'host': 'b'}], 40, True)

Errors: ValueError, StopIteration or RecursionError for what is not JSON, also where a piece ends
too early, as objects within an object are spaced like those of the list.

Source: the json module, whose scanner reads one value at a place in a text. Both parsers keep the
last value of a duplicate key, and neither takes a line break in a string. What orjson refuses goes
to the json module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

#: About so many characters are parsed at once.
SIZE = 1 << 17
_BETWEEN = re.compile(r'[ \t\n\r]*,[ \t\n\r]*').match
#: Reads the value at a place in a text, and says where it ends.
Scan = Callable[[str, int], tuple[Any, int]]


def scanner(**hooks: Any) -> Scan:
    """That of the json module, with the hooks of its decoder."""
    scan: Scan = json.JSONDecoder(**hooks).scan_once  # type: ignore[attr-defined]
    return scan


_scan = scanner()


class Pieces:
    """The list of objects whose first one begins at a place in a text."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        between = _BETWEEN(text, _scan(text, at)[1])
        self._mark = f'}}{between[0]}{{' if between else None
        self._scan = _fast() if len(text) > SIZE else _scan

    def parse(self, at: int) -> tuple[list[Any], int, bool]:
        """Some objects from this place on, where the text goes on, and: are they the last?"""
        cut = self._text.find(self._mark, at + SIZE) + 1 if self._mark else 0
        if not cut:
            items, end = _scan(f'[{self._text[at:]}', 0)
            return items, at + end - 1, True
        piece = f'[{self._text[at:cut]}]'
        items, end = self._scan(piece, 0)
        if end < len(piece):
            return items, at + end - 1, True
        return items, cut + len(self._mark or '') - 2, False


def _fast() -> Scan:
    """The same by orjson, of a text that is one value, and nothing else."""
    try:
        from orjson import loads  # the extra "fast"
    except ImportError:
        return _scan

    def parse(piece: str, at: int) -> tuple[Any, int]:
        try:
            return loads(piece), len(piece)
        except ValueError:
            return _scan(piece, at)

    return parse
