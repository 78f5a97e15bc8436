"""Senlin and Nova as the demo's people see them: waits for actions, looks at what Nova really has.

The way of the data: everything is asked for through Senlin's own API (openstacksdk's clustering
client); where servers are, and which groups there are, is read from Nova, as an administrator.

Units: deadlines are in seconds. Errors: CloudError when Senlin does not get done in time, or
refuses a request.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import openstack.connection
import yaml

from senlin_affinity.conf.files import example
from senlin_affinity.core.errors import CloudError
from senlin_affinity.sandbox.cloud import SandboxCloud

DEADLINE = 120.0
_PAUSE = 0.3
_ENDED = ('SUCCEEDED', 'FAILED', 'CANCELLED')
_T = TypeVar('_T')


@dataclass(frozen=True)
class Ended:
    """How an action of Senlin's ended."""

    status: str
    reason: str


class Actor:
    """One user of the sandbox, at work in Senlin."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._clustering = connection.clustering

    def profile(self, file: str) -> str:
        """Create a profile from a file of the project's examples; its id."""
        spec = yaml.safe_load(example(f'profiles/{file}').read_text())
        return str(self._clustering.create_profile(name=file, spec=spec).id)

    def policy(self, file: str) -> str:
        """Create a policy from a file of the project's examples; its id."""
        spec = yaml.safe_load(example(f'policies/{file}').read_text())
        return str(self._clustering.create_policy(name=file, spec=spec).id)

    def cluster(self, name: str, profile: str) -> str:
        """Create an empty cluster, and wait until it is there; its id."""
        cluster = self._clustering.create_cluster(
            name=name, profile_id=profile, desired_capacity=0, min_size=0, max_size=10
        )
        wait_for(
            f'cluster {name}',
            lambda: self._clustering.get_cluster(cluster.id).status != 'INIT',
        )
        return str(cluster.id)

    def attach(self, cluster: str, policy: str) -> Ended:
        """Attach a policy."""
        return self._ended(self._clustering.attach_policy_to_cluster(cluster, policy))

    def detach(self, cluster: str, policy: str) -> Ended:
        """Detach a policy."""
        return self._ended(self._clustering.detach_policy_from_cluster(cluster, policy))

    def scale_out(self, cluster: str, count: int) -> Ended:
        """Add nodes."""
        return self._ended(self._clustering.scale_out_cluster(cluster, count))

    def resize(self, cluster: str, size: int) -> Ended:
        """Set the number of nodes."""
        return self._ended(
            self._clustering.resize_cluster(
                cluster, adjustment_type='EXACT_CAPACITY', number=size, strict=True
            )
        )

    def node(self, name: str, cluster: str, profile: str) -> str:
        """Create a node in a cluster by itself (NODE_CREATE); its status in the end."""
        node = self._clustering.create_node(name=name, cluster_id=cluster, profile_id=profile)
        wait_for(
            f'node {name}',
            lambda: self._clustering.get_node(node.id).status not in ('INIT', 'CREATING'),
        )
        return str(self._clustering.get_node(node.id).status)

    def delete_cluster(self, cluster: str) -> None:
        """Delete a cluster with its nodes, and wait until it is gone."""
        self._clustering.delete_cluster(cluster, force_delete=True)
        wait_for(
            f'deletion of cluster {cluster}',
            lambda: self._clustering.find_cluster(cluster, ignore_missing=True) is None,
        )

    def binding(self, cluster: str, policy: str) -> Mapping[str, Any]:
        """What Senlin remembers of a policy on a cluster."""
        found = self._clustering.get_cluster_policy(policy, cluster)
        return dict(found.data or {})

    def _ended(self, answer: Mapping[str, Any]) -> Ended:
        if 'action' not in answer:
            raise CloudError(f'Senlin refused: {answer.get("error", answer)}')
        identity = answer['action']
        wait_for(
            f'action {identity}',
            lambda: self._clustering.get_action(identity).status in _ENDED,
        )
        action = self._clustering.get_action(identity)
        return Ended(str(action.status), str(action.status_reason))


class Nova:
    """What Nova really has, seen by an administrator."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._compute = connection.compute

    def hosts(self) -> list[tuple[str, str, str, str]]:
        """Service host, kind of hypervisor, zone and status of each compute service."""
        kinds = {
            hypervisor.service_details['host']: str(hypervisor.hypervisor_type)
            for hypervisor in self._compute.hypervisors(details=True)
        }
        return [
            (service.host, kinds.get(service.host, ''), service.availability_zone, service.status)
            for service in self._compute.services(binary='nova-compute')
        ]

    def enable(self, host: str) -> None:
        """Enable a compute service."""
        (service,) = self._compute.services(binary='nova-compute', host=host)
        self._compute.enable_service(service, host, 'nova-compute')

    def group(self, name: str) -> Any:
        """The server group of this name in any project, None if there is none."""
        for group in self._compute.server_groups(all_projects=True):
            if group.name == name:
                return self._compute.get_server_group(group.id)
        return None

    def groups(self) -> list[str]:
        """The names of all server groups."""
        return sorted(group.name for group in self._compute.server_groups(all_projects=True))

    def create_group(self, connection: openstack.connection.Connection, name: str) -> str:
        """Create an anti-affinity group as a user; its id."""
        return str(connection.compute.create_server_group(name=name, policy='anti-affinity').id)

    def servers_on_hosts(self, group_id: str) -> dict[str, list[str]]:
        """The names of a group's servers by the host that each of them is on."""
        members = set(self._compute.get_server_group(group_id).member_ids or ())
        found: dict[str, list[str]] = defaultdict(list)
        for server in self._compute.servers(all_projects=True):
            if server.id in members:
                found[server.compute_host].append(server.name)
        return {host: sorted(names) for host, names in found.items()}


def wait_for(what: str, condition: Callable[[], _T], deadline: float = DEADLINE) -> _T:
    """Wait until the condition holds, and answer with it; a CloudError past the deadline."""
    end = time.monotonic() + deadline
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise CloudError(f'{what} was not done in {deadline:.0f} s')
        time.sleep(_PAUSE)


def stage(cloud: SandboxCloud) -> tuple[Actor, Actor, Nova]:
    """A plain user, an administrator, and Nova as the administrator sees it."""
    admin = cloud.connection()
    return Actor(cloud.connection('demo')), Actor(admin), Nova(admin)
