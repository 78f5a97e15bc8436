"""Create Senlin's objects in an own database, and give them to a policy like the engine does.

A test describes a cluster, its nodes and an action, which become rows; the engine's own code loads
the objects from them. Nova is at the HTTP edge (``tests.support.edge``); only the connection that
Senlin's driver creates with a trust is replaced.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_utils import timeutils
from senlin import objects
from senlin.common import context as senlin_context
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from senlin.engine import cluster as cluster_module
from senlin.engine import environment, event
from senlin.engine import node as node_module
from senlin.engine.actions import base as action_module
from senlin.events.database import DBEvent
from senlin.events.message import MessageEvent
from senlin.objects.notification import NotificationBase

from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from tests.support.edge import Edge

#: Those of the edge's connection.
USER, PROJECT = 'admin-id', 'admin-project'
SERVER_PROFILE = {
    'type': 'os.nova.server',
    'version': '1.0',
    'properties': {'name': 'node', 'flavor': 'm1.tiny', 'image': 'cirros', 'networks': []},
}
HEAT_PROFILE = {'type': 'os.heat.stack', 'version': '1.0', 'properties': {'template': {}}}


def profile(**properties: Any) -> dict[str, Any]:
    """Return a server profile with more properties."""
    return {**SERVER_PROFILE, 'properties': {**SERVER_PROFILE['properties'], **properties}}


def make_database() -> None:
    """Give Senlin's database layer an empty database in memory.

    It is lost with its connection, which would be replaced after an hour.
    """
    cfg.CONF.set_override('connection', 'sqlite://', group='database')
    cfg.CONF.set_override('connection_recycle_time', -1, group='database')
    objects.register_all()
    environment.initialize()
    database._get_main_context_manager().configure(thread_checkin=False)
    models.BASE.metadata.create_all(database.get_engine())


def use_service_user(auth_url: str) -> None:
    """Set the options of Senlin's own user."""
    for name, value in {
        'auth_url': auth_url,
        'service_username': 'admin',
        'service_password': 'secret',
        'service_user_domain': 'default',
        'service_project_domain': 'default',
    }.items():
        cfg.CONF.set_override(name, value, group='authentication')


def spec(version: str | float = '1.1', **properties: Any) -> dict[str, Any]:
    """Return a spec of the policy."""
    return {'type': 'senlin.policy.affinity', 'version': version, 'properties': properties}


def plain(version: str | float = '1.1', **properties: Any) -> dict[str, Any]:
    """Return a spec without a preflight."""
    off = {} if str(version) == '1.0' else {'preflight': 'off'}
    return spec(version, **off, **properties)


class Desk:
    """One project's clusters, nodes, actions and policies; ``edge`` is its Nova."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.context = senlin_context.RequestContext(
            user_id=USER, project_id=PROJECT, is_admin=True, domain_id=''
        )

    def cluster(
        self, size: int = 0, profile: Mapping[str, Any] = SERVER_PROFILE, **values: Any
    ) -> Any:
        """Return a cluster with this number of nodes, as the engine loads it."""
        owner = {'user': USER, 'project': PROJECT, 'domain': ''}
        made = objects.Profile.create(
            self.context,
            {
                'name': 'profile',
                'type': f'{profile["type"]}-{profile["version"]}',
                'context': {},
                'spec': dict(profile),
                'created_at': timeutils.utcnow(True),
                **owner,
            },
        )
        cluster = cluster_module.Cluster(
            'cluster',
            values.pop('desired', size),
            made.id,
            **{'min_size': 0, 'max_size': -1, 'context': self.context, **owner, **values},
        )
        cluster.store(self.context)
        for _ in range(size):
            self.node(cluster)
        return self.load_cluster(cluster.id)

    def load_cluster(self, cluster_id: str) -> Any:
        """Load a cluster from the database."""
        return cluster_module.Cluster.load(self.context, cluster_id=cluster_id)

    def node(self, cluster: Any, data: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Return a new node of a cluster."""
        node = node_module.Node(
            'node',
            cluster.profile_id,
            cluster.id,
            context=self.context,
            user=USER,
            project=PROJECT,
            domain='',
            index=-1,
            role='',
            status='ACTIVE',
            data=dict(data or {}),
            **more,
        )
        node.store(self.context)
        return node

    def node_data(self, node_id: str) -> dict[str, Any]:
        """Load the data of a node from the database."""
        return dict(objects.Node.get(self.context, node_id).data or {})

    def action(
        self,
        target: Any,
        name: str,
        inputs: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return an action in the state before the policy's hook; earlier actions have finished."""
        for earlier in objects.Action.get_all(self.context):
            if earlier.status == 'RUNNING':
                objects.Action.mark_succeeded(self.context, earlier.id, 1.0)
        made = action_module.Action.create(
            self.context,
            target.id,
            name,
            inputs=dict(inputs or {}),
            data={'status': 'NONE', 'reason': '', **(data or {})},
            cluster_id=getattr(target, 'cluster_id', None) or target.id,
            cause='RPC Request',
            start_time=1.0,
            status='RUNNING',
        )
        return action_module.Action.load(self.context, action_id=made)

    def row(self, action: Any) -> Any:
        """Load the action from the database."""
        return objects.Action.get(self.context, action.id, refresh=True)

    def policy(self, wanted: Mapping[str, Any] | None = None) -> AffinityPolicy:
        """Return the policy, with a connection to this desk's Nova."""
        policy = AffinityPolicy('web', dict(wanted or plain()), user=USER, project=PROJECT)
        policy.id = str(uuid.uuid4())
        self._store(policy)
        policy._novaclient = SimpleNamespace(conn=self.edge.connection())
        return policy

    def bind(self, cluster: Any, policy: AffinityPolicy, data: Any) -> None:
        """Store the data of a binding, as the engine does after an attach."""
        objects.ClusterPolicy.create(
            self.context, cluster.id, policy.id, {'enabled': True, 'data': data, 'priority': 300}
        )

    def bound(
        self, wanted: Mapping[str, Any] | None = None, group: str = 'XYZ-ABCD', **cluster: Any
    ) -> tuple[Any, AffinityPolicy]:
        """Return a cluster, and a policy that is bound to it with an inherited group."""
        if group not in self.groups():
            self.edge.nova.add_group(group, id=group)
        made, policy = self.cluster(**cluster), self.policy(wanted)
        self.bind(made, policy, binding(group))
        return made, policy

    def owned(
        self, wanted: Mapping[str, Any] | None = None, **cluster: Any
    ) -> tuple[Any, AffinityPolicy, str]:
        """Return a cluster, a policy, and the id of the group that the policy created."""
        group = self.edge.nova.add_group('mine')
        made, policy = self.cluster(**cluster), self.policy(wanted)
        self.bind(made, policy, binding(group, inherited=False))
        return made, policy, group

    def groups(self) -> list[str]:
        """Return the ids of Nova's groups."""
        return [group['id'] for group in self.edge.nova.groups]

    def _store(self, policy: AffinityPolicy) -> None:
        objects.Policy.create(
            self.context,
            {
                'id': policy.id,
                'name': policy.name,
                'type': policy.type,
                'spec': policy.spec,
                'user': USER,
                'project': PROJECT,
                'domain': '',
                'data': {},
                'created_at': timeutils.utcnow(True),
            },
        )


def done(answer: tuple[bool, Any]) -> Any:
    """Return the message of a successful attach or detach."""
    assert answer[0], answer[1]
    return answer[1]


def refused(answer: tuple[bool, Any]) -> str:
    """Return the reason of a failed attach or detach."""
    assert not answer[0], answer[1]
    return str(answer[1])


def binding(group: str, *, inherited: bool = True, version: Any = '1.0') -> dict[str, Any]:
    """Return the data of a binding in the format of document 003."""
    data = {'servergroup_id': group, 'inherited_group': inherited}
    return {'AffinityPolicy': {'version': version, 'data': data}}


class _Dispatchers:
    """Senlin's own dispatchers of events, without their configuration."""

    def map_method(self, name: str, *arguments: Any, **more: Any) -> None:
        for each in (MessageEvent, DBEvent):
            getattr(each, name)(*arguments, **more)


def record_events(monkeypatch: Any) -> None:
    """Let Senlin store its events, and make their notifications without sending them."""
    log.register_options(cfg.CONF)
    monkeypatch.setattr(event, 'dispatchers', _Dispatchers())
    monkeypatch.setattr(NotificationBase, '_emit', lambda *_facts: None)
