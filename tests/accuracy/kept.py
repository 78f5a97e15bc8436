"""Store results in a file, to continue an interrupted run, and to add up several runs.

Each line is the JSON of a :class:`Result`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from tests.accuracy.comparison import Result


def read(path: Path) -> list[Result]:
    """Return the results in a file; an empty list if it does not exist.

    A case that was not asked is omitted if it was asked later.
    """
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else ()
    results = [_result(json.loads(line)) for line in lines]
    asked = {(result.kind, result.seed) for result in results if result.is_asked}
    return [each for each in results if each.is_asked or (each.kind, each.seed) not in asked]


def add(path: Path, results: Iterable[Result]) -> None:
    """Append results to a file."""
    lines = (json.dumps(dataclasses.asdict(result)) + '\n' for result in results)
    with path.open('a', encoding='utf-8') as file:
        file.write(''.join(lines))


def _result(row: dict[str, object]) -> Result:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Result(**values)
