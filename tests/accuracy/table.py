"""The table of the manual: a row for each kind of cloud, with how right the answers were.

The last two columns are about the answers that Nova's and Placement's own determine.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from importlib import metadata

from tests.accuracy.comparison import ASSUMED, EQUAL, EXACT, FEWER, HELD, WRONG, Result

SERVICES = ('nova', 'openstack-placement')
_COLUMNS = {
    EXACT: 'Exact',
    HELD: 'Exact, as assumed',
    EQUAL: '"At most", and as many',
    FEWER: '"At most", and fewer',
    ASSUMED: 'Assumed, and fewer',
    WRONG: 'Wrong',
}
_OF_DETERMINED = ('Determined', 'Exact of these')


def text(results: Iterable[Result]) -> str:
    """The counts, as a list-table."""
    counts: dict[str, Counter[str]] = {}
    results = tuple(results)
    for result in sorted(results, key=lambda result: result.kind):
        count = counts.setdefault(result.kind, Counter())
        count[result.outcome] += 1
        if result.is_determined:
            count['determined'] += 1
            count['right'] += result.outcome in (EXACT, HELD)
    total = sum(counts.values(), Counter())
    clouds = len({(result.kind, result.seed) for result in results})
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in SERVICES)
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    about = f'{len(results)} questions about {clouds} random clouds'
    lines = [
        f'.. list-table:: {about} ({versions}; {day})',
        '   :header-rows: 1',
        '   :widths: 20 10 10 10 10 10 10 10 10 10',
        '',
        *_row(['Clouds', 'Questions', *_COLUMNS.values(), *_OF_DETERMINED]),
    ]
    for kind, count in [*counts.items(), ('all', total)]:
        outcomes = [count[column] for column in _COLUMNS]
        known, right = count['determined'], count['right']
        share = f'{100 * right // known} %' if known else ''
        lines += _row([kind, sum(outcomes), *outcomes, known, share])
    return '\n'.join([*lines, ''])


def _row(cells: Iterable[object]) -> list[str]:
    return [f'   {"  " if number else "* "}- {cell}' for number, cell in enumerate(cells)]
