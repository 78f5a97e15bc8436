"""Reads the rule tables: each row of ``tests/cases/<table>.yaml`` is one test, named by the row."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from senlin_affinity.model import errors
from senlin_affinity.model.spread import Spread

#: In C where libyaml is: Python's own takes seconds for 400 kB of tables.
Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
CASES = Path(__file__).parents[1] / 'cases'


def read(table: str) -> list[dict[str, Any]]:
    return load((CASES / f'{table}.yaml').read_text(encoding='utf-8'))


def load(text: str) -> list[dict[str, Any]]:
    return yaml.load(text, Loader) or []


def keep(path: Path, row: dict[str, Any]) -> None:
    """Append a row to a table of what was found, unless it has one of that name."""
    known = load(path.read_text(encoding='utf-8')) if path.exists() else []
    if row['name'] not in [each['name'] for each in known]:
        text = yaml.safe_dump([row], sort_keys=False, default_flow_style=None, width=120)
        with path.open('a', encoding='utf-8') as file:
            file.write(text)


def rows(table: str) -> list[Any]:
    """All rows of a table, for ``pytest.mark.parametrize('row', rows(...))``."""
    return [pytest.param(row, id=row['name']) for row in read(table)]


def as_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """The values as a frozen dataclass has them: no list, and a spread for each map in one."""
    return {
        key: tuple(Spread(**each) if isinstance(each, dict) else each for each in value)
        if isinstance(value, list)
        else value
        for key, value in values.items()
    }


def raises(row: dict[str, Any]) -> bool:
    """Is the row's outcome an error?"""
    return hasattr(errors, row['outcome'])


def check_error(row: dict[str, Any], error: errors.AffinityError) -> None:
    """The error is the row's: its class, its path if the row has one, and all words of ``says``.

    ``message`` is the whole text, with the path.
    """
    assert type(error).__name__ == row['outcome'], error
    if 'path' in row:
        assert error.path == row['path'], error
        assert str(error).startswith(f'{row["path"]}: ' if row['path'] else error.message)
    says = row.get('says', ())
    for words in [says] if isinstance(says, str) else says:
        assert words in str(error)
    assert str(error) == row.get('message', str(error))
    assert 'says_not' not in row or row['says_not'] not in str(error)
