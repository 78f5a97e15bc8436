"""``make soak``: all parts of the proof in full; writes the page of the manual.

``make nightly`` runs some of them in small, with a seed of its own: the seed chooses which
one of ``--every`` cases.

Units: the exit status is 1 if a promise was broken.
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
    """Run the parts, and say what they came to."""
    parser = argparse.ArgumentParser(prog='make soak')
    parser.add_argument('--parts', nargs='*', default=[*PARTS], choices=[*PARTS])
    parser.add_argument('--workers', type=int, default=4, help='processes (default: 4)')
    parser.add_argument('--every', type=int, default=1, help='one case of so many')
    parser.add_argument('--rounds', type=int, default=20, help='of races')
    parser.add_argument('--seed', type=int, default=1, help='which one of --every cases')
    parser.add_argument('--only', default='', help='cases that hold this')
    parser.add_argument('--until', type=float, default=math.inf, help='no part begins later')
    parser.add_argument('--write', type=Path, help='the page of the manual')
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
