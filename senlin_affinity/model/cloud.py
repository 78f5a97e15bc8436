"""What is known of a cloud: the parts that were fetched, or that a snapshot file holds.

Units: memory in MiB, disk in GiB. None is unknown, which is not the same as empty.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from senlin_affinity.model.aggregate import Aggregate as Aggregate
from senlin_affinity.model.flavor import PCPU
from senlin_affinity.model.flavor import Flavor as Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import CanonicalUuids
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.value import Capacity, Value

#: How Nova and the snapshot file write a limit of None.
NO_LIMIT = -1
_Limit = Annotated[
    int, Meta(ge=NO_LIMIT, description='an integer of 0 or more, or -1 for no limit')
]
_PLACE = attrgetter('availability_zone', 'aggregates')
_STATE = attrgetter('availability_zone', 'enabled')
_GRANTS = attrgetter('grants')
_HOST = attrgetter('host')
_RESOURCES = attrgetter('resources')


class Quota(Value, frozen=True):
    """The limit of a quota (None: no limit), and its usage (None: unknown, or not counted).

    ``of_user`` is the quota of the user who creates the servers; None if it was not read.
    """

    limit: _Limit | None
    used: Capacity | None = None
    of_user: Quota | None = None

    @property
    def room(self) -> int | None:
        """Return the free part of the quota, for the user as well; None if there is no limit."""
        own = None if self.limit is None else max(0, self.limit - (self.used or 0))
        of_user = None if self.of_user is None else self.of_user.room
        return min((room for room in (own, of_user) if room is not None), default=None)

    def with_less_usage(self, number: int, *, is_of_user: bool = True) -> Quota:
        """Return the quota with its usage reduced by ``number``, to at least 0; None stays.

        :param is_of_user: reduce the usage of the user, too.
        """
        of_user = self.of_user
        if of_user is not None and is_of_user:
            of_user = of_user.with_less_usage(number)
        used = None if self.used is None else max(0, self.used - number)
        return replace(self, used=used, of_user=of_user)


@dataclass(frozen=True)
class Zones:
    """The known facts about the zones.

    ``carried_by`` holds the UUIDs of the aggregates of each zone. ``default`` is the zone of hosts
    without such an aggregate; None if ambiguous. ``is_by_aggregate``: the aggregates of a host
    determine its zone; False if some aggregates are unknown, or none with a zone has a host.
    """

    carried_by: Mapping[str, frozenset[str]]
    default: str | None
    is_by_aggregate: bool


#: Keys of ``Cloud.unavailable``: the image's properties, and the allocation candidates.
IMAGE, ANSWER = 'image', 'answer'
#: What a reason of ``Cloud.unavailable`` contains if the user lacks the right.
DENIED = 'Nova answered 403'


class OtherHosts(enum.Enum):
    """What is known of the hosts that were not fetched.

    * ``NONE``: there are none, or no host could be read.
    * ``NOT_OFFERED``: Placement offers none of them to the request that the fetch was for.
    * ``UNKNOWN``: nothing. The fetched hosts take all servers; or none was fetched, and some take
      all servers that an exceeded quota leaves.
    """

    NONE = 'none'
    NOT_OFFERED = 'not offered'
    UNKNOWN = 'unknown'


class Cloud(Value, frozen=True, dict=True):
    """What is known of a cloud at one moment. A part that is None is unknown.

    ``availability_zones`` are the names of all zones, which non-admins may read; ``closed_zones``
    are those in which every compute service is disabled. ``pools`` are the sharing providers of
    several hosts, by UUID (``Resource.pool`` names one). ``servers`` are those of the scheduler
    hints. ``soft_deleted`` are servers that are not reclaimed yet and that matter to the groups,
    which do not list them. ``quotas`` are those of ``project_id``, and their ``of_user`` those of
    ``user_id``: the owner of the credentials, or the project and the creator of its groups.
    ``answered`` are the queries that Placement answered completely: a host without a grant for one
    of these has no capacity for it. ``compared_aggregates`` are the sets of aggregates whose
    members were read from Placement: ``Host.unmirrored`` and ``Host.stale_aggregates`` are complete
    for these only. ``traits`` and ``resource_classes`` are the names of all that exist in
    Placement. ``rejected`` are the queries that Placement answered with 400 for a reason that the
    request and these names do not show, with its messages. ``nova_release`` is the oldest release
    that this Nova can have according to its microversions, such as 26 for Zed. ``servers_by_host``
    are all servers of each service host that was read; a host that is missing was not read.

    The following fields describe a fetch, and are not in a file (:data:`OF_FETCH`). ``unavailable``
    gives the reason for each part that could not be read; ``images`` are by the names or ids that
    the question uses. ``owner_sees_hosts``: the owner may list hosts; False also if the operator's
    credentials read them, and nothing has checked whether the owner's may. ``helpful`` are changes
    with which all servers fit on hosts that were not fetched. ``roots`` are the UUIDs of the hosts'
    root providers, ``longest`` the number of allocation requests in Placement's longest response.
    """

    hosts: tuple[Host, ...] | None = None
    aggregates: tuple[Aggregate, ...] | None = None
    flavors: tuple[Flavor, ...] | None = None
    server_groups: tuple[ServerGroup, ...] | None = None
    quotas: Mapping[str, Quota] | None = None
    taken_at: str | None = None
    availability_zones: frozenset[str] | None = None
    user_id: str | None = None
    project_id: str | None = None
    pools: Mapping[str, Mapping[str, Resource]] = {}
    closed_zones: frozenset[str] | None = None
    answered: frozenset[str] = frozenset()
    soft_deleted: tuple[Member, ...] | None = None
    servers: tuple[Member, ...] | None = None
    compared_aggregates: frozenset[CanonicalUuids] = frozenset()
    traits: frozenset[str] | None = None
    resource_classes: frozenset[str] | None = None
    rejected: Mapping[str, str] = {}
    nova_release: int | None = None
    servers_by_host: Mapping[str, tuple[Server, ...]] = {}
    unavailable: Mapping[str, str] = {}
    images: Mapping[str, Image] = {}
    owner_sees_hosts: bool = True
    rest: OtherHosts = OtherHosts.NONE
    helpful: tuple[Change, ...] = ()
    roots: tuple[str, ...] = ()
    longest: int = 0

    def why_no_hosts(self) -> str:
        """Return why the hosts are not known."""
        why = self.unavailable.get('hosts', 'the snapshot does not have them')
        if DENIED in why:
            why = f'only administrators may list them ({DENIED})'
        return f'the hosts are not known: {why}'

    def with_hosts(self, changed: Mapping[int, Host]) -> Cloud:
        """Return the cloud with other hosts at these indexes, in ascending order.

        Indexes after the last host append hosts. Without any, unknown hosts stay unknown.
        """
        if not changed:
            return replace(self)
        hosts = [*(self.hosts or ())]
        for index, host in changed.items():
            hosts[index : index + 1] = (host,)
        return replace(self, hosts=tuple(hosts))

    @cached_property
    def located(self) -> Mapping[str, Member]:
        """Return the servers whose hosts were read, by id."""
        members = (member for group in self.server_groups or () for member in group.members)
        return {member.server: member for member in (*members, *(self.servers or ()))}

    @cached_property
    def aggregates_by_uuid(self) -> Mapping[str, Aggregate]:
        """Return the aggregates by UUID; empty if they are unknown."""
        return {aggregate.uuid: aggregate for aggregate in self.aggregates or ()}

    @cached_property
    def server_groups_by_id(self) -> Mapping[str, ServerGroup]:
        """Return the server groups by id; empty if they are unknown."""
        return {group.id: group for group in self.server_groups or ()}

    @cached_property
    def server_group_ids(self) -> Mapping[str, str]:
        """Return the id of the server group of each known member, by the id of the server."""
        groups = self.server_groups or ()
        return {member.server: group.id for group in groups for member in group.members}

    def server_groups_of(self, project_id: str | None) -> tuple[ServerGroup, ...]:
        """Return the server groups of a project, by default of the cloud's.

        Groups of an unknown project are included. If both projects are unknown, return all groups.
        """
        project, groups = project_id or self.project_id, self.server_groups or ()
        own = (None, project)
        return tuple(group for group in groups if project is None or group.project_id in own)

    @cached_property
    def queries(self) -> frozenset[str]:
        """Return the queries that Placement was sent, whether or not its answer was complete."""
        granted = [*filter(None, map(_GRANTS, self.hosts or ()))]
        every = dict(zip(map(id, granted), granted, strict=True))
        return self.answered.union(grant.query for grants in every.values() for grant in grants)

    @cached_property
    def may_pin_cpus(self) -> bool:
        """Return whether any host may have CPUs for pinned servers."""
        every = map(_RESOURCES, self.hosts or ())
        return any(has is None or (PCPU in has and has[PCPU].capacity > 0) for has in every)

    @cached_property
    def granting_queries(self) -> frozenset[str]:
        """Return the queries for which any host has a grant."""
        granted = filter(None, map(_GRANTS, self.hosts or ()))
        return frozenset(grant.query for grants in granted for grant in grants if grant.room)

    @cached_property
    def places(self) -> frozenset[tuple[str | None, frozenset[str]]]:
        """Return the distinct pairs of zone and aggregates of the hosts."""
        return frozenset(map(_PLACE, self.hosts or ()))

    @cached_property
    def metadata_keys(self) -> frozenset[str]:
        """Return the keys in the metadata of any aggregate."""
        return frozenset(key for each in self.aggregates or () for key in each.metadata)

    @cached_property
    def traits_of_hosts(self) -> frozenset[str]:
        """Return the traits that any host has."""
        return frozenset().union(*{host.traits for host in self.hosts or ()})

    @cached_property
    def zones(self) -> Zones:
        """Return the availability zones, as far as the aggregates and the hosts show them."""
        found: dict[str, set[str]] = {}
        for aggregate in self.aggregates or ():
            if aggregate.availability_zone is not None:
                found.setdefault(aggregate.availability_zone, set()).add(aggregate.uuid)
        carried_by = {zone: frozenset(uuids) for zone, uuids in found.items()}
        bare = {zone for zone, _of_host in self.places} - {None, *carried_by}
        default = next(iter(bare)) if self.aggregates is not None and len(bare) == 1 else None
        carrying = frozenset().union(*carried_by.values())
        if not carrying or all(carrying.isdisjoint(of_host) for _zone, of_host in self.places):
            return Zones(carried_by, default, is_by_aggregate=False)
        # All hosts without an aggregate of their zone are in the default zone. If they are in
        # several zones, some aggregates are missing.
        of_none = {zone for zone, own in self.places if own.isdisjoint(found.get(zone or '', ()))}
        return Zones(carried_by, default, is_by_aggregate=len(of_none - {None}) < 2)

    @cached_property
    def unavailable_zones(self) -> frozenset[str]:
        """Return the zones without an enabled compute service: Nova rejects requests for them.

        Unknown ``closed_zones`` are derived from the hosts. A zone whose services are only down is
        available, as in Nova's list of zones.
        """
        states = {*map(_STATE, self.hosts or ())}
        open_zones = {zone for zone, is_enabled in states if is_enabled}
        closed = self.closed_zones
        if closed is None:
            closed = frozenset(zone for zone, _is_enabled in states if zone)
        return closed - open_zones

    def number_of_servers(self, host: Host) -> int | None:
        """Return the number of servers of a host in ``servers_by_host``; None if it was not read.

        Of a service host with several hypervisors, servers of an unknown hypervisor count for each.
        """
        servers = self.servers_by_host.get(host.host)
        if servers is None:
            return None
        names = (None, host.hypervisor_hostname)
        is_shared = self.has_shared_services
        return sum(not is_shared or each.hypervisor_hostname in names for each in servers)

    @cached_property
    def hosts_by_name(self) -> Mapping[str, Host]:
        """Return the hosts by service host; of several hypervisors of one service, the last."""
        return dict(zip(self.host_names, self.hosts or (), strict=True))

    @cached_property
    def host_names(self) -> tuple[str, ...]:
        """Return the service host of each host, in the order of ``hosts``."""
        return tuple(map(_HOST, self.hosts or ()))

    @cached_property
    def has_shared_services(self) -> bool:
        """Return whether a service host has several hypervisors."""
        return len({*self.host_names}) < len(self.host_names)


#: The fields that describe a fetch.
OF_FETCH = frozenset(
    {'unavailable', 'images', 'owner_sees_hosts', 'rest', 'helpful', 'roots', 'longest'}
)
