"""Measure what a scale-out, an attach and a detach cost the engine.

Scale-outs run in clouds of 1,000, 10,000 and 50,000 hosts. The cost of an attach that creates a
server group, and of a detach that deletes it, does not depend on the hosts; they run beside one
cluster and beside 5,000 clusters.

The simulated cloud runs in its own process, behind a socket, and evaluates the queries to
Placement. The CPU time is that of the hook in Senlin's objects, without log-in and discovery. An
administrator uses one connection; a tenant has a second one with operator credentials.

The CPU time of Placement is that of the real service with as many providers: the query of a
scale-out, compared with Nova's query, which has the limit of nova-scheduler.

Run: make bench, or with a number of hosts as the argument, which measures less: one round after a
first one, and 100 clusters. The exit status is 1 if a goal is missed
without a reason.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

from openstack.connection import Connection
from oslo_config import cfg
from senlin.common import consts

from benchmarks.bench_group_registry import add_clusters
from benchmarks.bench_snapshot import TRAITS, Canned
from benchmarks.goals import Goal, measured, report
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient, RecentReads
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.plugins.senlin import clients
from senlin_affinity.preflight.sample import SPARE
from tests.engine import support
from tests.recordings.exchanges import Reply
from tests.support import fake_keystone
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost, FakeNova
from tests.support.placement_judge import Judge
from tests.support.values import replace

SIZES = (1000, 10_000, 50_000)
#: Rejections are measured in a cloud of this size.
HOSTS = 10_000
ROUNDS = 7
MEMBERS = 3
#: The number of hosts with each trait, for flavors that fit on few hosts.
CANDIDATES = {'CUSTOM_THREE': 3, 'CUSTOM_TWENTY': 20, 'CUSTOM_FORTY': 40, 'CUSTOM_MANY': 250}
#: The zone and the aggregate of the hosts with the trait CUSTOM_THREE.
ZONE = 'az-small'
FLAVORS = 2000
NOVAS_LIMIT = 1000
#: The number of clusters in the project for the second measurement of attach and detach.
CLUSTERS = 5000
#: The maximum requests and kB of an attach or a detach.
LIFE = (6, 10)
FILTER = 'AggregateInstanceTypeFilter'
VOLUME = [{'boot_index': 0, 'uuid': 'v', 'source_type': 'volume', 'destination_type': 'volume'}]
_AGGREGATES = 'the list of all aggregates names the hosts of each'
_FLAVORS = 'below 2.102, only the list of all flavors has their names'
_CHOSEN = 'a policy that chooses hosts reads the whole cloud'
_ROWS = 'the first rows of the list of hypervisors have few of the 40'
_SENLIN = "Senlin's own database layer takes about half of it"


class Cloud(Canned):
    """A Nova, a Placement and a Glance that count requests and bytes."""

    def __init__(self, nova: FakeNova) -> None:
        super().__init__(nova)
        self.served = []
        self.glance = FakeGlance(FakeImage('cirros'))

    def data(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, bytes]:
        if target != '/cost':
            answer = super().data(method, target, headers, body)
            if method != 'GET':
                self.answers.clear()
            return answer
        known = ('/identity', '/image/v2')
        asked = [each for each in self.served if each.startswith(known) or _is_counted(each)]
        cost = {'requests': len([*filter(_is_counted, asked)]), 'bytes': self.bytes_sent}
        self.served.clear()
        self.bytes_sent = 0
        return 200, json.dumps(cost).encode()

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


def _is_counted(target: str) -> bool:
    """Check whether a request is neither a log-in nor discovery."""
    path = urlsplit(target).path.rstrip('/')
    roots = ('/compute', '/compute/v2.1', '/placement', '/image', '/image/v2')
    return not path.startswith('/identity') and path not in roots


@dataclass(frozen=True)
class Case:
    """A scale-out, and its limits: requests, kB, ms of CPU.

    ``members`` is whether the group has members. ``reasons`` explain the goals that are missed.
    """

    name: str
    count: int
    budget: tuple[float, float, float]
    flavor: str = 'tiny'
    policy: str = 'anti-affinity'
    profile: Mapping[str, Any] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    is_tenant: bool = False
    is_filtered: bool = False
    reasons: tuple[str | None, str | None, str | None] = (None, None, None)


ACCEPT = (8, 150, 30)
ACCEPTED = [
    Case('accept 1', 1, ACCEPT),
    Case(
        'accept 1 in a zone',
        1,
        ACCEPT,
        wanted={'availability_zone': 'az-large'},
        reasons=(None, _AGGREGATES, None),
    ),
    Case('accept 1 from a volume', 1, ACCEPT, profile={'block_device_mapping_v2': VOLUME}),
    Case('accept 1, flavor by name', 1, ACCEPT, 'm1.named', reasons=(_FLAVORS, _FLAVORS, None)),
    Case(
        f'accept 1, {FILTER}',
        1,
        ACCEPT,
        'ssd',
        is_filtered=True,
        reasons=(None, _AGGREGATES, None),
    ),
    Case('accept 50', 50, ACCEPT, policy='soft-anti-affinity'),
    Case('accept 50, hard anti-affinity', 50, (8, 300, 30)),
    Case(
        'accept 10 where 40 hosts have room',
        10,
        (12, 300, 30),
        'forty',
        'many members',
        reasons=(_ROWS, None, None),
    ),
]
#: With operator credentials, the data of an earlier scale-out are cached for a minute.
ACCEPTED += [
    replace(case, name=f'{case.name}, within a minute', is_tenant=True, reasons=(None, None, None))
    for case in ACCEPTED
    if _AGGREGATES in case.reasons or _FLAVORS in case.reasons
]
FEW, MANY = (20, 500, 100), (20, 3000, 300)
REJECTED = [
    replace(case, name=f'{case.name}, {who}', is_tenant=who == 'tenant')
    for case in (
        Case('reject, 3 candidates', 7, FEW, 'three'),
        Case(
            'reject, 20 candidates',
            60,
            FEW,
            'twenty',
        ),
        Case(
            'reject, 250 candidates',
            700,
            MANY,
            'many',
        ),
        Case(
            'reject in a zone',
            7,
            FEW,
            wanted={'availability_zone': ZONE},
            reasons=(None, _AGGREGATES, None),
        ),
    )
    for who in ('administrator', 'tenant')
]
PINNED = [
    Case(name, 1, (12, 4000, 100), wanted=wanted, reasons=(_CHOSEN,) * 3)
    for name, wanted in (
        ('pinned', {'pin_hosts': True}),
        ('member_of', {'member_of': ['ssd']}),
        ('spread over racks', {'spread': [{'by': 'rack'}]}),
    )
]


def serve(pipe: Any, number: int) -> None:
    """Run the cloud until the other end of the pipe sends something."""
    names = [f'cmp-{n}' for n in range(number)]
    few = names[-CANDIDATES['CUSTOM_THREE'] :]
    hosts = (FakeHost(name, zone=ZONE if name in few else 'az-large') for name in names)
    nova = FakeNova(hosts=tuple(hosts), quota=-1, aggregates=())
    nova.add_aggregate('ssd', names[1:], ssd='true')
    nova.add_aggregate('rack', names[1::2], rack='r1')
    nova.add_aggregate('small', few, availability_zone=ZONE)
    nova.add_aggregate('large', names[: -len(few)], availability_zone='az-large')
    nova.add_flavor('ssd', extra_specs={'ssd': 'true'})
    for trait in CANDIDATES:
        specs = {f'trait:{trait}': 'required'}
        nova.add_flavor(trait.removeprefix('CUSTOM_').lower(), extra_specs=specs)
    groups = {}
    for policy in ('anti-affinity', 'soft-anti-affinity', 'many members'):
        kind = policy if 'affinity' in policy else 'anti-affinity'
        groups[policy] = nova.add_group(policy, kind, project_id=support.PROJECT)
        if policy == 'anti-affinity':
            nova.groups[-1]['rules'] = {'max_server_per_host': 2}
        members = 25 if policy == 'many members' else MEMBERS
        for n in range(members):
            host = f'cmp-{number // 2 + n}'
            nova.boot(groups[policy], host, project=support.PROJECT, user=support.USER)
    with Cloud(nova) as cloud:
        cloud.placement.providers = [
            replace(each, traits=(*TRAITS, *traits(n, number)))
            for n, each in enumerate(cloud.placement.providers)
        ]
        pipe.send((cloud.url, groups))
        while pipe.recv() == 'flavors':  # only the last case has this many flavors
            for n in range(FLAVORS):
                nova.add_flavor(f'f{n}')
            nova.add_flavor('m1.named', id='a-flavor')
            cloud.answers.clear()
            pipe.send('added')


def traits(host: int, number: int) -> Iterator[str]:
    """Yield the traits of a host; hosts with a rare trait are evenly distributed."""
    for trait, hosts in CANDIDATES.items():
        step = max(1, number // hosts)
        if host % step == 0 and host // step < hosts:
            yield trait


class Engine:
    """A cluster with its policy, in a simulated cloud."""

    def __init__(self, url: str, group: str, case: Case) -> None:
        self.connection: Connection = fake_keystone.connect(f'{url}/identity/v3')
        self._url = url
        nova = SimpleNamespace(groups=[{'id': group}])
        edge: Any = SimpleNamespace(connection=lambda: self.connection, nova=nova)
        self._desk = support.Desk(edge)
        profile = support.profile(flavor=case.flavor, **case.profile)
        if 'block_device_mapping_v2' in case.profile:
            profile['properties'].pop('image')
        self._cluster, self._policy = self._desk.bound(
            support.spec(**case.wanted), group, size=MEMBERS, profile=profile
        )

    def grow(self, count: int, rounds: int) -> tuple[float, dict[str, int], str]:
        """Return the CPU seconds, the requests and bytes, and the status of the action."""
        least, cost, status = float('inf'), {}, ''
        for _ in range(rounds):
            action = self._desk.action(self._cluster, consts.CLUSTER_SCALE_OUT, {'count': count})
            self._cost()
            start = time.process_time()
            self._policy.pre_op(self._cluster.id, action)
            least = min(least, time.process_time() - start)
            cost, status = self._cost(), action.data['status']
        return least, cost, status

    def attach_and_detach(self, rounds: int) -> dict[str, tuple[float, dict[str, int]]]:
        """Return the minimum CPU seconds, and the requests and bytes, of an attach and a detach."""
        least = {'attach': float('inf'), 'detach': float('inf')}
        costs = {}
        for _ in range(rounds):
            cluster, policy = self._desk.cluster(size=MEMBERS), self._desk.policy()
            for step in least:
                self._cost()
                start = time.process_time()
                data = support.done(getattr(policy, step)(cluster))
                least[step] = min(least[step], time.process_time() - start)
                costs[step] = self._cost()
                if step == 'attach':
                    self._desk.bind(cluster, policy, data)
                    cluster = self._desk.load_cluster(cluster.id)
        return {step: (least[step], costs[step]) for step in least}

    def _cost(self) -> dict[str, int]:
        known: dict[str, int] = self.connection.session.get(f'{self._url}/cost').json()
        return known


@contextlib.contextmanager
def cloud_of(hosts: int) -> Iterator[tuple[str, dict[str, str], Any]]:
    """Run a cloud of this size in a process; yield its URL, its groups, and a pipe to it."""
    context = multiprocessing.get_context('fork')
    here, there = context.Pipe()
    child = context.Process(target=serve, args=(there, hosts), daemon=True)
    child.start()
    try:
        yield (*here.recv(), here)
    finally:
        here.send('end')
        child.join()


def bench_hook(hosts: int, rounds: int, *, is_every_case: bool) -> list[Goal]:
    """Measure the cases in a cloud of this size; rejections only if ``is_every_case``."""
    goals = []
    with cloud_of(hosts) as (url, groups, pipe):
        cases = [*ACCEPTED, *(REJECTED + PINNED) * is_every_case]
        are_many = False
        for case in sorted(cases, key=lambda each: each.flavor == 'm1.named'):
            if case.flavor == 'm1.named' and not are_many:
                pipe.send('flavors')
                are_many = pipe.recv() == 'added'
            goals += costs(f'{hosts:,} hosts: {case.name}', case, url, groups[case.policy], rounds)
    return goals


def costs(name: str, case: Case, url: str, group: str, rounds: int) -> list[Goal]:
    """Measure one case."""
    if case.is_filtered:
        filters = [*DEFAULT_FILTERS, FILTER]
        cfg.CONF.set_override('enabled_filters', filters, group='affinity')
    with tenant(url) if case.is_tenant else contextlib.nullcontext():
        seconds, cost, status = Engine(url, group, case).grow(case.count, rounds)
    cfg.CONF.clear_override('enabled_filters', group='affinity')
    assert status == ('ERROR' if 'reject' in case.name else 'NONE'), (name, status)
    requests, size, cpu = case.reasons
    figures = [
        ('requests', cost['requests'], requests),
        ('kB', cost['bytes'] / 1000, size),
        ('ms', seconds * 1000, cpu or _SENLIN),
    ]
    return [
        Goal(f'{name}: {unit}', figure, most, reason)
        for (unit, figure, reason), most in zip(figures, case.budget, strict=True)
    ]


@contextlib.contextmanager
def tenant(url: str) -> Iterator[None]:
    """Give the operator another connection, and the owner no right to list hosts."""
    operator = OperatorClient(fake_keystone.connect(f'{url}/identity/v3'), recent=RecentReads())

    def clients_of(owner: Any) -> Clients:
        return Clients(OwnerClient(owner), operator)

    with (
        mock.patch.object(clients, 'clients_of', clients_of),
        mock.patch.object(NovaInventory, 'shows_hosts', return_value=False),
    ):
        yield


def bench_life(rounds: int, most: int) -> list[Goal]:
    """Measure attach and detach, beside few and beside many clusters."""
    goals = []
    with cloud_of(10) as (url, groups, _pipe):
        engine = Engine(url, groups['anti-affinity'], ACCEPTED[0])
        for clusters, added in ((1, 0), (most, most - 1)):
            if added:
                add_clusters(added)
            for step, (seconds, cost) in engine.attach_and_detach(rounds).items():
                name = f'{clusters:,} clusters: {step}'
                figures = ('requests', cost['requests']), ('kB', cost['bytes'] / 1000)
                for (unit, figure), most in zip(figures, LIFE, strict=True):
                    goals.append(Goal(f'{name}: {unit}', figure, most))
                goals.append(Goal(f'{name}: ms', seconds * 1000, 30, _SENLIN))
    return goals


# --- CPU time of Placement


def fill(judge: Judge, hosts: int) -> None:
    """Write the providers directly into Placement's database."""
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
    """Compare the CPU time of the query of a scale-out by 50 with that of Nova's query."""
    judge = Judge()
    fill(judge, hosts)
    asked = {'resources': 'VCPU:1,MEMORY_MB:512,DISK_GB:1'}
    asked['root_required'] = '!COMPUTE_STATUS_DISABLED'

    def ask(limit: int) -> None:
        answer = judge.ask('/allocation_candidates', (), **{**asked, 'limit': str(limit)})
        assert len(answer.json['allocation_requests']) == min(limit, hosts)

    limit = 50 + MEMBERS + SPARE
    ways = {'novas': lambda: ask(NOVAS_LIMIT), 'ours': lambda: ask(limit)}
    seconds = measured(ways, 3)
    novas, ours = seconds['novas'], seconds['ours']
    print(f"Placement's CPU: {ours * 1000:.0f} ms, for Nova {novas * 1000:.0f} ms")
    return Goal("Placement's CPU, to that of Nova's own request", ours / novas, 1)


def main(*sizes: int) -> int:
    """Measure clouds of these sizes, by default the usual ones."""
    support.make_database()
    rounds, clusters = (2, 100) if sizes else (ROUNDS, CLUSTERS)
    goals = bench_life(rounds, clusters)
    for hosts in sizes or SIZES:
        is_every_case = hosts == HOSTS or bool(sizes)
        goals += bench_hook(hosts, rounds, is_every_case=is_every_case)
    return report([*goals, bench_placement(max(sizes, default=HOSTS))])


if __name__ == '__main__':
    sys.exit(main(*map(int, sys.argv[1:])))
