"""Read the rule tables: each row of ``tests/cases/<table>.yaml`` is one test."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from senlin_affinity.model import errors
from senlin_affinity.model.spread import Spread

#: Prefer libyaml: the Python loader takes seconds for 400 kB of tables.
Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
CASES = Path(__file__).parents[1] / 'cases'


def read(table: str) -> list[dict[str, Any]]:
    return load((CASES / f'{table}.yaml').read_text(encoding='utf-8'))


def load(text: str) -> list[dict[str, Any]]:
    return yaml.load(text, Loader) or []


def keep(path: Path, row: dict[str, Any]) -> None:
    """Append a row to a table of findings, unless it has one of that name."""
    known = load(path.read_text(encoding='utf-8')) if path.exists() else []
    if row['name'] not in [each['name'] for each in known]:
        text = yaml.safe_dump([row], sort_keys=False, default_flow_style=None, width=120)
        with path.open('a', encoding='utf-8') as file:
            file.write(text)


def rows(table: str) -> list[Any]:
    """Return all rows of a table for ``pytest.mark.parametrize('row', rows(...))``."""
    return [pytest.param(row, id=row['name']) for row in read(table)]


def as_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with tuples for lists, and a spread for each mapping in a list."""
    return {
        key: tuple(Spread(**each) if isinstance(each, dict) else each for each in value)
        if isinstance(value, list)
        else value
        for key, value in values.items()
    }


def raises(row: dict[str, Any]) -> bool:
    """Return whether the row's outcome is an error."""
    return hasattr(errors, row['outcome'])


def check_error(row: dict[str, Any], error: errors.AffinityError) -> None:
    """Check the class of the error, its path, and the texts in ``says`` of the row.

    ``message`` is the complete text with the path.
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
