"""The whole cloud at one moment, from a constant number of requests plus pages.

The way of the data: raw JSON of Nova and Placement comes in, one frozen
:class:`~senlin_affinity.core.objects.CloudSnapshot` goes out. What may not be seen (a 403), or what
the cloud is too old to tell, is "not known", and :attr:`Taken.unknown` says why.

Shapes::

    Taken(CloudSnapshot(hosts=None, flavors=(...), ...),
          {'hosts': "could not list the hypervisors: Nova answered 403: Policy doesn't allow ..."})

Units: at most 10 requests besides further pages, one after the other. For an administrator: groups,
hypervisors, services, aggregates, two to four of Placement's, flavors, limits. Where groups are
named, and for a plain user, the servers of the project are listed, too; Placement is then asked
three times at most.

Errors: CloudError for everything that fails in another way than with a 403.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from openstack.connection import Connection

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import flavors, hosts, members, providers
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.rest import BASE, Microversion, Rest, shown
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.objects import CloudSnapshot
from senlin_affinity.core.server_group import Member, ServerGroup
from senlin_affinity.policy.matching import is_uuid

T = TypeVar('T')
_FORBIDDEN = 403


@dataclass(frozen=True)
class Taken:
    """A snapshot, and why what is not in it is not known, by its part."""

    snapshot: CloudSnapshot
    unknown: Mapping[str, str] = field(default_factory=dict)


def take(
    connection: Connection,
    *,
    server_groups: str | Collection[str] | None = None,
    timeout: float | None = None,
) -> Taken:
    """Take a snapshot.

    :param server_groups: the only groups that will be asked about, by id or name: cheaper than
        None, which is all that the connection sees. An empty collection is none.
    :param timeout: seconds that one request may take; None is the connection's own, or a minute.
    """
    wanted = (server_groups,) if isinstance(server_groups, str) else server_groups
    return _Taking(connection, timeout).take(wanted)


class _Taking:
    """One snapshot being taken."""

    def __init__(self, connection: Connection, timeout: float | None) -> None:
        self._connection = connection
        self._timeout = timeout
        self._compute = clouds.compute(connection, timeout)
        self._unknown: dict[str, str] = {}

    def take(self, wanted: Collection[str] | None) -> Taken:
        """All parts, one after the other."""
        inventory = NovaInventory(self._compute)
        groups = self._server_groups(wanted)
        servers = {member.server for group in groups or () for member in group.members}
        found = self._part(
            'hosts',
            lambda: hosts.hypervisors(self._compute, servers if wanted is None else ()),
            hosts.UUIDS,
        )
        aggregates, aggregates_of = self._part(
            'aggregates', lambda: hosts.aggregates(self._compute), hosts.AGGREGATE_UUIDS
        ) or (None, {})
        built = zones = None
        if found is not None:
            zone_of = self._part('availability_zones', lambda: hosts.zones(self._compute))
            is_listed = wanted is not None and bool(servers)
            most = providers.MOST_REQUESTS - is_listed
            built = hosts.hosts(found, zone_of or {}, aggregates_of, self._rooms(found, most))
            zones = None if zone_of is None else frozenset(zone_of.values())
        else:
            zones = self._part('availability_zones', inventory.availability_zones)
        if groups is not None:
            known = self._members(groups, found, wanted) if servers else None
            groups = members.located(groups, known or {})
        user, project = clouds.owner(self._connection)
        return Taken(
            CloudSnapshot(
                hosts=built,
                aggregates=aggregates,
                flavors=self._flavors(),
                server_groups=groups,
                quotas=self._part('quotas', inventory.quotas),
                taken_at=_now(),
                availability_zones=zones,
                user_id=user,
                project_id=project,
            ),
            self._unknown,
        )

    def _part(
        self,
        name: str,
        read: Callable[[], T],
        needed: Microversion = BASE,
        service: Rest | None = None,
    ) -> T | None:
        """What ``read`` gives; None, with the reason kept, where it may not be seen or had."""
        service = service or self._compute
        offered = service.pick(needed)
        if offered < needed:
            self._unknown[name] = (
                f'{service.name} offers microversion {shown(offered)}, '
                f'and {shown(needed)} is needed'
            )
            return None
        try:
            return read()
        except CloudError as error:
            if error.status != _FORBIDDEN:
                raise
            self._unknown[name] = str(error)
            return None

    def _server_groups(self, wanted: Collection[str] | None) -> tuple[ServerGroup, ...] | None:
        nova = NovaServerGroups(self._compute)
        if wanted is None:
            return self._part('server_groups', nova.of_every_project)
        if not wanted:
            self._unknown['server_groups'] = 'none was asked for'
            return None
        return self._part('server_groups', lambda: _groups_called(nova, set(wanted)))

    def _rooms(
        self, found: Collection[hosts.Hypervisor], most: int
    ) -> Mapping[str, providers.Room | None] | None:
        placement = clouds.placement(self._connection, self._timeout)
        largest = {hypervisor.id: hypervisor.largest for hypervisor in found}
        rooms = self._part(
            'resources',
            lambda: providers.rooms(placement, largest, most),
            providers.TREES,
            placement,
        )
        cut = sum(room is None for room in (rooms or {}).values())
        if cut:
            self._unknown['resources'] = (
                f"Placement's answers did not come to {cut} of {len(largest)} hosts "
                '(if it cuts them, raise its option max_allocation_candidates)'
            )
        return rooms

    def _members(
        self,
        groups: tuple[ServerGroup, ...],
        found: Collection[hosts.Hypervisor] | None,
        wanted: Collection[str] | None,
    ) -> Mapping[str, Member] | None:
        if found is not None and wanted is None:
            return members.on_hypervisors(found)
        return self._part(
            'members',
            lambda: members.listed(self._compute, groups, is_administrator=found is not None),
        )

    def _flavors(self) -> Any:
        found = self._part('flavors', lambda: flavors.flavors(self._compute), flavors.EXTRA_SPECS)
        if found is None:
            self._unknown.setdefault('flavors', 'Nova does not show their extra specs')
        return found


def _groups_called(nova: NovaServerGroups, wanted: set[str]) -> tuple[ServerGroup, ...]:
    """Those of the project by id or name, and those of others by id, as an attach finds them."""
    found: dict[str, ServerGroup] = {}
    if not all(map(is_uuid, wanted)):
        found = {group.id: group for group in nova.own() if wanted & {group.id, group.name}}
    for group_id in sorted(filter(is_uuid, wanted - set(found))):
        group = nova.get(group_id)
        if group is not None:
            found[group.id] = group
    return tuple(found.values())


def _now() -> str:
    """The time, as the file has it: 2026-01-01T00:00:00Z."""
    return datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
