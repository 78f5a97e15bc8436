"""Read the files that a user names, and standard input, up to a size limit in MiB.

A pipe, such as the shell's ``<(command)``, is read like a file.
"""

from __future__ import annotations

import os
import select
import stat
from typing import IO

from senlin_affinity.model.errors import InvalidSpec

#: The default limits of a snapshot (100,000 hosts have 217 MiB), and of a spec or file of options.
LARGEST, LARGEST_TEXT = 256, 1
_MEBIBYTE, _PIECE = 1 << 20, 1 << 16
#: Milliseconds to wait until a named pipe has data.
_WAIT = 1000
#: Files that the shell has opened.
_OPEN = ('/dev/fd/', '/dev/stdin', '/proc/')


def read(path: str | os.PathLike[str], largest: int = LARGEST) -> bytearray:
    """Return the content of a file.

    Raise InvalidSpec beyond ``largest`` MiB (also of a pipe or device), for a named pipe that sends
    nothing for a second, and for a terminal; OSError for a missing file or a directory.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), 'rb') as file:
        kind = os.fstat(file.fileno()).st_mode
        if stat.S_ISFIFO(kind) and not os.fspath(path).startswith(_OPEN):
            poll = select.poll()
            poll.register(file, select.POLLIN)
            if not poll.poll(_WAIT):
                raise InvalidSpec('is a named pipe without data')
        if stat.S_ISCHR(kind) and file.isatty():
            raise InvalidSpec('is a terminal, not a file')
        os.set_blocking(file.fileno(), not stat.S_ISCHR(kind))
        return all_of(file, largest)


def all_of(file: IO[bytes], largest: int = LARGEST) -> bytearray:
    """Return the rest of an open file; raise InvalidSpec beyond ``largest`` MiB."""
    data = bytearray()
    while piece := file.read(_PIECE):
        data += piece
        if len(data) > largest * _MEBIBYTE:
            raise _too_large(largest)
    return data


def check(path: str | os.PathLike[str], largest: int = LARGEST_TEXT) -> None:
    """Raise InvalidSpec for a file larger than ``largest`` MiB, a device or a pipe.

    Others, also missing ones, pass.
    """
    try:
        found = os.stat(path)
    except OSError:
        return
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise InvalidSpec('is not a regular file', os.fspath(path))
    if stat.S_ISREG(found.st_mode) and found.st_size > largest * _MEBIBYTE:
        raise InvalidSpec(str(_too_large(largest)), os.fspath(path))


def _too_large(largest: int) -> InvalidSpec:
    """Return the error "is larger than 1 MiB, the limit"."""
    return InvalidSpec(f'is larger than {largest} MiB, the limit')
