"""The snapshot: what it costs to take it, and to load it from its file, beside the bare JSON.

Taking: one local server answers both ways in one run: ours, and the same pages fetched and parsed
with nothing done to them; the peak is Python's own memory. Loading: against json.loads of the same
file; the peak is all memory of a process of its own, Python itself (about 40 MiB) included.

Run: make bench. Prints the minimum of the rounds, the ratio, the requests, and the peak memory.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import os_traits

from senlin_affinity.cloud import snapshot, snapshot_file
from senlin_affinity.core.objects import Aggregate, CloudSnapshot, Host, Resource
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova

SIZES = (10_000, 100_000)
TAKEN = 10_000
ROUNDS = 3
TRAITS = tuple(
    trait for trait in os_traits.get_traits() if trait.startswith(('COMPUTE_', 'HW_CPU_X86_'))
)[:60]
AGGREGATES = tuple(f'5bbcc3c4-1da2-4437-a48a-{number:012x}' for number in range(20))


def least(action: Callable[[], object]) -> float:
    """Seconds: the least of the rounds."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


# -- loading


def make(hosts: int) -> CloudSnapshot:
    """Hosts with 60 traits and three aggregates each; the use of every one is random."""
    dice = random.Random(hosts)
    traits = [frozenset(dice.sample(TRAITS, 58)) for _ in range(5)]
    return CloudSnapshot(
        hosts=tuple(
            Host(
                f'cmp-{number}',
                f'cmp-{number}.example.org',
                'QEMU',
                'nova',
                aggregates=frozenset(dice.sample(AGGREGATES, 3)),
                traits=dice.choice(traits),
                resources={
                    'VCPU': Resource(256, dice.randrange(256), 64),
                    'MEMORY_MB': Resource(515_000, dice.randrange(515_000), 515_000),
                    'DISK_GB': Resource(7_000, dice.randrange(7_000), 7_000),
                },
            )
            for number in range(hosts)
        ),
        aggregates=tuple(Aggregate(uuid, uuid[-4:]) for uuid in AGGREGATES),
        flavors=(),
    )


def read_bare(path: str) -> Any:
    """The yardstick."""
    return json.loads(Path(path).read_text(encoding='utf-8'))


WAYS: dict[str, Callable[[str], Any]] = {'json.loads': read_bare, 'load': snapshot_file.load}


def peak_of(way: str, path: str) -> float:
    """MiB that a process needs that does only this."""
    done = subprocess.run(
        [sys.executable, __file__, way, path], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def bench_loading(hosts: int) -> None:
    """Print a line for each way."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, 'cloud.json'))
        snapshot_file.save(make(hosts), path)
        size = Path(path).stat().st_size / 2**20
        print(f'loading {hosts:,} hosts, {size:.0f} MiB')
        seconds = {way: least(lambda action=action: action(path)) for way, action in WAYS.items()}
        for way, taken in seconds.items():
            print(
                f'  {way:10} {taken / seconds["json.loads"]:6.2f} x  {taken * 1000:9.1f} ms  '
                f'{taken / hosts * 1e6:6.1f} us a host  peak {peak_of(way, path):7.1f} MiB'
            )


# -- taking


def fetch_bare(cloud: HttpCloud, connection: Any) -> None:
    """The same pages as ours, in the same order: fetched, parsed, dropped."""
    for service, path, microversion, query in PAGES:
        adapter = getattr(connection, service)
        while True:
            body = adapter.get(path, params=query, microversion=microversion).json()
            links = [value for key, value in body.items() if key.endswith('_links')]
            if not links:
                break
            (items,) = (value for key, value in body.items() if not key.endswith('_links'))
            query = {**query, 'marker': items[-1]['id']}


PAGES = (
    ('compute', '/os-server-groups', '2.64', {'all_projects': 'true', 'limit': 1000}),
    ('compute', '/os-hypervisors/detail', '2.53', {'with_servers': 'true', 'limit': 1000}),
    ('compute', '/os-aggregates', '2.41', {}),
    ('compute', '/os-services', '2.1', {'binary': 'nova-compute'}),
    ('placement', '/allocation_candidates', '1.29', {'resources': 'MEMORY_MB:1'}),
    ('compute', '/flavors/detail', '2.61', {'is_public': 'None', 'limit': 1000}),
    ('compute', '/limits', '2.1', {}),
)


class Canned(HttpCloud):
    """Answers what it answered before: what is measured is the client, not the fake cloud."""

    def __init__(self, nova: FakeNova) -> None:
        super().__init__(nova)
        self.answers: dict[str, tuple[int, bytes]] = {}

    def data(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, bytes]:
        """The status and the body's bytes."""
        known = self.answers.get(target)
        if known is None or method != 'GET':
            known = super().data(method, target, headers, body)
            self.answers[target] = known
        self.served.append(target)
        return known

    served: list[str]


def make_cloud(hosts: int) -> Canned:
    """20 servers on each host; 200 of all of them are in groups."""
    fakes = tuple(FakeHost(f'cmp-{number}') for number in range(hosts))
    nova = FakeNova(hosts=fakes, flavors=(), aggregates=(), quota=-1)
    dice = random.Random(hosts)
    groups = [nova.add_group(f'group-{number}') for number in range(40)]
    for number in range(hosts * 20):
        group = groups[number % 40] if number < 200 else nova.add_group('none')
        nova.boot(group, f'cmp-{dice.randrange(hosts)}')
        if number >= 200:
            nova.groups.pop()
    for number in range(50):
        nova.add_flavor(f'flavor-{number}')
    for number in range(20):
        nova.add_aggregate(f'aggregate-{number}', [f'cmp-{dice.randrange(hosts)}'])
    cloud = Canned(nova)
    cloud.served = []
    cloud.placement.providers = [
        provider.__class__(provider.uuid, provider.resources, TRAITS, name=provider.name)
        for provider in cloud.placement.providers
    ]
    return cloud


def bench_taking(hosts: int) -> None:
    """Print a line for each way."""
    with make_cloud(hosts) as cloud:
        connection = cloud.connection()
        ways: dict[str, Callable[[], object]] = {
            'bare pages': lambda: fetch_bare(cloud, connection),
            'take': lambda: snapshot.take(connection),
        }
        print(f'taking {hosts:,} hosts, 20 servers on each')
        results = {}
        for way, action in ways.items():
            action()  # token, discovery, and the answers are canned
            gc.collect()
            gc.freeze()  # the fake cloud's own objects are nobody's cost
            cloud.served.clear()
            cloud.bytes_sent = 0
            action()
            requests = [target for target in cloud.served if 'identity' not in target]
            pages = sum('marker=' in target for target in requests)
            size = cloud.bytes_sent
            tracemalloc.start()
            action()
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            results[way] = (least(action), len(requests), pages, size, peak)
        for way, (seconds, requests, pages, size, peak) in results.items():
            print(
                f'  {way:10} {seconds / results["bare pages"][0]:6.2f} x  '
                f'{seconds * 1000:9.1f} ms  '
                f'{requests - pages:3} requests and {pages} pages more  '
                f'{size / 2**20:6.1f} MiB  peak {peak:7.1f} MiB'
            )


def main() -> None:
    if len(sys.argv) == 3:
        way, path = sys.argv[1:]
        WAYS[way](path)
        status = Path('/proc/self/status').read_text(encoding='ascii')
        print(int(status.partition('VmHWM:')[2].split()[0]) / 1024)
        return
    for hosts in SIZES:
        bench_loading(hosts)
    bench_taking(TAKEN)


if __name__ == '__main__':
    main()
