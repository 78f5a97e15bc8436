"""Fetch hypervisors, services and aggregates, and combine them into the hosts of a snapshot.

Units: memory in MiB, disk in GiB.

Source: the compute API reference. From 2.53, the ids of hypervisors equal those of their resource
providers. From 2.88, the sizes are missing, and the list may query every host, so hypervisors are
listed at exactly 2.53.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

from senlin_affinity.cloud.paging import by_marker, check_identity, check_unique, list_of, reading
from senlin_affinity.cloud.providers import HostInventory
from senlin_affinity.cloud.rest import BASE, Microversion, OperatorRest
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, VCPU
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import CanonicalUuids

UUIDS: Microversion = (2, 53)
AGGREGATE_UUIDS: Microversion = (2, 41)

#: Resource classes, and the fields of a hypervisor with their size.
_SIZES = ((VCPU, 'vcpus'), (MEMORY_MB, 'memory_mb'), (DISK_GB, 'local_gb'))
_VSPHERE = 'VMware'
#: The rows of a list that cost as much as a request.
_ROWS = 4
#: The limit of a list that may lack the wanted rows.
_MOST_ROWS = 400
_ONE_EACH = ('QEMU', 'KVM')
PATH = '/os-hypervisors/detail'
_HYPERVISORS = 'list the hypervisors'
_AGGREGATES = 'list the aggregates'
_SERVICES = 'list the compute services'


class Hypervisor(NamedTuple):
    """The facts about a hypervisor that the decisions need.

    ``largest`` is the greatest amount of each resource class that one server can get, if known.
    ``servers`` are those that the caller named; ``running`` is the number of all, None if unknown.
    """

    id: str
    name: str
    kind: str
    service_host: str
    is_enabled: bool
    is_up: bool
    largest: Mapping[str, int]
    servers: tuple[str, ...]
    running: int | None
    disabled_reason: str | None


def hypervisors(compute: OperatorRest, servers: Collection[str] = ()) -> tuple[Hypervisor, ...]:
    """Fetch all hypervisors, and which of the ``servers`` (by id) each of them has."""
    query = {'with_servers': 'true'} if servers else {}
    with reading(_HYPERVISORS):
        return tuple(
            _hypervisor(item, servers)
            for item in by_marker(compute, PATH, 'hypervisors', _HYPERVISORS, UUIDS, **query)
        )


def hypervisors_of(compute: OperatorRest, roots: Collection[str]) -> tuple[Hypervisor, ...]:
    """Fetch the hypervisors with these ids, in any order; those that do not exist are left out.

    One request each; for more than four ids, one for the first rows of the list, and for each id
    that these lack.

    :param roots: UUIDs of root providers.
    """
    found: dict[str, Hypervisor] = {}
    if len(roots) > _ROWS:
        limit = min(len(roots) * _ROWS, _MOST_ROWS)
        body = compute.get(PATH, _HYPERVISORS, UUIDS, params={'limit': limit})
        with reading(_HYPERVISORS):
            listed = list_of(body, 'hypervisors', _HYPERVISORS)
            check_unique(listed, 'id', _HYPERVISORS)
            found = {item['id']: _hypervisor(item, ()) for item in listed if item['id'] in roots}
    missing = (hypervisor(compute, root) for root in roots if root not in found)
    return (*found.values(), *filter(None, missing))


def hypervisor(compute: OperatorRest, root: str) -> Hypervisor | None:
    """Fetch the hypervisor with this id (the UUID of its root provider); None for Nova's 404."""
    path = f'/os-hypervisors/{quote(root, safe="")}'
    body = compute.get(path, _HYPERVISORS, UUIDS, may_be_missing=True)
    with reading(_HYPERVISORS):
        if body is None:
            return None
        found = _hypervisor(body['hypervisor'], ())
        check_identity(found.id, root, _HYPERVISORS)
        return found


def hypervisor_of(compute: OperatorRest, host: str) -> Hypervisor | None:
    """Fetch the only hypervisor of a service host, by the host's name. One request.

    None for no or several hypervisors, and for another type than QEMU or KVM.
    """
    # A service of another type may have more hypervisors, with other names.
    query = {'hypervisor_hostname_pattern': host}
    body = compute.get(PATH, _HYPERVISORS, UUIDS, params=query, may_be_missing=True)
    with reading(_HYPERVISORS):
        listed = list_of(body, 'hypervisors', _HYPERVISORS) if body else []
        check_unique(listed, 'id', _HYPERVISORS)
        every = [_hypervisor(item, ()) for item in listed]
    found = [each for each in every if each.service_host == host]
    return found[0] if len(found) == 1 and found[0].kind in _ONE_EACH else None


def with_servers(compute: OperatorRest, name: str, what: str) -> list[tuple[str, frozenset[str]]]:
    """Return the id of each hypervisor of this hostname, and the ids of its servers. One request.

    :param what: what an error says that could not be done.
    """
    query = {'hypervisor_hostname_pattern': name, 'with_servers': 'true'}
    body = compute.get(PATH, what, UUIDS, params=query)
    with reading(what):
        return [
            (item['id'], frozenset(each['uuid'] for each in item.get('servers') or ()))
            for item in list_of(body, 'hypervisors', what)
            if item['hypervisor_hostname'] == name
        ]


def _hypervisor(item: Mapping[str, Any], servers: Collection[str]) -> Hypervisor:
    """Convert the JSON of a hypervisor, of whose servers only ``servers`` are kept.

    ``largest`` is empty for vSphere. A negative number of servers and an empty reason are None.
    """
    kind = item['hypervisor_type']
    sizes = () if kind.startswith(_VSPHERE) else _SIZES
    running, reason = item.get('running_vms'), item['service'].get('disabled_reason')
    largest = ((name, item.get(size)) for name, size in sizes)
    return Hypervisor(
        item['id'],
        item['hypervisor_hostname'],
        kind,
        item['service']['host'],
        item['status'] == 'enabled',
        item['state'] == 'up',
        {name: size for name, size in largest if type(size) is int and size > 0},
        tuple([each['uuid'] for each in item.get('servers') or () if each['uuid'] in servers]),
        running if type(running) is int and running >= 0 else None,
        reason if isinstance(reason, str) and reason else None,
    )


def zones_of(compute: OperatorRest) -> tuple[dict[str, str], dict[str, bool]]:
    """Fetch the zone by service host, and by zone whether any service is enabled, up or down."""
    with reading(_SERVICES):
        zone_of: dict[str, str] = {}
        is_open: dict[str, bool] = {}
        for service in services(compute):
            host, zone = service['host'], service['zone']
            zone_of[host] = zone
            is_open[zone] = is_open.get(zone, False) or service['status'] != 'disabled'
        return zone_of, is_open


def services(compute: OperatorRest) -> list[dict[str, Any]]:
    """Fetch the ``nova-compute`` services as parsed JSON. One request."""
    query = {'binary': 'nova-compute'}
    return list_of(
        compute.get('/os-services', _SERVICES, BASE, params=query), 'services', _SERVICES
    )


def aggregates(compute: OperatorRest) -> tuple[tuple[Aggregate, ...], dict[str, frozenset[str]]]:
    """Fetch all aggregates, sorted by name, and the UUIDs of each service host's, if any.

    One request.
    """
    body = compute.get('/os-aggregates', _AGGREGATES, AGGREGATE_UUIDS)
    found = []
    by_host: defaultdict[str, list[str]] = defaultdict(list)
    with reading(_AGGREGATES):
        listed = list_of(body, 'aggregates', _AGGREGATES)
        check_unique(listed, 'uuid', _AGGREGATES)
        for item in sorted(listed, key=lambda each: each['uuid']):
            uuid, zone = item['uuid'], item['availability_zone']
            found.append(Aggregate(uuid, item['name'], zone, dict(item['metadata'])))
            for host in item['hosts']:
                by_host[host].append(uuid)
    as_set: Any = cache(CanonicalUuids)
    sets = {host: as_set((*uuids,)) for host, uuids in by_host.items()}
    return tuple(sorted(found, key=lambda item: (item.name, item.uuid))), sets


def in_order(hypervisors: Iterable[Hypervisor]) -> tuple[Hypervisor, ...]:
    """Sort the hypervisors by service host, then by name."""
    return tuple(sorted(hypervisors, key=lambda each: (each.service_host, each.name)))


def hosts(
    hypervisors: Iterable[Hypervisor],
    zone_of: Mapping[str, str],
    aggregates_of: Mapping[str, frozenset[str]],
    rooms: Mapping[str, HostInventory],
) -> tuple[Host, ...]:
    """Build a host for each hypervisor, in their order; its zone is None if ``zone_of`` lacks it.

    :param rooms: the resources by hypervisor id; without an entry, they are unknown.
    """
    with_rooms = ((each, rooms.get(each.id) or HostInventory(None)) for each in hypervisors)
    return tuple(
        Host(
            each.service_host,
            each.name,
            each.kind,
            zone_of.get(each.service_host),
            each.is_enabled,
            each.is_up,
            aggregates_of.get(each.service_host, frozenset()),
            room.traits,
            room.resources,
            room.is_nested,
            room.is_partial,
            servers=each.running,
            disabled_reason=None if each.is_enabled else each.disabled_reason,
        )
        for each, room in with_rooms
    )
