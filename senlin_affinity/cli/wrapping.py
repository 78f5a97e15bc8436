"""Wrap tables, sentences and commands at the width of the terminal, without breaking a UUID.

Example: at a width of 22, ``openstack server group create --policy affinity web`` becomes
``$ openstack server \\``, ``  group create \\``, ``  --policy affinity \\`` and ``  web``.

Units: widths are numbers of characters. A line is longer than the width if a word is; a table, if
it would break a UUID, or have a column of less than 8 characters.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from cliff.columns import FormattableColumn

from senlin_affinity.model.terminal_text import escaped, escaped_lines

_UUID = re.compile(r'\S*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\S*', re.IGNORECASE)
_NARROWEST = 8
_QUOTED = re.compile(r"""'[^']*'|"'\"""")
#: Stands for a blank within quotes.
_NO_BREAK = '\0'


class Cell(FormattableColumn):  # type: ignore[misc]
    """A value with a different text for human-readable formats."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        """Return the text."""
        return self._text

    def machine_readable(self) -> Any:
        """Return the value."""
        return self._value


def fitted(
    names: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None
) -> list[tuple[Any, ...]]:
    """Return the rows with each text as a Cell, which is escaped, and wrapped for a width.

    The rows of a table of fields and values have one value each, and its names have one name.

    :param width: None: wrap nothing.
    """
    texts = [[*map(_text, row)] for row in rows]
    columns = [*zip(*texts, strict=True)]
    widths = _widths([*map(len, names)], columns, width)
    return [
        tuple(
            value
            if isinstance(value, int | float | None)
            else Cell(_plain(value), _wrapped(text, most))
            for value, text, most in zip(row, words, widths, strict=True)
        )
        for row, words in zip(rows, texts, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return the value of machine-readable formats, by which rows are sorted."""
    return value.machine_readable() if isinstance(value, FormattableColumn) else value


def _text(value: Any) -> str:
    if isinstance(value, FormattableColumn):
        return escaped_lines(str(value.human_readable()))
    return escaped(str(value))


def _widths(
    heads: Sequence[int], columns: Sequence[Sequence[str]], width: int | None
) -> Sequence[int | None]:
    """Return the width of each column; None for one that is not wrapped."""
    pairs = [*zip(heads, columns, strict=True)]
    full = [
        max(head, *(len(line) for text in of for line in text.split('\n'))) for head, of in pairs
    ]
    if width is None:
        return [None] * len(full)
    least = [
        max(_NARROWEST, head, *(len(word) for text in of for word in _UUID.findall(text)))
        for head, of in pairs
    ]
    usable = width - 1 - 3 * len(full)
    for most in range(max(full, default=0), 0, -1):
        widths = [min(one, max(most, few)) for one, few in zip(full, least, strict=True)]
        if sum(widths) <= usable:
            break
    return widths if full else []


def _wrapped(text: str, width: int | None) -> str:
    if width is None:
        return text
    lines = (textwrap.wrap(line, width, break_on_hyphens=False) for line in text.split('\n'))
    return '\n'.join('\n'.join(each) for each in lines)


def lines(text: str, width: int, first: str = '', others: str = '') -> list[str]:
    """Wrap a text at its blanks, with the indentation of the first line and of the others."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def command_lines(command: str, width: int) -> list[str]:
    """Wrap a command into lines that can be pasted into a shell; none ends within single quotes."""
    whole = _QUOTED.sub(lambda quoted: quoted[0].replace(' ', _NO_BREAK), command)
    found = [each.replace(_NO_BREAK, ' ') for each in lines(f'$ {whole}', width - 2, others='  ')]
    return [*(f'{line} \\' for line in found[:-1]), found[-1]]
