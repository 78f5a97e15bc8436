"""What Nova has, as :class:`~senlin_affinity.core.ports.Inventory`: never a request for each host.

Shapes: compute services, zones, hypervisors, aggregates and limits as raw JSON in, frozen values
out.

Units: a limit of -1 is Nova's "no limit", None here; a flavor's swap of '' is 0.

Source: the compute API reference. ``hypervisor_hostname_pattern`` (2.53) is a substring match that
ignores case and answers 404 when nothing matches; it can not see the service host, so the services
are read, too. Below 2.53 the whole detail list is read, which is one unpaged answer below 2.33. A
flavor holds its extra specs from 2.61, for those who may see them. Aggregates show their UUID from
2.41; their list is never paged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.rest import Microversion, Rest
from senlin_affinity.cloud.server_groups import list_of
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.objects import Aggregate, Flavor, Host, Quota
from senlin_affinity.core.quotas import (
    CORES,
    INSTANCES,
    RAM,
    SERVER_GROUP_MEMBERS,
    SERVER_GROUPS,
)

BASE: Microversion = (2, 1)
AGGREGATE_UUIDS: Microversion = (2, 41)
PATTERN_QUERY: Microversion = (2, 53)
EXTRA_SPECS: Microversion = (2, 61)
#: The quotas of the servers themselves, and the names that Nova gives limit and use.
_OF_SERVERS = (
    (INSTANCES, 'maxTotalInstances', 'totalInstancesUsed'),
    (CORES, 'maxTotalCores', 'totalCoresUsed'),
    (RAM, 'maxTotalRAMSize', 'totalRAMUsed'),
)


class NovaInventory:
    """What the connection may see of its cloud."""

    def __init__(self, compute: Rest) -> None:
        self._compute = compute

    def availability_zones(self) -> frozenset[str]:
        """See :meth:`Inventory.availability_zones`."""
        what = 'list the availability zones'
        body = self._compute.get('/os-availability-zone', what, self._compute.pick(BASE))
        zones = list_of(body, 'availabilityZoneInfo', what)
        return frozenset(str(zone.get('zoneName')) for zone in zones)

    def quotas(self) -> Mapping[str, Quota]:
        """See :meth:`Inventory.quotas`."""
        what = 'read the limits of the project'
        body = self._compute.get('/limits', what, self._compute.pick(BASE))
        try:
            absolute = body['limits']['absolute']
            quotas = {
                SERVER_GROUPS: Quota(
                    _limit(absolute['maxServerGroups']), int(absolute['totalServerGroupsUsed'])
                ),
                SERVER_GROUP_MEMBERS: Quota(_limit(absolute['maxServerGroupMembers'])),
            }
            for name, limit, used in _OF_SERVERS:
                if limit in absolute:
                    quotas[name] = Quota(_limit(absolute[limit]), int(absolute[used]))
            return quotas
        except (KeyError, TypeError, ValueError) as error:
            raise CloudError(f'could not {what}: the answer is odd ({error!r})') from error

    def flavor(self, name_or_id: str) -> Flavor | None:
        """See :meth:`Inventory.flavor`."""
        what = f'read the flavor {name_or_id!r}'
        microversion = self._compute.pick(EXTRA_SPECS)
        path = f'/flavors/{quote(name_or_id, safe="")}'
        body = self._compute.get(path, what, microversion, missing=404)
        try:
            found = self._flavor_named(name_or_id, microversion) if body is None else body['flavor']
            if found is None:
                return None
            if microversion < EXTRA_SPECS:
                path = f'/flavors/{quote(found["id"], safe="")}/os-extra_specs'
                found = {**found, **self._compute.get(path, what, microversion)}
            return _flavor(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CloudError(f'could not {what}: the answer is odd ({error!r})') from error

    def _flavor_named(self, name: str, microversion: Microversion) -> Mapping[str, Any] | None:
        """Names are unique in Nova; the pages go by the last one's id."""
        what = 'list the flavors'
        params: dict[str, str | int] = {}
        while True:
            body = self._compute.get('/flavors/detail', what, microversion, params=params)
            page = list_of(body, 'flavors', what)
            for flavor in page:
                if flavor['name'] == name:
                    return flavor
            if not page or not body.get('flavors_links'):
                return None
            params = {'marker': str(page[-1]['id'])}

    def hosts_named_like(self, pattern: str) -> tuple[Host, ...]:
        """See :meth:`Inventory.hosts_named_like`."""
        services = self._compute_services()
        by_hypervisor = self._hypervisors(pattern)
        seen = {host.host for host in by_hypervisor}
        by_service = (
            _host_of_service(service)
            for service in services
            if pattern.lower() in str(service.get('host', '')).lower()
        )
        return (*by_hypervisor, *(host for host in by_service if host.host not in seen))

    def aggregates(self) -> tuple[Aggregate, ...]:
        """See :meth:`Inventory.aggregates`."""
        what = 'list the aggregates'
        microversion = self._compute.pick(AGGREGATE_UUIDS)
        if microversion < AGGREGATE_UUIDS:
            offered = '.'.join(map(str, microversion))
            raise CloudError(
                f'could not {what}: their UUIDs need compute microversion 2.41, '
                f'this cloud offers {offered}'
            )
        body = self._compute.get('/os-aggregates', what, microversion)
        try:
            return tuple(map(_aggregate, list_of(body, 'aggregates', what)))
        except (KeyError, TypeError, ValueError) as error:
            raise CloudError(f'could not {what}: the answer is odd ({error!r})') from error

    def _compute_services(self) -> list[dict[str, Any]]:
        what = 'list the compute services'
        body = self._compute.get(
            '/os-services', what, self._compute.pick(BASE), params={'binary': 'nova-compute'}
        )
        return list_of(body, 'services', what)

    def _hypervisors(self, pattern: str) -> tuple[Host, ...]:
        """Those with the pattern in the hypervisor's name."""
        what = 'list the hypervisors'
        microversion = self._compute.pick(PATTERN_QUERY)
        is_query = microversion >= PATTERN_QUERY
        body = self._compute.get(
            '/os-hypervisors/detail',
            what,
            microversion if is_query else BASE,
            params={'hypervisor_hostname_pattern': pattern} if is_query else None,
            missing=404 if is_query else None,
        )
        if body is None:
            return ()
        return tuple(_hosts(list_of(body, 'hypervisors', what), pattern))


def _hosts(hypervisors: Iterable[Mapping[str, Any]], pattern: str) -> Iterable[Host]:
    for hypervisor in hypervisors:
        name = str(hypervisor.get('hypervisor_hostname', ''))
        service = hypervisor.get('service')
        if not isinstance(service, Mapping) or not isinstance(service.get('host'), str):
            raise CloudError(f'could not list the hypervisors: {name!r} has no service host')
        if pattern.lower() in name.lower():
            yield Host(
                service['host'],
                name,
                str(hypervisor.get('hypervisor_type', '')),
                enabled=hypervisor.get('status') == 'enabled',
                up=hypervisor.get('state') == 'up',
            )


def _host_of_service(service: Mapping[str, Any]) -> Host:
    """A compute service whose hypervisor's name is not known (and did not match)."""
    return Host(
        str(service['host']),
        '',
        availability_zone=service.get('zone'),
        enabled=service.get('status') == 'enabled',
        up=service.get('state') == 'up',
    )


def _flavor(body: Mapping[str, Any]) -> Flavor:
    """One that hides its extra specs shows none."""
    return Flavor(
        str(body['id']),
        str(body['name']),
        vcpus=int(body['vcpus']),
        ram=int(body['ram']),
        disk=int(body['disk']),
        ephemeral=int(body.get('OS-FLV-EXT-DATA:ephemeral', 0)),
        swap=int(body.get('swap') or 0),
        extra_specs={str(key): str(value) for key, value in body.get('extra_specs', {}).items()},
    )


def _aggregate(body: Mapping[str, Any]) -> Aggregate:
    zone = body.get('availability_zone')
    metadata = {str(key): str(value) for key, value in dict(body['metadata']).items()}
    return Aggregate(
        str(body['uuid']), str(body['name']), None if zone is None else str(zone), metadata
    )


def _limit(value: object) -> int | None:
    number = int(str(value))
    return None if number < 0 else number
