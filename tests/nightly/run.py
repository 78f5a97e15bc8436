"""``make nightly``: run all long tests with new random input.

Each part is a process with the same seed, which is printed first and last. If a part fails, the
others run nevertheless. A cloud with a wrong answer becomes a row of
``tests/cases/found_clouds.yaml``.

Units: the exit status is 1 if a part failed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.support.tables import CASES

#: Tests with generated input (``-m hypothesis``).
EXPLORED = ('tests/property', 'tests/functional', 'tests/reliability/test_fuzz.py')
#: Where tests are marked ``nightly``.
RARE = ('tests/accuracy', 'tests/engine', 'tests/functional', 'tests/reliability')
#: The random parts of ``make soak``, and their size.
SOAKED = ('kills', 'matrix')
#: Random clouds whose drains and losses are compared with an exact search.
_DRAINS = 2_000
_IN_SMALL = ('--every=101', '--workers=2')


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='make nightly')
    parser.add_argument('--seed', type=int, default=random.randrange(10**9))
    parser.add_argument('--minutes', type=float, help='no part starts afterwards')
    parser.add_argument('--clouds', type=int, default=24, help='clouds of each kind (default: 24)')
    parser.add_argument('--soak', nargs='*', default=SOAKED, help='parts of the soak')
    parser.add_argument('--workers', default='3', help='processes of pytest')
    parser.add_argument('--explore', nargs='*', default=EXPLORED, help='tests with generated input')
    given = parser.parse_args(arguments)
    again = f"seed {given.seed}: make nightly ARGS='--seed {given.seed}'"
    print(again, flush=True)
    todo = parts(given)
    end = None if given.minutes is None else time.time() + 60 * given.minutes
    failed = []
    while todo:
        name, command = todo.pop(0)
        if end is not None:  # an equal share of the remaining time
            command += ['--until', str(time.time() + (end - time.time()) / (len(todo) + 1))]
        print(f'== {name}: {" ".join(command)}', flush=True)
        explore = {**os.environ, 'HYPOTHESIS_PROFILE': 'explore'}
        if subprocess.run([sys.executable, '-m', *command], env=explore, check=False).returncode:
            failed.append(name)
    print(f'== {", ".join(failed) or "nothing"} failed; new rows, if any: git diff {CASES}')
    print(again)
    return 1 if failed else 0


def parts(given: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """Return each part's name, and its module with arguments."""
    tests = ['pytest', '-p', 'tests.nightly.until', f'--hypothesis-seed={given.seed}']
    tests += ['--dist=loadfile']
    clouds = [f'--first={given.seed}', f'--clouds={given.clouds}']
    clouds += [f'--keep={CASES / "found_clouds.yaml"}']
    drains, losses = (
        [f'tests.property.exact_{name}', str(_DRAINS), f'--first={given.seed}']
        for name in ('drain', 'loss')
    )
    return [
        ('accuracy', ['tests.accuracy.run', *clouds]),
        ('drains', drains),
        ('losses', losses),
        ('tests', [*tests, '-n', given.workers, '-m', 'nightly', *RARE]),
        ('explore', [*tests, '-n', given.workers, '-m', 'hypothesis', *given.explore]),
        (
            'soak',
            ['tests.reliability.soak', f'--seed={given.seed}', *_IN_SMALL, '--parts', *given.soak],
        ),
    ]


if __name__ == '__main__':
    sys.exit(main())
