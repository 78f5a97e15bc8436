"""Reads the snapshot of ``--snapshot``: a file, or ``-`` for standard input.

Errors: InvalidSpec that names the file; UsageError for a project that is not an id.
"""

from __future__ import annotations

from typing import Any

from senlin_affinity.cli import base
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.policy.matching import is_project_id

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


def check_project(project: str | None, snapshot: CloudSnapshot) -> None:
    """Refuse what is not the id of a project: a snapshot holds no names of projects."""
    known = {snapshot.project_id, *(group.project_id for group in snapshot.server_groups or ())}
    if project not in (None, *known) and not is_project_id(str(project)):
        raise base.UsageError(
            f'--project {project!r} is not an id: a snapshot holds no names of projects'
        )
