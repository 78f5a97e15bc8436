"""Reads the snapshot of ``--snapshot``: a file, or ``-`` for standard input.

Errors: InvalidSpec that names the file.
"""

from __future__ import annotations

from typing import Any

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot

STANDARD_INPUT = '-'


def read(path: str, stdin: Any) -> CloudSnapshot:
    """The snapshot; ``stdin`` is read where the path is ``-``."""
    from senlin_affinity.cloud import snapshot_file

    try:
        if path != STANDARD_INPUT:
            return snapshot_file.load(path)
        return snapshot_file.parse(snapshot_file.decoded(stdin.buffer.read()))
    except InvalidSpec as error:
        if isinstance(error.__cause__, OSError):  # it names the file already
            raise
        name = 'standard input' if path == STANDARD_INPUT else path
        raise InvalidSpec(str(error), name) from error
