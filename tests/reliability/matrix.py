"""The fault matrix: every operation, every request of it, every fault, at two tries.

Data flow: a run without a fault says which requests an operation makes; the cells of the matrix
follow from them. Processes of a pool run the cells; the results become a :class:`Part` of the page.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from tests.reliability import cell, missed, operations, quiet, report
from tests.reliability.cell import OUTCOMES, TRIES, Cell, Result
from tests.reliability.faults import FAULTS
from tests.reliability.report import Part

NAME = 'fault matrix'
#: What a cell of the large table says of its outcome.
_LETTERS = {'done': 'd', 'retried': 't', 'warned': 'w', 'refused': 'r', 'missed': '-'}


def run(
    workers: int,
    every: int = 1,
    only: str = '',
    tell: Callable[[str], object] = str,
    first: int = 0,
) -> tuple[Part, list[Result]]:
    """Run the matrix.

    :param every: run one cell of so many; another one of each request and fault in turn.
    :param first: which of these.
    :param only: the cells whose names hold this.
    :param tell: is told about the progress, in a line.
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
    return _part(results, asked, time.monotonic() - begun), results


def _prepare() -> None:
    quiet.down()
    cell.prepare()


def _run(given: tuple[Cell, Counter[str]]) -> Result:
    return cell.run(*given)


def _part(results: Sequence[Result], asked: dict[str, Counter[str]], seconds: float) -> Part:
    return Part(
        NAME,
        len(results),
        Counter(each.outcome for each in results),
        *missed.sorted_out((str(each.cell), *item) for each in results for item in each.broken),
        seconds,
        '\n'.join((_by_fault(results), _by_request(results, asked))),
    )


def _by_fault(results: Iterable[Result]) -> str:
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    kinds = dict.fromkeys(operation.kind for operation in operations.OPERATIONS)
    for each in results:
        kind = operations.BY_NAME[each.cell.operation].kind
        counts[each.cell.fault, kind][each.outcome] += 1
    rows = [
        (fault.name, *(_tally(counts[fault.name, kind]) for kind in kinds))
        for fault in FAULTS
        if any(counts[fault.name, kind] for kind in kinds)
    ]
    return '\n'.join(
        (
            'How the cells of the fault matrix ended, by the fault; both tries together:\n',
            report.table(('Fault', *(kind.capitalize() for kind in kinds)), rows),
        )
    )


def _tally(counts: Counter[str]) -> str:
    return ', '.join(f'{counts[name]} {name}' for name in OUTCOMES if counts[name]) or '-'


def _by_request(results: Iterable[Result], asked: dict[str, Counter[str]]) -> str:
    found = {each.cell: each for each in results}
    lines = []
    for name in asked:
        rows = [
            (f'{step} #{times}', tries, ''.join(_letter(found, name, step, times, tries)))
            for step, number in asked[name].items()
            for times in range(1, number + 1)
            for tries in TRIES
        ]
        rows = [row for row in rows if row[2].strip()]
        lines += [f'   {name}'] if rows else []
        width = max((len(row[0]) for row in rows), default=0)
        lines += [f'      {step:<{width}}  {tries:<6}  {codes}' for step, tries, codes in rows]
    legend = ', '.join(f'``{letter}`` {name}' for name, letter in _LETTERS.items())
    columns = ', '.join(f'{number} {fault}' for number, fault in enumerate(FAULTS, 1))
    return '\n'.join(
        (
            f'Each cell: a line for a request and a try, a column for a fault. {legend}; a capital '
            'where a promise was broken, a space where the fault is about writes.\n',
            f'The columns: {columns}.\n',
            '::\n',
            *lines,
            '',
        )
    )


def _letter(
    found: dict[Cell, Result], name: str, step: str, times: int, tries: str
) -> Iterable[str]:
    for fault in FAULTS:
        result = found.get(Cell(name, step, times, fault.name, tries))
        letter = ' ' if result is None else _LETTERS[result.outcome]
        yield letter.upper() if result is not None and result.broken else letter
