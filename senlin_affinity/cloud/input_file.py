"""Reads the files that a person names, and standard input, up to a limit.

Units: a limit is in MiB. 100,000 hosts with traits and resources are 217 MiB of a snapshot.

Errors: InvalidSpec for what is larger, also for a pipe or a device that has no end; OSError for
what can not be read.
"""

from __future__ import annotations

import os
import stat
from typing import IO

from senlin_affinity.core.errors import InvalidSpec

#: A snapshot, where nobody says otherwise; a spec, or a file of options.
LARGEST, LARGEST_TEXT = 256, 1
_MEBIBYTE, _PIECE = 1 << 20, 1 << 16


def read(path: str | os.PathLike[str], largest: int = LARGEST) -> bytearray:
    """All of a file."""
    with open(path, 'rb') as file:
        return all_of(file, largest)


def all_of(file: IO[bytes], largest: int = LARGEST) -> bytearray:
    """All that an open file has."""
    data = bytearray()
    while piece := file.read(_PIECE):
        data += piece
        if len(data) > largest * _MEBIBYTE:
            raise _too_large(largest)
    return data


def check(path: str | os.PathLike[str], largest: int = LARGEST_TEXT) -> None:
    """Refuse a file that somebody else is about to read all of; one that is not there is theirs."""
    try:
        found = os.stat(path)
    except OSError:
        return
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise InvalidSpec('is not a regular file', os.fspath(path))
    if stat.S_ISREG(found.st_mode) and found.st_size > largest * _MEBIBYTE:
        raise InvalidSpec(str(_too_large(largest)), os.fspath(path))


def _too_large(largest: int) -> InvalidSpec:
    return InvalidSpec(f'is larger than {largest} MiB, the limit')
