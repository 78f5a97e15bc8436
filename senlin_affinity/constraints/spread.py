"""Servers spread evenly over zones, racks or other domains, and no more than so many in one.

A domain takes servers until it is ``max_skew`` ahead of the emptiest eligible one. Eligible is one
with a host on which nothing but room is missing; it counts when it is full, too, so it bounds the
others: if F is the least that any eligible domain can hold in the end, a domain with c servers
takes F + max_skew - c more at most. That is reached where each server goes to the emptiest domain.

A host of two domains of one criterion, or of none, is not eligible. A soft spread refuses nothing.
Servers of the group that nobody knows the domain of may be in any: what a domain takes is then as
much as if they were where they raise F most, and "at most". Certain is what it takes if they are
all in it, and do not raise F. They cannot be in all domains at once, so more may be certain of the
sum; which of them is the worst place depends on the others, and is not sought.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from senlin_affinity.constraints.base import Data, Domain, Host, Reason, ResolvedRequest, Verdict
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Planned, Replanner
from senlin_affinity.core.planning.topology import domain_of, domains_of, lost, servers
from senlin_affinity.core.spread import Spread

#: Whatever the code is: which one it is tells of hosts.
_FOR_OWNER = 'they must be spread by {spread}'


class SpreadConstraint:
    """The spread of the request."""

    name = 'spread'
    order = 105
    summary = 'servers spread evenly over zones, racks or other domains'
    needs = ('hosts', 'aggregates')
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = False
    may_be_given_up = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'spread.room': Reason('{by} {domain} has room'),
        'spread.full': Reason(
            'holds {servers} servers, max_per_domain is {max_per_domain} for each {by}',
            advice='raise max_per_domain, or add domains',
            detail='domain',
            for_owner=_FOR_OWNER,
        ),
        'spread.skew': Reason(
            '{by} {domain} holds {servers} servers, and the emptiest can hold {least} '
            '(max_skew {max_skew})',
            advice='make room in the emptiest domain, or raise max_skew',
            detail='domain',
            for_owner=_FOR_OWNER,
        ),
        'spread.no_domain': Reason(
            'in no domain by {by}',
            advice='put the host into an aggregate with the key, or a zone',
            for_owner=_FOR_OWNER,
        ),
        'spread.several_domains': Reason(
            'in several domains by {by}: {domains}',
            advice='leave the host in one aggregate with the key',
            for_owner=_FOR_OWNER,
        ),
        'spread.none': Reason('no spread is asked for that refuses hosts'),
        'spread.in_domain': Reason('in one domain of each criterion'),
        'spread.unknown': Reason('in which domain by {by} the host lies is not known'),
    }

    def without(self, _question: ResolvedRequest) -> Data:
        """What gives the rule up."""
        return {'spread': []}

    def has_domains(self, resolved: ResolvedRequest) -> bool:
        """Is a spread asked for that refuses anything?"""
        return bool(_hard(resolved))

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`: it must lie in one domain."""
        spreads = _hard(resolved)
        if not spreads:
            return Verdict.skipped('spread.none')
        unknown = None
        for spread in spreads:
            names = domains_of(resolved.snapshot, spread.by, host)
            if names is None:
                unknown = Verdict.unknown('spread.unknown', by=spread.by)
            elif not names:
                return Verdict.rejected('spread.no_domain', by=spread.by)
            elif len(names) > 1:
                domains = ', '.join(sorted(names))
                return Verdict.rejected('spread.several_domains', by=spread.by, domains=domains)
        return unknown or Verdict.passed('spread.in_domain')

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('availability_zone', 'aggregates') if _hard(resolved) else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The domains of the host."""
        return tuple(domains_of(resolved.snapshot, spread.by, host) for spread in _hard(resolved))

    def domains(self, resolved: ResolvedRequest, host: Host) -> Collection[Domain]:
        """See :meth:`DomainConstraint.domains`."""
        each = ((item.by, domain_of(resolved.snapshot, item.by, host)) for item in _hard(resolved))
        return [Domain(by, name) for by, name in each if name is not None]

    def check_domains(
        self, resolved: ResolvedRequest, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """See :meth:`DomainConstraint.check_domains`."""
        by = {domain.by for domain in rooms}
        if not by:
            return {}
        (spread,) = [item for item in _hard(resolved) if item.by in by]
        held, hidden = servers(resolved, spread.by), lost(resolved, spread.by)
        ends: list[int] = []
        for domain, room in rooms.items():
            most = _left(spread, held[domain.name])
            least = most if room is None else room if most is None else min(room, most)
            if least is not None:
                ends.append(held[domain.name] + least)
        heapq.heapify(ends)
        sure = ends[0] if ends else None
        for _server in range(hidden if ends else 0):
            heapq.heapreplace(ends, ends[0] + 1)
        floor = ends[0] if ends else None
        said = {domain: _verdict(spread, domain, held[domain.name], floor) for domain in rooms}
        if hidden:
            for domain, verdict in said.items():
                least = _verdict(spread, domain, held[domain.name] + hidden, sure).room
                if verdict:
                    said[domain] = replace(verdict, is_at_most=True, least=least)
        return said

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """A larger skew, and more servers in a domain."""
        spreads = _hard(planner.resolved)
        for spread in spreads:
            beside = f' by {spread.by}' if len(spreads) > 1 else ''
            more, then = _raised(planner, spread, _skewed)
            change = f'max_skew: {spread.max_skew + more}{beside}'
            yield planner.change('max_skew', change, more, then, kind=Kind.ASKERS, is_owners=True)
            if (most := spread.max_per_domain) is None:
                continue
            more, then = _raised(planner, spread, _filled)
            change = f'max_per_domain: {most + more}{beside}'
            kind = Kind.ASKERS
            yield planner.change('max_per_domain', change, more, then, kind=kind, is_owners=True)


def _skewed(spread: Spread, more: int) -> Spread:
    return replace(spread, max_skew=spread.max_skew + more)


def _filled(spread: Spread, more: int) -> Spread:
    return replace(spread, max_per_domain=(spread.max_per_domain or 0) + more)


def _raised(
    planner: Replanner, spread: Spread, raised: Callable[[Spread, int], Spread]
) -> tuple[int, Planned]:
    """By how much a limit of the spread is raised."""
    held = servers(planner.resolved, spread.by).values()
    every = planner.resolved.request.spread

    def attempt(more: int) -> Planned:
        each = (raised(item, more) if item == spread else item for item in every)
        return planner.plan({'spread': [item.as_dict() for item in each]})

    return planner.smallest(max(held, default=0) + planner.wanted, 1, attempt)


def _hard(resolved: ResolvedRequest) -> tuple[Spread, ...]:
    return tuple(spread for spread in resolved.request.spread if spread.is_hard)


def _left(spread: Spread, held: int) -> int | None:
    """What ``max_per_domain`` leaves."""
    return None if spread.max_per_domain is None else max(0, spread.max_per_domain - held)


def _verdict(spread: Spread, domain: Domain, held: int, floor: int | None) -> Verdict:
    facts: dict[str, Any] = {'by': domain.by, 'domain': domain.name, 'servers': held}
    left = _left(spread, held)
    if left == 0:
        return Verdict.rejected('spread.full', max_per_domain=spread.max_per_domain, **facts)
    if floor is None:
        # There is no limit, either.
        return Verdict.passed('spread.room', **facts)
    ahead = floor + spread.max_skew - held
    if ahead < 1:
        return Verdict.rejected('spread.skew', least=floor, max_skew=spread.max_skew, **facts)
    room = ahead if left is None else min(left, ahead)
    return Verdict.passed('spread.room', room=room, **facts)
