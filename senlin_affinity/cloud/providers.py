"""What Placement has: the resources and traits of every host, from a few unit queries.

``GET /allocation_candidates`` for a unit of one resource class answers with all providers of every
tree that has a unit left, with capacity and use of all their classes; each tree becomes one
:class:`Room`, which does for every flavor. It is two requests in most clouds, and four at most:

1. ``GET /resource_providers?required=MISC_SHARES_VIA_AGGREGATE``: are there sharing providers? They
   may give a host what it has none of, and no other answer tells of one that shares another class.
2. ``MEMORY_MB:1``. Without a MiB of memory left, no virtual machine can come.
3. ``MEMORY_MB:1,DISK_GB:1``, where there are sharing providers: which of them gives disk to whom.
   Else ``VCPU:1``, where hosts are missing in the second answer: what those without memory have.
4. ``GET /resource_providers?resources=MEMORY_MB:1``, where hosts are missing still: is it true that
   no memory is left there, or was an answer cut (Placement's max_allocation_candidates)?

A class of which a host has none itself, and which one sharing provider gives it, is exact: the
provider is a pool. The sum of several providers is "at most", and so is what another host shares.
What is not told is not known (``is_partial``); CPUs and memory are taken to be a host's own.

Units: Placement's; the capacity is what its ratio and reserve leave. ``max_unit`` is not in these
answers: it is taken from the sizes of the hypervisors.

Source: the placement API reference; trees and all classes are in the summaries from 1.29.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.rest import Microversion, OperatorRest
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, PCPU, VCPU
from senlin_affinity.model.host import Resource

#: Trees, and every resource class, in the summaries.
TREES: Microversion = (1, 29)
#: The most requests that it takes.
MOST_REQUESTS = 4
#: The trait of a provider that shares its resources with the members of its aggregates.
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
CANDIDATES = 'list the allocation candidates'
_PROVIDERS = 'list the resource providers'
#: What no provider shares with a host; and of which it is known where a host has none.
_OWN = (VCPU, PCPU, MEMORY_MB)
_ASKED = (*_OWN, DISK_GB)


@dataclass(frozen=True)
class Room:
    """What the providers of one tree have together; ``is_nested``: there are several.

    ``resources`` of None are not known; ``is_partial``: of a class that is not in them nothing is
    known. ``pools`` are the providers that the resources name, with all they have. A tree of one
    provider that takes whatever others give it from pools alone is not nested.
    """

    resources: Mapping[str, Resource] | None
    traits: frozenset[str] = frozenset()
    is_nested: bool = False
    is_partial: bool = False
    pools: Mapping[str, Mapping[str, Resource]] = field(default_factory=dict)


class ProviderRooms(NamedTuple):
    """The rooms, by the UUIDs of their root providers.

    ``longest`` is the number of allocation requests of the longest answer: none that is shorter can
    have been cut.
    """

    rooms: Mapping[str, Room] = {}
    longest: int = 0


_NOTHING = Resource(0, 0)
#: A host that has no memory left, and answered to nothing else.
FULL = Room({MEMORY_MB: _NOTHING}, is_partial=True)


class _Provider(NamedTuple):
    """What is kept of a summary."""

    uuid: str
    root: str
    amounts: Mapping[str, Any]
    traits: frozenset[str]

    def resource(self, name: str, **more: Any) -> Resource:
        """What it has of a class. What is used beyond the capacity does not count."""
        amount = self.amounts[name]
        return Resource(amount['capacity'], min(amount['used'], amount['capacity']), **more)


class _Answers:
    """What was learnt so far: the providers and their trees."""

    def __init__(self) -> None:
        self.providers: dict[str, _Provider] = {}
        self.trees: dict[str, list[str]] = {}
        self.longest = 0
        self._as_set: Any = cache(frozenset)

    def add(self, body: Any) -> None:
        """The summaries of an answer; equal traits become one object."""
        self.longest = max(self.longest, len(body['allocation_requests']))
        for uuid, summary in body['provider_summaries'].items():
            if uuid not in self.providers:
                traits = self._as_set(tuple(summary['traits']))
                root = summary['root_provider_uuid']
                self.providers[uuid] = _Provider(uuid, root, summary['resources'], traits)
                self.trees.setdefault(root, []).append(uuid)

    def room(self, root: str, largest: Mapping[str, int], shared: _Shared | None) -> Room:
        """One tree, and what sharing providers give it."""
        own = [self.providers[uuid] for uuid in self.trees[root]]
        strangers = shared.given_to(root) if shared is not None else []
        if len(own) == 1 and not strangers:
            (provider,) = own
            traits = provider.traits
            resources = {
                name: Resource(amount['capacity'], amount['used'], largest.get(name))
                for name, amount in provider.amounts.items()
            }
        else:
            given = (provider.traits - {SHARING} for provider in strangers)
            traits = frozenset().union(*(provider.traits for provider in own), *given)
            pooled = shared.pooled(own, strangers) if shared is not None else {}
            resources = _sum(own, strangers, largest, pooled)
        is_nested = len(own) > 1 or not all(_is_pool(each, resources, own) for each in strangers)
        is_partial = not (shared is None or shared.is_known(root))
        if shared is not None and is_partial:
            names = (name for name in (*resources, *_ASKED) if shared.is_whole(root, name))
            resources = {name: resources.get(name, _NOTHING) for name in names}
        named = {has.pool for has in resources.values()} if strangers else ()
        pools = {
            each.uuid: {name: each.resource(name) for name in each.amounts}
            for each in strangers
            if each.uuid in named
        }
        return Room(resources, traits, is_nested, is_partial, pools)


class _Shared:
    """Which provider gives a tree what it has none of, as far as the answers tell.

    The second query has a request for every pair of memory and disk. A sharing provider with a GB
    left is in a pair with each tree that it shares with and that has memory left. One that is full,
    or shares another class, is ``hidden``: it may give any host anything but disk.
    """

    def __init__(
        self, sharing: frozenset[str], hosts: Collection[str], answers: _Answers, *bodies: Any
    ) -> None:
        first, second = bodies
        self._providers = providers = answers.providers
        self._hosts = hosts
        self._givers: dict[str, set[str]] = {}
        self._with_disk: set[str] = set()
        for request in second['allocation_requests']:
            uuids = list(request['allocations'])
            roots = [providers[uuid].root for uuid in uuids]
            self._with_disk.update(roots)
            for root in roots:
                for uuid in sharing.intersection(uuids):
                    if providers[uuid].root != root:
                        self._givers.setdefault(root, set()).add(uuid)
        summaries = first['provider_summaries'].values()
        self._with_memory = {summary['root_provider_uuid'] for summary in summaries}
        # An answer that is shorter than another one can not have been cut.
        lengths = [len(body['allocation_requests']) for body in (first, second)]
        self._is_perhaps_cut = lengths[1] >= lengths[0]
        seen = [providers[uuid] for uuid in sharing if uuid in providers]
        disks = [each.amounts[DISK_GB] for each in seen if DISK_GB in each.amounts]
        self._is_hidden = sum(disk['used'] < disk['capacity'] for disk in disks) < len(sharing)
        self._classes = {name for provider in seen for name in provider.amounts}

    def given_to(self, root: str) -> list[_Provider]:
        """The providers that share with a tree."""
        return [self._providers[uuid] for uuid in sorted(self._givers.get(root, ()))]

    def pooled(
        self, own: Iterable[_Provider], strangers: Iterable[_Provider]
    ) -> Mapping[str, _Provider]:
        """The classes that one provider alone gives, which is no host and uses nothing itself."""
        every = Counter(name for provider in (*own, *strangers) for name in provider.amounts)
        return {
            name: provider
            for provider in strangers
            if provider.root not in self._hosts
            for name in provider.amounts
            if every[name] == 1
        }

    def is_known(self, root: str) -> bool:
        """Is there nothing more that the tree might be given?"""
        return not self._is_hidden and self._is_disk_known(root)

    def is_whole(self, root: str, name: str) -> bool:
        """Is that all of this class which the tree might be given?"""
        if name in _OWN:
            return True
        if name == DISK_GB:
            return self._is_disk_known(root)
        return not self._is_hidden and name not in self._classes

    def _is_disk_known(self, root: str) -> bool:
        """Did the second answer come to this tree, or tell by its silence that it has no disk?"""
        return root in self._with_memory and (root in self._with_disk or not self._is_perhaps_cut)


def rooms(
    placement: OperatorRest, hosts: Mapping[str, Mapping[str, int]], most: int = MOST_REQUESTS
) -> ProviderRooms:
    """The room of each host, by the UUID of its root provider (which is the hypervisor's id).

    A host that Placement's answers do not come to is not among them.

    :param hosts: by that UUID, the greatest amount of each class that one server can get there.
    :param most: the requests that it may take, 3 or 4.
    """
    if not hosts:
        return ProviderRooms()
    answers, shared = _Answers(), None
    sharing = _listed(placement, 'uuid', required=SHARING)
    with reading(CANDIDATES):
        first = _candidates(placement, f'{MEMORY_MB}:1')
        answers.add(first)
        is_missing = any(host not in answers.trees for host in hosts)
        if sharing:
            second = _candidates(placement, f'{MEMORY_MB}:1,{DISK_GB}:1')
            answers.add(second)
            shared = _Shared(sharing, hosts, answers, first, second)
        elif is_missing and most >= MOST_REQUESTS:
            answers.add(_candidates(placement, f'{VCPU}:1'))
        found = {
            host: answers.room(host, largest, shared)
            for host, largest in hosts.items()
            if host in answers.trees
        }
    missing = hosts.keys() - found.keys()
    if missing and not (sharing and most < MOST_REQUESTS):
        cut = _listed(placement, 'root_provider_uuid', resources=f'{MEMORY_MB}:1')
        found |= dict.fromkeys(missing - cut, FULL)
    return ProviderRooms(found, answers.longest)


def _candidates(placement: OperatorRest, resources: str) -> Any:
    return placement.get(
        '/allocation_candidates', CANDIDATES, TREES, params={'resources': resources}
    )


def _listed(placement: OperatorRest, key: str, **query: str) -> frozenset[str]:
    """Of each provider in a list, which is never cut, one value."""
    body = placement.get('/resource_providers', _PROVIDERS, TREES, params=query)
    with reading(_PROVIDERS):
        return frozenset(item[key] for item in body['resource_providers'])


def _sum(
    own: Iterable[_Provider],
    strangers: Iterable[_Provider],
    largest: Mapping[str, int],
    pooled: Mapping[str, _Provider],
) -> dict[str, Resource]:
    """What several providers have together: those of the tree, and those that share with it.

    What is used of a provider beyond its capacity is not taken from the others. What is pooled is
    no sum.
    """
    resources: dict[str, Resource] = {}
    for providers, is_stranger in ((own, False), (strangers, True)):
        for provider in providers:
            for name in provider.amounts:
                if name in pooled:
                    resources[name] = provider.resource(name, pool=provider.uuid)
                    continue
                capacity, used = provider.resource(name)[:2]
                before = resources.get(name)
                if before is not None:
                    capacity, used = before.capacity + capacity, before.used + used
                is_sum = is_stranger or before is not None
                max_unit = None if is_sum else largest.get(name)
                resources[name] = Resource(capacity, used, max_unit, is_sum=is_sum)
    return resources


def _is_pool(
    stranger: _Provider, resources: Mapping[str, Resource], own: Iterable[_Provider]
) -> bool:
    """Is all that it gives pooled, and has it no trait that the tree lacks?"""
    its_own = frozenset().union(*(provider.traits for provider in own))
    return stranger.traits <= its_own | {SHARING} and all(
        resources[name].pool == stranger.uuid for name in stranger.amounts
    )
