"""Run the plugins for Nova with several releases of Nova, and write a table of the results.

Each release has its own virtual environment, which ``make releases`` creates. The tests are those
of ``tests/nova``, with Nova's objects, filters, API and database in one process, and the tests of
the order in which Nova loads validators.

Run: make releases, or make releases ARGS='--write doc/source/trust/releases-table.rst'. The exit
status is 1 if a test fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The environment and the constraints file of each release of Nova.
RELEASES = {
    24: ('.venv-nova-24', 'tests/releases/constraints-24.txt'),
    29: ('.venv-nova-29', 'tests/releases/constraints-29.txt'),
    34: ('.venv', 'constraints.txt'),
}
#: The columns of the table, and the tests of each.
PARTS = {
    'Scheduler filter': ('tests/nova/test_filter.py', 'tests/nova/test_filter_all.py'),
    'Request filter': ('tests/nova/test_request_filter.py',),
    'Validators': (
        'tests/nova/test_extra_specs.py', 'tests/nova/test_extra_spec_process.py',
        'tests/functional/test_validators_in_nova.py',
    ),
    'Middleware': ('tests/nova/test_api.py',),
    'Options, images, tables': (
        'tests/nova/test_nova_conf.py', 'tests/nova/test_image.py', 'tests/nova/test_releases.py',
        'tests/nova/test_combination_rules.py',
    ),
}  # fmt: skip
#: Seconds for the tests of one part.
DEADLINE = 300
_VERSIONS = """
import platform, sys
from importlib.metadata import version
print(version('nova'), platform.python_version(), version('SQLAlchemy'), version('oslo.config'))
"""


@dataclass(frozen=True)
class Result:
    """The number of tests of one part that passed, and the output if one failed."""

    passed: int
    output: str = ''


def run(python: Path, tests: Iterable[str]) -> Result:
    command = [python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *tests]
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=DEADLINE
    )
    passed = re.search(r'(\d+) passed', done.stdout)
    is_done = done.returncode == 0 and passed is not None
    return Result(int(passed[1]) if passed else 0, '' if is_done else done.stdout + done.stderr)


def versions(python: Path) -> list[str]:
    """Return the versions of Nova, Python, SQLAlchemy and oslo.config."""
    done = subprocess.run([python, '-c', _VERSIONS], capture_output=True, text=True, check=True)
    return done.stdout.split()


def table(rows: Iterable[Sequence[object]]) -> str:
    """Return the table for the manual."""
    heading = ('Nova', 'Python', 'SQLAlchemy', 'oslo.config', *PARTS)
    lines = ['.. Written by make releases; do not edit.', '', '.. list-table::']
    lines += ['   :header-rows: 1', '']
    for row in (heading, *rows):
        first, *rest = map(str, row)
        lines += [f'   * - {first}', *(f'     - {each}' for each in rest)]
    return '\n'.join([*lines, ''])


def main() -> int:
    """Run all releases, or those of ``--only``."""
    parser = argparse.ArgumentParser(description='Test the plugins with releases of Nova.')
    parser.add_argument('--only', type=int, action='append', choices=RELEASES)
    parser.add_argument('--write', type=Path, metavar='FILE', help='write the table here')
    given = parser.parse_args()
    rows, failures = [], []
    for release in given.only or RELEASES:
        python = ROOT / RELEASES[release][0] / 'bin/python'
        results = {name: run(python, tests) for name, tests in PARTS.items()}
        failures += [each.output for each in results.values() if each.output]
        cells = [
            f'{each.passed} passed' if not each.output else 'failed' for each in results.values()
        ]
        rows.append([*versions(python), *cells])
        sys.stdout.write(f'{"  ".join(map(str, rows[-1]))}\n')
        sys.stdout.flush()
    sys.stdout.writelines(failures)
    if given.write and not failures:
        given.write.write_text(table(rows), encoding='utf-8')
    return int(bool(failures))


if __name__ == '__main__':
    sys.exit(main())
