"""Measure how a snapshot is loaded from its file, and taken, compared with the bare JSON.

Loading is compared with json.loads of the same text. Hosts are lean (one trait, one aggregate), in
eight of 2,000 aggregates each, or rich (60 traits, three aggregates), with random usage. Taking is
compared, in turns and with the same local server, with fetching and parsing the same pages. The
peak memory is that of a separate process, including Python itself (about 40 MiB).

Run: make bench. Prints ratios of CPU time, the minimum of the rounds.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import os_traits

from benchmarks.goals import Goal, measured, report
from senlin_affinity.cloud import clients, snapshot, snapshot_file
from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.host import Host, Resource
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova

HOSTS = 10_000
TAKEN = 2_000
ROUNDS = 7
TRAITS = tuple(
    trait for trait in os_traits.get_traits() if trait.startswith(('COMPUTE_', 'HW_CPU_X86_'))
)[:60]
AGGREGATES = tuple(f'5bbcc3c4-1da2-4437-a48a-{number:012x}' for number in range(2_000))
OWN_VALUES = 'most of the time goes into building our own values, in Python'
#: By kind: traits and aggregates of each host, the total number of aggregates, and the goal.
KINDS = {
    'lean': (1, 1, 20, 1.3, OWN_VALUES),
    '8 aggregates a host': (1, 8, 2_000, 1.3, OWN_VALUES),
    'rich': (58, 3, 20, 1.3, OWN_VALUES),
}


# -- loading


def make(traits: int, aggregates: int, known: int) -> Cloud:
    """Return hosts with random usage."""
    dice = random.Random(HOSTS)
    looks = [frozenset(dice.sample(TRAITS, traits)) for _ in range(5)]
    hosts = tuple(
        Host(
            f'cmp-{number}',
            f'cmp-{number}.example.org',
            'QEMU',
            'nova',
            aggregates=frozenset(dice.sample(AGGREGATES[:known], aggregates)),
            traits=dice.choice(looks),
            resources={
                'VCPU': Resource(256, dice.randrange(256)),
                'MEMORY_MB': Resource(515_000, dice.randrange(515_000)),
                'DISK_GB': Resource(7_000, dice.randrange(7_000)),
            },
        )
        for number in range(HOSTS)
    )
    known_ones = tuple(Aggregate(uuid, uuid[-4:]) for uuid in AGGREGATES[:known])
    return Cloud(hosts=hosts, aggregates=known_ones, flavors=())


def peak_of(path: str) -> float:
    """Return the MiB of a process that only loads the snapshot."""
    command = [sys.executable, '-W', 'ignore', __file__, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def loading() -> Iterator[Goal]:
    for kind, (traits, aggregates, known, goal, reason) in KINDS.items():
        with tempfile.TemporaryDirectory() as directory:
            path, made = str(Path(directory, 'cloud.json')), make(traits, aggregates, known)
            snapshot_file.save(made, path)
            text = Path(path).read_text(encoding='utf-8')
            assert snapshot_file.load(path) == made
            del made
            ways = {
                'json.loads': partial(json.loads, text),
                'load': partial(snapshot_file.load, path),
            }
            seconds = measured(ways, ROUNDS)
            print(f'{kind}: {len(text) / 2**20:.0f} MiB, peak {peak_of(path):.0f} MiB')
            ratio = seconds['load'] / seconds['json.loads']
            yield Goal(f'load {HOSTS:,} hosts, {kind}: CPU to json.loads', ratio, goal, reason)


# -- taking


def fetch_bare(cloud: HttpCloud, connection: Any) -> None:
    """Fetch and parse the same pages, in the same order, without using them."""
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
    """A cloud with recorded responses, so that only the client is measured."""

    def __init__(self, nova: FakeNova) -> None:
        super().__init__(nova)
        self.answers: dict[str, tuple[int, bytes]] = {}

    def data(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, bytes]:
        """Return the status and the bytes of the body."""
        known = self.answers.get(target)
        if known is None or method != 'GET':
            known = super().data(method, target, headers, body)
            self.answers[target] = known
        self.served.append(target)
        return known

    served: list[str]


def make_cloud(hosts: int) -> Canned:
    """Return a cloud with 20 servers on each host, 200 of which are in groups."""
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


def bench_taking(hosts: int, rounds: int = ROUNDS) -> Goal:
    """Measure both ways, and print a line for each."""
    with make_cloud(hosts) as cloud:
        connection = cloud.connection()
        both = clients.of(connection)
        ways: dict[str, Callable[[], object]] = {
            'bare pages': lambda: fetch_bare(cloud, connection),
            'take': lambda: snapshot.take(both),
        }
        print(f'taking {hosts:,} hosts, 20 servers on each')
        for action in ways.values():
            action()  # token, discovery, and the answers are canned
        gc.collect()
        gc.freeze()  # garbage collection skips the objects of the fake cloud
        seconds = measured(ways, rounds)
        for way, action in ways.items():
            cloud.served.clear()
            cloud.bytes_sent = 0
            action()
            requests = [target for target in cloud.served if 'identity' not in target]
            pages = sum('marker=' in target for target in requests)
            print(
                f'  {way:10} {seconds[way] / seconds["bare pages"]:6.2f} x  '
                f'{seconds[way] * 1000:9.1f} ms  '
                f'{len(requests) - pages:3} requests and {pages} pages more  '
                f'{cloud.bytes_sent / 2**20:6.1f} MiB'
            )
        gc.unfreeze()
    ratio = seconds['take'] / seconds['bare pages']
    return Goal(f'take a snapshot of {hosts:,} hosts: CPU to the bare pages', ratio, 3)


def main() -> int:
    if len(sys.argv) == 2:
        snapshot_file.load(sys.argv[1])
        status = Path('/proc/self/status').read_text(encoding='ascii')
        print(int(status.partition('VmHWM:')[2].split()[0]) / 1024)
        return 0
    return report([*loading(), bench_taking(TAKEN)])


if __name__ == '__main__':
    sys.exit(main())
