"""Call Senlin's API, wait for its actions, and read Nova's state as an administrator.

Example::

    cluster = user.create_cluster('six', profile)
    user.attach(cluster, policy).ended() == Ended('SUCCEEDED', 'Policy attached.', {})

Raises: CloudError if an action exceeds its deadline or Senlin rejects a request.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import openstack.connection

from senlin_affinity.model.errors import CloudError

#: In seconds.
DEADLINE = 90.0
ENDED = ('SUCCEEDED', 'FAILED', 'CANCELLED')
_IN_THE_MAKING = ('INIT', 'BUILD', 'CREATING', 'RECOVERING', 'DELETING', 'UPDATING')
#: Seconds between two checks, each of which takes CPU time from what it waits for.
_PAUSE = 0.25
#: The first microversion in which nova-api validates extra specs.
VALIDATED = '2.86'
_T = TypeVar('_T')


@dataclass(frozen=True)
class Ended:
    """The result of an action of Senlin; ``data`` is what the policies wrote."""

    status: str
    reason: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Running:
    """An action that Senlin has accepted."""

    clustering: Any
    id: str

    def ended(self) -> Ended:
        """Wait until the action ends, and return its result."""
        wait_for(f'action {self.id}', lambda: self.read()['status'] in ENDED)
        action = self.read()
        return Ended(action['status'], action['status_reason'], action['data'] or {})

    def read(self) -> dict[str, Any]:
        """Return the action as Senlin's API shows it now."""
        answer = self.clustering.get(f'/actions/{self.id}').json()
        return dict(answer['action'])


class Actor:
    """A user of the sandbox, with the clients of Senlin and Nova."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self.connection = connection
        self.clustering = connection.clustering
        self.compute = connection.compute

    def create_profile(self, name: str, spec: Mapping[str, Any]) -> str:
        """Create a profile; return its id."""
        return str(self.clustering.create_profile(name=name, spec=spec).id)

    def create_policy(self, name: str, spec: Mapping[str, Any]) -> str:
        """Create a policy; return its id."""
        return str(self.clustering.create_policy(name=name, spec=spec).id)

    def create_group(self, name: str, policy: str = 'anti-affinity') -> str:
        """Create a server group in Nova; return its id."""
        return str(self.compute.create_server_group(name=name, policy=policy).id)

    def create_servers(self, image: str, flavors: Mapping[str, str]) -> list[str]:
        """Create servers (name -> flavor) at once, and wait until each is built; return the ids."""
        ids = {flavor.name: flavor.id for flavor in self.compute.flavors()}
        made = [
            self.compute.create_server(
                name=name, flavor_id=ids[flavor], image_id=image, networks='none'
            ).id
            for name, flavor in flavors.items()
        ]
        for server in made:
            self._made(f'server {server}', partial(self.compute.get_server, server))
        return made

    def create_cluster(self, name: str, profile: str, size: int = 0, **more: Any) -> str:
        """Create a cluster with its nodes; return its id."""
        given = {'desired_capacity': size, 'min_size': 0, 'max_size': -1, **more}
        cluster = self.clustering.create_cluster(name=name, profile_id=profile, **given)
        found = self._made(f'cluster {name}', lambda: self.clustering.get_cluster(cluster.id))
        if found.status != 'ACTIVE':
            raise CloudError(f'cluster {name} is {found.status}: {found.status_reason}')
        self.wait_for_actions(cluster.id)
        return str(cluster.id)

    def create_node(self, name: str, profile: str, cluster: str = '') -> Any:
        """Create one node (NODE_CREATE), and return it."""
        node = self.clustering.create_node(name=name, cluster_id=cluster, profile_id=profile)
        return self.node_is_done(node.id)

    def node_is_done(self, node: str) -> Any:
        """Wait until a node exists and its actions have ended; return the node."""
        found = self._made(f'node {node}', lambda: self.clustering.get_node(node))
        self.wait_for_actions(node)
        return found

    def wait_for_actions(self, target: str) -> None:
        """Wait until all actions on a cluster or a node have ended."""
        for action in self.clustering.actions(target=target):
            self.running(action.id).ended()

    def _made(self, what: str, look: Callable[[], Any]) -> Any:
        return wait_for(
            what, lambda: found if (found := look()).status not in _IN_THE_MAKING else None
        )

    def delete_cluster(self, cluster: str) -> None:
        """Delete a cluster with its nodes, and wait for the end."""
        self.clustering.delete_cluster(cluster, force_delete=True)
        wait_for(
            f'deletion of cluster {cluster}',
            lambda: self.clustering.find_cluster(cluster, ignore_missing=True) is None,
        )

    def attach(self, cluster: str, policy: str, enabled: bool = True) -> Running:
        """Attach a policy."""
        return self.act(cluster, 'policy_attach', policy_id=policy, enabled=enabled)

    def detach(self, cluster: str, policy: str) -> Running:
        """Detach a policy."""
        return self.act(cluster, 'policy_detach', policy_id=policy)

    def scale_out(self, cluster: str, count: int | None = None) -> Running:
        """Add nodes; without a count, Senlin's default number."""
        return self.act(cluster, 'scale_out', **({} if count is None else {'count': count}))

    def resize(
        self, cluster: str, kind: str | None = None, number: Any = None, **more: Any
    ) -> Running:
        """Request a resize by an adjustment type and a number, or of the limits only."""
        change = {} if kind is None else {'adjustment_type': kind, 'number': number}
        return self.act(cluster, 'resize', **change, **more)

    def act(self, cluster: str, what: str, **arguments: Any) -> Running:
        """Request any action of the API on a cluster."""
        path = f'/clusters/{cluster}/actions'
        body = self.clustering.post(path, json={what: arguments}).json()
        if 'action' not in body:
            raise CloudError(f'Senlin refused: {body.get("error", body)}')
        return self.running(body['action'])

    def running(self, action: str) -> Running:
        """Return an action by its id."""
        return Running(self.clustering, action)

    def binding(self, cluster: str, policy: str) -> dict[str, Any]:
        """Return the data of a policy's binding to a cluster."""
        answer = self.clustering.get(f'/clusters/{cluster}/policies/{policy}').json()
        return dict(answer['cluster_policy']['data'] or {})


class Nova:
    """Nova's state, as an administrator reads it."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._compute = connection.compute

    def hosts(self) -> list[tuple[str, str, str, str]]:
        """Return the host, hypervisor type, zone and status of each compute service."""
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

    def disable(self, host: str) -> None:
        """Disable a compute service."""
        (service,) = self._compute.services(binary='nova-compute', host=host)
        self._compute.disable_service(service, host, 'nova-compute')

    @contextmanager
    def aggregate(self, name: str, host: str, metadata: Mapping[str, str]) -> Iterator[None]:
        """Put a host into a new aggregate for the block."""
        aggregate = self._compute.create_aggregate(name=name).id
        self._compute.add_host_to_aggregate(aggregate, host)
        self._compute.set_aggregate_metadata(aggregate, metadata)
        try:
            yield
        finally:
            self._compute.remove_host_from_aggregate(aggregate, host)
            self._compute.delete_aggregate(aggregate)

    def add_extra_spec(self, flavor: str, name: str, value: str) -> tuple[int, str]:
        """Write an extra spec; return the status and the message of Nova's answer."""
        found = self._compute.find_flavor(flavor).id
        answer = self._compute.post(
            f'/flavors/{found}/os-extra_specs',
            json={'extra_specs': {name: value}},
            microversion=VALIDATED,
        )
        return answer.status_code, answer.json().get('badRequest', {}).get('message', '')

    def extra_specs(self, flavor: str) -> dict[str, str]:
        """Return the extra specs of a flavor."""
        return dict(self._compute.find_flavor(flavor, get_extra_specs=True).extra_specs)

    def hosts_of(self, servers: Iterable[str]) -> dict[str, str]:
        """Return the host of each server by its name; '' without one."""
        found = map(self._compute.get_server, servers)
        return {server.name: server.compute_host or '' for server in found}

    def migrate_live(self, server: str, host: str, microversion: str) -> None:
        """Migrate a server live to a host, and wait until it runs there."""
        answer = self._compute.post(
            f'/servers/{server}/action',
            json={'os-migrateLive': {'host': host, 'block_migration': 'auto'}},
            microversion=microversion,
        )
        if not answer.ok:
            raise CloudError(f'Nova refused: {answer.text}')
        wait_for(f'migration of {server}', partial(self._runs_on, server, host))

    def _runs_on(self, server: str, host: str) -> bool:
        found = self._compute.get_server(server)
        return bool(found.status == 'ACTIVE' and found.compute_host == host)

    def fault(self, server: str) -> tuple[str, str]:
        """Return the status of a server, and why it failed; '' if it did not."""
        found = self._compute.get_server(server)
        return found.status, (found.fault or {}).get('message', '')

    def delete_servers(self, servers: Iterable[str]) -> None:
        """Delete servers, and wait until they are gone."""
        for server in servers:
            self._compute.delete_server(server)
        for server in servers:
            wait_for(f'deletion of server {server}', partial(self._is_gone, server))

    def _is_gone(self, server: str) -> bool:
        return self._compute.find_server(server, ignore_missing=True) is None

    def group(self, name: str) -> Any:
        """Return the server group of this name in any project, or None."""
        for group in self._compute.server_groups(all_projects=True):
            if group.name == name:
                return self._compute.get_server_group(group.id)
        return None

    def groups(self) -> list[str]:
        """Return the names of all server groups."""
        return sorted(group.name for group in self._compute.server_groups(all_projects=True))

    def servers_on_hosts(self, group_id: str) -> dict[str, list[str]]:
        """Return the names of a group's servers by host."""
        members = set(self._compute.get_server_group(group_id).member_ids or ())
        found: dict[str, list[str]] = defaultdict(list)
        for server in self._compute.servers(all_projects=True):
            if server.id in members:
                found[server.compute_host or '(no host)'].append(server.name)
        return {host: sorted(names) for host, names in found.items()}


def wait_for(what: str, condition: Callable[[], _T]) -> _T:
    """Wait until the condition returns a true value, and return that.

    Raise CloudError at the deadline.
    """
    end = time.monotonic() + DEADLINE
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise CloudError(f'{what} was not done in {DEADLINE:.0f} s')
        time.sleep(_PAUSE)
