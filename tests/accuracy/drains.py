"""Drain hosts of random clouds in a real Nova, by the scripts that ``host drain`` prints.

For each drain, Nova is asked to move every server that is called stuck, to any host, and must
reject it. Then bash runs the script, while Nova's database is read several times a second: no
group may be violated at any moment. At the end, the drained hosts have no other servers than those
that the plan leaves there.

Run: ``python -m tests.accuracy.drains 25`` for four drains each of 25 clouds. ``--out FILE``
continues an interrupted run. The exit status is 1 if a plan was wrong.

Units: memory in MB, disk in GB, seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senlin_affinity import api
from senlin_affinity.cli import drain_script
from senlin_affinity.engine.drain import DrainPlan
from senlin_affinity.engine.drain_batches import RollingPlan
from senlin_affinity.model.cloud import Cloud
from tests.accuracy import loop
from tests.accuracy.asking import optional_input
from tests.accuracy.case import HOSTS, Ask, Case
from tests.accuracy.moving import move, set_service
from tests.accuracy.stage import Stage
from tests.support.openstack_server import serve

#: Drains per sandbox, which becomes slower with use.
_BATCH = 4
#: Drains of one cloud: each finds the servers where the one before has moved them.
_ROUNDS = 4
_POLICIES = ('anti-affinity', 'anti-affinity', 'affinity', 'soft-anti-affinity', 'soft-affinity')
#: Actions after the start of a server, by the status afterwards.
_STATES: Mapping[str, tuple[str, Any]] = {
    'SHUTOFF': ('os-stop', None),
    'PAUSED': ('pause', None),
    'SUSPENDED': ('suspend', None),
    'ERROR': ('os-resetState', {'state': 'error'}),
    'VERIFY_RESIZE': ('migrate', None),
}
_MOST = 9
_SCRIPT_TIME = 900


@dataclass(frozen=True)
class Guest:
    """A server to create on a host; Nova may reject it."""

    host: str
    flavor: str
    group: str | None = None
    zone: str | None = None
    state: str = 'ACTIVE'
    is_locked: bool = False
    same_host_as: int | None = None
    image: str | None = None


@dataclass(frozen=True)
class Drain:
    """A cloud, its servers, and the first hosts to drain; later ones have servers."""

    case: Case
    guests: tuple[Guest, ...]
    first: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The numbers of a drain, and what was wrong."""

    seed: int
    hosts: tuple[str, ...]
    line: str
    moves: int
    stuck: Mapping[str, int]
    not_found: int
    is_certain: bool
    looks: int
    wrong: tuple[str, ...] = field(default=())

    def title(self) -> str:
        """Return the outcome as a line."""
        return f'{self.seed} {", ".join(self.hosts)}: {self.line}'


def generate(seed: int) -> Drain:
    """Return the drain of a seed."""
    rng = random.Random(seed)
    names = HOSTS[: rng.randint(3, 6)]
    hosts: dict[str, dict[str, Any]] = {}
    for name in names:
        size = {'vcpus': rng.choice((4, 6, 8, 12)), 'memory_mb': rng.choice((512, 1024))}
        hosts[name] = {**size, 'disk_gb': rng.choice((10, 20))}
        if rng.random() < 0.3:
            hosts[name]['availability_zone'] = 'az1'
    first = (*rng.sample(names, rng.choice((1, 1, 2))),)
    for name in names:
        if name not in first and rng.random() < 0.1:
            hosts[name]['disabled'] = True
    fast = tuple(name for name in names if rng.random() < 0.5)
    flavors: dict[str, dict[str, Any]] = {
        'small': {'vcpus': 1, 'ram': 64, 'disk': 1},
        'large': {'vcpus': rng.choice((2, 3)), 'ram': 256, 'disk': 4},
        'fast': {
            'vcpus': 1,
            'ram': 128,
            'disk': 1,
            'extra_specs': {'trait:CUSTOM_FAST': 'required'},
        },
    }
    groups: dict[str, dict[str, Any]] = {}
    for at in range(rng.randint(0, 3)):
        policy = rng.choice(_POLICIES)
        most = rng.randint(1, 2) if policy == 'anti-affinity' else 1
        rules = {'max_server_per_host': most} if most > 1 else {}
        groups[f'g{at}'] = {'policy': policy, 'rules': rules}
    case = Case(
        'drain',
        seed,
        hosts,
        flavors,
        (),
        groups=groups,
        traits=dict.fromkeys(fast, ('CUSTOM_FAST',)),
    )
    guests = (_guest(rng, case, first, number) for number in range(rng.randint(4, _MOST)))
    return Drain(case, (*guests,), first)


def _guest(rng: random.Random, case: Case, drained: Sequence[str], number: int) -> Guest:
    """Return a random server, more often on a drained host."""
    host = rng.choice(drained) if rng.random() < 0.6 else rng.choice((*case.hosts,))
    zone = case.hosts[host].get('availability_zone')
    return Guest(
        host,
        rng.choice(('small', 'small', 'large', 'fast')),
        rng.choice((*case.groups,)) if case.groups and rng.random() < 0.6 else None,
        zone if rng.random() < 0.4 else None,
        rng.choices(('ACTIVE', *_STATES), (30, 8, 3, 1, 1, 1))[0],
        rng.random() < 0.1,
        rng.randrange(number) if number and rng.random() < 0.05 else None,
    )


def put(stage: Stage, drain: Drain) -> None:
    """Create the servers, without those that Nova rejects."""
    made_by_place = dict[int, str]()
    for at, each in enumerate(drain.guests):
        same = made_by_place.get(-1 if each.same_host_as is None else each.same_host_as)
        made = boot(stage, each, same)
        if made is not None:
            made_by_place[at] = made
    stage.put('servers', {})


def boot(stage: Stage, guest: Guest, same_host_as: str | None = None) -> str | None:
    """Create a server in its state; return its id, and None if Nova rejects it."""
    nova = stage.admin
    made, status = nova.boot(
        stage.flavors[guest.flavor],
        image=None if guest.image is None else stage.images[guest.image],
        group=None if guest.group is None else stage.groups[guest.group],
        zone=guest.zone,
        hints=None if same_host_as is None else {'same_host': [same_host_as]},
        host=guest.host,
    )
    if made is None:
        return None
    stage.undo.append(lambda: nova.delete([made]))
    if status != 'ACTIVE':
        nova.delete([made])
        return None
    if guest.state in _STATES:
        action, body = _STATES[guest.state]
        nova.act(made, action, body)
        nova.ended(made, guest.state, 'ACTIVE')  # without a target, the migration fails
    if guest.is_locked:
        nova.act(made, 'lock')
    return made


class Watch(threading.Thread):
    """A reader of Nova's database that records violated groups."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._end = folder, threading.Event()
        self.looks, self.violations = 0, set[str]()

    def run(self) -> None:
        """Look until the end."""
        while not self._end.wait(0.2):
            self.violations.update(violations(self._folder))
            self.looks += 1

    def stop(self) -> None:
        """End the thread."""
        self._end.set()
        self.join()


def violations(folder: Path) -> Iterator[str]:
    """Yield the groups of Nova's database that its servers violate."""
    policies: dict[int, tuple[str, dict[str, int]]] = {}
    members: dict[str, int] = {}
    with sqlite3.connect(folder / 'api.sqlite', timeout=30) as database:
        query = 'select group_id, policy, rules from instance_group_policy'
        for group, policy, rules in database.execute(query):
            policies[group] = policy, json.loads(rules or '{}')
        query = 'select instance_uuid, group_id from instance_group_member'
        members.update(database.execute(query))
    with sqlite3.connect(folder / 'cell1.sqlite', timeout=30) as database:
        query = 'select uuid, host from instances where deleted = 0 and host is not null'
        hosts = [(members[uuid], host) for uuid, host in database.execute(query) if uuid in members]
    for (group, host), number in Counter(hosts).items():
        policy, rules = policies[group]
        if policy == 'anti-affinity' and number > int(rules.get('max_server_per_host', 1)):
            yield f'{number} servers of an anti-affinity group on {host}'
    for group in {group for group, _host in hosts if policies[group][0] == 'affinity'}:
        found = {host for each, host in hosts if each == group}
        if len(found) > 1:
            yield f'servers of an affinity group on {", ".join(sorted(found))}'


def carry_out(stage: Stage, drain: Drain, hosts: tuple[str, ...], path: str) -> Outcome:
    """Plan the drain, ask Nova about what is stuck, run the script, and compare."""
    given = optional_input(stage, drain.case, Ask(1))
    given.pop('image')
    connection = stage.admin.connection
    view = api.fetch(connection, api.Question(1, **given), servers_on=hosts)
    plan = api.drain(hosts, view, question=api.Question(1, **given))
    wrong = [*_movable(stage, drain, hosts, plan)]
    watch = Watch(stage.cloud.log_dir)
    watch.start()
    ended = run(stage, plan, view, path)
    watch.stop()
    wrong += watch.violations
    expected = 3 if plan.stuck or plan.not_found else 0
    if ended.returncode != expected:
        wrong.append(f'the script ended with {ended.returncode}: {ended.stderr[-300:]}')
    stay = {each.id for each in (*(each.server for each in plan.stuck), *plan.not_found)}
    listed = stage.admin.call('GET', '/servers/detail?all_tenants=1')['servers']
    left = {each['id'] for each in listed if each['OS-EXT-SRV-ATTR:host'] in hosts}
    if left != stay:
        wrong.append(f'{len(left)} servers are left, not {len(stay)}')
    return Outcome(
        drain.case.seed,
        hosts,
        plan.line(),
        len(plan.moves),
        dict(Counter(each.code for each in plan.stuck)),
        len(plan.not_found),
        plan.fits is not None,
        watch.looks,
        (*wrong,),
    )


def _with_servers(stage: Stage, drain: Drain, number: int) -> tuple[str, ...]:
    """Return one or two hosts that have servers; the first hosts of the drain if none has."""
    rng = random.Random(f'{drain.case.seed} {number}')
    listed = stage.admin.call('GET', '/servers/detail?all_tenants=1')['servers']
    used = sorted({each['OS-EXT-SRV-ATTR:host'] for each in listed} - {None})
    return (*rng.sample(used, min(len(used), rng.choice((1, 1, 2)))),) or drain.first


def _movable(stage: Stage, drain: Drain, hosts: Sequence[str], plan: DrainPlan) -> Iterator[str]:
    """Yield the servers that are called stuck, and that Nova moves to a host."""
    enabled = {name for name, host in drain.case.hosts.items() if not host.get('disabled')}
    stage.enable(enabled.difference(hosts))
    for each in plan.stuck:
        refusal = move(stage.admin, each.server.id, each.kind, None)
        if not refusal:
            yield f'{each.server.name} is stuck by {each.code}, and Nova moves it {each.kind}'
    stage.enable(enabled)


def open_again(stage: Stage, drain: Drain, hosts: Sequence[str]) -> None:
    """Enable the hosts that the script disabled, and let nova-scheduler notice all moves."""
    for name in hosts:
        if not drain.case.hosts[name].get('disabled'):
            set_service(stage.admin, name, status='enabled')
    stage.put('servers', {})


def run(
    stage: Stage,
    plan: DrainPlan | RollingPlan,
    view: Cloud,
    path: str,
    more: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the script with bash, and with more variables."""
    off = [each.host for each in view.hosts or () if not each.enabled]
    auth = {f'OS_{name.upper()}': value for name, value in stage.cloud.auth().items()}
    environment = {
        **os.environ,
        **auth,
        'PATH': path,
        'INTERVAL': '1',
        'OS_REGION_NAME': 'RegionOne',
        **(more or {}),
    }
    environment['OS_IDENTITY_API_VERSION'] = '3'
    text = '\n'.join([*drain_script.lines(plan, off, '', view.taken_at), ''])
    return subprocess.run(
        ['/bin/bash', '-c', text],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SCRIPT_TIME,
        check=False,
    )


def clouds(
    seeds: Sequence[int], make: Callable[[int], Drain] = generate, **options: Any
) -> Iterator[tuple[Stage, Drain]]:
    """Yield the clouds of these seeds with their servers; the next step removes the cloud.

    :param make: returns the cloud of a seed.
    :param options: of nova.conf, in the section DEFAULT.
    """
    for first in range(0, len(seeds), _BATCH):
        with Stage(nova_options={'DEFAULT': options}) as stage:
            for seed in seeds[first : first + _BATCH]:
                drain = make(seed)
                stage.set_up(drain.case)
                put(stage, drain)
                yield stage, drain
                stage.clear()


@contextlib.contextmanager
def client() -> Iterator[str]:
    """Serve the commands of the scripts; yield the PATH."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as binaries:
        yield f'{binaries}:{os.environ["PATH"]}'


def outcomes(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the drains of these seeds."""
    with client() as path:
        for stage, drain in clouds(seeds):
            for number in range(_ROUNDS):
                hosts = _with_servers(stage, drain, number) if number else drain.first
                yield carry_out(stage, drain, hosts, path)
                open_again(stage, drain, hosts)


def sums(known: Sequence[loop.Row]) -> Iterator[str]:
    """Yield the sums of all drains, and the number of stuck servers for each reason."""
    codes = sum((Counter(each['stuck']) for each in known), Counter[str]())
    clouds, looks = len({each['seed'] for each in known}), sum(each['looks'] for each in known)
    moved, left = (sum(each[name] for each in known) for name in ('moves', 'not_found'))
    yield (
        f'{len(known)} drains of {clouds} clouds: {moved} servers moved, {codes.total()} stuck, '
        f'no target found for {left}; {looks} looks at the database'
    )
    yield from (f'  {code}: {number}' for code, number in codes.most_common())


if __name__ == '__main__':
    sys.exit(loop.run('drains', outcomes, sums))
