"""Look up Placement's answer to the query of a request in the snapshot.

The snapshot has no answer to a query for another flavor or another zone. The capacity is then
computed from the resources of the hosts.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import NamedTuple

from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.demand import demand_of


class PlacementAnswer(NamedTuple):
    """A query that Placement answered, or None; ``is_complete``: the answer is complete."""

    query: str | None = None
    is_complete: bool = False


NOT_ASKED = PlacementAnswer()


def placement_answer(request: Request, cloud: CloudSnapshot) -> PlacementAnswer:
    """Return the query of the request, if it was answered. For :meth:`Request.memo`."""
    known = cloud.queries
    query = candidate_query.query(request, cloud) if known else None
    if query not in known:
        return NOT_ASKED
    return PlacementAnswer(query, query in cloud.answered)


def may_take_of_pools(request: Request, cloud: CloudSnapshot, host: Host) -> bool:
    """Check whether servers on this host may use up a pool that other hosts share.

    If the host has several providers of the class, Placement chooses one of them.
    """
    has = host.resources or {}
    return any(name in has and has[name].is_sum for name in request.memo(scarce_classes, cloud))


def scarce_classes(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return the resource classes of which a pool has less than its hosts together could use."""
    pools, demand = cloud.pools, demand_of(request)
    asked = {} if demand is None else demand.amounts
    names = frozenset(asked).intersection(chain(*pools.values()))
    if not names:
        return names
    answer = request.memo(placement_answer, cloud)
    wanted: Counter[tuple[str | None, str]] = Counter()
    for host in cloud.hosts or ():
        grant = host.grant(answer.query)
        if grant is None:
            if not answer.is_complete:
                return names
            continue
        for name in names:
            has = (host.resources or {}).get(name)
            if has is None or has.is_sum or has.pool:
                wanted[None if has is None else has.pool, name] += grant.room
    return frozenset(
        name
        for uuid, given in pools.items()
        for name in names.intersection(given)
        if (wanted[uuid, name] + wanted[None, name]) * asked[name]
        > given[name].capacity - given[name].used
    )
