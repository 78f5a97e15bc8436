"""Reads the files that a person names: specs in YAML, and the snapshot of ``--snapshot``.

Errors: InvalidSpec that says the file, and the line where the YAML breaks; UsageError for a spec
that is not there, and for a project that is not an id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from senlin_affinity import api
from senlin_affinity.cli.base import UsageError
from senlin_affinity.cloud import input_file
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.policy.matching import is_project_id

T = TypeVar('T')


def spec(path: str, reader: Callable[[Any], T]) -> T:
    """What the reader makes of the one document in a YAML (or JSON) file."""
    import yaml  # here: most plans name no file of it

    from senlin_affinity.cli import one_of_each_key

    try:
        text = input_file.read(path, input_file.LARGEST_TEXT).decode()
        document = yaml.load(text, one_of_each_key.Loader)
    except OSError as error:
        raise UsageError(f'{path} cannot be read: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise InvalidSpec('is not UTF-8 text', path) from error
    except InvalidSpec as error:
        raise InvalidSpec(str(error), path) from error
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error)
        raise InvalidSpec(f'is not valid YAML{where}: {problem}', path) from error
    except (ValueError, RecursionError) as error:
        # What PyYAML lets through: a date or a number that Python refuses, a nest too deep.
        raise InvalidSpec(f'is not valid YAML: {error}', path) from error
    try:
        return reader(document)
    except InvalidSpec as error:
        raise InvalidSpec(str(error), path) from error


def look(path: str, stdin: Any, largest: int | None = None) -> api.Look:
    """The snapshot in a file; ``stdin`` is read where the path is ``-``.

    :param largest: how many MiB are read; None: 256.
    """
    if path != '-':
        return api.read(path, largest)
    from senlin_affinity.cloud import snapshot_file

    if stdin is None:
        raise UsageError('standard input: it is closed')
    try:
        data = input_file.all_of(stdin.buffer, largest or input_file.LARGEST)
        return api.Look(snapshot_file.parse(snapshot_file.decoded(data)))
    except InvalidSpec as error:
        raise InvalidSpec(str(error), 'standard input') from error


def check_image(image: object) -> None:
    """Refuse the name of an image: a snapshot holds none."""
    if isinstance(image, str):
        raise UsageError(
            f'--image {image}: a snapshot holds no images; say none, or its properties with '
            '--image-property'
        )


def check_project(project: str | None, snapshot: CloudSnapshot) -> None:
    """Refuse what is not the id of a project: a snapshot holds no names of projects."""
    known = {snapshot.project_id, *(group.project_id for group in snapshot.server_groups or ())}
    if project not in (None, *known) and not is_project_id(str(project)):
        raise UsageError(
            f'--project {project!r} is not an id: a snapshot holds no names of projects'
        )
