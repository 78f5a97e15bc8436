"""Planning 1,000 servers more over 10,000 hosts, against parsing the snapshot's JSON.

The hosts look alike in 200 ways (size, use, aggregates, zone, state), or the use of every one is
random. Hosts are rich (60 traits, three aggregates) or lean (one of each): the latter are the
quicker to parse, and so the harder yardstick. All installed constraints are asked; the request has
a zone, ``member_of``, a flavor with extra specs and traits, and an anti-affinity group of three
servers on a host, which holds members already. A refused request asks for more than there is, so
that its remedies are found, too.

Both are timed in turns in one run, so the ratios are comparable though the machine is noisy; the
snapshot is loaded anew for every round and what the constraints remember is forgotten, so that
nothing is known before. The peak is that of a whole process that loads the snapshot, plans, and
says the line.

Run: make bench. Prints the least of the rounds, and the ratio to json.loads.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import os_traits

from senlin_affinity import preflight
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.core import planner
from senlin_affinity.core.constraint import Constraint
from senlin_affinity.core.objects import (
    Aggregate,
    CloudSnapshot,
    Flavor,
    Host,
    PlacementRequest,
    Quota,
    Resource,
)
from senlin_affinity.core.planning.decision import Decision
from senlin_affinity.core.server_group import ANTI_AFFINITY, Member, ServerGroup

HOSTS = 10_000
MANY_HOSTS = 100_000
COUNT = 1_000
TOO_MANY = 20_000
SHAPES = 200
ROUNDS = 15
FEW_ROUNDS = 5
TRAITS = tuple(
    trait for trait in os_traits.get_traits() if trait.startswith(('COMPUTE_', 'HW_CPU_X86_'))
)[:60]
AGGREGATES = tuple(
    Aggregate(
        f'5bbcc3c4-1da2-4437-a48a-{number:012x}',
        f'aggregate-{number}',
        metadata={'disk': 'ssd' if number % 2 else 'ssd, nvme', 'rack': f'r{number}'},
    )
    for number in range(20)
)
FLAVOR = Flavor(
    '1',
    'large',
    4,
    8_192,
    40,
    extra_specs={
        'disk': '<or> ssd <or> ~',
        'aggregate_instance_extra_specs:rack': 's>= r',
        f'trait:{TRAITS[0]}': 'required',
        'trait:CUSTOM_LICENSED': 'forbidden',
    },
)
REQUEST = PlacementRequest(
    COUNT,
    'large',
    'web',
    'az-1',
    (f'in:{",".join(f"aggregate-{number}" for number in range(12))}', '!aggregate-19'),
    enabled_filters=('ComputeFilter', 'AggregateInstanceTypeFilter'),
)


@dataclass(frozen=True)
class Kind:
    """How the hosts of a cloud look."""

    is_lean: bool
    is_random: bool

    def __str__(self) -> str:
        return (
            f'{"lean" if self.is_lean else "rich"} hosts, '
            f'{"random use" if self.is_random else f"{SHAPES} shapes"}'
        )


KINDS = tuple(Kind(is_lean, is_random) for is_random in (False, True) for is_lean in (False, True))


# -- the cloud


def make(hosts: int, kind: Kind) -> CloudSnapshot:
    """The hosts, and a group with a member on every tenth of them."""
    dice = random.Random(hosts)
    looks = [_look(dice, kind) for _ in range(SHAPES)]
    made = [
        Host(
            f'cmp-{number}',
            f'cmp-{number}.example.org',
            'QEMU',
            **dice.choice(looks) | ({'resources': _resources(dice)} if kind.is_random else {}),
        )
        for number in range(hosts)
    ]
    members = tuple(Member(f'server-{host.host}', host.host) for host in made[::10])
    group = ServerGroup('g', 'web', ANTI_AFFINITY, {'max_server_per_host': 3}, members)
    return CloudSnapshot(
        hosts=tuple(made),
        aggregates=AGGREGATES,
        flavors=(FLAVOR,),
        server_groups=(group,),
        quotas={'instances': Quota(10**7, 10), 'server_group_members': Quota(10**7)},
    )


def _look(dice: random.Random, kind: Kind) -> dict[str, Any]:
    traits = TRAITS[:1] if kind.is_lean else [*dice.sample(TRAITS[1:], 57), TRAITS[0]]
    aggregates = dice.sample(AGGREGATES, 1 if kind.is_lean else 3)
    return {
        'availability_zone': f'az-{dice.choice((1, 1, 1, 2))}',
        'enabled': dice.random() > 0.05,
        'up': dice.random() > 0.02,
        'aggregates': frozenset(aggregate.uuid for aggregate in aggregates),
        'traits': frozenset(traits),
        'resources': _resources(dice),
    }


def _resources(dice: random.Random) -> dict[str, Resource]:
    size = dice.choice((1, 2, 4))
    return {
        name: Resource(size * most, dice.randrange(size * most))
        for name, most in (('VCPU', 64), ('MEMORY_MB', 128_000), ('DISK_GB', 2_000))
    }


# -- the time


def place(snapshot: CloudSnapshot, constraints: Sequence[Constraint]) -> Decision:
    """The decision, with the placements."""
    decision = preflight.plan(REQUEST, snapshot, constraints)
    assert len(decision.placements) == COUNT
    return decision


def say(snapshot: CloudSnapshot, constraints: Sequence[Constraint]) -> str:
    """The line, and the placements before it."""
    return place(snapshot, constraints).line()


class Timer:
    """The least seconds of each thing that is timed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, action: Callable[[], Any]) -> Any:
        """Do it, and remember how long it took."""
        gc.collect()
        start = time.perf_counter()
        result = action()
        taken = time.perf_counter() - start
        self.seconds[name] = min(taken, self.seconds.get(name, taken))
        return result

    def print(self, yardstick: str, hosts: int) -> None:
        """A line for each."""
        for name, taken in self.seconds.items():
            print(
                f'  {name:18} {taken / self.seconds[yardstick]:6.2f} x  {taken * 1000:9.1f} ms  '
                f'{taken / hosts * 1e6:6.1f} us a host'
            )


def bench(hosts: int, kind: Kind, rounds: int, constraints: Sequence[Constraint]) -> None:
    """Print what planning takes, and what it needs."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, 'cloud.json'))
        snapshot_file.save(make(hosts, kind), path)
        text = Path(path).read_text(encoding='utf-8')
        timer = Timer()
        for _ in range(rounds):
            timer.time('json.loads', partial(json.loads, text))
            snapshot = snapshot_file.load(path)
            planned = timer.time('plan', partial(place, snapshot, constraints))
            assert planned.fits
            timer.time('line after it', planned.line)
            planned = None
            snapshot = snapshot_file.load(path)
            timer.time('plan and line', partial(say, snapshot, constraints))
            del snapshot
        print(
            f'{hosts:,} hosts, {kind}, {len(text) / hosts:,.0f} bytes a host; '
            f'peak {peak(path):,.0f} MiB, of which loading {peak(path, "load"):,.0f} MiB'
        )
        timer.print('json.loads', hosts)


def peak(path: str, way: str = 'plan') -> float:
    """MiB that a process needs that does only this."""
    done = subprocess.run(
        [sys.executable, __file__, way, path], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def do(way: str, path: str) -> None:
    """Be that process."""
    snapshot = snapshot_file.load(path)
    if way == 'plan':
        say(snapshot, load_constraints())
    status = Path('/proc/self/status').read_text(encoding='ascii')
    print(int(status.partition('VmHWM:')[2].split()[0]) / 1024)


# -- what would help


def bench_remedies(hosts: int, kind: Kind, constraints: Sequence[Constraint]) -> None:
    """Print what it takes to find what would help."""
    snapshot = make(hosts, kind)
    for count in (TOO_MANY, 3 * TOO_MANY):
        timer, request = Timer(), replace(REQUEST, count=count)
        for _ in range(3):
            plan = partial(planner.plan, request, snapshot, constraints)
            decision = timer.time('plan', partial(plan, remedies=False))
            assert decision.fits is False
            found = timer.time('with remedies', plan).remedies
        print(f'{hosts:,} hosts, {kind}: {count:,} servers, of which {decision.capacity:,} fit')
        timer.print('plan', hosts)
        print(f'  {len(found)} remedies: {"; ".join(map(str, found))}')


def main() -> None:
    if len(sys.argv) == 3:
        do(*sys.argv[1:])
        return
    constraints = load_constraints()
    for kind in KINDS:
        bench(HOSTS, kind, ROUNDS, constraints)
    for kind in KINDS:
        bench(MANY_HOSTS, kind, FEW_ROUNDS, constraints)
    for kind in KINDS:
        bench_remedies(HOSTS, kind, constraints)


if __name__ == '__main__':
    main()
