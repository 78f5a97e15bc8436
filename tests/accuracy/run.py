"""Ask about random clouds of every kind, compare with the scheduler, and write the table.

Run: ``make accuracy``, or with ARGS='--kinds plain,images --clouds 5'. ``make nightly`` uses new
clouds (``--first``), and stores those with a wrong answer (``--keep``). ``--out FILE`` continues an
interrupted run, and ``--sum FILE...`` adds up several.

Each worker process has one sandbox, which becomes every cloud of a batch of cases. After a time-out
of a service, the case is asked again on a new sandbox, and after ``ATTEMPTS``, it counts as not
asked. The exit status is 1 if an answer was wrong, or if more than ``MOST_NOT_ASKED`` of the cases
were not asked.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.accuracy import comparison, kept, table
from tests.accuracy.case import Case, Generator
from tests.accuracy.comparison import Result
from tests.accuracy.kinds import KINDS
from tests.accuracy.stage import Stage
from tests.accuracy.timeouts import is_timeout
from tests.support import tables

#: Cases per sandbox: starting one takes seconds, and it becomes slower with use.
BATCH = 12
#: How often a case is asked until no service times out, and the largest part that is not asked.
ATTEMPTS, MOST_NOT_ASKED = 3, 0.02


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all cases, and print and write the results."""
    given = parse(arguments)
    results = [result for path in given.sum for result in kept.read(path)]
    before_out = kept.read(given.out) if given.out is not None else []
    results += [result for result in before_out if result.is_asked]
    done = {(result.kind, result.seed) for result in results}
    cases = [case for case in generated(given) if (case.kind, case.seed) not in done]
    begin, before = time.monotonic(), len(results)
    for case, result in compare([] if given.sum else cases, given.jobs, given.until):
        results.append(result)
        if given.out is not None:
            kept.add(given.out, [result])
        print(f'{len(results):4} {result.outcome:7} {result}'.partition('\n')[0], flush=True)
        if given.keep is not None and not result.is_right:
            tables.keep(given.keep, row(case, result))
    minutes = (time.monotonic() - begin) / 60
    late = [result for result in results if not result.is_asked]
    results = [result for result in results if result.is_asked]
    wrong = [result for result in results if not result.is_right]
    for result in (*wrong, *late):
        print(f'{result.outcome.upper()} {result}')
    text = table.text(results)
    print(text)
    first = min((result.seed for result in results), default=given.first)
    print(f'{len(results)} questions, {len(late)} clouds not asked; seeds from {first}', end='')
    asked = len(results) - before
    if asked:
        cpu = sum(os.times()[2:4]) / asked  # of the terminated workers
        rate = f'{asked / minutes:.0f} per minute, {given.jobs} jobs'
        print(f'; {rate}; {cpu:.2f} CPU seconds per question', end='')
    print()
    is_failed = bool(wrong) or are_too_many(late, results)
    if given.write is not None and not is_failed:
        given.write.write_text(text, encoding='utf-8')
    return int(is_failed)


def are_too_many(late: Sequence[Result], asked: Sequence[Result]) -> bool:
    """Check whether too large a part of all cases was not asked."""
    cases = {(result.kind, result.seed) for result in (*late, *asked)}
    return len(late) > MOST_NOT_ASKED * len(cases)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the arguments of the command."""
    parser = argparse.ArgumentParser(prog='make accuracy', description=__doc__.splitlines()[0])
    many = 'separated by commas (default: all)'
    parser.add_argument('--kinds', default=','.join(KINDS), help=f'{", ".join(KINDS)}; {many}')
    parser.add_argument(
        '--generator', metavar='MODULE:FUNCTION', help='seed -> Case; replaces the kinds'
    )
    parser.add_argument('--clouds', type=int, default=24, help='clouds of each kind (default: 24)')
    parser.add_argument('--first', type=int, default=1, help='the first seed')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='parallel processes')
    parser.add_argument('--write', metavar='FILE', type=Path, help='write the table of the manual')
    parser.add_argument('--keep', metavar='TABLE', type=Path, help='add a row for a wrong answer')
    parser.add_argument('--out', metavar='FILE', type=Path, help='add the results to this file')
    parser.add_argument(
        '--sum',
        metavar='FILE',
        type=Path,
        nargs='+',
        default=(),
        help='add up the results in these files',
    )
    parser.add_argument(
        '--until', type=float, default=float('inf'), help='no case starts after this time'
    )
    return parser.parse_args(arguments)


def generated(given: argparse.Namespace) -> Iterator[Case]:
    """Generate the selected cases."""
    if given.generator is not None:
        module, _, name = given.generator.partition(':')
        generators: list[Generator] = [getattr(importlib.import_module(module), name)]
    else:
        generators = [KINDS[kind] for kind in given.kinds.split(',')]
    for generator in generators:
        yield from map(generator, range(given.first, given.first + given.clouds))


def compare(cases: Sequence[Case], jobs: int, until: float) -> Iterator[tuple[Case, Result]]:
    """Yield each result with its case, as they complete."""
    # Shuffle, so that all batches take about the same time.
    mixed = random.Random(0).sample(cases, len(cases))
    batches = [mixed[at : at + BATCH] for at in range(0, len(mixed), BATCH)]
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool:
        running = {pool.submit(play, batch, until): batch for batch in batches}
        for done in as_completed(running):
            yield from outcome(running[done], done)


def play(batch: Sequence[Case], until: float) -> list[tuple[Case, Result]]:
    """Run cases on one sandbox; an exception is a result, and the rest get a new sandbox.

    A case with a time-out is asked again, after the others.
    """
    left, results = list(batch), list[tuple[Case, Result]]()
    attempts = collections.Counter[str]()
    while left and time.time() < until:
        try:
            with Stage() as stage:
                while left and time.time() < until:
                    results += [(left[0], result) for result in comparison.compare(stage, left[0])]
                    del left[0]
        except Exception as error:  # noqa: BLE001 - the other cases must run
            case, is_late = left.pop(0), is_timeout(error)
            attempts[str(case)] += 1
            if is_late and attempts[str(case)] < ATTEMPTS:
                left.append(case)
            else:
                results.append((case, failed(case, error, is_asked=not is_late)))
    return results


def failed(case: Case, error: BaseException, *, is_asked: bool = True) -> Result:
    """Return the result of a case that raised an exception: no capacity."""
    text = ''.join(traceback.format_exception_only(error))
    return Result(case.kind, case.seed, -1, None, False, 0, text, is_asked=is_asked)


def outcome(
    batch: Sequence[Case], done: Future[list[tuple[Case, Result]]]
) -> list[tuple[Case, Result]]:
    """Return the results of a batch, also if it raised an exception; raise if a worker was lost."""
    error = done.exception()
    if error is None or isinstance(error, BrokenExecutor):
        return done.result()
    return [(case, failed(case, error, is_asked=not is_timeout(error))) for case in batch]


def row(case: Case, result: Result) -> dict[str, object]:
    """Return the row of a wrong answer for ``tests/cases/found_clouds.yaml``."""
    return {
        'name': str(case),
        'source': 'make nightly',
        'differed': str(result).partition('\n')[0],
        'case': dataclasses.asdict(case),
    }


if __name__ == '__main__':
    sys.exit(main())
