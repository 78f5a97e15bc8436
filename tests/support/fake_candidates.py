"""A Placement that keeps providers in a list and judges them by their roots. It does no I/O.

The way of the data: a request comes in as plain values, the answer is a body in the shape of the
real one's (``tests/functional/test_candidates.py`` asks the real one the same). A request that the
real one would refuse is a mistake of the code under test, and fails at once.

Shapes::

    FakeCandidates('1.31', [FakeProvider('cmp-1', aggregates=frozenset({U}))])
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.core.member_of import MemberOf
from tests.recordings.exchanges import Reply

Microversion = tuple[int, ...]
SHARING = 'MISC_SHARES_VIA_AGGREGATE'


@dataclass(frozen=True)
class FakeProvider:
    """A provider with room: a host (without a parent), a part of one, or a sharing one."""

    name: str
    aggregates: frozenset[str] = frozenset()
    parent: str | None = None
    is_sharing: bool = False

    @property
    def id(self) -> str:
        """Its UUID, made of its name."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, self.name))


@dataclass(frozen=True)
class Asked:
    """A request that Placement got; discovery is not kept."""

    path: str
    microversion: str | None
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)


class FakeCandidates:
    """What an administrator sees.

    :param newest: the newest microversion that it offers.
    """

    def __init__(self, newest: str = '1.39', providers: Iterable[FakeProvider] = ()) -> None:
        self.newest = newest
        self.providers = tuple(providers)
        self.asked: list[Asked] = []

    def send(
        self, path: str, microversion: str | None, query: Mapping[str, Sequence[str]]
    ) -> Reply:
        """Answer a GET."""
        if path == '/':
            return Reply(200, {'versions': [self._version()]})
        self.asked.append(Asked(path, microversion, query))
        asked = _parse(microversion or '1.0')
        assert asked <= _parse(self.newest), f'{microversion} is not offered'
        if path == '/resource_providers':
            return Reply(200, {'resource_providers': [*map(_shown, self.providers)]})
        assert path == '/allocation_candidates', path
        values = query.get('member_of', ())
        assert asked >= (1, 32) or not any(value.startswith('!') for value in values), values
        assert asked >= (1, 24) or len(values) < 2, values
        return Reply(200, self._candidates(MemberOf.parse(values)))

    def _version(self) -> dict[str, Any]:
        return {
            'id': 'v1.0',
            'min_version': '1.0',
            'max_version': self.newest,
            'status': 'CURRENT',
            'links': [{'rel': 'self', 'href': ''}],
        }

    def _candidates(self, member_of: MemberOf) -> dict[str, Any]:
        """One allocation request for each provider that is left; the summaries hold all."""
        by_name = {provider.name: provider for provider in self.providers}
        left = [
            provider
            for provider in self.providers
            if member_of.admits(by_name[provider.parent or provider.name].aggregates)
        ]
        return {
            'allocation_requests': [
                {'allocations': {provider.id: {'resources': {'VCPU': 1}}}} for provider in left
            ],
            'provider_summaries': {
                provider.id: {
                    'resources': {'VCPU': {'capacity': 64, 'used': 0}},
                    'traits': [SHARING] if provider.is_sharing else [],
                    'parent_provider_uuid': provider.parent and by_name[provider.parent].id,
                    'root_provider_uuid': by_name[provider.parent or provider.name].id,
                }
                for provider in self.providers
            },
        }


def _shown(provider: FakeProvider) -> dict[str, Any]:
    return {'uuid': provider.id, 'name': provider.name, 'generation': 1, 'links': []}


def _parse(microversion: str) -> Microversion:
    return tuple(int(part) for part in microversion.split('.'))
