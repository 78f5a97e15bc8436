"""Share one real cloud among all tests of a session, with users of Senlin and Nova.

A test requests an action from Senlin's real API and gets a :class:`Judged`. The result is read from
Senlin's action, and as an administrator from Nova.

Shapes::

    cluster = demo.cluster(size=2)
    demo.attach(cluster, demo.policy(servergroup={'name': 'web'})).succeeded()
    assert 'No such' in demo.scale_out(cluster, 1).failed()

Raises: CloudError after a deadline, and if Senlin rejects a request. A failed test shows the end of
the services' logs.
"""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from senlin_affinity.sandbox.demo.stage import Actor, Ended, Nova, Running, wait_for
from tests.support.sandbox import SandboxCloud

DRS_HOST = 'vsphere-drs-1'
HOSTS = {
    'cmp-1': {},
    'cmp-2': {},
    DRS_HOST: {
        'hypervisor_hostname': 'domain-c7.b52f8d4c-5c4e-4bb5-9b1a-6e5d1f2f3a4b',
        'hypervisor_type': 'VMware vCenter Server',
        'availability_zone': 'vsphere',
        'disabled': True,
    },
}
_numbers = itertools.count(1)


class Judged(Running):
    """A running action whose result is checked."""

    def succeeded(self) -> Ended:
        """Wait for the action to succeed."""
        ended = self.ended()
        assert ended.status == 'SUCCEEDED', ended.reason
        return ended

    def failed(self) -> str:
        """Wait for the action to fail, and return the reason that Senlin shows."""
        ended = self.ended()
        assert ended.status == 'FAILED', ended
        return ended.reason

    def placements(self) -> list[dict[str, str]] | None:
        """Wait for the action to succeed, and return its placements, or None without placements."""
        placement = self.succeeded().data.get('placement')
        if placement is None:
            return None
        assert placement['count'] == len(placement['placements'])
        return list(placement['placements'])


class Tenant(Actor):
    """A user who generates names, specs and profiles, and whose actions are checked."""

    def running(self, action: str) -> Judged:
        """Return an existing action."""
        return Judged(self.clustering, action)

    def profile(self, kind: str = 'os.nova.server', **properties: Any) -> str:
        """Create a profile of a small server, with more properties, and return its id."""
        small = {'name': 'node', 'flavor': 'm1.tiny', 'image': 'cirros', 'networks': []}
        whole = {**small, **properties} if kind == 'os.nova.server' else properties
        spec = {'type': kind, 'version': '1.0', 'properties': whole}
        return self.create_profile(_name('profile'), spec)

    def policy(self, version: str = '1.1', **properties: Any) -> str:
        """Create an affinity policy, and return its id."""
        return self.policy_of('senlin.policy.affinity', version, **properties)

    def policy_of(self, kind: str, version: str = '1.0', **properties: Any) -> str:
        """Create a policy of any type, and return its id."""
        spec = {'type': kind, 'version': version, 'properties': properties}
        return self.create_policy(_name('policy'), spec)

    def cluster(self, profile: str | None = None, size: int = 0, **more: Any) -> str:
        """Create a cluster, wait for it, and return its id."""
        return self.create_cluster(_name('cluster'), profile or self.profile(), size, **more)

    def node(self, cluster: str = '', profile: str | None = None) -> Any:
        """Create a single node (NODE_CREATE), wait for it, and return it."""
        return self.create_node(_name('node'), profile or self.profile(), cluster)

    def refused(self, cluster: str, what: str, **arguments: Any) -> str:
        """Request an action that Senlin's API rejects with a 400, and return the message."""
        response = self.clustering.post(f'/clusters/{cluster}/actions', json={what: arguments})
        assert response.status_code == 400, response.text
        return str(response.json()['error']['message'])

    def action_of(self, target: str) -> str:
        """Return the newest action on a node or a cluster."""
        found = self.clustering.get('/actions', params={'target': target}).json()['actions']
        return str(max(found, key=lambda action: action['created_at'])['id'])

    def recreate(self, node: Any) -> Any:
        """Wait until a node has a new server (RECREATE), and return the node."""
        self.clustering.recover_node(node.id, operation='RECREATE')
        wait_for(
            f'the new server of node {node.id}',
            lambda: self.node_is_done(node.id).physical_id != node.physical_id,
        )
        return self.clustering.get_node(node.id)

    def set_metadata(self, cluster: str, **metadata: str) -> None:
        """Replace the metadata of a cluster, and wait until they are stored."""
        self.update_cluster(cluster, metadata=metadata)

    def update_cluster(self, cluster: str, **changes: Any) -> None:
        """Update a cluster (CLUSTER_UPDATE), and wait."""
        self.clustering.update_cluster(cluster, **changes)
        self.wait_for_actions(cluster)

    def nodes(self, cluster: str) -> list[Any]:
        """Return the nodes of a cluster, by index."""
        found = self.clustering.nodes(cluster_id=cluster)
        return sorted(found, key=lambda node: node.index)

    def node_data(self, node: str) -> dict[str, Any]:
        """Return the stored data of a node."""
        return dict(self.clustering.get(f'/nodes/{node}').json()['node']['data'] or {})

    def group_id(self, cluster: str, policy: str) -> str:
        """Return the server group that a policy is bound to on a cluster."""
        return str(self.binding(cluster, policy)['AffinityPolicy']['data']['servergroup_id'])

    def bound(self, policy: str | None = None, **cluster: Any) -> tuple[str, str, str]:
        """Create a cluster with a policy, and return the ids of cluster, policy and group."""
        policy = policy or self.policy()
        made = self.cluster(**cluster)
        self.attach(made, policy).succeeded()
        return made, policy, self.group_id(made, policy)


class Truth(Nova):
    """The actual state of Nova."""

    def group_by_id(self, group: str) -> Any:
        """Return a server group, or None if it does not exist."""
        found = {item.id: item for item in self._compute.server_groups(all_projects=True)}
        return None if group not in found else self._compute.get_server_group(group)

    def own_group(self, cluster: str) -> Any:
        """Return the group that the policy created for this cluster, or None."""
        return self.group(f'{GROUP_NAME_PREFIX}{cluster}')

    def members(self, group: str) -> set[str]:
        """Return the ids of a group's servers."""
        return set(self._compute.get_server_group(group).member_ids or ())

    def server(self, server: str) -> Any:
        """Return a server with its host and zone."""
        return self._compute.get_server(server)

    def spread(self, group: str) -> dict[str, int]:
        """Return the number of a group's servers on each host."""
        return dict(Counter(self.server(item).compute_host for item in self.members(group)))

    def disable(self, host: str) -> None:
        """Disable a compute service."""
        (service,) = self._compute.services(binary='nova-compute', host=host)
        self._compute.disable_service(service, host, 'nova-compute')


def asked(cloud: SandboxCloud, *parts: str) -> list[tuple[str, str, str]]:
    """Return Senlin's requests to Nova below these paths, or all: method, path and query.

    The discovery of API versions is omitted.
    """
    return [
        (item['method'], item['path'], item['query'])
        for item in cloud.requests('compute')
        if item['user_agent'].startswith('senlin')
        and item['path'].strip('/') != 'v2.1'
        and (not parts or any(f'/{part}' in item['path'] for part in parts))
    ]


def _name(kind: str) -> str:
    return f'{kind}-{next(_numbers)}-{uuid.uuid4().hex[:6]}'


@pytest.fixture(scope='session')
def senlin_cloud() -> Iterator[SandboxCloud]:
    """Yield a real Nova, Placement and Senlin with two hosts and a disabled vSphere host."""
    with SandboxCloud(HOSTS, senlin=True) as cloud:
        yield cloud


@pytest.fixture
def cloud(senlin_cloud: SandboxCloud) -> Iterator[SandboxCloud]:
    """Yield the cloud for a test with faults, which end with the test."""
    senlin_cloud.faults.clear()
    yield senlin_cloud
    senlin_cloud.faults.clear()


@pytest.fixture(scope='session')
def demo(senlin_cloud: SandboxCloud) -> Tenant:
    """Return a non-admin (role member)."""
    return Tenant(senlin_cloud.connection('demo'))


@pytest.fixture(scope='session')
def admin(senlin_cloud: SandboxCloud) -> Tenant:
    """Return an administrator in their own project."""
    return Tenant(senlin_cloud.connection('admin'))


@pytest.fixture(scope='session')
def truth(senlin_cloud: SandboxCloud) -> Truth:
    """Return the actual state of Nova."""
    return Truth(senlin_cloud.connection('admin'))


@pytest.fixture
def drs_host(truth: Truth) -> Iterator[str]:
    """Enable the vSphere host during one test, and yield its name."""
    truth.enable(DRS_HOST)
    yield DRS_HOST
    truth.disable(DRS_HOST)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show the end of the services' logs with a test that failed."""
    outcome = yield
    report = outcome.get_result()
    running = getattr(item, 'funcargs', {}).get('senlin_cloud')
    if report.failed and running is not None:
        report.sections.append(("the end of the sandbox's logs", _without_noise(running.logs(80))))


def _without_noise(logs: str) -> str:
    """Return the lines of the logs without known noise."""
    noise = ('SAWarning', '  marker=marker', '  return [cls._from_db_object')
    return '\n'.join(line for line in logs.splitlines() if not any(n in line for n in noise))
