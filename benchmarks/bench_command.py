"""Measure the command as a process: ``--help``, and a plan with a small snapshot file.

All modules are compiled first, as pip does: if Python may not write bytecode, each process would
compile the modules of a checkout, but not those of libraries.

Run: make bench. Prints the CPU time of each process as a ratio to the import of cliff.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
#: The reason for the missed goals of a plan, in CPU seconds.
IMPORTS = 'importing numpy takes 0.1 s, and the modules of a plan 0.2 s'
GOALS = dict(zip(WAYS, ((1, None), (2, None), (3, IMPORTS), (3, IMPORTS)), strict=True))


def main() -> int:
    with tempfile.TemporaryDirectory() as compiled:
        bytecode = {'PYTHONDONTWRITEBYTECODE': '', 'PYTHONPYCACHEPREFIX': compiled}
        run = partial(
            subprocess.run, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **bytecode}
        )
        ways = {name: partial(run, command) for name, command in WAYS.items()}
        for way in ways.values():
            way()
        seconds = measured_children(ways, ROUNDS)
    return report(
        Goal(f'{name}: CPU to importing cliff.app', taken / seconds['cliff'], *GOALS[name])
        for name, taken in seconds.items()
        if name != 'cliff'
    )


if __name__ == '__main__':
    sys.exit(main())
