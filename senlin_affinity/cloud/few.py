"""All hosts that Placement has for a request, where they are few: a no of them is the cloud's.

Data flow: for each part of what an owner reads of a refusal
(:mod:`senlin_affinity.preflight.upper_bound`) Placement is asked, unless the
hosts that are known do. A longer answer proves that one was not cut.
Each host is asked for by the id of its provider, the servers of the group are the owner's own list,
and the look that comes out has these hosts as a whole look has them. All others are refused, or
would add to no number. Where something of this is not so, None comes out.

A member on another host is on one that is called by what the owner sees of it (``hostId``).

Units: ``MOST`` hosts, with a request for each; a request for the question and for each change that
it is not enough for; and up to 6 more: does Nova show the owner the hosts, the services (in a zone,
or of how many the hosts are a part), a longer answer, the servers, their migrations, the
soft-deleted ones.

Errors: CloudError.
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
from senlin_affinity.cloud.providers import CANDIDATES, SHARING, Room
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Resource
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.preflight import upper_bound
from senlin_affinity.preflight.question import CloudView, Narrow
from senlin_affinity.preflight.upper_bound import CandidateQuery

T = TypeVar('T')
_FORBIDDEN = 403
#: Nova works as long for one of them as for so many in its list of all: so many are asked for
#: where that is less, and ``_ALWAYS`` in a cloud of any size.
MOST, _ALWAYS, _ROWS = 250, 20, 4

#: A list of providers has a kilobyte for each.
_MOST_MIRRORED = 1000


class Facts(NamedTuple):
    """What was read already: an answer of Placement's, with its query and the limit of it, and the
    aggregates of each service host.
    """

    text: str | None = None
    limit: int = 0
    answer: Any = None
    aggregates_of: Mapping[str, frozenset[str]] = {}


def see(
    clients: Clients, asked: Narrow, view: CloudView, known: Facts, timeout: float | None = None
) -> CloudView | None:
    """The look with these hosts, to be said to who may not see hosts."""
    seeing = _Seeing(clients, asked, view, known, timeout)
    found = seeing.see()
    return (
        None if found is None else dataclasses.replace(found, owner_sees_hosts=False, is_part=True)
    )


class _Seeing:
    """One such look; what it asks for is asked for once."""

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
        """The look, if it proves what it says."""
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
        # Who sees the hosts is told what would help of all of them.
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
        """Is the question with each change that the owner could make answered?"""
        zones = {*self._zone_of.values()}
        changes = upper_bound.changes(self._asked, self._bare, zones)
        return upper_bound.are_few_zones(zones) and all(
            self._is_known(base, each) for each in changes
        )

    def _is_known(self, base: CandidateQuery, data: Data) -> bool:
        """Is the question with a change answered, by these hosts or by those that it adds?"""
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
        """Ask Placement for the hosts of a part; False where they are odd, or too many."""
        answer, limit = self._known.answer, self._known.limit
        needed = min(part.limit, MOST + 1)  # whose hosts are too many
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
        """Is it cheaper to ask for so many hosts one by one than for the whole cloud?"""
        if number <= _ALWAYS:
            return True
        return number <= MOST and number * _ROWS <= len(self._every_zone)

    @cached_property
    def _every_zone(self) -> Mapping[str, str]:
        return hosts.zones(self._compute)

    def _see_tree(self) -> bool:
        """Is the one host seen that all servers of the group are on?"""
        self._servers = members.own(self._owners)
        if not self._is_one:  # who sees it names it
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
        """The zones and the members, as far as they matter."""
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
        """The look with the hosts of all answers."""
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
        """The groups, with their members where they are."""
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
        """Check whether the aggregates have the same hosts in Nova and in Placement."""
        known = self._known.aggregates_of.items()
        names = {host for host, its in known if not aggregates.isdisjoint(its)}
        if len(names) > _MOST_MIRRORED:
            return False
        seen = mirrors.named(self._placement, aggregates) if aggregates else set()
        short = {name.partition('.')[0] for name in seen}
        is_none_stale = all(not names.isdisjoint((name, name.partition('.')[0])) for name in seen)
        return is_none_stale and names <= {*seen, *short}

    def _is_longest(self) -> bool:
        """Does Placement answer with more than was taken for all that it has?"""
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
    """Is each host one provider, that nobody shares with, asked for one thing?"""
    with reading(CANDIDATES):
        summaries = answer['provider_summaries']
        return 'resources' in parse_qs(query) and all(
            each['root_provider_uuid'] == uuid and SHARING not in each['traits']
            for uuid, each in summaries.items()
        )


def _room(summary: Mapping[str, Any], hypervisor: Hypervisor) -> Room:
    with reading(CANDIDATES):
        resources = {
            name: Resource(has['capacity'], has['used'], hypervisor.largest.get(name))
            for name, has in summary['resources'].items()
        }
        return Room(resources, frozenset(summary['traits']))


def _allowed(read: Callable[[], T]) -> T | None:
    """What is read; None where the cloud's eyes may not see it."""
    try:
        return read()
    except CloudError as error:
        if error.status != _FORBIDDEN:
            raise
        return None
