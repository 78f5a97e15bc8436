"""Measure a refresh and a scrape of the exporter in a cloud of 10,000 hosts.

The simulated cloud runs behind a socket; it has 50 flavors, 40 groups with 200 members, and no
other servers. The exporter's refreshes run in a process of their own, whose peak memory is
measured. The first one includes log-in, discovery and the hourly checks; the second one is
measured. Its CPU time is a ratio to json.loads of the bodies that the cloud sends for it.

Run: make bench. The exit status is 1 if a goal is missed without a reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.bench_snapshot import Canned
from benchmarks.goals import Goal, measured, report
from tests.support.fake_nova import FakeHost, FakeNova

HOSTS, FLAVORS, GROUPS, MEMBERS = 10_000, 50, 40, 200
#: Requests that are no further pages of a list, and those of them to Placement.
MOST_REQUESTS, MOST_OF_PLACEMENT = 15, 4
#: The process that is measured waits for a line of its input before its second refresh.
CHILD = 'child'
BY_CAPACITY = 'the capacity of 50 flavors, and our own values of hosts and servers'


def make_cloud() -> Canned:
    """Return a cloud that sends the same bytes again for each request."""
    fakes = tuple(FakeHost(f'cmp-{number}', zone=f'az-{number % 4}') for number in range(HOSTS))
    nova = FakeNova(hosts=fakes, flavors=(), aggregates=(), quota=-1)
    groups = [nova.add_group(f'group-{number}') for number in range(GROUPS)]
    for number in range(MEMBERS):
        nova.boot(groups[number % GROUPS], f'cmp-{number}')
    for number in range(FLAVORS):
        nova.add_flavor(f'flavor-{number}', vcpus=1 + number % 8, ram=1024 * (1 + number % 7))
    cloud = Canned(nova)
    cloud.served = []
    return cloud


def be_an_exporter() -> None:
    """Refresh twice, scrape, and print the figures of the second refresh."""
    from prometheus_client import generate_latest

    from senlin_affinity import api
    from senlin_affinity.cli import exporter
    from senlin_affinity.cli.refresh import ALL, Refresher, Wanted
    from senlin_affinity.conf.constraint_plugins import load_constraints

    wanted = Wanted(api.Question(0), ALL, load_constraints(), timeout=300)
    refresher = Refresher('', wanted, 300)
    registry = exporter.registry([refresher])
    refresher.refresh()
    print(flush=True)
    input()
    start = time.process_time()
    refresher.refresh()
    spent = time.process_time() - start
    scrapes = []
    for _ in range(5):
        start = time.process_time()
        text = generate_latest(registry)
        scrapes.append(time.process_time() - start)
    assert b'refreshes_total{cloud="",result="success"} 2' in text, text[-2000:].decode()
    status = Path('/proc/self/status').read_text(encoding='ascii')
    peak = int(status.partition('VmHWM:')[2].split()[0]) / 1024
    print(json.dumps([spent, min(scrapes), peak]))


def goals() -> Iterator[Goal]:
    with make_cloud() as cloud:
        others = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        with subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', 'benchmarks.bench_exporter', CHILD],
            env={**others, **cloud.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdout.readline()
            cloud.served.clear()
            cloud.bytes_sent = 0
            child.stdin.write('\n')
            child.stdin.flush()
            spent, scrape, peak = json.loads(child.stdout.readline())
        sent = [target for target in cloud.served if 'identity' not in target]
        bodies = [cloud.answers[target][1] for target in sent if target in cloud.answers]
        kilobytes = cloud.bytes_sent / 1024
    first = [urlsplit(target) for target in sent if 'marker=' not in target]
    of_placement = [each for each in first if each.path.startswith('/placement')]
    loads = measured({'': partial(lambda: [*map(json.loads, filter(None, bodies))])}, 3)['']
    name = f'exporter, {HOSTS:,} hosts, {FLAVORS} flavors'
    yield Goal(f'{name}: requests without further pages', len(first), MOST_REQUESTS)
    yield Goal(f'{name}: of these to Placement', len(of_placement), MOST_OF_PLACEMENT)
    yield Goal(f'{name}: MB', kilobytes / 1024, 15)
    yield Goal(f'{name}: a refresh, CPU to json.loads of its bodies', spent / loads, 6, BY_CAPACITY)
    yield Goal(f'{name}: a scrape (ms)', scrape * 1000, 50)
    yield Goal(f'{name}: peak (MiB)', peak, 400)


def main() -> int:
    if sys.argv[1:] == [CHILD]:
        be_an_exporter()
        return 0
    return report(goals())


if __name__ == '__main__':
    sys.exit(main())
