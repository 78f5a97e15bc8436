"""What a policy is asked to do, as Senlin's engine does it, on the engine's own objects.

Data flow: :meth:`Stage.prepare` makes the rows of a cluster and a policy, and the groups of a
cloud; :meth:`Stage.run` does what the engine does for the action, with Senlin's own driver, and
answers how it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg
from senlin import objects
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models

from senlin_affinity.cloud import service_user
from senlin_affinity.groups import detachment
from senlin_affinity.plugins.senlin import clients
from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from tests.engine.support import (
    PROJECT,
    USER,
    Desk,
    binding,
    plain,
    profile,
    spec,
    use_service_user,
)
from tests.reliability.faulty_cloud import FOREIGN as FOREIGN
from tests.reliability.faulty_cloud import FaultyCloud
from tests.support.edge import Edge
from tests.support.fake_nova import FakeAggregate, FakeHost, FakeNova

HOSTS = (
    FakeHost('cmp-1', zone='az-1'),
    FakeHost('cmp-2', zone='az-2'),
    FakeHost('vsphere-drs-1', 'domain-c7.vcenter', zone='az-1'),
)
AGGREGATES = (
    FakeAggregate('fast', ('cmp-1', 'cmp-2'), {'rack': 'r1'}),
    FakeAggregate('licensed', ('vsphere-drs-1',)),
)


@dataclass(frozen=True)
class Operation:
    """One of them: attach, detach, or the hook before an action.

    With ``is_shared`` a cluster of another project is bound to the group, which must then stay.
    With ``is_kept`` the cluster has a group that an earlier detach kept; with ``has_eyes`` the
    operator's log-in looks at the cloud.
    """

    name: str
    kind: str
    spec: Mapping[str, Any]
    action: str = 'CLUSTER_SCALE_OUT'
    cluster: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=lambda: {'count': 2})
    wanted: int = 2
    is_kept: bool = False
    is_shared: bool = False
    has_eyes: bool = False

    def __str__(self) -> str:
        return self.name


def _hook(name: str, policy: Mapping[str, Any], **more: Any) -> Operation:
    return Operation(f'hook: {name}', 'hook', policy, **more)


_KEEPING = plain(servergroup={'on_detach': 'keep'})
_RESIZE = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 3, 'strict': False}
OPERATIONS = (
    Operation('attach: own group', 'attach', plain(servergroup={'policies': 'anti-affinity'})),
    Operation('attach: named group', 'attach', spec(servergroup={'name': 'new'})),
    Operation('attach: existing group', 'attach', plain(servergroup={'name': FOREIGN[0]})),
    Operation('attach: with max_size', 'attach', spec(), cluster={'max_size': 3}),
    Operation('attach: kept group', 'attach', _KEEPING, is_kept=True),
    Operation('attach: version 1.0', 'attach', plain('1.0', servergroup={'name': 'new'})),
    Operation('detach: own group', 'detach', plain()),
    Operation('detach: version 1.0', 'detach', plain('1.0', servergroup={'name': 'new'})),
    Operation('detach: kept group', 'detach', _KEEPING),
    Operation('detach: group of two projects', 'detach', plain(), is_shared=True),
    Operation('detach: existing group', 'detach', plain(servergroup={'name': FOREIGN[0]})),
    _hook('plain', plain()),
    _hook('plain, a node', plain(), action='NODE_CREATE', inputs={}, wanted=1),
    _hook('preflight', spec(servergroup={'policies': 'soft-anti-affinity'})),
    _hook(
        'preflight, warn', spec(preflight='warn'), action='CLUSTER_RESIZE', inputs=_RESIZE, wanted=3
    ),
    _hook('pinned', spec(pin_hosts=True)),
    _hook('preflight, cloud eyes', spec(), has_eyes=True),
    _hook('pinned, cloud eyes', spec(pin_hosts=True), has_eyes=True),
    _hook('DRS', plain(enable_drs_extension=True)),
    _hook('member_of', spec(member_of=['in:fast', '!licensed'])),
    _hook('spread', spec(spread=[{'by': 'availability_zone', 'max_skew': 1}])),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def new_cloud() -> FaultyCloud:
    """The cloud of a cell."""
    return FaultyCloud(FakeNova(hosts=HOSTS, aggregates=AGGREGATES))


class Stage:
    """A cluster and a policy in an empty database of Senlin's, and their cloud.

    ``reports`` are what the status of the cluster was after each action.
    """

    def __init__(self, cloud: FaultyCloud, operation: Operation) -> None:
        self.cloud, self.operation = cloud, operation
        self.reports: list[str] = []
        _empty_database()
        self.desk = Desk(Edge())  # whose Nova nobody asks
        trust = {'user': USER, 'project': PROJECT, 'cred': {'openstack': {'trust': 'a-trust'}}}
        objects.Credential.create(self.desk.context, trust)
        use_service_user(f'{cloud.url}/identity/v3')
        service_user.section(cfg.CONF)  # makes its options known
        named = 'authentication' if operation.has_eyes else None
        cfg.CONF.set_override('auth_section', named, group=service_user.GROUP.name)
        clients._KEPT = clients._Kept()  # as in a new process: this cloud is a new one
        self.foreign = {cloud.nova.add_group(name) for name in FOREIGN}
        made = self.desk.cluster(profile=profile(), **operation.cluster)
        self.cluster = made.id
        self.policy = self.add_policy(operation.spec)
        if operation.kind != 'attach' or operation.is_kept:
            assert self.attach() is None
        if operation.is_shared:
            self._share()
        if operation.is_kept:
            assert self.detach() is None

    def _share(self) -> None:
        """Bind a cluster of another project to the group of the cluster."""
        (group,) = {each['id'] for each in self.cloud.nova.groups} - self.foreign
        self.foreign.add(group)
        other, policy = self.desk.cluster(project='elsewhere'), self.add_policy(plain())
        values = {'enabled': True, 'data': binding(group), 'priority': 300}
        objects.ClusterPolicy.create(self.desk.context, other.id, policy, values)

    def add_policy(self, spec: Mapping[str, Any]) -> str:
        """One more policy; its id."""
        made = AffinityPolicy('web', dict(spec), user=USER, project=PROJECT, domain='')
        return str(made.store(self.desk.context))

    def run(self) -> str | None:
        """Carry the operation out; None, or why it was refused."""
        if self.operation.kind == 'hook':
            return self.check()
        return self.attach() if self.operation.kind == 'attach' else self.detach()

    def attach(self) -> str | None:
        """What CLUSTER_ATTACH_POLICY does, once it has the cluster's lock."""
        cluster = self.desk.load_cluster(self.cluster)
        is_done, why = cluster.attach_policy(self.desk.context, self.policy, {'enabled': True})
        return self._stored(cluster, is_done, why)

    def detach(self) -> str | None:
        """What CLUSTER_DETACH_POLICY does."""
        cluster = self.desk.load_cluster(self.cluster)
        is_done, why = cluster.detach_policy(self.desk.context, self.policy)
        return self._stored(cluster, is_done, why)

    def _stored(self, cluster: Any, is_done: bool, why: str) -> str | None:
        if is_done:
            cluster.store(self.desk.context)
            self.hear()
        return None if is_done else str(why)

    def hear(self) -> None:
        """Keep what the owner of the cluster reads in its status."""
        row = objects.Cluster.get(self.desk.context, self.cluster)
        self.reports += [] if row is None else [str(row.status_reason)]

    def check(self) -> str | None:
        """What happens before the nodes are made; ``data`` is what is then stored."""
        target = self.desk.load_cluster(self.cluster)
        if self.operation.action == 'NODE_CREATE':
            target = self.desk.node(target)
        action = self.desk.action(target, self.operation.action, self.operation.inputs)
        action.policy_check(self.cluster, 'BEFORE')
        self.node = target.id if self.operation.action == 'NODE_CREATE' else None
        self.data = dict(self.desk.row(action).data)
        self.data['status'] = action.data['status']
        return str(action.data['reason']) if action.data['status'] == 'ERROR' else None

    def forget_to_keep(self) -> None:
        """From now on a detach deletes the group: the cluster says so."""
        values = {'metadata': {detachment.KEY: 'delete'}}
        objects.Cluster.update(self.desk.context, self.cluster, values)

    def is_attached(self) -> bool:
        """Whether there is a binding."""
        rows = objects.ClusterPolicy.get_all(self.desk.context, self.cluster)
        return bool(list(rows))

    def notes(self) -> str:
        """What names a group in Senlin: bindings, clusters' data, and the specs of policies."""
        texts = []
        with database.session_for_read() as session:
            for model in (models.ClusterPolicies, models.Cluster):
                texts += [repr(row.data) for row in session.query(model)]
            texts += [repr(row.spec) for row in session.query(models.Policy)]
        return '\n'.join(texts)


def _empty_database() -> None:
    # One in memory is gone with its connection, which a hang that is given up takes with it.
    models.BASE.metadata.create_all(database.get_engine())
    with database.session_for_write() as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            session.execute(table.delete())
