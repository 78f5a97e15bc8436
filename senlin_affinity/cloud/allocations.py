"""Query Placement for the allocation candidates of a flavor, and count the servers per host.

The query is the one that nova-scheduler would send. As in Nova, an allocation request belongs to a
host if it uses the host's root provider.

Placement may truncate a response (``max_allocation_candidates``) without notice. A response is
known to be complete if another response is longer, or if every host has all allocation requests
that the free capacity of its providers permits. Nothing is known about a host that an incomplete
response lacks.

Units: numbers of servers. Unless a sharing provider is a pool of the snapshot, ``certain`` includes
its capacity only if the response is complete and the provider has enough for all of its hosts.

Source: the Placement API reference.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from senlin_affinity.cloud.answers import reading
from senlin_affinity.cloud.providers import CANDIDATES, SHARING
from senlin_affinity.cloud.rest import Microversion, OperatorRest
from senlin_affinity.model.candidate_capacity import CandidateCapacity, Count, Key, Takes, count
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova import candidate_query

_MAJOR, _MINOR = map(int, candidate_query.MICROVERSION.split('.'))
#: The microversion that nova-scheduler uses.
MICROVERSION: Microversion = (_MAJOR, _MINOR)
_REFUSED = 400
_KEY = re.compile('(resources|required)(.*)')


class CandidateAnswer(NamedTuple):
    """The candidate capacity of each host, and whether the response is complete.

    If ``is_whole``, Placement rejects each host that has no candidate capacity. ``grants`` has the
    order of the hosts in the request.
    """

    grants: tuple[tuple[CandidateCapacity, ...], ...]
    is_whole: bool


class _Group(NamedTuple):
    """A request group of a query; if ``is_of_one``, a single provider must supply all of it."""

    amounts: Mapping[str, int]
    required: frozenset[str]
    forbidden: frozenset[str]
    is_of_one: bool


def ask(
    placement: OperatorRest, query: str, hosts: Sequence[Host], roots: Sequence[str], longest: int
) -> CandidateAnswer:
    """Return the candidate capacity of each host for a query. One request.

    If Placement rejects the query with a 400, no host has capacity, and the answer is complete.

    :param roots: the UUID of the root provider of each host.
    :param longest: the number of allocation requests in the longest other response.
    """
    try:
        body = candidates(placement, query)
    except CloudError as error:
        if error.status != _REFUSED:
            raise
        # Nova receives the same response and finds no host, for example if the query has two
        # request groups without a group_policy.
        return CandidateAnswer(((),) * len(hosts), is_whole=True)
    return read(body, query, hosts, roots, longest)


def candidates(placement: OperatorRest, query: str, limit: int | None = None) -> Any:
    """Fetch the allocation candidates as raw JSON, at most ``limit`` (None: all). One request."""
    query = query if limit is None else f'{query}&limit={limit}'
    return placement.get(f'/allocation_candidates?{query}', CANDIDATES, MICROVERSION)


def read(
    body: Any, query: str, hosts: Sequence[Host], roots: Sequence[str], longest: int
) -> CandidateAnswer:
    """Convert the JSON of a response; the parameters and the result are those of :func:`ask`."""
    with reading(CANDIDATES):
        requests, summaries = body['allocation_requests'], body['provider_summaries']
        found: dict[str, list[Mapping[str, Any]]] = {root: [] for root in roots}
        for request in requests:
            for uuid in request['allocations']:
                if uuid in found:
                    found[uuid].append(request['allocations'])
        is_whole = len(requests) < longest or _is_whole(query, hosts, roots, found, summaries)
        as_grants: Any = cache(lambda counted: (CandidateCapacity(query, *counted),))
        counts = _counts(
            [
                _taking(found[root], summaries, root, host) if found[root] else None
                for root, host in zip(roots, hosts, strict=True)
            ],
            is_whole=is_whole,
        )
        return CandidateAnswer(tuple(as_grants(each) if each else () for each in counts), is_whole)


def some(body: Any) -> dict[str, int]:
    """Return the guaranteed number of servers per host, from a response that may be truncated.

    The keys are the UUIDs of root providers. Sharing providers are left out, because they are not
    hosts.
    """
    with reading(CANDIDATES):
        summaries = body['provider_summaries']
        found: dict[str, list[Mapping[str, Any]]] = {}
        for request in body['allocation_requests']:
            for uuid in request['allocations']:
                summary = summaries[uuid]
                if summary['root_provider_uuid'] == uuid and SHARING not in summary['traits']:
                    found.setdefault(uuid, []).append(request['allocations'])
        taking = [_taking(each, summaries, root, Host(root, root)) for root, each in found.items()]
        counts = _counts(taking, is_whole=False)
        return {root: each.certain for root, each in zip(found, counts, strict=True) if each}


class _HostAlternatives(NamedTuple):
    """The alternative allocations of a server on a host, and the capacity that is free for them.

    ``lent`` are the resource classes of providers of other trees, except pools.
    """

    taken: list[Takes]
    free: Mapping[Key, int]
    lent: tuple[Key, ...]
    counted: Count


def _taking(
    found: Sequence[Mapping[str, Any]], summaries: Mapping[str, Any], root: str, host: Host
) -> _HostAlternatives:
    """Convert the allocations of one host, and count its servers as if nothing were shared."""
    taken: list[Takes] = [
        {
            (uuid, name): amount
            for uuid, part in allocations.items()
            for name, amount in part['resources'].items()
        }
        for allocations in found
    ]
    free = {key: _free(summaries[key[0]], key[1]) for takes in taken for key in takes}
    lent = tuple(
        key
        for key in free
        if summaries[key[0]]['root_provider_uuid'] != root and not _is_pooled(host, *key)
    )
    return _HostAlternatives(taken, free, lent, count(taken, free))


def _counts(hosts: Sequence[_HostAlternatives | None], *, is_whole: bool) -> Iterator[Count | None]:
    """Yield the number of servers of each host; None for a host without allocation requests.

    ``certain`` excludes shared capacity that other hosts could use up: all of it, unless the answer
    is complete and the provider has enough for all hosts.
    """
    known = [each for each in hosts if each is not None]
    lent = {key for each in known for key in each.lent}
    wanted: Counter[Key] = Counter()
    for each in known if lent else ():
        for key in lent.intersection(each.free):
            wanted[key] += each.counted.room * max(takes.get(key, 0) for takes in each.taken)
    for host in hosts:
        if host is None:
            yield None
            continue
        scarce = [key for key in host.lent if not is_whole or wanted[key] > host.free[key]]
        certain = host.counted.certain
        if scarce:
            left = {**host.free, **dict.fromkeys(scarce, 0)}
            certain = count(host.taken, left).certain
        yield Count(host.counted.room, certain)


def _free(summary: Mapping[str, Any], name: str) -> int:
    has = summary['resources'].get(name)
    return 0 if has is None else max(0, has['capacity'] - has['used'])


def _is_pooled(host: Host, uuid: str, name: str) -> bool:
    """Check whether the host gets a resource class from this provider as from a pool.

    The capacity of a pool is counted once for all of its hosts.
    """
    has = (host.resources or {}).get(name)
    return has is not None and has.pool == uuid


def _is_whole(
    query: str,
    hosts: Iterable[Host],
    roots: Iterable[str],
    found: Mapping[str, Sequence[object]],
    summaries: Mapping[str, Any],
) -> bool:
    """Check whether the response provably contains every allocation request of every host.

    False if a host may have more of them, or has none although its resources may be enough.
    """
    asked = parse_qs(query)
    groups = list(_groups(asked))
    member_of = MemberOf.parse(asked.get('member_of', ()))
    trees: dict[str, list[Mapping[str, Any]]] = {}
    sharing = [each for each in summaries.values() if SHARING in each['traits']]
    for summary in summaries.values():
        trees.setdefault(summary['root_provider_uuid'], []).append(summary)
    for host, root in zip(hosts, roots, strict=True):
        if found[root]:
            others = [each for each in sharing if each['root_provider_uuid'] != root]
            if len(found[root]) < _most(groups, trees[root], _lent(host, others)):
                return False
        elif host.enabled and member_of.admits(host.aggregates) and _may_have(host, groups):
            return False
    return True


def _lent(host: Host, sharing: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the summaries of the sharing providers that may share with the host.

    All of them if its resources are not completely known; otherwise, those of a class that it
    shares.
    """
    resources = host.resources or {}
    shared = {name for name, has in resources.items() if has.is_sum or has.pool is not None}
    is_open = host.resources is None or host.is_partial
    return [each for each in sharing if is_open or not shared.isdisjoint(each['resources'])]


def _groups(asked: Mapping[str, Sequence[str]]) -> Iterator[_Group]:
    """Yield the request groups of a query; the unsuffixed group includes ``root_required``."""
    of_root = asked.get('root_required', ())
    for suffix in {'', *(found[2] for found in map(_KEY.fullmatch, asked) if found)}:
        amounts = ','.join(asked.get(f'resources{suffix}', ())).split(',')
        wanted = (*asked.get(f'required{suffix}', ()), *(() if suffix else of_root))
        traits = ','.join(wanted).split(',')
        pairs = (each.rpartition(':') for each in amounts if each)
        yield _Group(
            {name: int(amount) for name, _colon, amount in pairs},
            frozenset(each for each in traits if each and not each.startswith(('!', 'in:'))),
            frozenset(each[1:] for each in traits if each.startswith('!')),
            bool(suffix),
        )


def _most(
    groups: Iterable[_Group], tree: Sequence[Mapping[str, Any]], lent: Sequence[Mapping[str, Any]]
) -> int:
    """Return an upper bound of the number of allocation requests of one host.

    The product, over the groups, of the number of providers that can supply a group of one
    provider, or each class of the unsuffixed group.
    """
    providers = [*tree, *lent]
    return math.prod(
        sum(_gives(each, group) for each in providers)
        if group.is_of_one
        else math.prod(
            sum(_free(each, name) >= amount for each in providers)
            for name, amount in group.amounts.items()
        )
        for group in groups
    )


def _gives(summary: Mapping[str, Any], group: _Group) -> bool:
    """Check whether the provider alone can supply the whole request group."""
    traits = group.required.issubset(summary['traits'])
    is_forbidden = not group.forbidden.isdisjoint(summary['traits'])
    has_room = all(_free(summary, name) >= amount for name, amount in group.amounts.items())
    return traits and not is_forbidden and has_room


def _may_have(host: Host, groups: Iterable[_Group]) -> bool:
    """Check whether the host has the resources and required traits of all groups.

    True if its resources are not fully known.
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
