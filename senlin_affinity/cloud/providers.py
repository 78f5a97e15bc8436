"""Fetch the resources and traits of every host from Placement, by a few queries for one unit.

``GET /allocation_candidates`` for one unit of a resource class returns all providers of every tree
that has a unit left, with the capacity and usage of all their classes. The requests, of which most
clouds need two:

1. ``GET /resource_providers?required=MISC_SHARES_VIA_AGGREGATE``, because no other response reveals
a provider that shares a class other than disk. 2. ``MEMORY_MB:1``. 3. If there are sharing
providers, ``MEMORY_MB:1,DISK_GB:1``; otherwise ``VCPU:1``, if the second response lacks hosts. 4.
``GET /resource_providers?resources=MEMORY_MB:1``, if hosts are still missing: do they have no
memory left, or was a response truncated?

If a single sharing provider supplies a class that the host itself lacks, the provider is a pool,
and the numbers are exact. The sum of several is an upper bound. CPUs and memory are assumed to be a
host's own.

Units: Placement's; the capacity is the total minus the reserve, times the allocation ratio.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

from senlin_affinity.cloud.paging import reading
from senlin_affinity.cloud.rest import Microversion, OperatorRest
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB, PCPU, VCPU
from senlin_affinity.model.host import Resource

#: The first microversion with trees and all resource classes.
TREES: Microversion = (1, 29)
#: The most requests of :func:`rooms`.
MOST_REQUESTS = 4
#: The trait of a sharing provider.
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
CANDIDATES = 'list the allocation candidates'
_PROVIDERS = 'list the resource providers'
_NAMES = 'list the traits and resource classes'
#: Classes that no provider shares; classes of which a host has none if no response shows any.
_OWN = (VCPU, PCPU, MEMORY_MB)
_ASKED = (*_OWN, DISK_GB)


@dataclass(frozen=True)
class HostInventory:
    """The resources and traits of one provider tree, including what sharing providers supply.

    ``resources`` of None are unknown, and if ``is_partial``, each class that they lack. ``pools``
    are the providers that they name, with all classes. ``is_nested`` is False for a tree of one
    provider to which others supply nothing but pools.
    """

    resources: Mapping[str, Resource] | None
    traits: frozenset[str] = frozenset()
    is_nested: bool = False
    is_partial: bool = False
    pools: Mapping[str, Mapping[str, Resource]] = field(default_factory=dict)


class HostInventories(NamedTuple):
    """The resources of hosts, by the UUID of the root provider.

    A response with fewer allocation requests than ``longest`` was not truncated.
    """

    rooms: Mapping[str, HostInventory] = {}
    longest: int = 0


_NOTHING = Resource(0, 0)
#: Of a host without memory left that no response has.
FULL = HostInventory({MEMORY_MB: _NOTHING}, is_partial=True)


class _Provider(NamedTuple):
    """The facts of a provider summary that the resources of hosts depend on."""

    uuid: str
    root: str
    amounts: Mapping[str, Any]
    traits: frozenset[str]

    def resource(self, name: str, **more: Any) -> Resource:
        """Return the capacity and the usage of a class; the usage is at most the capacity."""
        amount = self.amounts[name]
        return Resource(amount['capacity'], min(amount['used'], amount['capacity']), **more)


class _Answers:
    """The providers in all responses so far, and their trees."""

    def __init__(self) -> None:
        self.providers: dict[str, _Provider] = {}
        self.trees: dict[str, list[str]] = {}
        self.longest = 0
        self._as_set: Any = cache(frozenset)

    def add(self, body: Any) -> None:
        """Add the providers of a response, except those of earlier ones."""
        self.longest = max(self.longest, len(body['allocation_requests']))
        for uuid, summary in body['provider_summaries'].items():
            if uuid not in self.providers:
                traits = self._as_set(tuple(summary['traits']))
                root = summary['root_provider_uuid']
                self.providers[uuid] = _Provider(uuid, root, summary['resources'], traits)
                self.trees.setdefault(root, []).append(uuid)

    def room(self, root: str, largest: Mapping[str, int], shared: _Shared | None) -> HostInventory:
        """Combine the providers of a tree with those that share with it.

        The usage of an only provider may exceed its capacity. If sharing providers may be hidden,
        the host ``is_partial``, without the classes that these may supply.

        :param largest: the greatest amount of each class that one server can get.
        :param shared: None: nothing is shared.
        """
        own = [self.providers[uuid] for uuid in self.trees[root]]
        givers = () if shared is None else shared.givers.get(root, ())
        sharing = [self.providers[uuid] for uuid in sorted(givers)]
        if len(own) == 1 and not sharing:
            (provider,) = own
            traits = provider.traits
            resources = {
                name: Resource(amount['capacity'], amount['used'], largest.get(name))
                for name, amount in provider.amounts.items()
            }
        else:
            given = (provider.traits - {SHARING} for provider in sharing)
            traits = frozenset().union(*(provider.traits for provider in own), *given)
            pooled = shared.pooled(own, sharing) if shared is not None else {}
            resources = _sum(own, sharing, largest, pooled)
        is_nested = len(own) > 1 or not all(_is_pool(each, resources, own) for each in sharing)
        is_partial = not (shared is None or shared.is_known(root))
        if shared is not None and is_partial:
            names = (name for name in (*resources, *_ASKED) if shared.is_whole(root, name))
            resources = {name: resources.get(name, _NOTHING) for name in names}
        named = {has.pool for has in resources.values()} if sharing else ()
        pools = {
            each.uuid: {name: each.resource(name) for name in each.amounts}
            for each in sharing
            if each.uuid in named
        }
        return HostInventory(resources, traits, is_nested, is_partial, pools)


class _Shared:
    """The sharing providers of each tree, as far as the responses reveal them.

    The second response has every pair of memory and disk, so it shows each sharing provider with a
    GB left beside each tree with memory left. One that is full, or shares another class, is hidden:
    it may supply anything but disk to any host.
    """

    def __init__(
        self, sharing: frozenset[str], hosts: Collection[str], answers: _Answers, *bodies: Any
    ) -> None:
        first, second = bodies
        providers = answers.providers
        self._hosts = hosts
        #: The sharing providers of other trees with which the second response pairs a tree.
        self.givers: dict[str, set[str]] = {}
        self._with_disk: set[str] = set()
        for request in second['allocation_requests']:
            uuids = list(request['allocations'])
            roots = [providers[uuid].root for uuid in uuids]
            self._with_disk.update(roots)
            for root in roots:
                for uuid in sharing.intersection(uuids):
                    if providers[uuid].root != root:
                        self.givers.setdefault(root, set()).add(uuid)
        summaries = first['provider_summaries'].values()
        self._with_memory = {summary['root_provider_uuid'] for summary in summaries}
        lengths = [len(body['allocation_requests']) for body in (first, second)]
        self._is_perhaps_cut = lengths[1] >= lengths[0]
        shown = [providers[uuid] for uuid in sharing if uuid in providers]
        disks = [each.amounts[DISK_GB] for each in shown if DISK_GB in each.amounts]
        self._is_hidden = sum(disk['used'] < disk['capacity'] for disk in disks) < len(sharing)
        self._classes = {name for provider in shown for name in provider.amounts}

    def pooled(
        self, own: Iterable[_Provider], sharing: Iterable[_Provider]
    ) -> Mapping[str, _Provider]:
        """Return the provider of each class that only one of them has, if that shares the class.

        Providers in the trees of hosts are left out.
        """
        every = Counter(name for provider in (*own, *sharing) for name in provider.amounts)
        return {
            name: provider
            for provider in sharing
            if provider.root not in self._hosts
            for name in provider.amounts
            if every[name] == 1
        }

    def is_known(self, root: str) -> bool:
        """Check whether the responses show every provider that shares with the tree."""
        return not self._is_hidden and self._is_disk_known(root)

    def is_whole(self, root: str, name: str) -> bool:
        """Check whether the responses show all that the tree can use of a class.

        True for VCPU, PCPU and MEMORY_MB. For DISK_GB if the tree has memory left, and is in the
        second response or that is not truncated. For another class if no sharing provider is hidden
        or has it.
        """
        if name in _OWN:
            return True
        if name == DISK_GB:
            return self._is_disk_known(root)
        return not self._is_hidden and name not in self._classes

    def _is_disk_known(self, root: str) -> bool:
        """Check whether the second response shows the disk of the tree, or that it has none."""
        return root in self._with_memory and (root in self._with_disk or not self._is_perhaps_cut)


def rooms(
    placement: OperatorRest, hosts: Mapping[str, Mapping[str, int]], most: int = MOST_REQUESTS
) -> HostInventories:
    """Fetch the resources of each host, by the UUID of its root provider (the hypervisor's id).

    A host that the responses lack is left out, or ``FULL`` if it has no memory left (with sharing
    providers, only four requests show that). No request without hosts.

    :param hosts: by UUID, the greatest amount of each class that one server can get.
    :param most: the maximum number of requests, 3 or 4.
    """
    if not hosts:
        return HostInventories()
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
        found |= dict.fromkeys(missing - with_memory(placement), FULL)
    return HostInventories(found, answers.longest)


def with_memory(placement: OperatorRest) -> frozenset[str]:
    """Fetch the UUIDs of all root providers with a MiB of memory left."""
    return _listed(placement, 'root_provider_uuid', resources=f'{MEMORY_MB}:1')


def uses_of(placement: OperatorRest, uuid: str, what: str) -> dict[str, dict[str, int]]:
    """Return the amounts that each consumer uses of one provider. One request.

    :param what: what an error says that could not be done.
    """
    path = f'/resource_providers/{quote(uuid, safe="")}/allocations'
    body = placement.get(path, what, TREES)
    with reading(what):
        return {
            consumer: {name: int(amount) for name, amount in each['resources'].items()}
            for consumer, each in body['allocations'].items()
        }


def existing(placement: OperatorRest) -> tuple[frozenset[str], frozenset[str]]:
    """Fetch the names of all traits, and those of all resource classes. Two requests."""
    traits = placement.get('/traits', _NAMES, TREES)
    classes = placement.get('/resource_classes', _NAMES, TREES)
    with reading(_NAMES):
        return (
            frozenset(map(str, traits['traits'])),
            frozenset(str(item['name']) for item in classes['resource_classes']),
        )


def _candidates(placement: OperatorRest, resources: str) -> Any:
    """Fetch the allocation candidates for resources such as "VCPU:1", as parsed JSON."""
    return placement.get(
        '/allocation_candidates', CANDIDATES, TREES, params={'resources': resources}
    )


def _listed(placement: OperatorRest, key: str, **query: str) -> frozenset[str]:
    """Fetch the value under ``key`` of each resource provider that a query finds."""
    body = placement.get('/resource_providers', _PROVIDERS, TREES, params=query)
    with reading(_PROVIDERS):
        return frozenset(item[key] for item in body['resource_providers'])


def _sum(
    own: Iterable[_Provider],
    sharing: Collection[_Provider],
    largest: Mapping[str, int],
    pooled: Mapping[str, _Provider],
) -> dict[str, Resource]:
    """Add up the resources of a tree and of the providers that share with it, by class.

    A usage counts up to the capacity. A class in ``pooled`` is not added up, and names its pool.
    Any other class of several providers, or shared one, ``is_sum``. Neither has a ``max_unit``.
    """
    resources: dict[str, Resource] = {}
    for provider in (*own, *sharing):
        for name in provider.amounts:
            if name in pooled:
                resources[name] = provider.resource(name, pool=provider.uuid)
            elif name in resources or provider in sharing:
                before, more = resources.get(name, _NOTHING), provider.resource(name)
                capacity, used = before.capacity + more.capacity, before.used + more.used
                resources[name] = Resource(capacity, used, is_sum=True)
            else:
                resources[name] = provider.resource(name, max_unit=largest.get(name))
    return resources


def _is_pool(
    provider: _Provider, resources: Mapping[str, Resource], own: Iterable[_Provider]
) -> bool:
    """Check whether each class of the provider is a pool, and the tree has all of its traits."""
    its_own = frozenset().union(*(each.traits for each in own))
    return provider.traits <= its_own | {SHARING} and all(
        resources[name].pool == provider.uuid for name in provider.amounts
    )
