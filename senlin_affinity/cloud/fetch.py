"""Fetch as little of the cloud as decides a request for new nodes.

The fetch becomes wider until the decision is final:

1. *The owner's part*: the group, flavor, image and quotas, which may exceed a quota of instances.
2. *A sample* of allocation candidates, at constant cost. It only accepts.
3. *All candidates*, unless they are many. They accept, or reject.
4. *The whole cloud*, which decides all other requests: pinned hosts, spreads, nested providers.

The owner's client reads what the owner names, the operator's client the hosts. Within one request,
a repeated GET is answered from memory. What an earlier request read within the last minute (all
aggregates, the id of a flavor) only accepts: before a rejection, it is read again.

Raises: BindingError for a cluster without a binding; CloudError if a service does not answer, or
answers too much. After any other error response, the whole cloud follows, whose view gives the
reason.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from msgspec import structs

from senlin_affinity.cloud import (
    allocations,
    flavors,
    hosts,
    images,
    members,
    placement_aggregates,
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
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec, TooLarge
from senlin_affinity.model.flavor import MEMORY_MB, Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot, CloudView, Coverage
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.preflight import candidates, sample
from senlin_affinity.preflight.candidates import MOST_READ, CandidateQuery
from senlin_affinity.preflight.question import FetchScope
from senlin_affinity.preflight.sample import Outline, Query
from senlin_affinity.preflight.scale_request import ScaleRequest, scope_of

T = TypeVar('T')
#: The most candidates that are fetched without the whole cloud.
MOST = 250
_FORBIDDEN = 403
#: The most hosts in aggregates whose providers are listed, with a kilobyte each.
_MOST_MIRRORED = 1000


def fetch(request: ScaleRequest, clients: Clients, timeout: float | None = None) -> CloudView:
    """Fetch wider parts of the cloud until one decides the request, and return its view.

    ``CloudView()`` if nothing must be fetched.
    """
    scope = scope_of(request)
    if scope is None:
        return CloudView()
    both, view = clients.remembering(), None
    if scope.drs_pattern is None and _may_be_narrow(request):
        try:
            view = _Narrow(request, scope, both, timeout).view()
        except InvalidSpec:
            pass  # raised again when the request is decided
        except CloudError as error:
            if error.status is None or isinstance(error, TooLarge):
                raise
    return view or whole_cloud.fetch(both.recalling(), scope, timeout)


def _may_be_narrow(request: ScaleRequest) -> bool:
    """Check whether fewer hosts than the whole cloud may decide the request.

    False without constraints, if the request names its host or the policy chooses the hosts, and
    for a spread over zones.
    """
    asked = request.question
    is_of_host = asked.target.is_forced or asked.is_pinned or request.properties.is_drs_enabled
    return bool(request.constraints) and not is_of_host and request.zones is None


class _Start(NamedTuple):
    """The owner's part of the cloud, and what follows from it without any host."""

    view: CloudView
    outline: Outline


class _Narrow:
    """The parts of the cloud before the whole one, for one request."""

    def __init__(
        self, request: ScaleRequest, scope: FetchScope, clients: Clients, timeout: float | None
    ) -> None:
        self._request, self._scope = request, scope
        self._clients, self._timeout = clients, timeout
        self._answers: dict[str, tuple[int, Any]] = {}
        self._aggregates_of: Mapping[str, frozenset[str]] = {}
        self._recent = clients.operator.recent
        self._has_used_recent = False
        self._members_host: Hypervisor | None = None

    def view(self) -> CloudView | None:
        """Return the first view that decides the request; None if only the whole cloud does."""
        start = self._start()
        view = self._of_start(start)
        may_reject = view is None or not (view.coverage is Coverage.ENOUGH or view.unavailable)
        if self._has_used_recent and may_reject:
            self._recent = None
            now = self._start()
            if now != start:
                start, view = now, self._of_start(now)
        if view is not None or start is None:
            return view
        if self._request.ignores_current_usage:
            return None  # candidates have room now; others may have it later
        return self._of_candidates(*start)

    def _of_start(self, start: _Start | None) -> CloudView | None:
        """Return the view of the owner's part or of a sample; None if neither decides."""
        if start is None or not start.view.snapshot.server_groups:
            return start and start.view
        return self._of_sample(*start)

    # --- 1. the owner's part

    def _start(self) -> _Start | None:
        """Fetch the owner's part, and all aggregates if a zone or a constraint needs them.

        A group that does not exist decides the request: the view has no groups. None if flavor or
        image are missing, without a group or flavor, for another project or user, if extra specs
        are hidden, and below 2.41 if aggregates are needed.
        """
        view = self._owners_part()
        if view is None:
            return None
        if not view.snapshot.server_groups:
            return _Start(view, Outline((), False, None))
        outline = sample.outline(self._request, view)
        if outline.left_by_quota == 0 or not outline.are_aggregates_needed:
            return _Start(view, outline)
        compute = self._compute
        if compute.pick(hosts.AGGREGATE_UUIDS) < hosts.AGGREGATE_UUIDS:
            return None
        reader = () if self._clients.has_operator else clouds.ids(self._clients.owner)
        key = 'aggregates', *reader
        known, self._aggregates_of = self._read_recently(key) or self._keep(
            key, hosts.aggregates(compute)
        )
        view = replace(view, snapshot=structs.replace(view.snapshot, aggregates=known))
        return _Start(view, outline._replace(sets={*self._aggregates_of.values()}))

    def _owners_part(self) -> CloudView | None:
        """Fetch the group, flavor, image and quotas as a view; see :meth:`_start`."""
        scope, flavor = self._scope, self._request.question.flavor_name
        compute = self._owners  # logs in
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
        snapshot = CloudSnapshot(
            flavors=(found,),
            server_groups=(group,),
            quotas=inventory.with_user(inventory.quotas(), project, user),
            user_id=user,
            project_id=project,
            nova_release=inventory.release(),
        )
        is_seen = not self._clients.has_operator
        return CloudView(snapshot, images=found_images, owner_sees_hosts=is_seen)

    def _flavor(self, name: str, key: Hashable) -> Flavor | None:
        """Fetch the flavor with this id or name, whose id an earlier request may have read.

        None without a flavor, or if its extra specs are hidden.
        """
        read = partial(flavors.flavor, self._owners, are_specs_needed=True)
        recent = self._read_recently(key)
        if recent is not None:
            found = read(recent)
            if found is not None and found.name == name:
                return found
        found = read(name)
        if found is not None and found.id != name:
            self._keep(key, found.id)
        return found

    def _read_recently(self, key: Hashable) -> Any | None:
        """Return what was read under a key in the last minute; None without it, and afterwards."""
        recent = None if self._recent is None else self._recent.get(key)
        self._has_used_recent |= recent is not None
        return recent

    def _keep(self, key: Hashable, value: T) -> T:
        """Keep the value for a minute, unless recent reads are not used any more; return it."""
        return value if self._recent is None else self._recent.keep(key, value)

    # --- 2. a sample

    def _of_sample(self, view: CloudView, outline: Outline) -> CloudView | None:
        """Return a view that accepts, or one that rejects by the quota of instances; else None.

        If neither Placement nor Nova shows the hosts to anybody, return the view without them.
        """
        left = outline.left_by_quota
        if left == 0:
            return replace(view, coverage=Coverage.ENOUGH_FOR_QUOTA)
        request = self._request
        if left is not None:
            request = replace(request, question=replace(request.question, count=left))
        try:
            found = self._sample(request, view, outline)
        except CloudError as error:
            if left is None and error.status == _FORBIDDEN and not self._may_show_hosts():
                return replace(view, unavailable={'hosts': str(error)})
            raise
        if not found:
            return None
        if left is not None:
            return replace(view, coverage=Coverage.ENOUGH_FOR_QUOTA)
        snapshot = structs.replace(view.snapshot, hosts=found)
        return replace(view, snapshot=snapshot, coverage=Coverage.ENOUGH)

    def _may_show_hosts(self) -> bool:
        """Check whether the whole cloud may have hosts. One request by the owner."""
        both = self._clients
        return both.has_operator or clouds.ports(both, self._timeout).inventory.shows_hosts()

    def _sample(self, request: ScaleRequest, view: CloudView, outline: Outline) -> tuple[Host, ...]:
        """Fetch a sample, or a larger one after it; return its hosts if all servers fit on them."""
        smaller = None
        for is_large in (False, True):
            query = sample.query(request, view, outline, is_large=is_large)
            found = None if query is None or query == smaller else self._sampled_hosts(query)
            if query is None or found is None:
                return ()
            if sample.is_enough(query.request, view, found):
                return found
            if len(found) < query.limit:  # a larger limit would not return more hosts
                return found if self._fits_beside_members(query, view, found) else ()
            smaller = query
        return ()

    def _sampled_hosts(self, query: Query) -> tuple[Host, ...] | None:
        """Fetch the hosts of a sample; None if Placement is too old."""
        if self._placement.pick(allocations.MICROVERSION) < allocations.MICROVERSION:
            return None
        rooms = allocations.lower_bounds(self._allocation_candidates(query.text, query.limit))
        return tuple(query.host(root, room) for root, room in rooms.items() if room)

    def _fits_beside_members(self, query: Query, view: CloudView, found: Sequence[Host]) -> bool:
        """Check whether all servers fit with the members of the group on their hosts."""
        if not sample.depends_on_members(query.request, view, found):
            return False
        roots = self._roots_of_members(query, view)
        return roots is not None and sample.is_enough(query.request, view, found, roots)

    def _roots_of_members(self, query: Query, view: CloudView) -> Mapping[str, str] | None:
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
        of_groups = {each.server for group in groups for each in group.members}
        if not of_groups <= settled.keys():
            return None
        return {each: root_of.get(settled[each], settled[each]) for each in of_groups}

    # --- 3. all candidates

    def _of_candidates(self, view: CloudView, outline: Outline) -> CloudView | None:
        """Return a view of all candidates that accepts or rejects; None if it does not decide."""
        request = self._request
        is_joining = sample.must_join_members(request.resolve(view)[0])
        root = self._root_of_members(view) if is_joining else None
        query = candidates.query(request, view, outline.sets, root)
        read = None if query is None else self._candidates(query, view)
        if read is None:
            return None
        found, are_hosts_read = read
        if are_hosts_read:
            fits = candidates.fits(request, found)
        else:
            fits = False if candidates.are_too_few(request, found) else None
        if fits is None:
            return None
        if are_hosts_read:
            found = candidates.compared(request, found)
        if fits:
            return found
        found = self._with_flavors(found)
        return replace(found, helpful=(*self._helpful(found, view, outline),))

    def _root_of_members(self, view: CloudView) -> str | None:
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
        self._members_host = None if name is None else hosts.hypervisor_of(self._compute, name)
        return None if self._members_host is None else self._members_host.id

    def _candidates(self, query: CandidateQuery, view: CloudView) -> tuple[CloudView, bool] | None:
        """Return the view with all candidates, and whether their hypervisors were read.

        They are read if they are at most ten.

        None if they are too many, nested or sharing, if the answer may be incomplete, if aggregates
        differ in Placement, or if a service is too old.
        """
        is_new = self._placement.pick(allocations.MICROVERSION) >= allocations.MICROVERSION
        if not is_new or self._compute.pick(hosts.UUIDS) < hosts.UUIDS:
            return None
        answer = self._allocation_candidates(query.text, MOST + 1)
        with reading(CANDIDATES):
            summaries, number = answer['provider_summaries'], len(answer['allocation_requests'])
            if len(summaries) > MOST or not all(
                each['root_provider_uuid'] == uuid and SHARING not in each['traits']
                for uuid, each in summaries.items()
            ):
                return None
        are_few = len(summaries) <= MOST_READ
        found = hosts.in_order(self._hypervisors(summaries)) if are_few else ()
        is_equal = self._are_mirrored(query.aggregates, found)
        if not (is_equal and self._is_complete(query.text, answer)):
            return None
        if are_few:
            zone_of = self._zones(view)
            rooms = {each.id: _room(summaries[each.id], each.largest) for each in found}
            built = hosts.hosts(found, zone_of, self._aggregates_of, rooms)
            roots = [each.id for each in found]
        else:
            zone = wanted_zone(self._request.resolve(view)[0])
            built, roots = tuple(_unread(summaries, zone)), [*summaries]
        granted = allocations.parse(answer, query.novas_query, built, roots, number + 1).grants
        snapshot = structs.replace(
            view.snapshot,
            hosts=tuple(host.but(grants=each) for host, each in zip(built, granted, strict=True)),
            answered=frozenset(() if query.root is not None else {query.novas_query}),
            closed_zones=frozenset(),  # hosts that are not in the snapshot may be enabled
        )
        snapshot = self._with_members(snapshot, [each.service_host for each in found])
        if not are_few:
            snapshot = structs.replace(snapshot, aggregates=None)
        return replace(view, snapshot=snapshot, coverage=Coverage.CANDIDATES), are_few

    def _hypervisors(self, roots: Collection[str]) -> tuple[Hypervisor, ...]:
        """Fetch the hypervisors with these ids, unless it is the known one of all members."""
        one = self._members_host
        if one is not None and {one.id} == {*roots}:
            return (one,)
        return hosts.hypervisors_of(self._compute, roots)

    def _zones(self, view: CloudView) -> Mapping[str, str]:
        """Return the zone by service host, without hosts that are in no aggregate with a zone."""
        zones = {
            each.uuid: each.availability_zone
            for each in view.snapshot.aggregates or ()
            if each.availability_zone
        }
        of_hosts = self._aggregates_of.items()
        return {host: zones[uuid] for host, its in of_hosts for uuid in its & zones.keys()}

    def _with_members(self, snapshot: CloudSnapshot, names: Collection[str]) -> CloudSnapshot:
        """Add the hosts, the migrations and the soft-deleted members of the groups.

        :param names: the service hosts of the snapshot. A member on another host has its
            ``hostId``.
        """
        groups: tuple[ServerGroup, ...] = snapshot.server_groups or ()
        if any(group.members for group in groups):
            known = members.with_hosts_by_id(members.own_servers(self._owners), names)
            located = members.with_members(
                groups,
                {
                    server: structs.replace(each, host=each.host or each.host_id)
                    for server, each in known.items()
                },
            )
            read = partial(members.migrations, self._compute)
            groups = members.with_migrations(located, lambda: allowed(read)) or located
        deleted = None
        if members.has_anti_affinity(groups):
            deleted = allowed(partial(members.soft_deleted, self._compute, groups))
        return structs.replace(snapshot, server_groups=groups, soft_deleted=deleted)

    def _with_flavors(self, view: CloudView) -> CloudView:
        """Add all flavors of the owner; nothing if their extra specs are hidden."""
        if self._owners.pick(flavors.EXTRA_SPECS) < flavors.EXTRA_SPECS:
            return view
        every = flavors.flavors(self._owners) or view.snapshot.flavors
        return replace(view, snapshot=structs.replace(view.snapshot, flavors=every))

    def _helpful(self, found: CloudView, view: CloudView, outline: Outline) -> Iterator[Change]:
        """Yield the changes with each of which a new sample is enough."""
        snapshot = structs.replace(view.snapshot, flavors=found.snapshot.flavors)
        view = replace(view, snapshot=snapshot)
        for change in candidates.alternatives(self._request, found):
            if self._sample(replace(self._request, change=change.data), view, outline):
                yield change

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
        names = {host for host, its in of_hosts if not its.isdisjoint(aggregates)}
        if len(names) > _MOST_MIRRORED:
            return False
        of_placement = placement_aggregates.providers_in(self._placement, aggregates)
        known = {each.id: each.service_host for each in found}
        if any((uuid in of_placement) != (host in names) for uuid, host in known.items()):
            return False
        others = (name for uuid, name in of_placement.items() if uuid not in known)
        short = {name: name.partition('.')[0] for name in others}
        is_none_stale = all(not names.isdisjoint(either) for either in short.items())
        return is_none_stale and names <= {*short, *short.values(), *known.values()}

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


def _room(summary: Mapping[str, Any], largest: Mapping[str, int]) -> HostInventory:
    """Convert a provider summary of a host; ``largest`` are the sizes of its hypervisor."""
    with reading(CANDIDATES):
        resources = {
            name: Resource(has['capacity'], has['used'], largest.get(name))
            for name, has in summary['resources'].items()
        }
        return HostInventory(resources, frozenset(summary['traits']))


def _unread(summaries: Mapping[str, Any], zone: str | None) -> Iterator[Host]:
    """Yield a host for each provider summary, called after the provider, in this zone."""
    for root, summary in summaries.items():
        room = _room(summary, {})
        yield Host(root, root, '', zone, traits=room.traits, resources=room.resources)
