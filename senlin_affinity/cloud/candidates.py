"""What Placement admits, as :class:`~senlin_affinity.core.ports.Candidates`.

The way of the data: resources and a :class:`MemberOf` become the query of one request for
allocation candidates; the roots of the providers that its allocation requests name come back, with
their names out of the list of all providers. Never a request for each host.

Shapes::

    GET /allocation_candidates?resources=VCPU:1&member_of=in:U,V&member_of=!W
        -> {'allocation_requests': [{'allocations': {'<provider>': {'resources': {'VCPU': 1}}}}],
            'provider_summaries': {'<provider>': {'root_provider_uuid': '<root>', 'traits': []}}}

Units: resources in Placement's own (MiB, GiB).

Errors: InvalidSpec where Placement is too old for the constraint; a query without it is never sent
in its place. CloudError for everything else.

Source: Placement's API reference; document 001: a forbidden aggregate needs 1.32. Trees with their
roots are in the answer from 1.29. ``provider_summaries`` also lists providers that the constraint
excludes, so only what the allocation requests name counts; a sharing provider, which may be
admitted without the tree that it is excluded from, is no host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from senlin_affinity.cloud.answers import list_of, reading
from senlin_affinity.cloud.providers import SHARING, TREES
from senlin_affinity.cloud.rest import Microversion, Rest, shown
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf

BASE: Microversion = (1, 0)
FORBIDDEN: Microversion = (1, 32)
ASK = 'ask Placement for the hosts with room'


class PlacementCandidates:
    """The Placement of one cloud.

    :param placement: finds it; called when something is asked, since most clouds' users may not.
    """

    def __init__(self, placement: Callable[[], Rest]) -> None:
        self._find = placement

    def check_version(self, member_of: MemberOf, path: str = 'member_of') -> None:
        """See :meth:`Candidates.check_version`."""
        if member_of:
            self._microversion(member_of, path)

    def admitted(self, resources: Mapping[str, int], member_of: MemberOf) -> Mapping[str, str]:
        """See :meth:`Candidates.admitted`."""
        amounts = ','.join(f'{name}:{amount}' for name, amount in sorted(resources.items()))
        params = {'resources': amounts, 'member_of': member_of.to_query()}
        body = self._placement.get(
            '/allocation_candidates', ASK, self._microversion(member_of), params=params
        )
        with reading(ASK):
            roots = set(_roots(body))
        return {uuid: name for uuid, name in self._names().items() if uuid in roots}

    @cached_property
    def _placement(self) -> Rest:
        return self._find()

    def _microversion(self, member_of: MemberOf, path: str = 'member_of') -> Microversion:
        """The one that the query needs; a cloud that does not offer it is refused."""
        needed = FORBIDDEN if member_of.forbidden else TREES
        offered = self._placement.pick(needed)
        if offered >= needed:
            return needed
        what, remedy = 'aggregates of hosts', 'leave member_of out'
        if member_of.forbidden:
            what, remedy = 'forbidden aggregates', 'take the values with ! out'
        raise InvalidSpec(
            f'{what} need Placement microversion {shown(needed)}, this cloud offers '
            f'{shown(offered)}: {remedy}, or use a newer cloud',
            path,
        )

    def _names(self) -> dict[str, str]:
        what = 'list the resource providers'
        body = self._placement.get('/resource_providers', what, self._placement.pick(BASE))
        providers = list_of(body, 'resource_providers', what)
        return {str(provider.get('uuid')): str(provider.get('name')) for provider in providers}


def _roots(body: Any) -> Iterator[str]:
    """The roots of what the allocation requests use, as far as they are hosts."""
    summaries = body['provider_summaries']
    for request in body['allocation_requests']:
        for provider in request['allocations']:
            summary = summaries[provider]
            if SHARING not in summary['traits']:
                yield str(summary['root_provider_uuid'])
