"""Plan 1,000 servers on 10,000 hosts, as a ratio to parsing the JSON of the same snapshot.

Each round parses the text of a snapshot, loads the file again so that nothing is cached, and
answers a question like the command does. The ratio compares the minimum CPU times of all rounds.

Each host has a random usage, a trait and an aggregate, or one of 200 combinations of size, usage,
aggregate, zone and state. All installed constraints are evaluated. The plain question has a flavor
only. The other questions have a zone, ``member_of``, a flavor with extra specs and traits, and an
anti-affinity group with members and three servers per host. A rejected question requests more
servers than fit. Other clouds have 8 of 2,000 aggregates per host, a zone per host, or 40 of 300
traits per host. The peak memory is that of a whole process.

Run: make bench. The exit status is 1 if a goal is missed without a reason.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.goals import Goal, report
from senlin_affinity import api
from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import ANTI_AFFINITY, Member, ServerGroup
from tests.support.values import replace

HOSTS, MANY_HOSTS = 10_000, 100_000
COUNT = 1_000
#: This number of servers per host is more than fit.
TOO_MANY = 2
SHAPES = 200
ROUNDS, FEW_ROUNDS = 7, 2
#: The name of loading the file, and the end of the name of a question that is asked again.
LOAD, AGAIN = 'load', ', again'
TRAIT = 'COMPUTE_DEVICE_TAGGING'
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
        f'trait:{TRAIT}': 'required',
        'trait:CUSTOM_LICENSED': 'forbidden',
    },
)
PLAIN = Flavor('2', 'plain', 4, 8_192, 40)
QUESTION = api.Question(
    COUNT,
    'large',
    server_group='web',
    availability_zone='az-1',
    member_of=(f'in:{",".join(f"aggregate-{number}" for number in range(12))}', '!aggregate-19'),
    enabled_filters=('ComputeFilter', 'AggregateInstanceTypeFilter'),
)
#: Reasons for missed goals, with shares from a profile.
BY_COLUMNS = 'making the columns and the classes of the hosts: two thirds of it'
BY_TABLES = (
    'three tables of verdicts: now, with what nova.conf may enable, and with the new servers'
)
BY_CHANGE = 'ten changes, two of which change or add thousands of hosts: half of it'
BY_SETS = '10,000 sets of aggregates are 10,000 classes of hosts'
BY_ZONE = 'hosts are chosen from 5,000 zones'
BY_CLASS = 'each host is a class of its own for the constraint of traits'


# -- the clouds


def make(hosts: int, *, is_random: bool) -> Cloud:
    """Return the hosts, and a group with a member on every tenth of them."""
    dice = random.Random(hosts)
    looks = [_view(dice) for _ in range(SHAPES)]
    made = [
        Host(
            f'cmp-{number}',
            f'cmp-{number}.example.org',
            'QEMU',
            **dice.choice(looks) | ({'resources': _resources(dice)} if is_random else {}),
        )
        for number in range(hosts)
    ]
    members = tuple(Member(f'server-{host.host}', host.host) for host in made[::10])
    group = ServerGroup('g', 'web', ANTI_AFFINITY, {'max_server_per_host': 3}, members)
    return Cloud(
        hosts=tuple(made),
        aggregates=AGGREGATES,
        flavors=(FLAVOR, PLAIN),
        server_groups=(group,),
        quotas={'instances': Quota(10**7, 10), 'server_group_members': Quota(10**7)},
    )


def _view(dice: random.Random) -> dict[str, Any]:
    return {
        'availability_zone': f'az-{dice.choice((1, 1, 1, 2))}',
        'enabled': dice.random() > 0.05,
        'up': dice.random() > 0.02,
        'aggregates': frozenset((dice.choice(AGGREGATES).uuid,)),
        'traits': frozenset((TRAIT,)),
        'resources': _resources(dice),
    }


def _resources(dice: random.Random) -> dict[str, Resource]:
    size = dice.choice((1, 2, 4))
    return {
        name: Resource(size * most, dice.randrange(size * most))
        for name, most in (('VCPU', 64), ('MEMORY_MB', 128_000), ('DISK_GB', 2_000))
    }


def with_aggregates(cloud: Cloud) -> Cloud:
    """Put each host into 8 of 2,000 aggregates."""
    dice = random.Random(1)
    aggregates = tuple(
        replace(
            AGGREGATES[number % len(AGGREGATES)],
            uuid=f'6bbcc3c4-1da2-4437-a48a-{number:012x}',
            name=f'many-{number}',
        )
        for number in range(2_000)
    )
    uuids, old = [each.uuid for each in aggregates], cloud.hosts or ()
    hosts = (replace(each, aggregates=frozenset(dice.sample(uuids, 8))) for each in old)
    return replace(cloud, hosts=tuple(hosts), aggregates=aggregates)


def with_zones(cloud: Cloud) -> Cloud:
    """Put each host into its own zone."""
    each = enumerate(cloud.hosts or ())
    hosts = (replace(host, availability_zone=f'zone-{number}') for number, host in each)
    return replace(cloud, hosts=tuple(hosts))


def with_traits(cloud: Cloud) -> Cloud:
    """Give each host 40 of 300 traits."""
    dice, names = random.Random(1), [f'CUSTOM_{number}' for number in range(300)]
    old = cloud.hosts or ()
    hosts = (replace(each, traits=each.traits.union(dice.sample(names, 39))) for each in old)
    return replace(cloud, hosts=tuple(hosts))


# -- the time


@dataclass(frozen=True)
class Figures:
    """CPU seconds of json.loads, and of each question by its name."""

    loads: float
    seconds: Mapping[str, float]

    def ratio(self, name: str) -> float:
        return self.seconds[name] / self.loads


def answer(view: Cloud, question: api.Question, *, remedies: bool) -> str:
    """Return the line that the command prints, after checking it."""
    decision = api.answer(question, view, remedies=remedies)
    assert decision.fits is (question.count == COUNT)
    assert len(decision.placements) == min(question.count, decision.capacity or 0)
    assert bool(decision.remedies) is (remedies and not decision.fits)
    return decision.line()


def spent(action: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    result = action()
    taken = time.process_time() - start
    del result
    return taken


def measure(
    cloud: Cloud, questions: Mapping[str, tuple[api.Question, bool]], rounds: int
) -> Figures:
    """Answer the questions, each with or without remedies, in turns with json.loads."""
    again = (name + AGAIN for name in questions)
    least = dict.fromkeys(('', LOAD, *questions, *again), float('inf'))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, 'cloud.json')
        snapshot_file.save(cloud, path)
        text = path.read_text(encoding='utf-8')
        for _ in range(rounds):
            least[''] = min(least[''], spent(partial(json.loads, text)))
            least[LOAD] = min(least[LOAD], spent(partial(api.load, path)))
            for name, (question, remedies) in questions.items():
                view = api.load(path)
                action = partial(answer, view, question, remedies=remedies)
                least[name] = min(least[name], spent(action))
                least[name + AGAIN] = min(least[name + AGAIN], spent(action))
                del view, action
    return Figures(least.pop(''), least)


def peak(path: str) -> float:
    """Return the MiB of a process that loads a snapshot and answers a rejected question."""
    command = [sys.executable, '-m', 'benchmarks.bench_planner', path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def be_a_process(path: str) -> None:
    """Run in the process that ``peak`` measures."""
    answer(api.load(path), replace(QUESTION, count=TOO_MANY * MANY_HOSTS), remedies=True)
    status = Path('/proc/self/status').read_text(encoding='ascii')
    print(int(status.partition('VmHWM:')[2].split()[0]) / 1024)


# -- the goals


def goals() -> Iterator[Goal]:
    rejected = replace(QUESTION, count=TOO_MANY * HOSTS)
    plain = api.Question(COUNT, 'plain')
    asked = {
        'plain': (plain, False),
        'plan': (QUESTION, False),
        'rejected': (rejected, False),
        'remedies': (rejected, True),
    }
    figures = measure(make(HOSTS, is_random=True), asked, ROUNDS)
    yield Goal('load', figures.ratio(LOAD), 0.7, 'not explained; it was 0.62 on another machine')
    yield Goal('plan of a plain question, random usage', figures.ratio('plain'), 0.9, BY_COLUMNS)
    yield Goal('plan, random usage', figures.ratio('plan'), 0.9, BY_COLUMNS)
    yield Goal('plan, again', figures.ratio('plan' + AGAIN), 0.15, BY_TABLES)
    yield Goal('rejected', figures.ratio('rejected'), 1, BY_COLUMNS)
    yield Goal('rejected, with remedies', figures.ratio('remedies'), 2.5, BY_CHANGE)
    figures = measure(make(HOSTS, is_random=False), {'plan': (QUESTION, False)}, ROUNDS)
    yield Goal(f'plan, {SHAPES} shapes', figures.ratio('plan'), 0.7, BY_COLUMNS)
    wide = {
        '8 of 2,000 aggregates': (with_aggregates, replace(QUESTION, member_of=()), 2, BY_SETS),
        'a zone for each host': (with_zones, replace(QUESTION, availability_zone=None), 4, BY_ZONE),
        '40 of 300 traits': (with_traits, QUESTION, 1.5, BY_CLASS),
    }
    for name, (widen, question, goal, reason) in wide.items():
        cloud = widen(make(HOSTS, is_random=True))
        figures = measure(cloud, {'plan': (question, False)}, ROUNDS)
        yield Goal(f'plan, {name}', figures.ratio('plan'), goal, reason)
    yield from _of_many()


def _of_many() -> Iterator[Goal]:
    cloud, name = make(MANY_HOSTS, is_random=True), f'{MANY_HOSTS:,} hosts'
    rejected = replace(QUESTION, count=TOO_MANY * MANY_HOSTS)
    asked = {'plan': (QUESTION, False), 'remedies': (rejected, True)}
    figures = measure(cloud, asked, FEW_ROUNDS)
    yield Goal(f'{name}: plan', figures.ratio('plan'), 0.9, BY_COLUMNS)
    yield Goal(f'{name}: rejected, with remedies', figures.ratio('remedies'), 2.5, BY_CHANGE)
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, 'cloud.json'))
        snapshot_file.save(cloud, path)
        del cloud
        yield Goal(f'{name}: peak (MiB)', peak(path), 400, 'numpy, and the columns of all hosts')


def main() -> int:
    if len(sys.argv) == 2:
        be_a_process(sys.argv[1])
        return 0
    print(f'{HOSTS:,} hosts; ratios to json.loads of the same snapshot, in CPU time')
    return report(goals())


if __name__ == '__main__':
    sys.exit(main())
