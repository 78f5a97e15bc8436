"""Run all benchmarks, and write a table of the figures that matter to users and administrators.

Run: make bench, or make bench ARGS='--only bench_nova_filter', or with --write for the table. The
exit status is 1 if a benchmark fails, or misses a goal without a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.goals import FILE, Goal

PLACE = Path(__file__).parent
#: The first benchmark: planning is the most frequent operation.
FIRST = 'bench_planner'
#: The rows of the table in the manual, by the names of the goals.
SHOWN = (
    'plan, random usage',
    'plan, again',
    'rejected, with remedies',
    '100,000 hosts: plan',
    '100,000 hosts: rejected, with remedies',
    '100,000 hosts: peak (MiB)',
    'senlin-affinity plan, a small file, as a table: CPU to importing cliff.app',
    '10,000 hosts: capacity of 50 flavors by zone',
    'load 10,000 hosts, lean: CPU to json.loads',
    'load 10,000 hosts, rich: CPU to json.loads',
    '10,000 hosts, 100,000 servers: drain a host with 40 servers (s)',
    '10,000 hosts, 100,000 servers: drain a host with 40 servers: peak (MiB)',
    '1,800 hosts, 48,000 servers, roomy: resilience by host (s)',
    '1,800 hosts, 48,000 servers, full: resilience by host (s)',
    'take a snapshot of 2,000 hosts: CPU to the bare pages',
    '10,000 hosts: accept 1: requests',
    '10,000 hosts: accept 1: kB',
    '50,000 hosts: accept 1: requests',
    '50,000 hosts: accept 1: kB',
    '50,000 hosts: accept 1 in a zone: requests',
    '50,000 hosts: accept 1 in a zone: kB',
    '10,000 hosts: accept 50: requests',
    '10,000 hosts: accept 50: kB',
    '10,000 hosts: reject, 20 candidates, tenant: requests',
    '10,000 hosts: reject, 20 candidates, tenant: kB',
    '10,000 hosts: reject, 250 candidates, tenant: requests',
    '10,000 hosts: reject, 250 candidates, tenant: kB',
    '10,000 hosts: pinned: requests',
    '10,000 hosts: pinned: kB',
    '5,000 clusters and profiles: find the users of a group by its id and name (ms)',
    '5,000 clusters: detach: ms',
    "Placement's CPU, to that of Nova's own request",
    'find the DRS host among 10,000: requests',
    'find the DRS host among 10,000: kB',
    'nova-api: a POST of extra specs: % of what nova-api spends',
    'nova-api: GET /servers, which is left alone: % of a POST of extra specs',
    'Nova filter: 10,000 hosts, 200 sets of aggregates, 10 extra specs: times faster',
    'Nova filter: one host, 200 sets of aggregates, no extra specs: times faster',
)


def machine() -> str:
    """Return the machine and its load, as shown above the table."""
    words = [line for line in _lines('/proc/cpuinfo') if line.startswith('model name')]
    model = words[0].partition(':')[2].strip() if words else platform.machine()
    (memory,) = [int(line.split()[1]) for line in _lines('/proc/meminfo') if 'MemTotal' in line]
    load = os.getloadavg()[2]
    return (
        f'{os.cpu_count()} cores of {model}, {memory / 2**20:.0f} GiB of memory, Python '
        f'{platform.python_version()}; the load was {load:.0f}'
    )


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding='utf-8').splitlines()


def table(goals: Sequence[Goal], on: str) -> str:
    """Return the table for the manual, with those of its rows that were measured."""
    by_name = {goal.name: goal for goal in goals}
    rows = [
        '.. Written by make bench; do not edit.',
        '',
        f'Measured on {on}.',
        '',
        '.. list-table::',
        '   :header-rows: 1',
        '   :widths: 64 12 24',
        '',
        '   * - Operation',
        '     - Figure',
        '     - Goal',
    ]
    for goal in (by_name[name] for name in SHOWN if name in by_name):
        missed = '' if goal.is_met else f'; missed: {goal.reason or "no reason is given"}'
        rows += [f'   * - {goal.name}', f'     - {goal.number}', f'     - {goal.words}{missed}']
    return '\n'.join(rows) + '\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog='make bench')
    either = parser.add_mutually_exclusive_group()
    either.add_argument('--write', type=Path, help='write the table to this file')
    either.add_argument('--only', action='append', help='one benchmark; may be repeated')
    told = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory() as directory:
        figures = Path(directory, 'figures')
        figures.touch()
        for path in sorted(PLACE.glob('bench_*.py'), key=lambda path: (path.stem != FIRST, path)):
            if told.only and path.stem not in told.only:
                continue
            print(f'== {path.name}', flush=True)
            begin = time.monotonic()
            more = {FILE: str(figures), 'PYTHONPATH': str(PLACE.parent)}
            command = [sys.executable, '-W', 'ignore', str(path)]
            status |= subprocess.run(command, env={**os.environ, **more}).returncode != 0
            print(f'   {time.monotonic() - begin:.0f} s', flush=True)
        goals = [Goal(**json.loads(line)) for line in _lines(str(figures))]
    if told.write:
        told.write.write_text(table(goals, machine()), encoding='utf-8')
        for name in {*SHOWN}.difference(goal.name for goal in goals):
            print(f'not measured: {name}: is this still the name of a goal?')
            status = 1
    for goal in goals:
        if not goal.is_met:
            print(f'missed: {goal.name}: {goal.number}, {goal.words}: {goal.reason}')
    return status


if __name__ == '__main__':
    sys.exit(main())
