"""Simulate a Placement with a list of providers, without I/O.

It supports the queries of a snapshot: trees, sharing providers, required traits, forbidden traits
of roots, a limit, one tree, aggregates of roots, and truncated answers. Numbered request groups are
ignored. ``tests/functional/test_snapshot`` compares it with the real Placement. A request that the
real one would reject or answer without trees fails at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.recordings.exchanges import Reply
from tests.support.fake_nova import FakeHost, FakeNova, NoRoute, parse, snapshot_answer

Amounts = Mapping[str, tuple[int, int]]
TRAITS = ('COMPUTE_NODE', 'COMPUTE_VOLUME_EXTEND')
SHARING = 'MISC_SHARES_VIA_AGGREGATE'


@dataclass(frozen=True)
class FakeProvider:
    """A resource provider; ``resources`` are capacity and usage by class.

    ``shares_with`` are the roots in an aggregate of this sharing provider. ``reserved`` are amounts
    by class, and ``consumers`` the amounts of each consumer.
    """

    uuid: str
    resources: Amounts
    traits: tuple[str, ...] = TRAITS
    parent: str | None = None
    name: str = ''
    shares_with: tuple[str, ...] = ()
    reserved: Mapping[str, int] = field(default_factory=dict)
    consumers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def has(self, name: str, amount: int) -> bool:
        """Return whether this amount is free."""
        capacity, used = self.resources.get(name, (0, 0))
        return used + amount <= capacity


@dataclass
class FakePlacement:
    """All providers; ``cut`` is Placement's max_allocation_candidates.

    The traits of the providers and those in ``created`` exist. It mirrors the aggregates of
    ``nova``, except those of the hosts or hypervisors in ``lost``. The hosts in ``stale`` are in
    aggregates from which Nova has removed them.
    """

    providers: list[FakeProvider] = field(default_factory=list)
    newest: str = '1.39'
    cut: int | None = None
    asked: list[str] = field(default_factory=list)
    nova: FakeNova | None = None
    created: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    stale: dict[str, set[str]] = field(default_factory=dict)
    #: What each consumer uses, by the name of the provider; it does not change the usage.
    consumers: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    #: The reserved amounts, by the name of the provider and the class.
    reserved: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, nova: FakeNova, used: Mapping[str, Amounts] | None = None) -> FakePlacement:
        """Return a provider for each host of a Nova; ``used`` replaces resources by host name."""
        own = used or {}
        return cls(
            [
                FakeProvider(
                    nova.hypervisor_id(number),
                    own.get(host.host) or _whole(host),
                    name=host.hypervisor,
                )
                for number, host in enumerate(nova.hosts)
            ],
            nova=nova,
        )

    def send(
        self, user: str, path: str, microversion: str | None, query: Sequence[tuple[str, str]]
    ) -> Reply:
        """Answer a GET request."""
        if path == '/':
            reply = snapshot_answer('placement version')
            reply.body['versions'][0]['max_version'] = self.newest
            return reply
        asked_at = parse(microversion or '1.0')
        assert (1, 29) <= asked_at <= parse(self.newest), f'{microversion}: no trees, or too new'
        self.asked.append(f'GET {path}?{"&".join(map("=".join, query))}')
        if user != 'admin':
            return snapshot_answer('candidates, not allowed')
        single = dict(query)
        asked = filter(None, single.get('resources', '').split(','))
        wanted = {name: int(amount) for name, _, amount in (item.partition(':') for item in asked)}
        if path == '/traits':
            return Reply(200, {'traits': sorted(self._traits())})
        if path == '/resource_classes':
            names = {name for each in self.providers for name in each.resources}
            return Reply(200, {'resource_classes': [{'name': name} for name in sorted(names)]})
        if path == '/allocation_candidates':
            names = {name.lstrip('!') for name in single.get('required', '').split(',') if name}
            if unknown := names - self._traits():
                error = {'detail': f'No such trait(s): {", ".join(sorted(unknown))}.'}
                return Reply(400, {'errors': [error]})
            asked_traits = {*filter(None, single.get('required', '').split(','))}
            required = {name for name in asked_traits if not name.startswith('!')}
            places = [*self._places(value for key, value in query if key == 'member_of')]
            forbidden = {each[1:] for each in single.get('root_required', '').split(',') if each}
            limit = int(single.get('limit', 0)) or None
            trees = {single.get('in_tree')} - {None} or {*map(self._root, self.providers)}
            return self._candidates(wanted, required, limit, forbidden, places, trees)
        if path == '/resource_providers':
            places = [*self._places(value for key, value in query if key == 'member_of')]
            reply = self._listed(wanted, single.get('required', ''), places, single.get('in_tree'))
            found, name = reply.body['resource_providers'], single.get('name')
            found[:] = [each for each in found if name in (None, each['name'])]
            return reply
        for provider in self.providers:
            if path == f'/resource_providers/{provider.uuid}/allocations':
                uses = {**provider.consumers, **self.consumers.get(provider.name, {})}
                shown = {consumer: {'resources': each} for consumer, each in uses.items()}
                return Reply(200, {'allocations': shown})
            if path == f'/resource_providers/{provider.uuid}/inventories':
                return Reply(200, {'inventories': self._inventories(provider)})
        raise NoRoute(f'the fake Placement has no {path}')

    def _inventories(self, provider: FakeProvider) -> dict[str, dict[str, Any]]:
        reserved = {**provider.reserved, **self.reserved.get(provider.name, {})}
        amounts = {name: capacity for name, (capacity, _used) in provider.resources.items()}
        return {
            name: {
                'total': amounts.get(name, 0) + reserved.get(name, 0),
                'reserved': reserved.get(name, 0),
                'allocation_ratio': 1.0,
                'max_unit': 1 << 31,
                'step_size': 1,
            }
            for name in amounts.keys() | reserved
        }

    def _candidates(
        self,
        wanted: Mapping[str, int],
        required: set[str],
        limit: int | None,
        forbidden: set[str],
        places: Sequence[tuple[bool, set[str]]],
        trees: Collection[str | None],
    ) -> Reply:
        cuts = [number for number in (self.cut, limit) if number is not None]
        by_root: dict[str, list[FakeProvider]] = {}
        for provider in self.providers:
            by_root.setdefault(self._root(provider), []).append(provider)
        sharing = [item for tree in by_root.values() for item in tree if SHARING in item.traits]
        requests: dict[frozenset[tuple[str, str]], dict[str, Any]] = {}
        used: dict[str, FakeProvider] = {}
        for root, tree in by_root.items():
            own = next(each for each in tree if each.uuid == root)
            is_asked = root in trees and forbidden.isdisjoint(own.traits)
            if not is_asked or any((own.uuid in uuids) != is_in for is_in, uuids in places):
                continue
            usable = [*tree, *(item for item in sharing if root in item.shares_with)]
            for chosen in _choices(wanted, usable):
                if not required <= {trait for provider in chosen for trait in provider.traits}:
                    continue
                allocations = {}
                for name, provider in zip(wanted, chosen, strict=True):
                    inner = allocations.setdefault(provider.uuid, {'resources': {}})
                    inner['resources'][name] = wanted[name]
                if len(requests) in cuts:
                    break
                taken = ((name, item.uuid) for name, item in zip(wanted, chosen, strict=True))
                requests[frozenset(taken)] = {'allocations': allocations}
                for provider in chosen:
                    used |= {item.uuid: item for item in by_root[self._root(provider)]}
        summaries = {uuid: self._summary(provider) for uuid, provider in used.items()}
        body = {'allocation_requests': [*requests.values()], 'provider_summaries': summaries}
        return Reply(200, body)

    def _traits(self) -> set[str]:
        return {*self.created, *(trait for each in self.providers for trait in each.traits)}

    def _summary(self, provider: FakeProvider) -> dict[str, Any]:
        return {
            'resources': {
                name: {'capacity': capacity, 'used': used}
                for name, (capacity, used) in provider.resources.items()
            },
            'traits': list(provider.traits),
            'parent_provider_uuid': provider.parent,
            'root_provider_uuid': self._root(provider),
        }

    def _listed(
        self,
        wanted: Mapping[str, int],
        traits: str,
        places: Sequence[tuple[bool, set[str]]],
        tree: str | None,
    ) -> Reply:
        asked = {*filter(None, traits.split(','))}
        forbidden = {each[1:] for each in asked if each.startswith('!')}
        required = {each for each in asked if not each.startswith('!')}
        template = snapshot_answer('providers').body['resource_providers'][0]
        shown = [
            template
            | {'uuid': provider.uuid, 'name': provider.name}
            | {'parent_provider_uuid': provider.parent}
            | {'root_provider_uuid': self._root(provider)}
            for provider in self.providers
            if all(provider.has(name, amount) for name, amount in wanted.items())
            and required <= {*provider.traits}
            and forbidden.isdisjoint(provider.traits)
            and tree in (None, self._root(provider))
            and all((provider.uuid in uuids) == is_in for is_in, uuids in places)
        ]
        return Reply(200, {'resource_providers': shown})

    def _places(self, member_of: Iterable[str]) -> Iterator[tuple[bool, set[str]]]:
        """Yield UUIDs of roots, and whether a root must be one of them or none."""
        for each in member_of:
            value = each.removeprefix('!').removeprefix('in:')
            yield not each.startswith('!'), self._members(f'in:{value}')

    def _members(self, member_of: str) -> set[str]:
        assert member_of.startswith('in:'), member_of
        asked, nova = member_of.removeprefix('in:').split(','), self.nova or FakeNova()
        found = {host for each in nova.aggregates if each.id in asked for host in each.hosts}
        found |= {host for host, stale in self.stale.items() if stale.intersection(asked)}
        return {
            nova.hypervisor_id(number)
            for number, item in enumerate(nova.hosts)
            if item.host in found and self.lost.isdisjoint((item.host, item.hypervisor))
        }

    def _root(self, provider: FakeProvider) -> str:
        return provider.parent or provider.uuid


def _whole(host: FakeHost) -> Amounts:
    return {
        'VCPU': (host.vcpus * 4, 0),
        'MEMORY_MB': (host.memory_mb, 0),
        'DISK_GB': (host.disk_gb, 0),
    }


def _choices(
    wanted: Mapping[str, int], usable: Iterable[FakeProvider]
) -> Iterator[tuple[FakeProvider, ...]]:
    """Return every way to take each class from one provider."""
    return itertools.product(
        *([item for item in usable if item.has(*asked)] for asked in wanted.items())
    )
