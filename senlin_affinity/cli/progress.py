"""Show on a terminal that a command is still at work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TextIO

_CLEAR = '\r\x1b[K'


@contextlib.contextmanager
def shown(what: str, stream: TextIO) -> Iterator[None]:
    """Show what is being done until the end of the block; nothing unless on a terminal.

    :param stream: where to, such as stderr.
    """
    if not stream.isatty():
        yield
        return
    stream.write(f'{what} ...')
    stream.flush()
    try:
        yield
    finally:
        stream.write(_CLEAR)
        stream.flush()
