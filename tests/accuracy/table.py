"""The table of the manual: a row for each kind of cloud, with how right the answers were.

The last two columns are about the answers that Nova's and Placement's own determine.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
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
    rows: list[list[object]] = []
    for kind, count in [*counts.items(), ('all', total)]:
        outcomes = [count[column] for column in _COLUMNS]
        known, right = count['determined'], count['right']
        share = f'{100 * right // known} %' if known else ''
        rows.append([kind, sum(outcomes), *outcomes, known, share])
    about = f'{len(results)} questions about {clouds} random clouds'
    return listed(about, ('Clouds', 'Questions', *_COLUMNS.values(), *_OF_DETERMINED), rows)


def listed(about: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A list-table, with the versions of the services and today's date in its title."""
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in SERVICES)
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = [
        f'.. list-table:: {about} ({versions}; {day})',
        '   :header-rows: 1',
        f'   :widths: 20{" 10" * (len(columns) - 1)}',
        '',
    ]
    for row in (columns, *rows):
        lines += [f'   {"  " if number else "* "}- {cell}' for number, cell in enumerate(row)]
    return '\n'.join([*lines, ''])
