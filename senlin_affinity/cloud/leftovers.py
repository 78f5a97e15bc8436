"""Fetch what uses a few full hosts besides servers: other consumers, and reserved amounts.

Placement's answers about many hosts show how much is used, but not by what. For each of at most
``MOST`` hosts, one request to Nova and one to Placement:

1. ``GET /os-hypervisors/detail?hypervisor_hostname_pattern=NAME&with_servers=true``
2. ``GET /resource_providers/{uuid}/allocations``
3. ``GET /resource_providers/{uuid}/inventories``, if the host lacks a requested class

A consumer that is no server of the host may be a server that is being created (one request for
these servers) or moved, or a migration (one request for these). Both are requested only if there is
such a consumer.

Units: Placement's.

Raises: nothing. A host that cannot be read stays as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from senlin_affinity.cloud import connection
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.hosts import UUIDS, with_servers
from senlin_affinity.cloud.paging import by_marker, list_of, reading
from senlin_affinity.cloud.providers import TREES, uses_of
from senlin_affinity.cloud.rest import OperatorRest, malformed
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host, Leftover, Resource
from senlin_affinity.model.snapshot import CloudSnapshot

#: The largest number of hosts.
MOST = 10
_HYPERVISORS, _SERVERS = 'list the servers of a hypervisor', 'list the servers in status BUILD'
_ALLOCATIONS, _INVENTORIES = 'list the allocations of a host', 'list the inventories of a host'
_MIGRATIONS = 'list the migrations'
#: From this microversion on, migrations have UUIDs.
_MIGRATION_UUIDS = (2, 59)
#: The statuses in which a migration has allocations; "finished" waits for a confirmation.
_ENDED = frozenset(
    {'cancelled', 'completed', 'confirmed', 'done', 'error', 'failed', 'reverted', 'accepted'}
)


def with_leftovers(
    clients: Clients,
    snapshot: CloudSnapshot,
    names: Iterable[str],
    classes: Collection[str] = (),
    timeout: float | None = None,
) -> CloudSnapshot:
    """Return the snapshot with ``leftovers`` of the first hosts with these names.

    :param names: names of service hosts; at most ``MOST`` are read.
    :param classes: the requested resource classes. Of a host whose resources are partial and lack
        one, the inventories are read, too.
    """
    chosen = [*dict.fromkeys(names)][:MOST]
    if not chosen or snapshot.hosts is None:
        return snapshot
    with contextlib.suppress(CloudError):
        owners = connection.compute(clients.owner, timeout)
        compute = connection.clouds_compute(clients, owners, timeout)
        placement = connection.placement(clients.operator, timeout)
        found: dict[int, tuple[Host, dict[str, Mapping[str, int]]]] = {}
        for index, host in enumerate(snapshot.hosts):
            if host.host in chosen and len(found) < MOST:
                with contextlib.suppress(CloudError):
                    found[index] = _read(compute, placement, host, classes)
        others = {consumer for each in found.values() for consumer in each[1]}
        known = _Known(compute) if others else None
        changed = {
            index: host.but(
                grants=host.grants,
                leftovers=tuple(
                    Leftover(consumer, amounts, None if known is None else known.moved(consumer))
                    for consumer, amounts in sorted(uses.items())
                    if known is None or consumer not in known.servers
                ),
            )
            for index, (host, uses) in found.items()
        }
        hosts = (changed.get(index, host) for index, host in enumerate(snapshot.hosts))
        return replace(snapshot, hosts=tuple(hosts))
    return snapshot


def _read(
    compute: OperatorRest, placement: OperatorRest, host: Host, classes: Collection[str]
) -> tuple[Host, dict[str, Mapping[str, int]]]:
    """Return the host with its inventories if they are needed, and what others than servers use."""
    name = host.hypervisor_hostname
    listed = with_servers(compute, name, _HYPERVISORS)
    if len(listed) != 1:
        raise malformed(_HYPERVISORS, f'it has {len(listed)} hypervisors {name}')
    ((uuid, servers),) = listed
    uses = uses_of(placement, uuid, _ALLOCATIONS)
    has = host.resources or {}
    if host.is_partial and not has.keys() >= {*classes}:
        path = f'/resource_providers/{quote(uuid, safe="")}/inventories'
        body = placement.get(path, _INVENTORIES, TREES)
        with reading(_INVENTORIES):
            own = {
                name: _resource(each, sum(use.get(name, 0) for use in uses.values()))
                for name, each in body['inventories'].items()
            }
        host = host.but(grants=host.grants, resources={**has, **own})
    return host, {consumer: each for consumer, each in uses.items() if consumer not in servers}


def _resource(inventory: Mapping[str, Any], used: int) -> Resource:
    """Convert the JSON of an inventory."""
    total, reserved = inventory['total'], inventory['reserved']
    capacity = int((total - reserved) * inventory['allocation_ratio'])
    limits = inventory['max_unit'], inventory['step_size']
    return Resource(max(0, capacity), used, *limits, reserved=reserved)


class _Known:
    """The servers that are being created or moved, and the server of each migration, by UUID."""

    def __init__(self, compute: OperatorRest) -> None:
        query = {'all_tenants': 'true', 'status': 'BUILD'}
        with reading(_SERVERS):
            found = by_marker(compute, '/servers/detail', 'servers', _SERVERS, UUIDS, **query)
            self.servers = {each['id'] for each in found}
        self._moved: dict[str, str] = {}
        body = compute.get('/os-migrations', _MIGRATIONS, _MIGRATION_UUIDS, params={'limit': 1000})
        with reading(_MIGRATIONS):
            for each in list_of(body, 'migrations', _MIGRATIONS):
                self._moved.setdefault(each['uuid'], each['instance_uuid'])
                if each['status'] not in _ENDED:
                    self.servers.add(each['instance_uuid'])

    def moved(self, consumer: str) -> str | None:
        """Return the server of a migration; None if the consumer is no known migration."""
        return self._moved.get(consumer)
