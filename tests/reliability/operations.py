"""Run the operations of a policy like Senlin's engine does, on the engine's own objects.

:class:`Stage` creates a cluster, a policy, and the groups of a cloud. :meth:`Stage.run` does what
the engine does for the action, with Senlin's own driver.
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
    """An attach, a detach, or the hook before an action.

    With ``is_shared``, a cluster of another project is bound to the group, which must then remain.
    With ``is_kept``, the cluster has a group that an earlier detach kept. With ``is_operator``, the
    policy has operator credentials.
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
    is_operator: bool = False

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
    _hook('preflight, operator', spec(), is_operator=True),
    _hook('pinned, operator', spec(pin_hosts=True), is_operator=True),
    _hook('DRS', plain(enable_drs_extension=True)),
    _hook('member_of', spec(member_of=['in:fast', '!licensed'])),
    _hook('spread', spec(spread=[{'by': 'availability_zone', 'max_skew': 1}])),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def new_cloud() -> FaultyCloud:
    return FaultyCloud(FakeNova(hosts=HOSTS, aggregates=AGGREGATES))


class Stage:
    """A cluster and a policy in an otherwise empty database of Senlin, and their cloud.

    ``reports`` has the status of the cluster after each action.
    """

    def __init__(self, cloud: FaultyCloud, operation: Operation) -> None:
        self.cloud, self.operation = cloud, operation
        self.reports: list[str] = []
        _empty_database()
        self.desk = Desk(Edge())  # its Nova is unused
        trust = {'user': USER, 'project': PROJECT, 'cred': {'openstack': {'trust': 'a-trust'}}}
        objects.Credential.create(self.desk.context, trust)
        use_service_user(f'{cloud.url}/identity/v3')
        service_user.section(cfg.CONF)  # registers its options
        named = 'authentication' if operation.is_operator else None
        cfg.CONF.set_override('auth_section', named, group=service_user.GROUP.name)
        clients._KEPT = clients._Kept()  # like a new process, because the cloud is new
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
        """Create a policy; return its id."""
        made = AffinityPolicy('web', dict(spec), user=USER, project=PROJECT, domain='')
        return str(made.store(self.desk.context))

    def run(self) -> str | None:
        """Run the operation; return None, or the reason of the refusal."""
        if self.operation.kind == 'hook':
            return self.check()
        return self.attach() if self.operation.kind == 'attach' else self.detach()

    def attach(self) -> str | None:
        """Attach like CLUSTER_ATTACH_POLICY after it has locked the cluster."""
        cluster = self.desk.load_cluster(self.cluster)
        is_done, why = cluster.attach_policy(self.desk.context, self.policy, {'enabled': True})
        return self._stored(cluster, is_done, why)

    def detach(self) -> str | None:
        """Detach like CLUSTER_DETACH_POLICY."""
        cluster = self.desk.load_cluster(self.cluster)
        is_done, why = cluster.detach_policy(self.desk.context, self.policy)
        return self._stored(cluster, is_done, why)

    def _stored(self, cluster: Any, is_done: bool, why: str) -> str | None:
        if is_done:
            cluster.store(self.desk.context)
            self.hear()
        return None if is_done else str(why)

    def hear(self) -> None:
        """Record the status of the cluster, which its owner reads."""
        row = objects.Cluster.get(self.desk.context, self.cluster)
        self.reports += [] if row is None else [str(row.status_reason)]

    def check(self) -> str | None:
        """Run the hook before the nodes are created; ``data`` is what it stores."""
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
        """Set the metadata of the cluster so that a detach deletes the group."""
        values = {'metadata': {detachment.KEY: 'delete'}}
        objects.Cluster.update(self.desk.context, self.cluster, values)

    def is_attached(self) -> bool:
        rows = objects.ClusterPolicy.get_all(self.desk.context, self.cluster)
        return bool(list(rows))

    def notes(self) -> str:
        """Return all data in Senlin that may name a group: bindings, clusters and policies."""
        texts = []
        with database.session_for_read() as session:
            for model in (models.ClusterPolicies, models.Cluster):
                texts += [repr(row.data) for row in session.query(model)]
            texts += [repr(row.spec) for row in session.query(models.Policy)]
        return '\n'.join(texts)


def _empty_database() -> None:
    # A database in memory is lost with its connection, which an aborted hang closes.
    models.BASE.metadata.create_all(database.get_engine())
    with database.session_for_write() as session:
        for table in reversed(models.BASE.metadata.sorted_tables):
            session.execute(table.delete())
