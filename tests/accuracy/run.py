"""Compares many random clouds with the real scheduler, and writes the table of the manual.

Run: ``make accuracy`` (300 clouds, some minutes for each hundred), or with ARGS='--clouds 20'.
``make nightly`` has other clouds each time (``--first``), and keeps those that differ (``--keep``).

Data flow: cases go to worker processes, each of which makes one sandbox after the other; results
come back and are counted by kind. The exit status is 1 if a single answer was wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path

from tests.accuracy import clouds, comparison
from tests.accuracy.comparison import Result
from tests.support import tables

SERVICES = ('nova', 'openstack-placement')


def main() -> int:
    """Compare, tell, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--clouds', type=int, default=300, help='how many (default: 300)')
    parser.add_argument('--first', type=int, default=1, help='the number of the first')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='at a time')
    parser.add_argument('--write', metavar='FILE', type=Path, help='the table, for the manual')
    parser.add_argument('--keep', metavar='TABLE', type=Path, help='takes a row for a wrong one')
    parser.add_argument('--until', type=float, default=float('inf'), help='time.time() of the end')
    arguments = parser.parse_args()
    results = []
    for result in compare(arguments):
        results.append(result)
        mark = 'ok   ' if result.is_right else 'WRONG'
        print(f'{len(results):4} {mark} {result}', flush=True)
        if arguments.keep is not None and not result.is_right:
            tables.keep(arguments.keep, row(result))
    wrong = [result for result in results if not result.is_right]
    for result in wrong:
        print(f'WRONG {result}')
    text = table(results)
    print(text)
    if arguments.write is not None and not wrong:
        arguments.write.write_text(text, encoding='utf-8')
    return 1 if wrong else 0


def compare(arguments: argparse.Namespace) -> Iterator[Result]:
    """The results, as they come; a case that ended in an exception has one without a capacity."""
    if time.time() > arguments.until:
        return
    seeds = range(arguments.first, arguments.first + arguments.clouds)
    with ProcessPoolExecutor(arguments.jobs, max_tasks_per_child=1) as pool:
        running = {pool.submit(comparison.compare, clouds.case(seed)): seed for seed in seeds}
        for done in as_completed(running):
            if time.time() > arguments.until:
                for other in running:
                    other.cancel()
            if not done.cancelled():
                yield outcome(running[done], done)


def outcome(seed: int, done: Future[Result]) -> Result:
    """What came out, be it an exception; that of a lost worker is raised."""
    error = done.exception()
    if error is None or isinstance(error, BrokenExecutor):
        return done.result()
    return Result(seed, None, False, 0, f'{type(error).__name__}: {error}')


def row(result: Result) -> dict[str, object]:
    """The row of a cloud in which the two differed, for ``tests/cases/found_clouds.yaml``."""
    return {
        'name': f'cloud {result.seed}',
        'source': 'make nightly',
        'differed': str(result).partition('\n')[0],
        'case': dataclasses.asdict(clouds.case(result.seed)),
    }


def table(results: Iterable[Result]) -> str:
    """The counts, as a list-table of the manual."""
    results = sorted(results, key=lambda result: result.seed)
    kinds = Counter(kind_of(result) for result in results)
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in SERVICES)
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rows = [
        ('all', len(results)),
        ('the answer was exact, and nothing fitted', kinds['none']),
        ('the answer was exact, and something fitted', kinds['exact']),
        ('the answer was "at most", and as many fitted', kinds['most']),
        ('the answer was "at most", and fewer fitted', kinds['fewer']),
        ('a false refusal, or fewer than an exact answer said', kinds['wrong']),
        ('servers that were really placed', sum(result.placed for result in results)),
    ]
    head = f'.. list-table:: {len(results)} random clouds ({versions}; {day})'
    options = '   :header-rows: 1\n   :widths: 80 20\n\n   * - Clouds in which\n     - Number'
    return '\n'.join([head, options, *(f'   * - {words}\n     - {n}' for words, n in rows), ''])


def kind_of(result: Result) -> str:
    """Which row a result counts in."""
    if not result.is_right:
        return 'wrong'
    if result.is_at_most:
        return 'most' if result.placed == result.capacity else 'fewer'
    return 'exact' if result.placed else 'none'


if __name__ == '__main__':
    sys.exit(main())
