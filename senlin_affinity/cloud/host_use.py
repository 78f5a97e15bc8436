"""Fetch who uses the resources of one host: what is reserved, and consumers that are not servers.

Example::

    fetch(clients, 'cmp-1')
    HostUse({'VCPU': 0, 'MEMORY_MB': 512}, (Consumer('5c...', {'VCPU': 2}, 'migration of 7a...'),))

Requests: the hypervisor with its servers; the providers of its tree, and for each of them (at most
:data:`_MOST_PROVIDERS`) the inventories and the allocations; the migrations, if there are
consumers that are not servers of the host.

Raises: CloudError, also for a 403.

Source: the compute API reference (2.53) and the Placement API reference. While a server moves, a
consumer with the id of the migration holds the resources of the source, and the server those of
the destination, where Nova does not list it yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import hosts
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.paging import list_of, reading
from senlin_affinity.cloud.providers import TREES, uses_of
from senlin_affinity.cloud.rest import OperatorRest
from senlin_affinity.model.errors import CloudError

_MIGRATIONS = (2, 59)
_MOST_PROVIDERS = 40
_WHAT = 'read the resource providers of the host'
_LIST_HYPERVISORS, _LIST_MIGRATIONS = 'list the hypervisors', 'list the migrations'


@dataclass(frozen=True)
class Consumer:
    """A consumer of resources that is no server on the host.

    ``kind`` is "migration of ID" or "server ID moving here"; '' if Nova knows no migration of it.
    """

    id: str
    amounts: Mapping[str, int]
    kind: str = ''


@dataclass(frozen=True)
class HostUse:
    """The reserved amounts of a host by resource class, and its consumers that are not servers."""

    reserved: Mapping[str, int]
    consumers: tuple[Consumer, ...] = ()


def fetch(clients: Clients, hypervisor: str, timeout: float | None = None) -> HostUse:
    """Fetch the use of the host with this hypervisor, by its hostname."""
    compute = clouds.clouds_compute(clients, clouds.compute(clients.owner, timeout), timeout)
    placement = clouds.placement(clients.operator, timeout)
    root, servers = _servers(compute, hypervisor)
    reserved, amounts = Counter[str](), dict[str, Counter[str]]()
    for uuid in _tree(placement, root):
        path = f'/resource_providers/{quote(uuid, safe="")}'
        inventories = placement.get(f'{path}/inventories', _WHAT, TREES)
        with reading(_WHAT):
            for name, each in inventories['inventories'].items():
                reserved[name] += int(each['reserved'])
        for consumer, own in uses_of(placement, uuid, _WHAT).items():
            amounts.setdefault(consumer, Counter()).update(own)
    others = {each: dict(own) for each, own in sorted(amounts.items()) if each not in servers}
    kinds = _kinds(compute, others) if others else {}
    return HostUse(
        dict(reserved),
        tuple(Consumer(each, own, kinds.get(each, '')) for each, own in others.items()),
    )


def _servers(compute: OperatorRest, hypervisor: str) -> tuple[str, frozenset[str]]:
    """Return the id of the hypervisor, and the ids of its servers."""
    found = hosts.with_servers(compute, hypervisor, _LIST_HYPERVISORS)
    if not found:
        raise CloudError(f'could not {_LIST_HYPERVISORS}: there is no hypervisor {hypervisor!r}')
    return found[0]


def _tree(placement: OperatorRest, root: str) -> list[str]:
    """Return the UUIDs of the providers in the tree, the root first."""
    body = placement.get('/resource_providers', _WHAT, TREES, params={'in_tree': root})
    with reading(_WHAT):
        found = [str(each['uuid']) for each in body['resource_providers']]
    return sorted(found, key=lambda uuid: (uuid != root, uuid))[:_MOST_PROVIDERS]


def _kinds(compute: OperatorRest, others: Collection[str]) -> dict[str, str]:
    """Return what the consumers are, by their ids, as far as the migrations of Nova show it."""
    microversion = compute.pick(_MIGRATIONS)
    body = compute.get('/os-migrations', _LIST_MIGRATIONS, microversion)
    found: dict[str, str] = {}
    with reading(_LIST_MIGRATIONS):
        each: Mapping[str, Any]
        for each in list_of(body, 'migrations', _LIST_MIGRATIONS):
            server = each['instance_uuid']
            if each.get('uuid') in others:
                found[each['uuid']] = f'migration of {server}'
            elif server in others:
                found.setdefault(server, f'server {server} moving here')
    return found
