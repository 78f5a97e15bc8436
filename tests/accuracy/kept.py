"""Results in a file, so that a run goes on where another ended, and several are added up.

Shapes: a line of JSON for each result, with the fields of :class:`Result`; those of a case are
written together, when its batch is over.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from tests.accuracy.comparison import Result


def read(path: Path) -> list[Result]:
    """The results of a file; none where there is no file yet."""
    lines = path.read_text(encoding='utf-8').splitlines() if path.exists() else ()
    return [_result(json.loads(line)) for line in lines]


def add(path: Path, results: Iterable[Result]) -> None:
    """Write results behind those that are there."""
    lines = (json.dumps(dataclasses.asdict(result)) + '\n' for result in results)
    with path.open('a', encoding='utf-8') as file:
        file.write(''.join(lines))


def _result(row: dict[str, object]) -> Result:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Result(**values)
