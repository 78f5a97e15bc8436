"""The command as a process: what ``--help`` and a plan on a small file take.

Run: make bench. Prints the CPU of the processes, against that of importing cliff, in turns.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.goals import Goal, measured_children, report
from senlin_affinity.conf import files

ROUNDS = 7
COMMAND = str(Path(sys.executable).with_name('senlin-affinity'))
CLOUD = str(files.example('snapshots/racks.json'))
PLAN = [COMMAND, 'plan', '--count', '2', '--flavor', 'm1.small', '--snapshot', CLOUD]
WAYS = {
    'cliff': [sys.executable, '-c', 'import cliff.app'],
    'senlin-affinity --help': [COMMAND, '--help'],
    'senlin-affinity plan, a small file, as a table': PLAN,
    'senlin-affinity plan, a small file, as JSON': [*PLAN, '-f', 'json'],
}
GOALS = dict(zip(WAYS, (1, 2, 3, 3), strict=True))
LIBRARIES = 'the table is drawn with rich, whose import is a third of the yardstick'
REASONS = {'senlin-affinity plan, a small file, as a table': LIBRARIES}


def main() -> int:
    run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    ways = {name: partial(run, command) for name, command in WAYS.items()}
    seconds = measured_children(ways, ROUNDS)
    return report(
        Goal(f'{name}: CPU to importing cliff.app', taken / seconds['cliff'], GOALS[name], why)
        for name, taken in seconds.items()
        for why in [REASONS.get(name)]
        if name != 'cliff'
    )


if __name__ == '__main__':
    sys.exit(main())
