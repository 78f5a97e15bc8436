"""Query Placement for the allocation candidates of a flavor, and count the servers per host.

An allocation request belongs to a host if it uses the host's root provider, as in Nova.

Placement truncates a response (``max_allocation_candidates``) without notice. A response is
complete if another is longer, or if every host has all allocation requests that its providers' free
capacity permits. Hosts that an incomplete response lacks are unknown.

Units: numbers of servers. ``room`` is an upper bound, ``certain`` a lower bound.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from senlin_affinity.cloud.paging import reading
from senlin_affinity.cloud.providers import CANDIDATES, SHARING
from senlin_affinity.cloud.rest import Microversion, OperatorRest
from senlin_affinity.model.host import CandidateCapacity, Count, Host, Key, Takes, count
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova import candidate_query

_MAJOR, _MINOR = map(int, candidate_query.MICROVERSION.split('.'))
#: The microversion that nova-scheduler uses.
MICROVERSION: Microversion = (_MAJOR, _MINOR)
_KEY = re.compile('(resources|required)(.*)')


class CandidateAnswer(NamedTuple):
    """The candidate capacity of each host, in the order of the hosts in the request.

    ``grants`` has () for a host without allocation requests, which Placement rejects if
    ``is_whole``: the response is complete.
    """

    grants: tuple[tuple[CandidateCapacity, ...], ...]
    is_whole: bool


class _Group(NamedTuple):
    """A request group of a query; if ``is_of_one``, a single provider must supply all of it."""

    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]
    is_of_one: bool


def fetch(
    placement: OperatorRest, query: str, hosts: Sequence[Host], roots: Sequence[str], longest: int
) -> CandidateAnswer:
    """Fetch the candidate capacity of each host for a query, as :func:`parse`. One request."""
    return parse(candidates(placement, query), query, hosts, roots, longest)


def candidates(placement: OperatorRest, query: str, limit: int | None = None) -> Any:
    """Fetch ``GET /allocation_candidates?<query>`` as parsed JSON; a ``limit`` is appended."""
    query = query if limit is None else f'{query}&limit={limit}'
    return placement.get(f'/allocation_candidates?{query}', CANDIDATES, MICROVERSION)


def parse(
    body: Any, query: str, hosts: Sequence[Host], roots: Sequence[str], longest: int
) -> CandidateAnswer:
    """Convert the JSON of a response to a capacity per host: ``(CandidateCapacity(query, 4, 4),)``.

    () without allocation requests. Raise CloudError for malformed JSON.

    :param roots: the UUID of the root provider of each host.
    :param longest: the number of allocation requests in the longest other response.
    """
    with reading(CANDIDATES):
        requests, summaries = body['allocation_requests'], body['provider_summaries']
        by_root: dict[str, list[Mapping[str, Any]]] = {root: [] for root in roots}
        for request in requests:
            for uuid in request['allocations']:
                if uuid in by_root:
                    by_root[uuid].append(request['allocations'])
        is_whole = len(requests) < longest or _is_whole(query, hosts, roots, by_root, summaries)
        as_grants: Any = cache(lambda counted: (CandidateCapacity(query, *counted),))
        counts = _counts(
            [
                _alternatives(by_root[root], summaries, root, host) if by_root[root] else None
                for root, host in zip(roots, hosts, strict=True)
            ],
            is_whole=is_whole,
        )
        return CandidateAnswer(tuple(as_grants(each) if each else () for each in counts), is_whole)


def lower_bounds(body: Any) -> dict[str, int]:
    """Return a guaranteed number of servers by root provider UUID.

    Capacity of sharing providers counts 0. Hosts without allocation requests are left out. Raise
    CloudError for malformed JSON.
    """
    with reading(CANDIDATES):
        summaries = body['provider_summaries']
        by_root: dict[str, list[Mapping[str, Any]]] = {}
        for request in body['allocation_requests']:
            for uuid in request['allocations']:
                summary = summaries[uuid]
                if summary['root_provider_uuid'] == uuid and SHARING not in summary['traits']:
                    by_root.setdefault(uuid, []).append(request['allocations'])
        hosts = [
            _alternatives(each, summaries, root, Host(root, root)) for root, each in by_root.items()
        ]
        counts = _counts(hosts, is_whole=False)
        return {root: each.certain for root, each in zip(by_root, counts, strict=True) if each}


class _HostAlternatives(NamedTuple):
    """The alternative allocations of a server on a host, and the free capacity by (UUID, class).

    ``shared_keys`` are the keys of other trees, except a ``Resource.pool`` of the host. ``counted``
    is the number of servers if no other host used these.
    """

    taken: list[Takes]
    free: Mapping[Key, int]
    shared_keys: tuple[Key, ...]
    counted: Count


def _alternatives(
    allocations: Sequence[Mapping[str, Any]], summaries: Mapping[str, Any], root: str, host: Host
) -> _HostAlternatives:
    """Convert the allocations of one host, and count its servers.

    :param allocations: of each allocation request: ``{uuid: {'resources': ...}}``.
    """
    taken: list[Takes] = [
        {
            (uuid, name): amount
            for uuid, part in parts.items()
            for name, amount in part['resources'].items()
        }
        for parts in allocations
    ]
    free = {key: _free(summaries[key[0]], key[1]) for takes in taken for key in takes}
    pooled = {(has.pool, name) for name, has in (host.resources or {}).items()}
    shared_keys = tuple(
        key for key in free.keys() - pooled if summaries[key[0]]['root_provider_uuid'] != root
    )
    return _HostAlternatives(taken, free, shared_keys, count(taken, free))


def _counts(hosts: Sequence[_HostAlternatives | None], *, is_whole: bool) -> Iterator[Count | None]:
    """Yield the ``room`` of ``counted`` and the ``certain`` of each host; None for a None.

    For ``certain``, a ``shared_keys`` key counts 0, unless ``is_whole`` and enough is free for the
    ``room`` of all hosts that use it.
    """
    known = [each for each in hosts if each is not None]
    shared_keys = {key for each in known for key in each.shared_keys}
    wanted: Counter[Key] = Counter()
    for each in known if shared_keys else ():
        for key in shared_keys.intersection(each.free):
            wanted[key] += each.counted.room * max(takes.get(key, 0) for takes in each.taken)
    for host in hosts:
        if host is None:
            yield None
            continue
        scarce = [key for key in host.shared_keys if not is_whole or wanted[key] > host.free[key]]
        certain = host.counted.certain
        if scarce:
            left = {**host.free, **dict.fromkeys(scarce, 0)}
            certain = count(host.taken, left).certain
        yield Count(host.counted.room, certain)


def _free(summary: Mapping[str, Any], name: str) -> int:
    """Return ``capacity - used`` of a resource class, at least 0; 0 without the class."""
    has = summary['resources'].get(name)
    return 0 if has is None else max(0, has['capacity'] - has['used'])


def _is_whole(
    query: str,
    hosts: Iterable[Host],
    roots: Iterable[str],
    by_root: Mapping[str, Sequence[object]],
    summaries: Mapping[str, Any],
) -> bool:
    """Check whether the response provably contains every allocation request of every host.

    False if a host has fewer than its free capacity permits, or none although it is enabled,
    admitted by ``member_of``, and may have the resources and traits.

    :param by_root: the allocation requests by UUID of the root provider.
    """
    parameters = parse_qs(query)
    groups = list(_groups(parameters))
    member_of = MemberOf.parse(parameters.get('member_of', ()))
    trees: dict[str, list[Mapping[str, Any]]] = {}
    sharing = [each for each in summaries.values() if SHARING in each['traits']]
    for summary in summaries.values():
        trees.setdefault(summary['root_provider_uuid'], []).append(summary)
    for host, root in zip(hosts, roots, strict=True):
        if by_root[root]:
            others = [each for each in sharing if each['root_provider_uuid'] != root]
            providers = [*trees[root], *_may_share(host, others)]
            if len(by_root[root]) < _max_requests(groups, providers):
                return False
        elif host.enabled and member_of.admits(host.aggregates) and _may_have(host, groups):
            return False
    return True


def _may_share(host: Host, sharing: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the summaries of the sharing providers that may share with the host.

    All if its resources are unknown or partial, else those with a class that it gets from several
    providers or a pool.
    """
    resources = host.resources or {}
    shared = {name for name, has in resources.items() if has.is_sum or has.pool is not None}
    is_open = host.resources is None or host.is_partial
    return [each for each in sharing if is_open or not shared.isdisjoint(each['resources'])]


def _groups(parameters: Mapping[str, Sequence[str]]) -> Iterator[_Group]:
    """Yield the request groups of a parsed query in any order, one for each suffix and ''.

    ``{'resources1': ['VCPU:2'], 'required1': ['A,!B']}`` yields ``_Group({'VCPU': 2}, {'A'}, {'B'},
    True)`` and an empty group. ``root_required`` counts for ''; ``in:`` traits do not count.
    """
    of_root = parameters.get('root_required', ())
    for suffix in {'', *(found[2] for found in map(_KEY.fullmatch, parameters) if found)}:
        amounts = parameters.get(f'resources{suffix}', [''])[0].split(',')
        wanted = (*parameters.get(f'required{suffix}', ()), *(() if suffix else of_root))
        traits = [each.strip() for each in ','.join(wanted).split(',')]
        pairs = (each.rpartition(':') for each in amounts if each)
        yield _Group(
            {name: int(amount) for name, _colon, amount in pairs},
            frozenset(each for each in traits if each and not each.startswith(('!', 'in:'))),
            frozenset(each[1:] for each in traits if each.startswith('!')),
            bool(suffix),
        )


def _max_requests(groups: Iterable[_Group], providers: Sequence[Mapping[str, Any]]) -> int:
    """Return an upper bound of the number of allocation requests of a host with these providers.

    The product of the numbers of providers that can supply each suffixed group, and each unsuffixed
    class (of any traits).
    """
    return math.prod(
        sum(_can_supply(each, group) for each in providers)
        if group.is_of_one
        else math.prod(
            sum(_free(each, name) >= amount for each in providers)
            for name, amount in group.amounts.items()
        )
        for group in groups
    )


def _can_supply(summary: Mapping[str, Any], group: _Group) -> bool:
    """Check whether the provider has the free capacity, all required and no forbidden traits."""
    traits = group.required.issubset(summary['traits'])
    is_forbidden = not group.forbidden.isdisjoint(summary['traits'])
    has_room = all(_free(summary, name) >= amount for name, amount in group.amounts.items())
    return traits and not is_forbidden and has_room


def _may_have(host: Host, groups: Iterable[_Group]) -> bool:
    """Check whether the host has the free capacity and the required traits of each group alone.

    True if the resources are unknown or partial.
    """
    if host.resources is None or host.is_partial:
        return True
    for group in groups:
        for name, amount in group.amounts.items():
            has = host.resources.get(name)
            if has is None or has.capacity - has.used < amount:
                return False
        if not group.required <= host.traits:
            return False
    return True
