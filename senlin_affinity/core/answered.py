"""What is known of Placement's own answer to a question.

A question whose query was not asked, as with another flavor or in another zone, has no answer: the
figures of the resources have to do.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import NamedTuple

from senlin_affinity.core import candidate_query
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest


class Answered(NamedTuple):
    """The query, or None where its answer is not known; ``is_whole``: all of the answer is."""

    query: str | None = None
    is_whole: bool = False

    @property
    def is_cut(self) -> bool:
        """Is there an answer, and perhaps more of it?"""
        return self.query is not None and not self.is_whole


NOT_ASKED = Answered()


def answered(resolved: ResolvedRequest) -> Answered:
    """The query of this question. For :meth:`ResolvedRequest.once`."""
    known = queries(resolved.snapshot)
    query = candidate_query.query(resolved) if known else None
    if query not in known:
        return NOT_ASKED
    return Answered(query, query in resolved.snapshot.answered)


def queries(snapshot: CloudSnapshot) -> frozenset[str]:
    """What Placement was asked, whether or not all of the answer is known."""
    return snapshot.queries


def may_take_of_pools(resolved: ResolvedRequest, host: Host) -> bool:
    """May servers here use up a pool of other hosts, though this one has more of the class?

    Which provider it is, is Placement's choice: the hosts of the pool may get less of it.
    """
    has = host.resources or {}
    return any(name in has and has[name].is_sum for name in resolved.once(_scarce))


def _scarce(resolved: ResolvedRequest) -> frozenset[str]:
    """The classes of pools that have too little for all that the hosts would take of them."""
    pools = resolved.snapshot.pools
    if not pools or resolved.demand is None:
        return frozenset()
    asked, answer = resolved.demand.amounts, resolved.once(answered)
    names = frozenset(asked).intersection(chain(*pools.values()))
    wanted: Counter[tuple[str | None, str]] = Counter()
    for host in resolved.snapshot.hosts or ():
        grant = host.grant(answer.query)
        if grant is None:
            if not answer.is_whole:
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
