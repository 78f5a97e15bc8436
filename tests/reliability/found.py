"""The cases that ``make nightly`` found broken, as rows, and each of them once more.

Shapes::

    {name: 'races: round 8', source: make nightly, part: races, case: round 8, seed: 7,
     examples: 500, said: 'no recovery: ...'}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.reliability import fuzz, kills, matrix, races
from tests.reliability.doors import DOORS
from tests.reliability.report import Part
from tests.support import tables

#: Of the words of what was broken.
_MOST = 2000


def keep(table: Path, name: str, part: Part, seed: int, examples: int) -> None:
    """Append a row for each case of a part that is broken."""
    for case, kind, words in part.broken:
        row = {'name': f'{name}: {case}', 'source': 'make nightly', 'part': name, 'case': case}
        row |= {'seed': seed, 'examples': examples, 'said': f'{kind}: {words}'[:_MOST]}
        tables.keep(table, row)


def again(row: Mapping[str, Any]) -> object:
    """What is broken in the case of a row now; something false for nothing."""
    case = row['case']
    if row['part'] == 'fuzz':
        (door,) = (each for each in DOORS if each.name == case)
        return fuzz.knock(door, row['examples'], row['seed'])[1]
    if row['part'] == 'races':
        return races.run(1, 1, first=int(case.removeprefix('round '))).broken
    if row['part'] == 'kills':
        return kills.run(1, only=case).broken
    return matrix.run(1, only=case)[0].broken
