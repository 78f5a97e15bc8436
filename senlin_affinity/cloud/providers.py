"""What Placement has: the resources and traits of every host, from a few unit queries.

The way of the data: ``GET /allocation_candidates`` for a unit of one resource class answers with
all providers of every tree that has a unit left, with capacity and use of all their classes; each
tree becomes one :class:`Room`. The answers do for every flavor that is asked about later. It is one
request in most clouds, and four at most:

1. ``MEMORY_MB:1``. Without a MiB of memory left, no virtual machine can come.
2. ``VCPU:1``, where hosts are missing in the first answer: what the hosts that are full have.
3. ``MEMORY_MB:1,DISK_GB:1``, where trees have no disk of their own: which sharing provider gives
   them theirs. Else ``DISK_GB:1``, where hosts are still missing.
4. ``GET /resource_providers?resources=MEMORY_MB:1``, where hosts are missing in all of them: is it
   true that nothing is left there, or was an answer cut (Placement's max_allocation_candidates)?

Shapes::

    {'allocation_requests': [{'allocations': {'<uuid>': {'resources': {'MEMORY_MB': 1}}}}],
     'provider_summaries': {'<uuid>': {
         'resources': {'MEMORY_MB': {'capacity': 2048, 'used': 64}}, 'traits': ['COMPUTE_NODE'],
         'parent_provider_uuid': None, 'root_provider_uuid': '<uuid>'}}}

Units: Placement's; the capacity is what its ratio and reserve leave. ``max_unit`` is not in these
answers: it is taken from the sizes of the hypervisors.

Source: the placement API reference; trees and all classes are in the summaries from 1.29.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.rest import Microversion, Rest
from senlin_affinity.core.flavor import DISK_GB, MEMORY_MB, VCPU
from senlin_affinity.core.objects import Resource

#: Trees, and every resource class, in the summaries.
TREES: Microversion = (1, 29)
_CANDIDATES = 'list the allocation candidates'
_PROVIDERS = 'list the resource providers'


@dataclass(frozen=True)
class Room:
    """What the providers of one tree have together; ``is_nested``: there are several."""

    resources: Mapping[str, Resource]
    traits: frozenset[str]
    is_nested: bool = False


#: A host that has nothing left of any class.
FULL = Room({}, frozenset())


class _Provider(NamedTuple):
    """What is kept of a summary."""

    root: str
    amounts: Mapping[str, Any]
    traits: frozenset[str]


class _Answers:
    """What was learnt so far: the providers, the trees, and which providers share with which."""

    def __init__(self) -> None:
        self.providers: dict[str, _Provider] = {}
        self.trees: dict[str, list[str]] = {}
        self.sharing: dict[str, set[str]] = {}
        self._traits: dict[tuple[str, ...], frozenset[str]] = {}

    def add(self, body: Any) -> None:
        """The summaries of an answer; equal traits become one object."""
        for uuid, summary in body['provider_summaries'].items():
            if uuid not in self.providers:
                names = tuple(summary['traits'])
                traits = self._traits.get(names)
                if traits is None:
                    traits = self._traits[names] = frozenset(names)
                root = summary['root_provider_uuid']
                self.providers[uuid] = _Provider(root, summary['resources'], traits)
                self.trees.setdefault(root, []).append(uuid)

    def add_sharing(self, body: Any) -> None:
        """Which tree is given what by a provider outside of it."""
        for request in body['allocation_requests']:
            uuids = list(request['allocations'])
            if len(uuids) > 1:
                roots = {uuid: self.providers[uuid].root for uuid in uuids}
                for uuid in uuids:
                    strangers = (other for other in uuids if roots[other] != roots[uuid])
                    self.sharing.setdefault(roots[uuid], set()).update(strangers)

    def is_without(self, root: str, resource_class: str) -> bool:
        """Is there no provider in the tree that has this class?"""
        return not any(resource_class in self.providers[uuid].amounts for uuid in self.trees[root])

    def room(self, root: str, largest: Mapping[str, int]) -> Room:
        """One tree, and what sharing providers give it."""
        own = [self.providers[uuid] for uuid in self.trees[root]]
        strangers = [self.providers[uuid] for uuid in sorted(self.sharing.get(root, ()))]
        if len(own) == 1 and not strangers:
            (provider,) = own
            resources = {
                name: Resource(amount['capacity'], amount['used'], largest.get(name))
                for name, amount in provider.amounts.items()
            }
            return Room(resources, provider.traits)
        traits = frozenset().union(*(provider.traits for provider in (*own, *strangers)))
        return Room(_sum(own, strangers, largest), traits, is_nested=True)


def rooms(placement: Rest, hosts: Mapping[str, Mapping[str, int]]) -> dict[str, Room | None]:
    """The room of each host, by the UUID of its root provider (which is the hypervisor's id).

    None where it is not known: Placement's answer was cut before it came to this host.

    :param hosts: by that UUID, the greatest amount of each class that one server can get there.
    """
    answers = _Answers()
    for query in _queries(answers, hosts):
        body = placement.get(
            '/allocation_candidates', _CANDIDATES, TREES, params={'resources': query}
        )
        with reading(_CANDIDATES):
            answers.add(body)
            if ',' in query:
                answers.add_sharing(body)
    with reading(_CANDIDATES):
        found: dict[str, Room | None] = {
            host: answers.room(host, largest)
            for host, largest in hosts.items()
            if host in answers.trees
        }
    missing = [host for host in hosts if host not in found]
    if missing:
        cut = _with_memory(placement)
        found |= {host: None if host in cut else FULL for host in missing}
    return found


def _queries(answers: _Answers, hosts: Collection[str]) -> Iterator[str]:
    """What to ask next, in the light of the answers so far."""
    if not hosts:
        return
    yield f'{MEMORY_MB}:1'
    if _is_missing(answers, hosts):
        yield f'{VCPU}:1'
    if any(root in answers.trees and answers.is_without(root, DISK_GB) for root in hosts):
        yield f'{MEMORY_MB}:1,{DISK_GB}:1'
    elif _is_missing(answers, hosts):
        yield f'{DISK_GB}:1'


def _is_missing(answers: _Answers, hosts: Iterable[str]) -> bool:
    return any(host not in answers.trees for host in hosts)


def _sum(
    own: Iterable[_Provider], strangers: Iterable[_Provider], largest: Mapping[str, int]
) -> dict[str, Resource]:
    """What several providers have together: those of the tree, and those that share with it."""
    resources: dict[str, Resource] = {}
    for providers, is_stranger in ((own, False), (strangers, True)):
        for provider in providers:
            for name, amount in provider.amounts.items():
                capacity, used = amount['capacity'], amount['used']
                before = resources.get(name)
                if before is not None:
                    capacity, used = before.capacity + capacity, before.used + used
                is_sum = is_stranger or before is not None
                max_unit = None if is_sum else largest.get(name)
                resources[name] = Resource(capacity, used, max_unit, is_sum=is_sum)
    return resources


def _with_memory(placement: Rest) -> frozenset[str]:
    """The roots of all trees with a provider that has memory left. This list is never cut."""
    body = placement.get(
        '/resource_providers', _PROVIDERS, TREES, params={'resources': f'{MEMORY_MB}:1'}
    )
    with reading(_PROVIDERS):
        return frozenset(item['root_provider_uuid'] for item in body['resource_providers'])
