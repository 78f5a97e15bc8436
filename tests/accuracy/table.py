"""The table of the manual: a row for each kind of cloud, with how right the answers were."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from importlib import metadata

from tests.accuracy.comparison import ASSUMED, EQUAL, EXACT, FEWER, WRONG, Result

SERVICES = ('nova', 'openstack-placement')
_COLUMNS = {
    EXACT: 'Exact',
    EQUAL: '"At most", and as many',
    FEWER: '"At most", and fewer',
    ASSUMED: 'Assumed, and fewer',
    WRONG: 'Wrong',
}


def text(results: Iterable[Result]) -> str:
    """The counts, as a list-table."""
    counts: dict[str, Counter[str]] = {}
    results = tuple(results)
    for result in sorted(results, key=lambda result: result.kind):
        counts.setdefault(result.kind, Counter())[result.outcome] += 1
    total = sum(counts.values(), Counter())
    clouds = len({(result.kind, result.seed) for result in results})
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in SERVICES)
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    about = f'{len(results)} questions about {clouds} random clouds'
    lines = [
        f'.. list-table:: {about} ({versions}; {day})',
        '   :header-rows: 1',
        '   :widths: 28 12 12 12 12 12 12',
        '',
        *_row(['Clouds', 'Questions', *_COLUMNS.values()]),
    ]
    for kind, count in [*counts.items(), ('all', total)]:
        lines += _row([kind, count.total(), *(count[column] for column in _COLUMNS)])
    return '\n'.join([*lines, ''])


def _row(cells: Iterable[object]) -> list[str]:
    return [f'   {"  " if number else "* "}- {cell}' for number, cell in enumerate(cells)]
