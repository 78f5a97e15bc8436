"""Fetch all hosts that Placement has for a request, if they are few enough to prove a decision.

Data flow: what an owner may read of a rejection depends on a few questions: the request itself, and
the request with one change (:mod:`senlin_affinity.preflight.upper_bound`). Placement is queried for
each of them, unless the hosts that are known already have enough capacity. A longer response proves
that the others were not truncated. Each host is fetched by the id of its resource provider, and the
servers of the group come from the owner's list. The resulting view contains these hosts as a
snapshot of the whole cloud would. Any other host is rejected, or changes no number. If one of these
conditions does not hold, the result is None.

The host of a member that runs elsewhere is identified by ``hostId``, which its owner can read.

Units: one request for each of at most ``MOST`` hosts, one for the question, one for each change
that these hosts do not settle, and up to six more: whether Nova lists the hosts for the owner, the
compute services (for a zone, or to count all hosts), a longer response, the servers, their
migrations, and the soft-deleted servers.

Raises: CloudError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from senlin_affinity.cloud import allocations, hosts, members, mirrors
from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.cloud.providers import CANDIDATES, SHARING, HostInventory
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Resource
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.preflight import upper_bound
from senlin_affinity.preflight.question import CloudView, Narrow
from senlin_affinity.preflight.upper_bound import CandidateQuery

T = TypeVar('T')
_FORBIDDEN = 403
#: Up to ``_ALWAYS`` hosts are always fetched one by one; up to ``MOST`` if that is cheaper than the
#: list of all hosts, where one request costs Nova as much as ``_ROWS`` rows of the list.
MOST, _ALWAYS, _ROWS = 250, 20, 4

#: The limit of hosts in aggregates whose providers are listed. The list has a kilobyte for each.
_MOST_MIRRORED = 1000


class Facts(NamedTuple):
    """The results of earlier requests.

    Those are a response of Placement, with its query and limit, and the aggregates of each service
    host.
    """

    text: str | None = None
    limit: int = 0
    answer: Any = None
    aggregates_of: Mapping[str, frozenset[str]] = {}


def see(
    clients: Clients, asked: Narrow, view: CloudView, known: Facts, timeout: float | None = None
) -> CloudView | None:
    """Fetch the view, with ``owner_sees_hosts=False``; return None if it proves no decision."""
    seeing = _Seeing(clients, asked, view, known, timeout)
    found = seeing.see()
    return (
        None if found is None else dataclasses.replace(found, owner_sees_hosts=False, is_part=True)
    )


class _Seeing:
    """The state of one fetch; no request is repeated."""

    def __init__(
        self, clients: Clients, asked: Narrow, view: CloudView, known: Facts, timeout: float | None
    ) -> None:
        self._owners = clouds.compute(clients.owner, timeout)
        self._compute = clouds.clouds_compute(clients, self._owners, timeout)
        self._placement = clouds.placement(clients.operator, timeout)
        self._is_one = not clients.has_operator
        self._inventory = clouds.ports(clients, timeout).inventory
        self._asked, self._bare, self._known = asked, view, known
        self._zone_of: Mapping[str, str] = {}
        self._servers: list[dict[str, Any]] = []
        self._moved: dict[str, Member] = {}
        self._soft_deleted: tuple[Member, ...] | None = None
        self._tree: str | None = None
        self._answers: dict[CandidateQuery, Any] = {}
        self._whole: set[str] = set()
        self._hypervisors: dict[str, Hypervisor | None] = {}
        self._summaries: dict[str, Any] = {}

    def see(self) -> CloudView | None:
        """Fetch the view; return None if it does not prove the decision."""
        asked, bare = self._asked, self._bare
        is_bound = upper_bound.is_bound(asked, bare)
        if self._compute.pick(hosts.UUIDS) < hosts.UUIDS or (is_bound and not self._see_tree()):
            return None
        base = self._part({})
        if base is None or not self._ask(base):
            return None
        is_whole = base.text in self._whole
        if not (is_whole or base.is_open):
            return None
        # The remedies of an owner who sees the hosts concern all of them.
        is_yes_only = self._is_one or self._inventory.shows_hosts()
        if is_yes_only and not is_bound:
            return None
        self._see_others()
        view = self._view(base)
        if not (is_whole or upper_bound.is_enough(asked, view, {})):
            return None
        if not upper_bound.fits(asked, view):
            if is_yes_only or not self._are_changes_known(base):
                return None
            view = self._view(base)
        places = {
            (zone, self._known.aggregates_of.get(host, frozenset()))
            for host, zone in self._zone_of.items()
        }
        is_proof = upper_bound.is_proof(asked, view, places, is_whole=is_whole)
        return upper_bound.proved(asked, view) if is_proof and self._is_longest() else None

    def _part(self, data: Data) -> CandidateQuery | None:
        sets = {*self._known.aggregates_of.values()}
        return upper_bound.part(self._asked, self._bare, data, sets, self._tree)

    def _are_changes_known(self, base: CandidateQuery) -> bool:
        """Check whether the hosts settle the question with each possible change by the owner."""
        zones = {*self._zone_of.values()}
        changes = upper_bound.changes(self._asked, self._bare, zones)
        return upper_bound.are_few_zones(zones) and all(
            self._is_known(base, each) for each in changes
        )

    def _is_known(self, base: CandidateQuery, data: Data) -> bool:
        """Check whether the hosts settle the changed question; fetch its candidates if not."""
        part = self._part(data)
        if part is not None and part.text in self._whole:
            return True
        if upper_bound.is_enough(self._asked, self._view(base), data):
            return True
        if part is None or not self._ask(part):
            return False
        return part.text in self._whole or upper_bound.is_enough(
            self._asked, self._view(base), data
        )

    def _ask(self, part: CandidateQuery) -> bool:
        """Fetch the candidates of a query; return False if they are too many or unsuitable.

        Hosts are unsuitable if they have several providers or share resources, or if an aggregate
        of the query has other hosts in Placement than in Nova.
        """
        answer, limit = self._known.answer, self._known.limit
        needed = min(part.limit, MOST + 1)  # MOST + 1 hosts are too many
        if part.text != self._known.text or len(answer['allocation_requests']) == limit < needed:
            limit = needed
            answer = allocations.candidates(self._placement, part.text, limit)
        if not (_is_plain(part.text, answer) and self._are_mirrored(part.aggregates)):
            return False
        self._answers[part] = answer
        if len(answer['allocation_requests']) < limit:
            self._whole.add(part.text)
        self._summaries |= answer['provider_summaries']
        return self._are_few(len(self._summaries))

    def _are_few(self, number: int) -> bool:
        """Check whether so many single hosts are cheaper to fetch than the whole cloud."""
        if number <= _ALWAYS:
            return True
        return number <= MOST and number * _ROWS <= len(self._every_zone)

    @cached_property
    def _every_zone(self) -> Mapping[str, str]:
        return hosts.zones(self._compute)

    def _see_tree(self) -> bool:
        """Find the one host that all members of the group run on; return False if unknown."""
        self._servers = members.own(self._owners)
        if not self._is_one:  # with a single client, the servers name their hosts
            self._zone_of = self._every_zone
        known = members.named(self._servers, self._zone_of.keys())
        located = members.located(self._bare.snapshot.server_groups or (), known)
        every = [each for group in located for each in group.members if not each.is_nowhere]
        names = {each.host for each in every}
        name = names.pop() if len(names) == 1 else None
        found = None if name is None else hosts.hypervisor_of(self._compute, name)
        if found is None:
            return False
        self._tree, self._hypervisors[found.id] = found.id, found
        return True

    def _see_others(self) -> None:
        """Fetch the zones and the members with their migrations, as far as they count."""
        if upper_bound.is_zone_asked(self._asked, self._bare) and not self._zone_of:
            self._zone_of = self._every_zone
        groups = self._bare.snapshot.server_groups or ()
        if any(group.members for group in groups):
            self._servers = self._servers or members.own(self._owners)
            located = self._groups()
            moved = _allowed(lambda: members.moved(self._compute, located)) or located
            self._moved = {each.server: each for group in moved for each in group.members}
        if members.are_hidden(groups):
            self._soft_deleted = _allowed(lambda: members.soft_deleted(self._compute, groups))

    def _view(self, base: CandidateQuery) -> CloudView:
        """Build the view from all responses so far; fetch the hypervisors that it lacks."""
        for root in self._summaries:
            if root not in self._hypervisors:
                self._hypervisors[root] = hosts.hypervisor(self._compute, root)
        found = (self._hypervisors[root] for root in self._summaries)
        seen = hosts.in_order(each for each in found if each is not None)
        rooms = {each.id: _room(self._summaries[each.id], each) for each in seen}
        built = hosts.hosts(seen, self._zone_of, self._known.aggregates_of, rooms)
        same = [each for each in self._answers if each.name == base.name]
        requests = [one for each in same for one in self._answers[each]['allocation_requests']]
        answer = {'allocation_requests': requests, 'provider_summaries': self._summaries}
        roots = [each.id for each in seen]
        granted = allocations.read(answer, base.name, built, roots, len(requests) + 1)
        is_whole = any(each.text in self._whole and not each.is_of_tree for each in same)
        snapshot = dataclasses.replace(
            self._bare.snapshot,
            hosts=tuple(
                host.but(grants=each) for host, each in zip(built, granted.grants, strict=True)
            ),
            server_groups=self._groups(),
            soft_deleted=self._soft_deleted,
            answered=frozenset({base.name} if is_whole else ()),
            availability_zones=frozenset(self._zone_of.values()) or None,
            closed_zones=frozenset(),  # hosts that are not in the snapshot may be enabled
        )
        return dataclasses.replace(self._bare, snapshot=snapshot)

    def _groups(self) -> tuple[ServerGroup, ...]:
        """Return the groups, and the hosts of their members as far as they are known."""
        names = {each.service_host for each in self._hypervisors.values() if each is not None}
        known = members.named(self._servers, names)
        return members.located(
            self._bare.snapshot.server_groups or (),
            {server: self._elsewhere(each) for server, each in known.items()},
        )

    def _elsewhere(self, member: Member) -> Member:
        """Return the member with its hosts, also if they are not in the snapshot."""
        moved = self._moved.get(member.server, member)
        host = member.host or member.host_id
        return dataclasses.replace(member, host=host, also_on=moved.also_on, left=moved.left)

    def _are_mirrored(self, aggregates: frozenset[str]) -> bool:
        """Check whether the aggregates have the same hosts in Nova and in Placement.

        Return False if they have too many hosts to compare.
        """
        known = self._known.aggregates_of.items()
        names = {host for host, its in known if not aggregates.isdisjoint(its)}
        if len(names) > _MOST_MIRRORED:
            return False
        seen = mirrors.named(self._placement, aggregates) if aggregates else set()
        short = {name.partition('.')[0] for name in seen}
        is_none_stale = all(not names.isdisjoint((name, name.partition('.')[0])) for name in seen)
        return is_none_stale and names <= {*seen, *short}

    def _is_longest(self) -> bool:
        """Check whether Placement returns a longer response than the longest complete one.

        If it does, ``max_allocation_candidates`` truncated none of these. At most one request.
        """
        answers = self._answers.items()
        lengths = {part.text: len(each['allocation_requests']) for part, each in answers}
        longest = max((lengths[text] for text in self._whole), default=0) + 1
        if max(lengths.values()) >= longest:
            return True
        name = parse_qs(next(iter(lengths)))['resources'][0].partition(':')[0]
        body = allocations.candidates(self._placement, f'resources={name}:1', longest)
        with reading(CANDIDATES):
            return len(body['allocation_requests']) >= longest


def _is_plain(query: str, answer: Any) -> bool:
    """Check whether each host is one unshared provider, and one unsuffixed group is queried."""
    with reading(CANDIDATES):
        summaries = answer['provider_summaries']
        return 'resources' in parse_qs(query) and all(
            each['root_provider_uuid'] == uuid and SHARING not in each['traits']
            for uuid, each in summaries.items()
        )


def _room(summary: Mapping[str, Any], hypervisor: Hypervisor) -> HostInventory:
    with reading(CANDIDATES):
        resources = {
            name: Resource(has['capacity'], has['used'], hypervisor.largest.get(name))
            for name, has in summary['resources'].items()
        }
        return HostInventory(resources, frozenset(summary['traits']))


def _allowed(read: Callable[[], T]) -> T | None:
    """Return what ``read`` returns; None if the operator's credentials do not permit it (403)."""
    try:
        return read()
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        return None
