"""Text that may go to a terminal: without what would move its cursor, colour it, or not be written.

Names come from a cloud, or from a file that somebody else wrote. Control characters, the separators
of lines, what turns the direction of writing (U+202E), what has no width, and halves of characters
(lone surrogates) are shown as escapes, or as one sign.

Shapes: ``escaped('a\\x1b[31m') == 'a\\\\x1b[31m'``, ``signed('a\\x1b[31m') == 'a?[31m'``.
"""

from __future__ import annotations

import re

_NOT_SHOWN = re.compile(
    '[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]'
)


def is_plain(text: str) -> bool:
    """Can a terminal show the text as it is?"""
    # Most text is printable, which is quickly said; a letter can be newer than Python's tables.
    return text.isprintable() or not _NOT_SHOWN.search(text)


def escaped(text: str) -> str:
    """The text with escapes for what is not shown: for a line whose length does not matter."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def signed(text: str) -> str:
    """The text with a question mark for each of them: for what stands in columns."""
    return _NOT_SHOWN.sub('?', text)
