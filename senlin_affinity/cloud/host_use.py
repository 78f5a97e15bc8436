"""Fetch what uses a host besides servers: reserved amounts, and consumers that are no servers.

Example::

    fetch(clients, 'cmp-1')
    HostUse({'VCPU': 0, 'MEMORY_MB': 512}, (Leftover('5c...', {'VCPU': 2}, server='7a...'),))

Requests for each host: its hypervisor with the servers; if its resources may be those of a tree,
the providers (at most :data:`_MOST_PROVIDERS`); of each provider the inventories and the
allocations. Only if there are consumers that are no servers of the hosts, and once for all hosts:
the migrations, and the servers that are being created.

Units: Placement's.

Raises: CloudError from :func:`fetch`, also for a 403. :func:`with_use` raises nothing: a host that
cannot be read stays as it is.

Source: the compute API reference (2.53, 2.59) and the Placement API reference. While a server
moves, a consumer with the id of the migration holds the resources of the source, and the server
those of the destination, where Nova does not list it yet.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from senlin_affinity.cloud import connection
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.hosts import UUIDS, with_servers
from senlin_affinity.cloud.paging import by_marker, list_of, reading
from senlin_affinity.cloud.providers import TREES, uses_of
from senlin_affinity.cloud.rest import OperatorRest, malformed
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host, Leftover, Resource

#: The largest number of hosts that :func:`with_use` reads.
MOST = 10
_MOST_PROVIDERS = 40
_PROVIDERS, _HYPERVISORS = 'read the resource providers of a host', 'list the hypervisors'
_SERVERS, _MIGRATIONS = 'list the servers in status BUILD', 'list the migrations'
#: From this microversion on, migrations have UUIDs.
_MIGRATION_UUIDS = (2, 59)
#: The statuses in which a migration has no allocations; "finished" waits for a confirmation.
_ENDED = frozenset(
    {'cancelled', 'completed', 'confirmed', 'done', 'error', 'failed', 'reverted', 'accepted'}
)


@dataclass(frozen=True)
class HostUse:
    """The reserved amounts of a host by resource class, and its consumers that are not servers.

    ``resources`` are those of a host with a single provider, else empty. ``servers`` is the number
    of servers that Nova lists on the hypervisor; None if they were not read.
    """

    reserved: Mapping[str, int]
    consumers: tuple[Leftover, ...] = ()
    resources: Mapping[str, Resource] = field(default_factory=dict)
    servers: int | None = None

    def complete(self, host: Host) -> Host:
        """Return the host with all of its resource classes, if these were read."""
        if not (host.is_partial and self.resources):
            return host
        resources = {**self.resources, **(host.resources or {})}
        return host.but(grants=host.grants, resources=resources, is_partial=False)


@dataclass(frozen=True)
class _Read:
    """The inventories of the providers of a host, and what others than its servers use.

    ``servers`` is the number of its servers.
    """

    inventories: tuple[Mapping[str, Any], ...]
    uses: Mapping[str, Mapping[str, int]]
    used: Mapping[str, int]
    servers: int

    def reserved(self) -> Mapping[str, int]:
        """Return the reserved amount of each resource class."""
        reserved = Counter[str]()
        for own in self.inventories:
            reserved.update({name: int(each['reserved']) for name, each in own.items()})
        return {name: reserved[name] for own in self.inventories for name in own}

    def resources(self) -> Iterator[tuple[str, Resource]]:
        """Yield the classes of the root provider, with their use."""
        for name, own in self.inventories[0].items():
            capacity = int((own['total'] - own['reserved']) * own['allocation_ratio'])
            limits = own['max_unit'], own['step_size']
            yield name, Resource(max(0, capacity), self.used.get(name, 0), *limits)


def fetch(clients: Clients, hypervisor: str) -> HostUse:
    """Fetch the use of the host with this hypervisor, by its hostname."""
    compute, placement = _services(clients)
    read = _read(compute, placement, hypervisor, is_tree=True)
    with reading(_PROVIDERS):
        reserved = read.reserved()
        resources = dict(read.resources()) if len(read.inventories) == 1 else {}
    servers = _servers_by_consumer(compute) if read.uses else {}
    return HostUse(reserved, _leftovers(read, servers), resources, read.servers)


def with_use(clients: Clients, cloud: Cloud, names: Iterable[str]) -> Cloud:
    """Return the cloud with ``leftovers`` and reserved amounts of the first hosts with a name.

    A host whose resources are partial gets those of the root provider that it lacks.

    :param names: names of service hosts; at most ``MOST`` are read.
    """
    chosen = [*dict.fromkeys(names)][:MOST]
    if not chosen or cloud.hosts is None:
        return cloud
    with contextlib.suppress(CloudError):
        compute, placement = _services(clients)
        found: dict[int, _Read] = {}
        for index, host in enumerate(cloud.hosts):
            if host.host in chosen and len(found) < MOST:
                name = host.hypervisor_hostname
                with contextlib.suppress(CloudError):
                    found[index] = _read(compute, placement, name, is_tree=host.is_nested)
        is_used = any(read.uses for read in found.values())
        servers = _servers_by_consumer(compute) if is_used else {}
        hosts = [*cloud.hosts]
        for index, read in found.items():
            with contextlib.suppress(CloudError), reading(_PROVIDERS):
                hosts[index] = _with(hosts[index], read, _leftovers(read, servers))
        return replace(cloud, hosts=tuple(hosts))
    return cloud


def _services(clients: Clients) -> tuple[OperatorRest, OperatorRest]:
    owners = connection.compute(clients.owner)
    compute = connection.clouds_compute(clients, owners)
    return compute, connection.placement(clients.operator)


def _read(
    compute: OperatorRest, placement: OperatorRest, hypervisor: str, *, is_tree: bool
) -> _Read:
    """Read the providers of a host, the root first; of the root alone unless ``is_tree``."""
    listed = with_servers(compute, hypervisor, _HYPERVISORS)
    if not listed:
        raise CloudError(f'could not {_HYPERVISORS}: there is no hypervisor {hypervisor!r}')
    if len(listed) > 1:
        raise malformed(_HYPERVISORS, f'it has {len(listed)} hypervisors {hypervisor}')
    ((root, servers),) = listed
    amounts, used, inventories = dict[str, Counter[str]](), Counter[str](), list[Any]()
    for uuid in tree_of(placement, root) if is_tree else [root]:
        path = f'/resource_providers/{quote(uuid, safe="")}/inventories'
        body = placement.get(path, _PROVIDERS, TREES)
        with reading(_PROVIDERS):
            inventories.append(body['inventories'])
        for consumer, own in uses_of(placement, uuid, _PROVIDERS).items():
            used.update(own if uuid == root else {})
            amounts.setdefault(consumer, Counter()).update(own)
    others = {each: dict(own) for each, own in sorted(amounts.items()) if each not in servers}
    return _Read(tuple(inventories), others, used, len(servers))


def tree_of(placement: OperatorRest, root: str) -> list[str]:
    """Return the UUIDs of the providers in the tree, the root first."""
    body = placement.get('/resource_providers', _PROVIDERS, TREES, params={'in_tree': root})
    with reading(_PROVIDERS):
        found = [str(each['uuid']) for each in body['resource_providers']]
    return sorted(found, key=lambda uuid: (uuid != root, uuid))[:_MOST_PROVIDERS]


def _with(host: Host, read: _Read, leftovers: tuple[Leftover, ...]) -> Host:
    """Return the host with what was read; servers that come or go are no leftovers."""
    reserved = read.reserved()
    own = dict(read.resources()) if host.is_partial else {}
    resources = {
        name: each if each.pool is not None else replace(each, reserved=reserved.get(name, 0))
        for name, each in {**own, **(host.resources or {})}.items()
    }
    left = tuple(each for each in leftovers if each.server != each.consumer)
    return host.but(grants=host.grants, resources=resources or host.resources, leftovers=left)


def _leftovers(read: _Read, servers: Mapping[str, str]) -> tuple[Leftover, ...]:
    return tuple(
        Leftover(consumer, amounts, servers.get(consumer))
        for consumer, amounts in read.uses.items()
    )


def _servers_by_consumer(compute: OperatorRest) -> dict[str, str]:
    """Fetch the servers that are being created or moved, and that of each migration, by UUID."""
    query = {'all_tenants': 'true', 'status': 'BUILD'}
    with reading(_SERVERS):
        found = by_marker(compute, '/servers/detail', 'servers', _SERVERS, UUIDS, **query)
        servers = {each['id']: each['id'] for each in found}
    microversion = compute.pick(_MIGRATION_UUIDS)
    body = compute.get('/os-migrations', _MIGRATIONS, microversion, params={'limit': 1000})
    with reading(_MIGRATIONS):
        for each in list_of(body, 'migrations', _MIGRATIONS):
            server = each['instance_uuid']
            servers.setdefault(each.get('uuid'), server)
            if each['status'] not in _ENDED:
                servers.setdefault(server, server)
    return servers
