"""``make soak``: run all reliability tests, and write the page of the manual.

``make nightly`` runs one of ``--every`` cases, which its seed chooses.

Units: the exit status is 1 if a guarantee was violated.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.reliability import kills, matrix, report, sandbox_races
from tests.reliability.report import Part


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, and print their results."""
    parser = argparse.ArgumentParser(prog='make soak')
    parser.add_argument('--parts', nargs='*', default=[*PARTS], choices=[*PARTS])
    parser.add_argument('--workers', type=int, default=4, help='processes (default: 4)')
    parser.add_argument('--every', type=int, default=1, help='run one of N cases')
    parser.add_argument('--rounds', type=int, default=20, help='rounds of races')
    parser.add_argument(
        '--seed', type=int, default=1, help='the number of the first of --every cases'
    )
    parser.add_argument('--only', default='', help='only cases whose names contain this text')
    parser.add_argument(
        '--until', type=float, default=math.inf, help='no part starts after this time'
    )
    parser.add_argument('--write', type=Path, help='write the page of the manual here')
    given = parser.parse_args(arguments)
    parts: dict[str, Part] = {}
    for name in given.parts:
        if time.time() > given.until:
            break
        tell(f'== {name}')
        parts[name] = PARTS[name](given)
        tell(parts[name].line())
    broken = [item for part in parts.values() for item in part.broken]
    for case, kind, words in broken:
        tell(f'BROKEN: {kind}: {case}: {words}')
    if given.write is not None:
        given.write.write_text(report.page([*parts.values()]), encoding='utf-8')
    return 1 if broken else 0


def _matrix(given: argparse.Namespace) -> Part:
    return matrix.run(given.workers, given.every, given.only, tell, given.seed)[0]


def _kills(given: argparse.Namespace) -> Part:
    return kills.run(given.workers, given.every, given.only, tell, given.seed)


def _races(given: argparse.Namespace) -> Part:
    return sandbox_races.run(given.rounds, tell)


PARTS = {
    'matrix': _matrix,
    'kills': _kills,
    'races': _races,
}
tell = functools.partial(print, flush=True)

if __name__ == '__main__':
    sys.exit(main())
