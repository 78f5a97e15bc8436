"""Run the fault matrix: every operation, each of its requests, every fault, with one or two
failures.

A run without a fault finds the requests of each operation. The processes of a pool run the cells;
the results become a :class:`Part` of the page.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.reliability import cell, operations, quiet
from tests.reliability.cell import Cell, Result
from tests.reliability.report import Part

NAME = 'fault matrix'


def run(
    workers: int,
    every: int = 1,
    only: str = '',
    tell: Callable[[str], object] = str,
    first: int = 0,
) -> tuple[Part, list[Result]]:
    """Run the matrix.

    :param every: run one of this number of cells, so that requests and faults take turns.
    :param first: the number of the first cell.
    :param only: run the cells whose names contain this text.
    :param tell: receives lines about the progress.
    """
    begun = time.monotonic()
    with multiprocessing.get_context('spawn').Pool(workers, _prepare) as pool:
        names = [operation.name for operation in operations.OPERATIONS]
        asked = dict(zip(names, pool.map(cell.steps, names, 1), strict=True))
        every_cell = [each for name in names for each in cell.cells(name, asked[name])]
        cells = [each for each in every_cell if only in str(each)][first % every :: every]
        results = []
        given = [(each, asked[each.operation]) for each in cells]
        for result in pool.imap_unordered(_run, given, 4):
            results.append(result)
            if result.broken:
                tell(f'{result.cell}: {result.broken}')
            if len(results) % 250 == 0:
                tell(f'{len(results)} of {len(cells)} cells')
    results.sort(key=lambda each: cells.index(each.cell))
    return _part(results, time.monotonic() - begun), results


def _prepare() -> None:
    quiet.down()
    cell.prepare()


def _run(given: tuple[Cell, Counter[str]]) -> Result:
    return cell.run(*given)


def _part(results: Sequence[Result], seconds: float) -> Part:
    return Part(
        NAME,
        len(results),
        Counter(each.outcome for each in results),
        tuple((str(each.cell), *item) for each in results for item in each.broken),
        seconds,
    )
