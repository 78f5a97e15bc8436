r"""Escape characters that could move a terminal's cursor, colour it, or fail to encode.

These are control characters, line separators, direction marks (U+202E), characters without width,
and lone surrogates.

Example: ``escaped('a\x1b[31m') == 'a\\x1b[31m'``, ``signed('a\x1b[31m') == 'a?[31m'``.
"""

from __future__ import annotations

import re

_NOT_SHOWN = re.compile(
    '[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]'
)


def is_plain(text: str) -> bool:
    """Check whether a terminal can display the text unchanged."""
    # Most text is printable, and isprintable is fast; a letter can be newer than Python's tables.
    return text.isprintable() or not _NOT_SHOWN.search(text)


def escaped(text: str) -> str:
    """Return the text with escapes for unsafe characters."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def escaped_lines(text: str) -> str:
    """Return the text with escapes for unsafe characters other than line feeds."""
    return '\n'.join(map(escaped, text.split('\n')))


def signed(text: str) -> str:
    """Return the text with a question mark for each unsafe character, for columns."""
    return _NOT_SHOWN.sub('?', text)
