"""Reads a YAML file that a person wrote.

Errors: InvalidSpec that says the file, and the line where the YAML breaks; a file that is not there
is a UsageError.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from senlin_affinity.cli.base import UsageError
from senlin_affinity.core.errors import InvalidSpec


def read(path: str) -> object:
    """The one document in a YAML (or JSON) file."""
    try:
        return yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise UsageError(f'{path} can not be read: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise InvalidSpec('is not UTF-8 text', path) from error
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error)
        raise InvalidSpec(f'is no YAML{where}: {problem}', path) from error
    except (ValueError, RecursionError) as error:
        # What PyYAML lets through: a date or a number that Python refuses, a nest too deep.
        raise InvalidSpec(f'is no YAML that can be read: {error}', path) from error
