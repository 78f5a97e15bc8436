"""Fetch what a decision needs of Nova, as :class:`~senlin_affinity.model.ports.Inventory`.

Source: the compute API reference. ``hypervisor_hostname_pattern`` (2.53) is a substring match that
ignores case and answers 404 if nothing matches. It does not match service hosts, so the services
are listed, too. Below 2.53, all hypervisors are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from senlin_affinity.cloud import flavors, hosts
from senlin_affinity.cloud.paging import allowed, check_identity, check_unique, list_of, reading
from senlin_affinity.cloud.rest import BASE, Microversion, OperatorRest, OwnerRest, shown
from senlin_affinity.extra_specs.releases import Releases
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Flavor, Quota
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host
from senlin_affinity.nova.quotas import (
    CORES,
    INSTANCES,
    METADATA_ITEMS,
    RAM,
    SERVER_GROUP_MEMBERS,
    SERVER_GROUPS,
)

PATTERN_QUERY: Microversion = (2, 53)
_BAD_REQUEST, _FORBIDDEN = 400, 403
_HIGHEST: Microversion = (2, 1 << 20)

_HIDDEN = (403, 404)
#: The id of a flavor, an image and a host that do not exist.
_NOTHING = '5e7f1a00-0000-4000-8000-000000000000'
_OF_GROUPS = (SERVER_GROUPS, SERVER_GROUP_MEMBERS)
#: Limits of a single group or server, for which a project has no usage.
_UNUSED = (SERVER_GROUP_MEMBERS, METADATA_ITEMS)
#: Quotas, with Nova's names of limit and usage.
_ABSOLUTE = (
    (SERVER_GROUPS, 'maxServerGroups', 'totalServerGroupsUsed'),
    (SERVER_GROUP_MEMBERS, 'maxServerGroupMembers', None),
    (INSTANCES, 'maxTotalInstances', 'totalInstancesUsed'),
    (CORES, 'maxTotalCores', 'totalCoresUsed'),
    (RAM, 'maxTotalRAMSize', 'totalRAMUsed'),
    (METADATA_ITEMS, 'maxServerMeta', None),
)


class NovaInventory:
    """The inventory of one owner; hosts and aggregates are read with operator credentials.

    :param clouds: returns the operator's API of Nova; called only by methods that need it.
    """

    def __init__(self, compute: OwnerRest, clouds: Callable[[], OperatorRest]) -> None:
        self._compute = compute
        self._clouds = clouds

    def availability_zones(self) -> frozenset[str]:
        """Fetch the names of all zones, available or not. One request."""
        return frozenset(self.zones())

    def zones(self) -> dict[str, bool]:
        """Fetch whether each zone is available, True if not stated: ``{'nova': True}``."""
        what = 'list the availability zones'
        body = self._compute.get('/os-availability-zone', what, self._compute.pick(BASE))
        with reading(what):
            return {
                str(zone['zoneName']): (zone.get('zoneState') or {}).get('available') is not False
                for zone in list_of(body, 'availabilityZoneInfo', what)
            }

    def quotas(self) -> Mapping[str, Quota]:
        """Fetch the quotas of the connection's project, by name: ``{'cores': Quota(20, 4), ...}``.

        ``server_groups`` and ``server_group_members``, and if listed, ``instances``, ``cores``,
        ``ram`` and ``metadata_items``. A limit below 0 is None. Limits per group or server have no
        usage.
        """
        what = 'read the limits of the project'
        body = self._compute.get('/limits', what, self._compute.pick(BASE))
        with reading(what):
            absolute = body['limits']['absolute']
            return {
                name: Quota(_limit(absolute[limit]), None if used is None else int(absolute[used]))
                for name, limit, used in _ABSOLUTE
                if limit in absolute or name in _OF_GROUPS
            }

    def quotas_of(self, project_id: str) -> Mapping[str, Quota]:
        """Fetch the quotas of any project, as its reader or an administrator; see :meth:`quotas`.

        Only ``server_group_members`` and ``metadata_items`` may be missing. Raise CloudError (400)
        for a nonexistent project.
        """
        what = f'read the quotas of project {project_id}'
        return self._quota_set(project_id, what, (INSTANCES, CORES, RAM, SERVER_GROUPS), _UNUSED)

    def with_user(
        self, quotas: Mapping[str, Quota], project_id: str | None, user_id: str | None
    ) -> Mapping[str, Quota]:
        """Return the quotas with ``of_user``, the limit and the usage of one user of the project.

        Unchanged without a project or user id, and for a 403 or 404. A user without own limits has
        the project's. A quota that the response lacks has None.
        """
        if project_id is None or user_id is None:
            return quotas
        what = 'read the quotas of the user'
        read = partial(self._quota_set, project_id, what, (), quotas, user_id=user_id)
        of_user = allowed(read, _HIDDEN)
        if of_user is None:
            return quotas
        return {name: replace(quota, of_user=of_user.get(name)) for name, quota in quotas.items()}

    def _quota_set(
        self, project_id: str, what: str, needed: Iterable[str], more: Iterable[str], **query: str
    ) -> dict[str, Quota]:
        """Fetch quotas by name: those that are needed, and more if the response has them."""
        path = f'/os-quota-sets/{quote(project_id, safe="")}/detail'
        body = self._compute.get(path, what, self._compute.pick(BASE), params=query)
        with reading(what):
            found = body['quota_set']
            check_identity(found['id'], project_id, what)
            # Old clouds reserve for servers being created.
            return {
                name: Quota(
                    _limit(has['limit']),
                    None if name in _UNUSED else int(has['in_use']) + int(has['reserved']),
                )
                for name in (*needed, *(each for each in more if each in found))
                for has in [found[name]]
            }

    def flavor(self, name_or_id: str) -> Flavor | None:
        """Fetch the flavor with this id, or else this name; None if there is none."""
        return flavors.flavor(self._compute, name_or_id)

    def highest_microversion(self) -> Microversion:
        """Return the highest microversion that Nova offers, such as (2, 93)."""
        return self._compute.pick(_HIGHEST)

    def release(self) -> int:
        """Return the oldest release with the highest microversion of this Nova, such as 26."""
        return Releases.of_microversion(self.highest_microversion()).oldest

    def shows_hosts(self) -> bool:
        """Check whether the owner may list hypervisors (False: 403). One request."""
        what = 'list the hypervisors'
        microversion = self._compute.pick(hosts.UUIDS)
        query = {'limit': 1}
        read = partial(self._compute.get, hosts.PATH, what, microversion, params=query)
        return allowed(read) is not None

    def lets_choose_hosts(self) -> bool:
        """Return whether Nova lets the owner choose the hosts of servers.

        One request for a server that no cloud can create: False for a 403, True for a 400,
        otherwise CloudError.
        """
        what = 'find out whether the owner may choose the hosts of servers'
        server = {
            'name': 'senlin-affinity',
            'imageRef': _NOTHING,
            'flavorRef': _NOTHING,
            'availability_zone': f'nova:{_NOTHING}',
        }
        try:
            self._compute.post('/servers', what, BASE, {'server': server})
        except CloudError as error:
            if error.status not in (_FORBIDDEN, _BAD_REQUEST):
                raise
            return error.status == _BAD_REQUEST
        raise CloudError(f'could not {what}: Nova accepted a nonexistent flavor')

    def hosts_named_like(self, pattern: str) -> tuple[Host, ...]:
        """Fetch the hosts whose hypervisor or service name contains the text, in any case.

        Only names, type and state are known. Those with a matching hypervisor come first; the
        others have '' as its name and type. Two requests, as an administrator.
        """
        clouds = self._clouds()
        services = hosts.services(clouds)
        found = _hypervisors(clouds, pattern)
        names = {host.host for host in found}
        for service in services:
            name = str(service.get('host', ''))
            if pattern.lower() in name.lower() and name not in names:
                found.append(_host(name, '', '', service))  # its hypervisor did not match
        return tuple(found)

    def aggregates(self) -> tuple[Aggregate, ...]:
        """Fetch all aggregates, sorted by name; raise CloudError below microversion 2.41."""
        clouds = self._clouds()
        offered = clouds.pick(hosts.AGGREGATE_UUIDS)
        if offered < hosts.AGGREGATE_UUIDS:
            raise CloudError(
                f'could not list the aggregates: their UUIDs need compute microversion '
                f'{shown(hosts.AGGREGATE_UUIDS)}, this cloud offers {shown(offered)}'
            )
        return hosts.aggregates(clouds)[0]


def _hypervisors(compute: OperatorRest, pattern: str) -> list[Host]:
    """Fetch the hosts whose hypervisor's name contains ``pattern``, in any case; [] for a 404."""
    what = 'list the hypervisors'
    is_query = compute.pick(PATTERN_QUERY) >= PATTERN_QUERY
    body = compute.get(
        '/os-hypervisors/detail',
        what,
        PATTERN_QUERY if is_query else BASE,
        params={'hypervisor_hostname_pattern': pattern} if is_query else None,
        may_be_missing=is_query,
    )
    made = []
    found = [] if body is None else list_of(body, 'hypervisors', what)
    if is_query:  # older ids are numbers, and two cells may use the same one
        check_unique(found, 'id', what)
    for item in found:
        name, service = str(item.get('hypervisor_hostname', '')), item.get('service')
        if not isinstance(service, Mapping) or not isinstance(service.get('host'), str):
            raise CloudError(f'could not {what}: {name!r} has no service host')
        if pattern.lower() in name.lower():
            kind = str(item.get('hypervisor_type', ''))
            made.append(_host(service['host'], name, kind, item))
    return made


def _host(host: str, name: str, kind: str, item: Mapping[str, Any]) -> Host:
    """Build a host of which only names, type, ``status`` and ``state`` are known."""
    is_enabled, is_up = item.get('status') == 'enabled', item.get('state') == 'up'
    return Host(host, name, kind, enabled=is_enabled, up=is_up)


def _limit(value: object) -> int | None:
    """Convert a number or text to an integer; None (unlimited) below 0."""
    number = int(str(value))
    return None if number < 0 else number
