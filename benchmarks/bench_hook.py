"""The hook of a policy in Senlin's own objects, in a cloud of 10,000 hosts: what a growth costs.

The cloud is behind a socket, in a process of its own, and answers what it answered before: the CPU
is the engine's. "Before" is the whole look at the cloud, which an administrator's refusal still is.
A plain user's is one of two connections, where Nova does not show the hosts: by few hosts or a
hundred with a smaller flavor, in a zone, by a filter that reads aggregates, and of a group whose
one host is full. Log-in and discovery are not counted.

Placement's own CPU is that of the real one, with as many providers: the query of a growth beside
Nova's, which is the same with nova-scheduler's limit.

Run: make bench; or with another number of hosts behind it. Prints figures beside goals, and fails
where one is missed without a reason.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

from openstack.connection import Connection
from oslo_config import cfg
from senlin.common import consts

from benchmarks.bench_snapshot import TRAITS, Canned
from benchmarks.goals import Goal, measured, report
from senlin_affinity.cloud import narrow
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.plugins.senlin import clients
from senlin_affinity.preflight.lower_bound import SPARE
from tests.engine import support
from tests.recordings.exchanges import Reply
from tests.support import fake_keystone
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost, FakeNova
from tests.support.fake_placement import Amounts
from tests.support.placement_judge import Judge

HOSTS = 10_000
ROUNDS = 15
#: Of what takes long.
FEW_ROUNDS = 3
COUNTS = (1, 50)
GROUP, MEMBERS = 'web', 3
#: A flavor that few hosts have the trait for: of a group that allows two on each, so many are
#: refused.
RARE, RARE_HOSTS, TOO_MANY = 'CUSTOM_RARE', 3, 7
#: One that more hosts have, and of which there is a smaller one as well.
SCARCE, SCARCE_HOSTS, FAR_TOO_MANY = 'CUSTOM_SCARCE', 100, 201
#: A zone of as many hosts as there are of the rare ones, and the host of the group by affinity.
ZONE, TOGETHER, FULL = 'az-small', 'together', 20
#: With it, every aggregate of a host counts.
FILTER = 'AggregateInstanceTypeFilter'
NOVAS_LIMIT = 1000
_WHOLE = "an administrator's rejection reads the whole cloud for its reasons and remedies"
_OBJECTS = "half of it is Python's garbage collection, among the objects of the whole cloud"


class Cloud(Canned):
    """With a Glance, and with a door that tells what was asked."""

    def __init__(self, nova: FakeNova) -> None:
        super().__init__(nova)
        self.served = []
        self.glance = FakeGlance(FakeImage('cirros'))

    def data(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, bytes]:
        if target != '/told':
            return super().data(method, target, headers, body)
        known = ('/identity', '/image/v2')
        asked = [each for each in self.served if each.startswith(known) or _is_asked(each)]
        told = {'requests': len([*filter(_is_asked, asked)]), 'bytes': self.bytes_sent}
        self.served.clear()
        self.bytes_sent = 0
        return 200, json.dumps(told).encode()

    def answer(self, method: str, target: str, headers: Any, body: Any) -> Reply:
        path = urlsplit(target).path
        if path.startswith('/image'):
            name = target.partition('name=')[2]
            query = {'name': name}
            return self.glance.send(f'{self.url}/image', path.removeprefix('/image') or '/', query)
        reply = super().answer(method, target, headers, body)
        if method == 'POST' and path.startswith('/identity'):
            urls = {
                'compute': f'{self.url}/compute/v2.1',
                'placement': f'{self.url}/placement',
                'image': f'{self.url}/image',
            }
            return Reply(201, fake_keystone.token('admin', urls))
        return reply


def _is_asked(target: str) -> bool:
    """Is it neither a log-in nor discovery?"""
    path = urlsplit(target).path.rstrip('/')
    roots = ('/compute', '/compute/v2.1', '/placement', '/image', '/image/v2')
    return not path.startswith('/identity') and path not in roots


def serve(pipe: Any, number: int) -> None:
    """The cloud, until somebody says that it is enough."""
    hosts = tuple(FakeHost(f'cmp-{n}') for n in range(number))
    few = [host.host for host in hosts[-RARE_HOSTS:]]
    hosts = tuple(replace(each, zone=ZONE) if each.host in few else each for each in hosts)
    nova = FakeNova(hosts=hosts, quota=-1, aggregates=())
    nova.add_aggregate('ssd', [host.host for host in hosts[1:]], ssd='true')
    nova.add_aggregate('fast', few, fast='true', availability_zone=ZONE)
    nova.add_flavor('ssd', extra_specs={'ssd': 'true'})
    nova.add_flavor('fast', extra_specs={'ssd': 'true', 'fast': 'true'})
    nova.add_flavor('rare', extra_specs={f'trait:{RARE}': 'required'})
    for name, ram in (('scarce', 512), ('scarce.small', 256)):
        nova.add_flavor(name, extra_specs={f'trait:{SCARCE}': 'required'}, ram=ram)
    together = nova.add_group(TOGETHER, 'affinity', project_id=support.PROJECT)
    nova.boot(together, f'cmp-{FULL}', project=support.PROJECT, user=support.USER)
    group = nova.add_group(GROUP, 'anti-affinity', project_id=support.PROJECT)
    nova.groups[-1]['rules'] = {'max_server_per_host': 2}
    for number in range(MEMBERS):
        nova.boot(group, f'cmp-{number}', project=support.PROJECT, user=support.USER)
    with Cloud(nova) as cloud:
        cloud.placement.providers = [
            replace(each, traits=(*TRAITS, *traits(n)), resources=resources(n, each.resources))
            for n, each in enumerate(cloud.placement.providers)
        ]
        pipe.send((cloud.url, group, together))
        pipe.recv()


def traits(number: int) -> Iterator[str]:
    """Those that few hosts have; hosts with members are among the rare ones."""
    yield from [RARE] * (number < RARE_HOSTS)
    yield from [SCARCE] * (RARE_HOSTS <= number < RARE_HOSTS + SCARCE_HOSTS)


def resources(number: int, usual: Amounts) -> Amounts:
    """One host has no memory left."""
    full, _none = usual['MEMORY_MB']
    return {**usual, 'MEMORY_MB': (full, full)} if number == FULL else usual


class Engine:
    """A cluster with its policy, and the cloud's words about what it was asked."""

    def __init__(self, url: str, group: str, flavor: str = 'm1.tiny', **wanted: str) -> None:
        self.connection: Connection = fake_keystone.connect(f'{url}/identity/v3')
        self._url = url
        nova = SimpleNamespace(groups=[{'id': group}])
        edge: Any = SimpleNamespace(connection=lambda: self.connection, nova=nova)
        self._desk = support.Desk(edge)
        self._cluster, self._policy = self._desk.bound(
            support.spec(**wanted), group, size=MEMBERS, profile=support.profile(flavor=flavor)
        )

    def grow(self, count: int, rounds: int = ROUNDS) -> tuple[float, dict[str, int], str]:
        """CPU seconds, what was asked, and how it ended."""
        least, told, status = float('inf'), {}, ''
        for _ in range(rounds):
            action = self._desk.action(self._cluster, consts.CLUSTER_SCALE_OUT, {'count': count})
            self._told()
            start = time.process_time()
            self._policy.pre_op(self._cluster.id, action)
            least = min(least, time.process_time() - start)
            told, status = self._told(), action.data['status']
        return least, told, status

    def _told(self) -> dict[str, int]:
        known: dict[str, int] = self.connection.session.get(f'{self._url}/told').json()
        return known


def bench_hook(hosts: int) -> list[Goal]:
    """The growths that fit, before and after, and the refusals."""
    context = multiprocessing.get_context('fork')
    here, there = context.Pipe()
    child = context.Process(target=serve, args=(there, hosts), daemon=True)
    child.start()
    goals = []
    try:
        support.make_database()
        url, group, together = here.recv()
        engine = Engine(url, group)
        filtered = Engine(url, group, 'ssd')
        for count in COUNTS:
            with mock.patch.object(narrow, 'see', return_value=narrow.Sample()):
                print(
                    f'growth by {count}, the whole look: {_words(engine.grow(count, FEW_ROUNDS))}'
                )
            goals += fitting(f'growth by {count}', *engine.grow(count))
        cfg.CONF.set_override('enabled_filters', [*DEFAULT_FILTERS, FILTER], group='affinity')
        name = f'growth by {max(COUNTS)}, {FILTER}'
        goals += fitting(name, *filtered.grow(max(COUNTS)))
        by_filter = Engine(url, group, 'fast')
        with tenant(url):
            goals += refusal(f"a plain user's refusal, {FILTER}", *by_filter.grow(TOO_MANY))
        cfg.CONF.clear_override('enabled_filters', group='affinity')
        refused = Engine(url, group, 'rare')
        goals += refusal('refusal', *refused.grow(TOO_MANY, FEW_ROUNDS), _WHOLE)
        with tenant(url):
            goals += refusal(f"a plain user's refusal, {RARE_HOSTS} hosts", *refused.grow(TOO_MANY))
            many = Engine(url, group, 'scarce')
            name = f"a plain user's refusal, {SCARCE_HOSTS} hosts and a smaller flavor"
            goals += refusal(name, *many.grow(FAR_TOO_MANY))
            zoned = Engine(url, group, availability_zone=ZONE)
            goals += refusal("a plain user's refusal, in a zone", *zoned.grow(TOO_MANY))
            bound = Engine(url, together)
            goals += refusal("a plain user's refusal, by affinity", *bound.grow(TOO_MANY))
    finally:
        here.send('enough')
        child.join()
    return goals


def fitting(name: str, seconds: float, told: dict[str, int], status: str) -> list[Goal]:
    """What a growth that fits may cost."""
    assert status == 'NONE', status
    return [
        Goal(f'{name}: requests', told['requests'], 8),
        Goal(f'{name}: kB', told['bytes'] / 1000, 300),
        Goal(f'{name}: ms of CPU', seconds * 1000, 40),
    ]


def refusal(
    name: str, seconds: float, told: dict[str, int], status: str, reason: str | None = None
) -> list[Goal]:
    """What one may cost that does not fit; the reason is that of its bytes."""
    assert status == 'ERROR', status
    print(f'{name}: {_words((seconds, told, status))}')
    return [
        Goal(f'{name}: MB', told['bytes'] / 1e6, 5, reason),
        Goal(f'{name}: s of CPU', seconds, 1, reason and _OBJECTS),
    ]


@contextlib.contextmanager
def tenant(url: str) -> Iterator[None]:
    """The cloud's eyes are another connection, and the owner may not list the hosts."""
    seeing = OperatorClient(fake_keystone.connect(f'{url}/identity/v3'))

    def clients_of(owner: Any) -> Clients:
        return Clients(OwnerClient(owner), seeing)

    with (
        mock.patch.object(clients, 'clients_of', clients_of),
        mock.patch.object(NovaInventory, 'shows_hosts', return_value=False),
    ):
        yield


def _words(cost: tuple[float, dict[str, int], str]) -> str:
    seconds, told, _status = cost
    size = told['bytes'] / 1e6
    return f'{told["requests"]} requests, {size:.1f} MB, {seconds * 1000:.0f} ms of CPU'


# -- Placement's own CPU


def fill(judge: Judge, hosts: int) -> None:
    """As many hosts, put into its database at once."""
    from placement import db_api
    from placement.db.sqlalchemy import models
    from sqlalchemy import insert, select

    classes = {'VCPU': 64, 'MEMORY_MB': 131_072, 'DISK_GB': 2_000}
    with db_api.get_placement_engine().begin() as database:
        rows = [
            {'id': n, 'uuid': str(uuid.UUID(int=n)), 'name': f'cmp-{n}', 'generation': 1}
            | {'root_provider_id': n, 'parent_provider_id': None}
            for n in range(1, hosts + 1)
        ]
        database.execute(insert(models.ResourceProvider), rows)
        ids = dict(
            database.execute(select(models.ResourceClass.name, models.ResourceClass.id)).all()
        )
        shape = {'reserved': 0, 'min_unit': 1, 'step_size': 1, 'allocation_ratio': 1.0}
        inventories = [
            {'resource_provider_id': n, 'resource_class_id': ids[name], 'total': total}
            | {'max_unit': total, **shape}
            for n in range(1, hosts + 1)
            for name, total in classes.items()
        ]
        database.execute(insert(models.Inventory), inventories)
        traits = [*database.execute(select(models.Trait.id).where(models.Trait.name.in_(TRAITS)))]
        table = models.ResourceProviderTrait
        for n in range(1, hosts + 1, 1000):
            of_hosts = [
                {'resource_provider_id': number, 'trait_id': trait}
                for number in range(n, min(n + 1000, hosts + 1))
                for (trait,) in traits
            ]
            database.execute(insert(table), of_hosts)


def bench_placement(hosts: int) -> Goal:
    """The CPU of the query of a growth by 50, beside Nova's."""
    judge = Judge()
    fill(judge, hosts)
    asked = {'resources': 'VCPU:1,MEMORY_MB:512,DISK_GB:1'}
    asked['root_required'] = '!COMPUTE_STATUS_DISABLED'

    def ask(limit: int) -> None:
        answer = judge.ask('/allocation_candidates', (), **{**asked, 'limit': str(limit)})
        assert len(answer.json['allocation_requests']) == min(limit, hosts)

    limit = max(COUNTS) + MEMBERS + SPARE
    ways = {'novas': lambda: ask(NOVAS_LIMIT), 'ours': lambda: ask(limit)}
    seconds = measured(ways, FEW_ROUNDS)
    novas, ours = seconds['novas'], seconds['ours']
    print(f"Placement's CPU: {ours * 1000:.0f} ms, for Nova {novas * 1000:.0f} ms")
    return Goal("Placement's CPU, to that of Nova's own request", ours / novas, 1)


def main(hosts: int = HOSTS) -> int:
    print(f'{hosts:,} hosts')
    return report([*bench_hook(hosts), bench_placement(hosts)])


if __name__ == '__main__':
    sys.exit(main(*map(int, sys.argv[1:])))
