"""Fetch a snapshot of the whole cloud, by at most 17 requests and further pages.

A part that the user may not read (403), or that the cloud is too old to have, is None (unknown);
``Cloud.unavailable`` gives the reason.

Raises: CloudError for any other failure; InvalidSpec for a project that does not exist according to
Nova.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from typing import TypeVar

from msgspec.structs import replace

from senlin_affinity.cloud import allocations, flavors, hosts, members, providers
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.clients import Clients, OperatorClient
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.paging import allowed
from senlin_affinity.cloud.rest import BASE, Microversion, Rest, shown
from senlin_affinity.cloud.server_groups import PROJECTS, NovaServerGroups, are_named, called
from senlin_affinity.model.cloud import Cloud, Flavor, Quota
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import Host
from senlin_affinity.model.server_group import Member, ServerGroup

T = TypeVar('T')
_FORBIDDEN, _BAD_REQUEST = 403, 400
_TIME = '%Y-%m-%dT%H:%M:%SZ'


def take(
    clients: Clients,
    *,
    server_groups: str | Collection[str] | None = None,
    project_id: str | None = None,
    is_project_of_group: bool = False,
    user_id: str | None = None,
    servers: Collection[str] = (),
) -> Cloud:
    """Fetch a snapshot.

    :param server_groups: the groups that questions will be about, by id or name; None: all that the
        owner may list; empty: none, and ``server_groups`` is None.
    :param project_id: the project whose quotas are read, and in which group names are looked up;
        None: the owner's.
    :param is_project_of_group: without a ``project_id``, read the quotas of the project of the
        groups, if these are given by id.
    :param user_id: the user whose quotas are read; None: the owner of the connection in the own
        project, the only creator of the given groups in another one.
    :param servers: the ids of the servers in scheduler hints.
    """
    wanted = (server_groups,) if isinstance(server_groups, str) else server_groups
    taking = _SnapshotBuilder(clients, project_id, user_id)
    return taking.take(wanted, servers, is_any=is_project_of_group)


def with_candidates(operator: OperatorClient, cloud: Cloud, query: str) -> Cloud:
    """Add the candidate capacity of each host for a query to the cloud. One request.

    Unchanged without hosts, or if Placement is older than the query. ``answered`` contains the
    query if the response is complete. If Placement answers 400, as it does to Nova, ``rejected``
    contains the query, and :func:`with_names` says what exists.
    """
    placement, known = clouds.placement(operator), cloud.hosts or ()
    if not known or placement.pick(allocations.MICROVERSION) < allocations.MICROVERSION:
        return cloud
    try:
        answer = allocations.fetch(placement, query, known, cloud.roots, cloud.longest)
    except CloudError as error:
        if error.status != _BAD_REQUEST:
            raise
        message = str(error).partition(f' answered {_BAD_REQUEST}: ')[2] or str(error)
        return with_names(operator, replace(cloud, rejected={**cloud.rejected, query: message}))
    hosts = tuple(
        host.but(grants=(*host.grants, *each) if host.grants else each)
        for host, each in zip(known, answer.grants, strict=True)
    )
    return replace(
        cloud, hosts=hosts, answered=cloud.answered.union([query] if answer.is_whole else ())
    )


def with_names(operator: OperatorClient, cloud: Cloud) -> Cloud:
    """Return the cloud with the names of all traits and resource classes. Two requests.

    Unchanged without hosts, if they are known or hidden, or if Placement is too old.
    """
    placement = clouds.placement(operator)
    is_known = cloud.traits is not None and cloud.resource_classes is not None
    if is_known or not cloud.hosts or placement.pick(providers.TREES) < providers.TREES:
        return cloud
    names = allowed(partial(providers.existing, placement))
    if names is None:
        return cloud
    traits, resource_classes = names
    return replace(cloud, traits=traits, resource_classes=resource_classes)


class _SnapshotBuilder:
    """The state of one fetch."""

    def __init__(self, clients: Clients, project: str | None, user: str | None) -> None:
        self._clients = clients
        self._owners = clouds.compute(clients.owner)
        self._clouds = clouds.clouds_compute(clients, self._owners)
        self._own_user, self._own = clouds.ids(clients.owner)
        self._named, self._named_user = project, user
        self._unknown: dict[str, str] = {}

    def take(
        self, wanted: Collection[str] | None, hinted: Collection[str], *, is_any: bool
    ) -> Cloud:
        """Fetch all parts. ``servers`` is None without ``hinted`` ones, or if the hosts are hidden.

        The parameters are ``server_groups``, ``servers`` and ``is_project_of_group`` of
        :func:`take`.
        """
        inventory = NovaInventory(self._owners, lambda: self._clouds)
        groups = self._server_groups(wanted)
        # An id may be that of a group in any project.
        may_be_any = is_any and not are_named(wanted)
        of_groups = members.only_project(groups or ()) if may_be_any else None
        project = self._named or of_groups or self._own
        own_user = self._own_user if project == self._own else None
        creator = members.only_creator(groups or (), project) if wanted else None
        user = self._named_user or own_user or creator
        servers = {member.server for group in groups or () for member in group.members}
        read = partial(hosts.hypervisors, self._clouds, servers if wanted is None else ())
        found = self._part('hosts', read, hosts.UUIDS)
        owner_sees_hosts = not self._clients.has_operator or inventory.shows_hosts()
        is_administrator = owner_sees_hosts and found is not None
        read_aggregates = partial(hosts.aggregates, self._clouds)
        aggregates, aggregates_of = self._part(
            'aggregates', read_aggregates, hosts.AGGREGATE_UUIDS
        ) or (None, {})
        built: tuple[Host, ...] | None = None
        zones: dict[str, bool] | None = None
        inventories = providers.HostInventories()
        if found is not None:
            read_zones = partial(hosts.zones_of, self._clouds)
            zone_of, zones = self._part('availability_zones', read_zones) or ({}, None)
            is_listed = wanted is not None and bool(servers)
            found = hosts.in_order(found)
            inventories = self._rooms(found, providers.MOST_REQUESTS - is_listed)
            built = hosts.hosts(found, zone_of, aggregates_of, inventories.rooms)
        else:
            zones = self._part('availability_zones', inventory.zones)
        if groups == () and not is_administrator and self._is_elsewhere(wanted):
            groups = None  # Nova ignores all_projects for a non-admin
            self._unknown['server_groups'] = (
                'Nova shows the groups of another project to administrators only'
            )
        soft_deleted, known = None, None
        if groups is not None:
            known = self._members(groups, found, wanted, is_administrator) if servers else None
            groups = members.with_members(groups, known or {})
            if found is not None:
                groups, soft_deleted = self._elsewhere(groups)
        named = None
        if found is not None and hinted:
            by_ids = partial(members.by_ids, self._clouds, hinted, known or {})
            named = self._named_servers(by_ids)
        all_flavors, quotas = self._flavors(project), self._quotas(inventory, project, user)
        return Cloud(
            hosts=built,
            aggregates=aggregates,
            flavors=all_flavors,
            server_groups=groups,
            quotas=quotas,
            taken_at=datetime.datetime.now(datetime.timezone.utc).strftime(_TIME),
            availability_zones=None if zones is None else frozenset(zones),
            closed_zones=None
            if zones is None
            else frozenset(name for name, is_open in zones.items() if not is_open),
            user_id=user,
            project_id=project,
            pools={
                uuid: has for room in inventories.rooms.values() for uuid, has in room.pools.items()
            },
            soft_deleted=soft_deleted,
            servers=named,
            nova_release=inventory.release(),
            unavailable=self._unknown,
            owner_sees_hosts=owner_sees_hosts,
            roots=tuple(each.id for each in found or ()),
            longest=inventories.longest,
        )

    def _part(
        self,
        name: str,
        read: Callable[[], T],
        needed: Microversion = BASE,
        service: Rest | None = None,
    ) -> T | None:
        """Return the result of ``read``; None for a 403, or below the microversion ``needed``.

        The reason is stored under ``name``.

        :param service: the service with the microversion; None: Nova.
        """
        service = service or self._owners
        offered = service.pick(needed)
        if offered < needed:
            has = f'{service.name} offers microversion {shown(offered)}'
            self._unknown[name] = f'{has}, and {shown(needed)} is needed'
            return None
        try:
            return read()
        except CloudError as error:
            if error.status != _FORBIDDEN:
                raise
            self._unknown[name] = str(error)
            return None

    def _server_groups(self, wanted: Collection[str] | None) -> tuple[ServerGroup, ...] | None:
        """Fetch the wanted groups; None if none are wanted, or if they are hidden."""
        nova = NovaServerGroups(self._owners)
        if wanted is None:
            return self._part('server_groups', nova.of_every_project)
        if not wanted:
            return None
        is_elsewhere = self._is_elsewhere(wanted)
        project, needed = (self._named, PROJECTS) if is_elsewhere else (None, BASE)
        return self._part('server_groups', lambda: called(nova, set(wanted), project), needed)

    def _is_elsewhere(self, wanted: Collection[str] | None) -> bool:
        """Check whether a group of another project is wanted by its name."""
        return self._named not in (None, self._own) and are_named(wanted)

    def _quotas(
        self, inventory: NovaInventory, project: str | None, user: str | None
    ) -> Mapping[str, Quota] | None:
        """Fetch the quotas of a project (None: the own one) and its user; None if hidden.

        Also None if the project does not exist; raise InvalidSpec if the caller named it.
        """
        is_own = project in (None, self._own)
        read = inventory.quotas if is_own else partial(inventory.quotas_of, str(project))
        try:
            known = self._part('quotas', read)
            return None if known is None else inventory.with_user(known, project, user)
        except CloudError as error:
            if error.status != _BAD_REQUEST:
                raise
            if project == self._named:
                raise InvalidSpec(str(error), 'project') from error
            self._unknown['quotas'] = str(error)  # a group that outlived its project
            return None

    def _rooms(self, found: Collection[hosts.Hypervisor], most: int) -> providers.HostInventories:
        """Fetch the resources of the hypervisors; none if they are hidden."""
        placement = clouds.placement(self._clients.operator)
        largest = {hypervisor.id: hypervisor.largest for hypervisor in found}
        read = partial(providers.rooms, placement, largest, most)
        inventories = self._part('resources', read, providers.TREES, placement)
        if inventories is None:
            return providers.HostInventories()
        cut = len(largest) - len(inventories.rooms)
        if cut:
            self._unknown['resources'] = (
                f"Placement's answers lack {cut} of {len(largest)} hosts "
                '(if Placement truncates its answers, raise max_allocation_candidates)'
            )
        return inventories

    def _members(
        self,
        groups: tuple[ServerGroup, ...],
        found: Collection[hosts.Hypervisor] | None,
        wanted: Collection[str] | None,
        is_administrator: bool,
    ) -> Mapping[str, Member] | None:
        """Fetch the members by id; None if they are hidden.

        :param found: the hypervisors; None if they are hidden.
        """
        if found is not None and wanted is None:
            known = {
                server: Member(server, host.service_host)
                for host in found
                for server in host.servers
            }
            if all(each.server in known for group in groups for each in group.members):
                return known
            without = self._part('members', lambda: members.without_host(self._clouds))
            return {**(without or {}), **known}
        if found is None or is_administrator:
            read = partial(members.listed, self._owners, groups, is_administrator=is_administrator)
            listed = self._part('members', read)
            return None if listed is None else listed[0]
        names = {hypervisor.service_host for hypervisor in found}
        own = self._part('members', partial(members.own_servers, self._owners))
        return None if own is None else members.with_hosts_by_id(own, names)

    def _elsewhere(
        self, groups: tuple[ServerGroup, ...]
    ) -> tuple[tuple[ServerGroup, ...], tuple[Member, ...] | None]:
        """Return the groups with their members' migrations, and the soft-deleted servers.

        The latter are None if they are hidden, and without an anti-affinity group.
        """
        located = members.with_migrations(groups, lambda: self._migrations) or groups
        if not members.has_anti_affinity(groups):
            return located, None
        read_deleted = partial(members.soft_deleted, self._clouds, groups)
        return located, self._part('members', read_deleted)

    def _named_servers(self, read: Callable[[], tuple[Member, ...]]) -> tuple[Member, ...] | None:
        """Return servers with their migrations; None if either is hidden."""
        found = self._part('servers', read)
        if found is None:
            return None
        located = members.moving(found, lambda: self._migrations)
        if located is None:
            self._unknown['servers'] = self._unknown['members']
        return located

    @cached_property
    def _migrations(self) -> members.Migrations | None:
        """Fetch the migrations once; None if they are hidden."""
        return self._part('members', partial(members.migrations, self._clouds))

    def _flavors(self, project: str | None) -> tuple[Flavor, ...] | None:
        """Fetch the flavors; None if they or their extra specs are hidden."""
        is_own = project in (None, self._own)
        read = partial(flavors.flavors, self._owners, is_own=is_own)
        found = self._part('flavors', read, flavors.EXTRA_SPECS)
        if found is None:
            self._unknown.setdefault('flavors', 'Nova does not show their extra specs')
        return found
