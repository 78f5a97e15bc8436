"""Fetch as little of the cloud as decides a request for new nodes.

The fetch becomes wider until the decision is final:

1. ``SAMPLE``: the owner's part (the group, flavor, image and quotas), which may exceed a quota of
   instances; then a sample of allocation candidates, at constant cost. It accepts the servers, or
   those that the quota leaves, which completes the rejection.
2. ``CANDIDATES``: all candidates, unless they are many. They accept, or reject.
3. ``EVERYTHING``: the whole cloud, which decides all other requests: pinned hosts, spreads, nested
   providers.

The owner's client reads what the owner names, the operator's client the hosts. Within one request,
a repeated GET is answered from memory. What an earlier request read within the last minute (all
aggregates, the id of a flavor) only accepts: before a rejection, it is read again.

Raises: CloudError if a service does not answer, or answers too much. After any other error
response, the whole cloud follows, whose ``unavailable`` gives the reason.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar
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
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.model.cloud import Cloud, OtherHosts
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec, TooLarge
from senlin_affinity.model.flavor import MEMORY_MB, Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.image import Image
from senlin_affinity.model.proposal import Change
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.preflight import candidates, sample
from senlin_affinity.preflight.candidates import MOST_READ
from senlin_affinity.preflight.question import Question, resolve_question
from senlin_affinity.preflight.sample import CandidateQuery
from senlin_affinity.scenario.scenario import Scenario

T = TypeVar('T')
_FORBIDDEN = 403
#: The most hosts in aggregates whose providers are listed, with a kilobyte each.
_MOST_MIRRORED = 1000


class Width(enum.Enum):
    """How much of the cloud is fetched; see the module."""

    SAMPLE = 'sample'
    CANDIDATES = 'candidates'
    EVERYTHING = 'everything'


def fetch(
    question: Question,
    constraints: Sequence[Constraint],
    clients: Clients,
    *,
    is_lasting: bool = False,
) -> Cloud:
    """Fetch wider parts of the cloud until one decides the question, and return it.

    :param is_lasting: the answer must not depend on today's free capacity.
    """
    fetching = _Fetch(question, constraints, clients.remembering(), is_lasting)
    widths = (*Width,) if _may_be_narrow(question, constraints) else (Width.EVERYTHING,)
    found = filter(None, map(fetching.within, widths))
    return next(found)


def _may_be_narrow(question: Question, constraints: Sequence[Constraint]) -> bool:
    """Check whether fewer hosts than the whole cloud may decide the question.

    False without constraints, if the request names its host or the policy chooses the hosts, and
    for a spread over zones.
    """
    is_of_host = question.target.is_forced or question.is_pinned
    return bool(constraints) and not is_of_host and question.zone_spread is None


class _Fetch:
    """The parts of the cloud that were fetched for one question.

    The owner's part is ``_cloud`` (None: it does not suffice), with all aggregates if a zone or one
    of the ``_readers`` needs them. ``_left`` is the number that a quota of instances leaves.
    """

    def __init__(
        self,
        question: Question,
        constraints: Sequence[Constraint],
        clients: Clients,
        is_lasting: bool,
    ) -> None:
        self._question, self._constraints = question, constraints
        self._clients, self._is_lasting = clients, is_lasting
        self._answers: dict[str, tuple[int, Any]] = {}
        self._cloud: Cloud | None = None
        self._aggregates_of: Mapping[str, frozenset[str]] = {}
        self._readers: Sequence[Constraint] = ()
        self._left: int | None = None
        self._recent = clients.operator.recent
        self._has_used_recent = False
        self._members_host: Hypervisor | None = None
        self._has_failed = False

    def within(self, width: Width) -> Cloud | None:
        """Return the cloud as far as it is fetched with this width; None if a wider one decides."""
        if width is Width.EVERYTHING:
            return whole_cloud.fetch(self._clients.recalling(), self._question)
        try:
            if self._has_failed:
                return None
            return self._of_sample() if width is Width.SAMPLE else self._of_candidates()
        except InvalidSpec:
            pass  # raised again when the question is decided
        except CloudError as error:
            if error.status is None or isinstance(error, TooLarge):
                raise
        self._has_failed = True
        return None

    def _resolve(self, cloud: Cloud) -> Request:
        return resolve_question(self._question, cloud)[0]

    # --- 1. the owner's part, and a sample

    def _of_sample(self) -> Cloud | None:
        """Return what accepts, or rejects by the owner's part; else None.

        Before a rejection, what was read recently is read again.
        """
        self._start()
        found = self._with_sample()
        is_accepted = found is not None and found.hosts is not None
        if self._has_used_recent and not (is_accepted or (found and found.unavailable)):
            before = self._cloud, self._aggregates_of
            self._recent = None
            self._start()
            if (self._cloud, self._aggregates_of) != before:
                found = self._with_sample()
        return found

    def _start(self) -> None:
        """Fetch the owner's part, and all aggregates if a zone or a constraint needs them.

        The cloud is None if the owner's part is, and below 2.41 if aggregates are needed.
        """
        self._aggregates_of = {}
        self._cloud = cloud = self._owners_part()
        if cloud is None or not cloud.server_groups:
            return
        request = self._resolve(cloud)
        evaluation = sample.without_hosts(request, cloud, self._constraints)
        self._readers = sample.readers(evaluation, self._constraints)
        self._left = None if self._is_lasting else sample.left_by_quota(evaluation)
        if self._left == 0 or not (self._readers or wanted_zone(request)):
            return
        compute = self._compute
        if compute.pick(hosts.AGGREGATE_UUIDS) < hosts.AGGREGATE_UUIDS:
            self._cloud = None
            return
        reader = () if self._clients.has_operator else clouds.ids(self._clients.owner)
        key = 'aggregates', *reader
        known, self._aggregates_of = self._read_recently(key) or self._keep(
            key, hosts.aggregates(compute)
        )
        self._cloud = structs.replace(cloud, aggregates=known)

    def _owners_part(self) -> Cloud | None:
        """Fetch the group, flavor, image and quotas.

        A group that does not exist decides the request: the cloud has no groups. None if flavor or
        image are missing, without a group or flavor, for another project or user, and if extra
        specs are hidden.
        """
        question, flavor = self._question, self._question.flavor_name
        compute = self._owners  # logs in
        user, project = clouds.ids(self._clients.owner)
        is_own = question.project_id in (None, project) and question.user_id in (None, user)
        if not is_own or question.named_group is None or not flavor:
            return None
        group = NovaServerGroups(compute).get(question.named_group)
        if group is None:
            return Cloud(server_groups=())
        found = self._flavor(flavor, (user, project, flavor))
        if found is None:
            return None
        found_images: dict[str, Image] = {}
        if question.named_image:
            try:
                image = images.find(self._clients.owner, question.named_image)
            except AffinityError:
                return None
            found_images[question.named_image] = image
        inventory = clouds.ports(self._clients).inventory
        return Cloud(
            flavors=(found,),
            server_groups=(group,),
            quotas=inventory.with_user(inventory.quotas(), project, user),
            user_id=user,
            project_id=project,
            nova_release=inventory.release(),
            images=found_images,
            owner_sees_hosts=not self._clients.has_operator,
        )

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

    def _with_sample(self) -> Cloud | None:
        """Return the cloud with a sample that accepts, or without if a quota rejects; else None.

        If neither Placement nor Nova shows the hosts to anybody, return the cloud without them. A
        group that does not exist needs no hosts.
        """
        cloud, left = self._cloud, self._left
        if cloud is None or not cloud.server_groups:
            return cloud
        cloud = structs.replace(cloud, rest=OtherHosts.UNKNOWN)
        if left == 0:
            return cloud
        request = self._resolve(cloud)
        if left is not None:
            request = replace(request, count=left)
        try:
            found = self._sample(request, cloud)
        except CloudError as error:
            if left is None and error.status == _FORBIDDEN and not self._may_show_hosts():
                unavailable = {'hosts': str(error)}
                return structs.replace(cloud, unavailable=unavailable, rest=OtherHosts.NONE)
            raise
        if not found:
            return None
        return cloud if left is not None else structs.replace(cloud, hosts=found)

    def _may_show_hosts(self) -> bool:
        """Check whether the whole cloud may have hosts. One request by the owner."""
        return self._clients.has_operator or clouds.ports(self._clients).inventory.shows_hosts()

    def _sample(
        self, request: Request, cloud: Cloud, *, is_certain: bool = False
    ) -> tuple[Host, ...]:
        """Fetch a sample, or a larger one after it; return its hosts if all servers fit on them.

        :param is_certain: the number that fits must not be an upper bound.
        """
        others = [each for each in self._constraints if each not in self._readers]
        enough = partial(sample.is_enough, request, cloud, others, is_certain=is_certain)
        smaller = None
        for is_large in (False, True):
            query = sample.query(
                *(request, cloud, others, self._readers, self._sets),
                is_large=is_large,
                is_certain=is_certain,
            )
            found = None if query is None or query == smaller else self._sampled(query, request)
            if query is None or found is None:
                return ()
            if enough(found):
                return found
            if len(found) < query.limit:  # a larger limit would not return more hosts
                if not sample.depends_on_members(request, found):
                    return ()
                roots = self._member_roots(query, cloud)
                return found if roots is not None and enough(found, roots) else ()
            smaller = query
        return ()

    @property
    def _sets(self) -> frozenset[frozenset[str]]:
        """The sets of aggregates that hosts are in."""
        return frozenset(self._aggregates_of.values())

    def _sampled(self, query: CandidateQuery, request: Request) -> tuple[Host, ...] | None:
        """Fetch the hosts of a sample; None if Placement is too old."""
        if self._placement.pick(allocations.MICROVERSION) < allocations.MICROVERSION:
            return None
        rooms = allocations.lower_bounds(self._allocation_candidates(query.text, query.limit))
        return tuple(query.host(root, room, request) for root, room in rooms.items() if room)

    def _member_roots(self, query: CandidateQuery, cloud: Cloud) -> Mapping[str, str] | None:
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
        groups = cloud.server_groups or ()
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

    # --- 2. all candidates

    def _of_candidates(self) -> Cloud | None:
        """Return the cloud with all candidates if they accept or reject; else None."""
        cloud = self._cloud
        if cloud is None or self._is_lasting:  # others may have room later
            return None
        request = self._resolve(cloud)
        root = self._affinity_root(cloud) if sample.must_join_members(request) else None
        query = candidates.query(request, cloud, self._constraints, self._sets, root)
        read = None if query is None else self._candidates(query, request, cloud, root)
        if read is None:
            return None
        found, are_read = read
        request = self._resolve(found)
        fits = candidates.fits(request, found, self._constraints, are_read=are_read)
        if fits is None:
            return None
        if are_read:
            found = candidates.compared(request, found)
        if fits:
            return found
        found = self._with_flavors(found)
        return structs.replace(found, helpful=(*self._helpful(found, cloud),))

    def _affinity_root(self, cloud: Cloud) -> str | None:
        """Fetch the UUID of the root provider of the one host of all members.

        None for several or unknown hosts. Members without a host, such as shelved ones, do not
        count.
        """
        names: Collection[str] = ()
        if self._clients.has_operator:  # for hostId
            names = hosts.zones_of(self._compute)[0]
        known = members.with_hosts_by_id(members.own_servers(self._owners), names)
        groups = members.with_members(cloud.server_groups or (), known)
        every = [each for group in groups for each in group.members if not each.is_nowhere]
        found = {each.host for each in every}
        name = found.pop() if len(found) == 1 else None
        self._members_host = None if name is None else hosts.hypervisor_of(self._compute, name)
        return None if self._members_host is None else self._members_host.id

    def _candidates(
        self, query: CandidateQuery, request: Request, cloud: Cloud, root: str | None
    ) -> tuple[Cloud, bool] | None:
        """Return the cloud with all candidates, and whether their hypervisors were read.

        They are read if they are at most ten.

        None if they are too many, nested or sharing, if the answer may be incomplete, if aggregates
        differ in Placement, or if a service is too old.
        """
        is_new = self._placement.pick(allocations.MICROVERSION) >= allocations.MICROVERSION
        if not is_new or self._compute.pick(hosts.UUIDS) < hosts.UUIDS:
            return None
        answer = self._allocation_candidates(query.text, query.limit)
        with reading(CANDIDATES):
            summaries, number = answer['provider_summaries'], len(answer['allocation_requests'])
            if len(summaries) >= query.limit or not all(
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
            zone_of = self._zones(cloud)
            rooms = {each.id: _room(summaries[each.id], each.largest) for each in found}
            built = hosts.hosts(found, zone_of, self._aggregates_of, rooms)
            roots = [each.id for each in found]
        else:
            built, roots = tuple(_unread(summaries, wanted_zone(request))), [*summaries]
        granted = allocations.parse(answer, query.novas_query, built, roots, number + 1).grants
        cloud = structs.replace(
            cloud,
            hosts=tuple(host.but(grants=each) for host, each in zip(built, granted, strict=True)),
            aggregates=cloud.aggregates if are_few else None,
            answered=frozenset(() if root is not None else {query.novas_query}),
            closed_zones=frozenset(),  # hosts that were not fetched may be enabled
            rest=OtherHosts.NOT_OFFERED,
        )
        return self._with_members(cloud, [each.service_host for each in found]), are_few

    def _hypervisors(self, roots: Collection[str]) -> tuple[Hypervisor, ...]:
        """Fetch the hypervisors with these ids, unless it is the known one of all members."""
        one = self._members_host
        if one is not None and {one.id} == {*roots}:
            return (one,)
        return hosts.hypervisors_of(self._compute, roots)

    def _zones(self, cloud: Cloud) -> Mapping[str, str]:
        """Return the zone by service host, without hosts that are in no aggregate with a zone."""
        zones = {
            each.uuid: each.availability_zone
            for each in cloud.aggregates or ()
            if each.availability_zone
        }
        of_hosts = self._aggregates_of.items()
        return {host: zones[uuid] for host, its in of_hosts for uuid in its & zones.keys()}

    def _with_members(self, cloud: Cloud, names: Collection[str]) -> Cloud:
        """Add the hosts, the migrations and the soft-deleted members of the groups.

        :param names: the service hosts of the cloud. A member on another host has its
            ``hostId``.
        """
        groups: tuple[ServerGroup, ...] = cloud.server_groups or ()
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
        return structs.replace(cloud, server_groups=groups, soft_deleted=deleted)

    def _with_flavors(self, cloud: Cloud) -> Cloud:
        """Add all flavors of the owner; nothing if their extra specs are hidden."""
        if self._owners.pick(flavors.EXTRA_SPECS) < flavors.EXTRA_SPECS:
            return cloud
        return structs.replace(cloud, flavors=flavors.flavors(self._owners) or cloud.flavors)

    def _helpful(self, found: Cloud, cloud: Cloud) -> Iterator[Change]:
        """Yield the changes with each of which a new sample is enough."""
        cloud = structs.replace(cloud, flavors=found.flavors)
        request = self._resolve(cloud)
        for change in candidates.alternatives(self._resolve(found), found):
            changed, scenario = carry_out(change.data, request, Scenario.of(cloud))
            if self._sample(changed, scenario.cloud, is_certain=True):
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
        return clouds.compute(self._clients.owner)

    @cached_property
    def _compute(self) -> OperatorRest:
        """Return Nova's API for the operator, or else the owner."""
        return clouds.clouds_compute(self._clients, self._owners)

    @cached_property
    def _placement(self) -> OperatorRest:
        """Return Placement's API for the operator."""
        return clouds.placement(self._clients.operator)


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
