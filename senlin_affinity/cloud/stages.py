"""Fetch the stages of a request (:class:`senlin_affinity.preflight.run.Cloud`).

The owner's client reads the group, flavor, image, quotas and servers, the operator's candidates,
aggregates and hosts. Within this request, a repeated GET is answered from memory, also after
``refresh``, unless its service answered with 500 or more. ``refresh`` concerns what earlier
requests kept for a minute: aggregates, and the ids of flavors.

Raises: CloudError; InvalidSpec for an image that does not exist and must.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

from msgspec import structs

from senlin_affinity.cloud import (
    allocations,
    flavors,
    hosts,
    images,
    members,
    mirrors,
    providers,
    whole_cloud,
)
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.cloud.paging import allowed, reading
from senlin_affinity.cloud.providers import CANDIDATES, SHARING, HostInventory
from senlin_affinity.cloud.rest import OperatorRest, OwnerRest
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import AffinityError
from senlin_affinity.model.flavor import MEMORY_MB, Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.preflight.candidates import CandidateQuery
from senlin_affinity.preflight.cloud_view import CloudView, Coverage
from senlin_affinity.preflight.question import FetchScope
from senlin_affinity.preflight.sample import AggregateSets, Query

T = TypeVar('T')
#: The most candidates whose hosts are fetched without the whole cloud.
MOST = 250
#: The most zones whose candidates are fetched one by one.
_MOST_ZONES = 4
#: The most hosts in aggregates whose providers are listed, with a kilobyte each.
_MOST_MIRRORED = 1000


class Stages:
    """The requests of the stages of one request, and their results so far."""

    def __init__(self, clients: Clients, timeout: float | None = None) -> None:
        self._clients, self._timeout = clients.remembering(), timeout
        self._answers: dict[str, tuple[int, Any]] = {}
        self._aggregates_of: Mapping[str, frozenset[str]] = {}
        self._minute = clients.operator.minute
        self._has_used_cache = False
        self._members_host: Hypervisor | None = None

    def facts(self, scope: FetchScope, flavor: str | None) -> CloudView | None:
        """Fetch the owner's group, flavor, image and quotas as a view.

        A group that does not exist decides the request: the view has no groups. None if flavor or
        image are missing, without a group or flavor, for another project or user, or if extra specs
        are hidden.
        """
        compute = self._owners
        user, project = clouds.ids(self._clients.owner)
        is_own = scope.project_id in (None, project) and scope.user_id in (None, user)
        if not is_own or not scope.server_groups or not flavor:
            return None
        group = NovaServerGroups(compute).get(scope.server_groups[0])
        if group is None:
            return CloudView(CloudSnapshot(server_groups=()))
        found = self._flavor(flavor, (user, project, flavor))
        if found is None:
            return None
        found_images: dict[str, Image] = {}
        if scope.image:
            try:
                image = images.find(self._clients.owner, scope.image, self._timeout)
            except AffinityError:
                return None
            found_images[scope.image] = image
        inventory = clouds.ports(self._clients, self._timeout).inventory
        quotas = inventory.with_user(inventory.quotas(), project, user)
        snapshot = CloudSnapshot(
            flavors=(found,),
            server_groups=(group,),
            quotas=quotas,
            user_id=user,
            project_id=project,
            nova_release=inventory.release(),
        )
        is_seen = not self._clients.has_operator
        return CloudView(snapshot, images=found_images, owner_sees_hosts=is_seen)

    def _flavor(self, name: str, key: Hashable) -> Flavor | None:
        """Fetch the flavor with this id or name; keep the id of a name for a minute under the key.

        None without a flavor, or if its extra specs are hidden.
        """
        recent = self._recent(key)
        if recent is not None:
            found = flavors.flavor(self._owners, recent, are_specs_needed=True)
            if found is not None and found.name == name:
                return found
        found = flavors.flavor(self._owners, name, are_specs_needed=True)
        if found is not None and found.id != name:
            self._keep(key, found.id)
        return found

    def _recent(self, key: Hashable) -> Any | None:
        """Return what was kept under the key in the last minute; None if nothing, or refreshed."""
        recent = None if self._minute is None else self._minute.get(key)
        self._has_used_cache |= recent is not None
        return recent

    def _keep(self, key: Hashable, value: T) -> T:
        """Keep the value for a minute unless refreshed, and return it."""
        return value if self._minute is None else self._minute.keep(key, value)

    def refresh(self) -> bool:
        """Return whether what an earlier operation read was used; read it again from now on."""
        has_used, self._has_used_cache, self._minute = self._has_used_cache, False, None
        return has_used

    def aggregates(self, view: CloudView) -> tuple[CloudView, AggregateSets] | None:
        """Return the view with all aggregates, and the distinct sets of aggregates of hosts.

        None below 2.41.
        """
        compute = self._compute
        if compute.pick(hosts.AGGREGATE_UUIDS) < hosts.AGGREGATE_UUIDS:
            return None
        known, self._aggregates_of = self._recent('aggregates') or self._keep(
            'aggregates', hosts.aggregates(compute)
        )
        snapshot = structs.replace(view.snapshot, aggregates=known)
        return replace(view, snapshot=snapshot), {*self._aggregates_of.values()}

    def sample(self, query: Query) -> tuple[Host, ...] | None:
        """Fetch a sample of candidates, as the hosts with room; None if Placement is old."""
        if self._placement.pick(allocations.MICROVERSION) < allocations.MICROVERSION:
            return None
        answer = self._allocation_candidates(query.text, query.limit)
        rooms = allocations.lower_bounds(answer).items()
        return tuple(query.host(root, room) for root, room in rooms if room)

    def roots_of_members(self, query: Query, view: CloudView) -> Mapping[str, str] | None:
        """Return the host of each member, by server id: as in the sample, or else its name.

        A service host in the sample is found by the id of its hypervisor. None if it has several
        hypervisors in the sample, if the host of a member is unknown, if a member is moving, if the
        project may have soft-deleted servers, which Nova counts, and below 2.53.
        """
        if self._compute.pick(hosts.UUIDS) < hosts.UUIDS:
            return None
        _limit, answer = self._answers[query.text]
        roots = allocations.lower_bounds(answer)
        found = hosts.hypervisors_of(self._compute, roots)
        root_of = {each.service_host: each.id for each in found}
        if len(root_of) < len(roots):
            return None
        groups = view.snapshot.server_groups or ()
        if self._clients.has_operator:  # Nova hides the hosts from the owner
            servers = allowed(partial(members.servers_of, self._compute, groups))
        else:
            servers = members.own_servers(self._owners)
        if allowed(partial(members.soft_deleted, self._compute, groups)) != ():
            return None
        settled = members.settled(servers or ())
        wanted = {each.server for group in groups for each in group.members}
        if not wanted <= settled.keys():
            return None
        return {each: root_of.get(settled[each], settled[each]) for each in wanted}

    def flavors(self, view: CloudView) -> CloudView:
        """Return the view with all flavors of the owner; unchanged if extra specs are hidden."""
        has_specs = self._owners.pick(flavors.EXTRA_SPECS) >= flavors.EXTRA_SPECS
        every = flavors.flavors(self._owners) if has_specs else None
        return replace(
            view, snapshot=structs.replace(view.snapshot, flavors=every or view.snapshot.flavors)
        )

    def root_of_members(self, view: CloudView) -> str | None:
        """Fetch the UUID of the root provider of the one host of all members.

        None for several or unknown hosts. Members without a host, such as shelved ones, do not
        count.
        """
        names: Collection[str] = ()
        if self._clients.has_operator:  # for hostId
            names = hosts.zones_of(self._compute)[0]
        known = members.with_hosts_by_id(members.own_servers(self._owners), names)
        groups = members.with_members(view.snapshot.server_groups or (), known)
        every = [each for group in groups for each in group.members if not each.is_nowhere]
        found = {each.host for each in every}
        name = found.pop() if len(found) == 1 else None
        hypervisor = None if name is None else hosts.hypervisor_of(self._compute, name)
        if hypervisor is None:
            return None
        self._members_host = hypervisor
        return hypervisor.id

    def candidates(
        self, query: CandidateQuery, view: CloudView, limit: int | None = None
    ) -> CloudView | None:
        """Return the view with all candidates and their hosts.

        None if they are too many, nested or sharing, if the answer may be incomplete, if aggregates
        differ in Placement, if more than four zones must be checked, or if a service is too old.

        :param limit: the number of candidates to fetch, which may be enough; None: all.
        """
        is_new = self._placement.pick(allocations.MICROVERSION) >= allocations.MICROVERSION
        if not is_new or self._compute.pick(hosts.UUIDS) < hosts.UUIDS:
            return None
        answer, zone_asked = self._answer(query, limit)
        with reading(CANDIDATES):
            summaries, number = answer['provider_summaries'], len(answer['allocation_requests'])
            if len(summaries) > MOST or not all(
                each['root_provider_uuid'] == uuid and SHARING not in each['traits']
                for uuid, each in summaries.items()
            ):
                return None
        one = self._members_host
        is_read = one and {one.id} == summaries.keys()
        found = (one,) if one and is_read else hosts.hypervisors_of(self._compute, summaries)
        found = hosts.in_order(found)
        if limit is None and not (
            self._are_mirrored(query.aggregates, found) and self._is_complete(query.text, answer)
        ):
            return None
        zone_of = _zones(view.snapshot.aggregates or (), self._aggregates_of)
        if query.are_zones_needed and not {each.service_host for each in found} <= zone_of.keys():
            zone_of = hosts.zones_of(self._compute)[0]
        zones = {each.id: zone_of.get(each.service_host, '') for each in found}
        if zone_asked:
            carried = view.snapshot.zones.carried_by
            named = {root: zone if zone in carried else None for root, zone in zones.items()}
            found = tuple(each for each in found if named[each.id] == zone_asked[each.id])
        elif query.is_zone_open:
            offered = self._offered_in_zones(query, zones, view, number + 1)
            if offered is None:
                return None
            found = tuple(each for each in found if each.id in offered)
        rooms = {each.id: _room(summaries[each.id], each) for each in found}
        built = hosts.hosts(found, zone_of, self._aggregates_of, rooms)
        roots = [each.id for each in found]
        granted = allocations.parse(answer, query.novas_query, built, roots, number + 1).grants
        names = [each.service_host for each in found]
        is_spread = view.snapshot.hosts is not None
        groups = self._groups(view, {*names, *self._aggregates_of} if is_spread else names)
        others = self._unread(groups, zone_of, names) if is_spread else ()
        read = (host.but(grants=each) for host, each in zip(built, granted, strict=True))
        soft_deleted = None
        if members.has_anti_affinity(groups):
            soft_deleted = allowed(partial(members.soft_deleted, self._compute, groups))
        snapshot = structs.replace(
            view.snapshot,
            hosts=(*read, *others),
            server_groups=groups,
            soft_deleted=soft_deleted,
            answered=frozenset(() if limit or query.root is not None else {query.novas_query}),
            closed_zones=frozenset(),  # hosts that are not in the snapshot may be enabled
        )
        return replace(view, snapshot=snapshot, coverage=Coverage.CANDIDATES)

    def unread(self, view: CloudView) -> CloudView:
        """Return the view with the hosts of the members, and one host for each set of aggregates.

        Only their name, zone and aggregates are known.
        """
        groups = self._groups(view, self._aggregates_of)
        others = self._unread(groups, _zones(view.snapshot.aggregates or (), self._aggregates_of))
        return replace(
            view, snapshot=structs.replace(view.snapshot, hosts=others, server_groups=groups)
        )

    def _unread(
        self, groups: Iterable[ServerGroup], zone_of: Mapping[str, str], read: Collection[str] = ()
    ) -> tuple[Host, ...]:
        """Return a host for each set of aggregates, and those of members, but not in ``read``."""
        others = {name: its for name, its in self._aggregates_of.items() if name not in read}
        members = {each.host for group in groups for each in group.members}
        names = {name for name in others if name in members}
        names |= {*{its: name for name, its in sorted(others.items())}.values()}
        return tuple(
            Host(
                name, '', '', zone_of.get(name), aggregates=others[name], is_partial=True, grants=()
            )
            for name in sorted(names)
        )

    def _answer(
        self, query: CandidateQuery, limit: int | None
    ) -> tuple[Any, Mapping[str, str | None]]:
        """Fetch candidates, and return the response with the requested zone by root provider UUID.

        With a limit and the domains of a spread, one domain after the other until ``limit`` hosts
        are found; otherwise, one request without zones.
        """
        if not (limit and query.domains):
            return self._allocation_candidates(query.text, limit or MOST + 1), {}
        requests: list[Any] = []
        summaries: dict[str, Any] = {}
        zones: dict[str, str | None] = {}
        for domain in query.domains:
            answer = self._allocation_candidates(domain.text, domain.limit)
            with reading(CANDIDATES):
                requests += answer['allocation_requests']
                summaries |= answer['provider_summaries']
                zones |= dict.fromkeys(answer['provider_summaries'], domain.zone)
            if len(summaries) >= limit:
                break
        return {'allocation_requests': requests, 'provider_summaries': summaries}, zones

    def _offered_in_zones(
        self, query: CandidateQuery, zones: Mapping[str, str], view: CloudView, limit: int
    ) -> set[str] | None:
        """Return the root providers that Placement also offers in the zones of their hosts.

        One request for each zone that an aggregate carries; None for more than four.

        :param zones: the zone of each host, by the UUID of its root provider.
        """
        carried = view.snapshot.zones.carried_by
        offered = {root for root, zone in zones.items() if zone not in carried}
        named = {*zones.values()} & carried.keys()
        if len(named) > _MOST_ZONES:
            return None
        for zone in named:
            text = f'{query.text}&member_of={quote("in:" + ",".join(sorted(carried[zone])))}'
            answer = self._allocation_candidates(text, limit)
            with reading(CANDIDATES):
                offered |= {
                    root for root in answer['provider_summaries'] if zones.get(root) == zone
                }
        return offered

    def whole(self, scope: FetchScope) -> CloudView:
        """Fetch every host; reuse the responses of earlier stages."""
        return whole_cloud.fetch(self._clients.recalling(), scope, self._timeout)

    @cached_property
    def _owners(self) -> OwnerRest:
        """Return Nova's API for the owner."""
        return clouds.compute(self._clients.owner, self._timeout)

    @cached_property
    def _compute(self) -> OperatorRest:
        """Return Nova's API for the operator, or else the owner."""
        return clouds.clouds_compute(self._clients, self._owners, self._timeout)

    @cached_property
    def _placement(self) -> OperatorRest:
        """Return Placement's API for the operator."""
        return clouds.placement(self._clients.operator, self._timeout)

    def _allocation_candidates(self, query: str, limit: int) -> Any:
        """Fetch candidates, unless an earlier response has as many, or fewer than its limit."""
        known, answer = self._answers.get(query, (0, None))
        if known < limit and (answer is None or len(answer['allocation_requests']) >= known):
            answer = allocations.candidates(self._placement, query, limit)
            self._answers[query] = limit, answer
        return answer

    def _is_complete(self, query: str, answer: Any) -> bool:
        """Check whether ``max_allocation_candidates`` has not truncated a response.

        That is certain if another response is longer, or if the query requests memory and every
        host with memory left is in it. One or two requests.
        """
        with reading(CANDIDATES):
            longest, known = len(answer['allocation_requests']) + 1, answer['provider_summaries']
            body = self._allocation_candidates(f'resources={MEMORY_MB}:1', longest)
            if len(body['allocation_requests']) >= longest:
                return True
        amounts = parse_qs(query)['resources'][0].split(',')
        is_memory_needed = any(each.startswith(f'{MEMORY_MB}:') for each in amounts)
        return is_memory_needed and providers.with_memory(self._placement) <= known.keys()

    def _are_mirrored(self, aggregates: frozenset[str], found: Iterable[Hypervisor]) -> bool:
        """Check whether the aggregates have the same hosts in Nova and in Placement.

        The candidates ``found`` are compared by id, other hosts by name: if a provider has another
        name than its host, the result is False. True without aggregates, False if they have more
        than 1000 hosts.
        """
        if not aggregates:
            return True
        of_hosts = self._aggregates_of.items()
        names = {host for host, its in of_hosts if not aggregates.isdisjoint(its)}
        if len(names) > _MOST_MIRRORED:
            return False
        of_placement = mirrors.providers_in(self._placement, aggregates)
        known = {each.id: each.service_host for each in found}
        if any((uuid in of_placement) != (host in names) for uuid, host in known.items()):
            return False
        others = (name for uuid, name in of_placement.items() if uuid not in known)
        short = {name: name.partition('.')[0] for name in others}
        is_none_stale = all(not names.isdisjoint(either) for either in short.items())
        return is_none_stale and names <= {*short, *short.values(), *known.values()}

    def _groups(self, view: CloudView, names: Collection[str]) -> tuple[ServerGroup, ...]:
        """Return the groups, sorted by name, with the hosts and the migrations of their members.

        Unchanged if no group has members.

        :param names: the service hosts of the view. A member on another host has its ``hostId``.
        """
        groups = view.snapshot.server_groups or ()
        if not any(group.members for group in groups):
            return groups
        known = members.with_hosts_by_id(members.own_servers(self._owners), names)
        elsewhere = {
            server: structs.replace(each, host=each.host or each.host_id)
            for server, each in known.items()
        }
        located = members.with_members(groups, elsewhere)
        read = partial(members.migrations, self._compute)
        return members.with_migrations(located, lambda: allowed(read)) or located


def _zones(
    aggregates: Iterable[Aggregate], aggregates_of: Mapping[str, frozenset[str]]
) -> dict[str, str]:
    """Return the zone by service host, without hosts that are in no aggregate with a zone."""
    zones = {each.uuid: each.availability_zone for each in aggregates if each.availability_zone}
    return {host: zones[uuid] for host, its in aggregates_of.items() for uuid in its & zones.keys()}


def _room(summary: Mapping[str, Any], hypervisor: Hypervisor) -> HostInventory:
    """Convert a provider summary of a host; ``max_unit`` is the size of the hypervisor."""
    with reading(CANDIDATES):
        resources = {
            name: Resource(has['capacity'], has['used'], hypervisor.largest.get(name))
            for name, has in summary['resources'].items()
        }
        return HostInventory(resources, frozenset(summary['traits']))
