"""Spread servers evenly over zones, racks or other domains.

A domain is eligible if one of its hosts lacks nothing but room, so a full one limits the others. A
host in several domains of one criterion, or in none, is not eligible; one in Nova's default zone
only if hosts are pinned, because Nova may use any host for that zone.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from senlin_affinity.constraints.base import (
    Change,
    Cloud,
    Constraint,
    Data,
    Domain,
    Evaluated,
    Host,
    Kind,
    RaisedNumber,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova.effective_zone import default_zone
from senlin_affinity.nova.topology import domain_of, domains_of, lost
from senlin_affinity.scenario.scenario import Scenario

_FOR_OWNER = 'the servers must be spread by {spread}'


class _Criteria(NamedTuple):
    """The criteria of the hard spreads, and the zone that is not a domain (None: every zone is)."""

    of_spreads: tuple[str, ...]
    default_zone: str | None


class SpreadConstraint(Constraint):
    """The hard spreads of the request."""

    name = 'spread'
    order = 105
    summary = 'servers spread evenly over zones, racks or other domains'
    needs = ('hosts', 'aggregates')
    reads_flavor = ()
    reads = ('availability_zone', 'aggregates')
    is_waivable = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'spread.room': Reason('{by} {domain} has room'),
        'spread.full': Reason(
            'holds {servers} servers, max_per_domain is {max_per_domain} for each {by}',
            advice='raise max_per_domain, or add domains',
            detail='domain',
            for_owner=_FOR_OWNER,
            is_state=True,
        ),
        'spread.skew': Reason(
            '{by} {domain} holds {servers} servers, but the emptiest domain can hold only {least} '
            '(max_skew {max_skew})',
            advice='free capacity in the emptiest domain, or raise max_skew',
            detail='domain',
            for_owner=_FOR_OWNER,
            is_state=True,
        ),
        'spread.no_domain': Reason(
            'in no domain by {by}',
            advice='add the host to an aggregate with this metadata key (or with a zone)',
            for_owner=_FOR_OWNER,
        ),
        'spread.several_domains': Reason(
            'in several domains by {by}: {domains}',
            advice='remove the host from the aggregates of all domains but one',
            for_owner=_FOR_OWNER,
        ),
        'spread.default_zone': Reason(
            'zone {domain} is not a domain: no aggregate carries it, so Nova may use any host',
            advice='add the host to an aggregate with an availability zone, or pin the hosts',
            detail='domain',
            for_owner=_FOR_OWNER,
        ),
        'spread.none': Reason('the request has no hard spread'),
        'spread.in_domain': Reason('in one domain of each criterion'),
        'spread.unknown': Reason('the domain of the host by {by} is not known'),
    }

    def without(self, request: Request) -> Data:
        """Return ``{'spread': []}``."""
        return {'spread': []}

    def has_domains(self, request: Request, scenario: Scenario) -> bool:
        """Check whether the request has a hard spread."""
        return bool(_hard(request))

    def prepare(self, request: Request, cloud: Cloud) -> _Criteria | Verdict:
        """Return the criteria; SKIP ``none`` without a hard spread."""
        of_spreads = (*(spread.by for spread in _hard(request)),)
        if not of_spreads:
            return Verdict.skipped('spread.none')
        return _Criteria(
            of_spreads, request.memo(default_zone, cloud) if ZONE in of_spreads else None
        )

    def check(self, asked: _Criteria, host: Host, cloud: Cloud) -> Verdict:
        """Check that the host is in one domain of each hard spread: PASS ``in_domain``.

        REJECT ``no_domain``, ``several_domains`` or ``default_zone``; else ``unknown`` if any
        domain is.
        """
        unknown = None
        for by in asked.of_spreads:
            names = domains_of(cloud, by, host)
            if names is None:
                unknown = Verdict.unknown('spread.unknown', by=by)
            elif not names:
                return Verdict.rejected('spread.no_domain', by=by)
            elif by == ZONE and names == {asked.default_zone}:
                return Verdict.rejected('spread.default_zone', by=by, domain=asked.default_zone)
            elif len(names) > 1:
                domains = ', '.join(sorted(names))
                return Verdict.rejected('spread.several_domains', by=by, domains=domains)
        return unknown or Verdict.passed('spread.in_domain')

    def domains(self, request: Request, scenario: Scenario, host: Host) -> Collection[Domain]:
        """Return the host's domain for each hard spread for which it has exactly one."""
        each = (
            (item.by, domain_of(request, scenario.cloud, item.by, host)) for item in _hard(request)
        )
        return [Domain(by, name) for by, name in each if name is not None]

    def check_domains(
        self, request: Request, scenario: Scenario, rooms: Mapping[Domain, int | None]
    ) -> Mapping[Domain, Verdict]:
        """Return how many more servers each domain of one criterion takes; {} without domains.

        With F, the smallest number of servers that any domain ends with (its own, and known room),
        a domain with c servers takes F + max_skew - c, at most ``max_per_domain`` - c: PASS
        ``room``; at 0 REJECT ``full`` or ``skew``. Members whose domain is unknown count where they
        raise F most; the guaranteed number assumes all of them in this domain.
        """
        by = {domain.by for domain in rooms}
        if not by:
            return {}
        (spread,) = [item for item in _hard(request) if item.by in by]
        held = scenario.servers_by(request, spread.by)
        hidden = lost(request, spread.by)
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
        verdicts = {domain: _verdict(spread, domain, held[domain.name], floor) for domain in rooms}
        if hidden:
            for domain, verdict in verdicts.items():
                least = _verdict(spread, domain, held[domain.name] + hidden, sure).room
                if verdict:
                    verdicts[domain] = verdict.with_caveat(least or 0)
        return verdicts

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield a larger ``max_skew`` and, if set, ``max_per_domain`` of each hard spread."""
        every = request.spread
        data = {'spread': [spread.as_dict() for spread in every]}
        for at, spread in enumerate(every):
            if not spread.is_hard:
                continue
            beside = f' by {spread.by}' if len(_hard(request)) > 1 else ''
            held = max(scenario.servers_by(request, spread.by).values(), default=0)
            skew = RaisedNumber(
                'max_skew',
                f'max_skew: {{number}}{beside}',
                data,
                kind=Kind.REQUESTER,
                for_tenant=True,
                path=('spread', at, 'max_skew'),
                now=spread.max_skew,
                most=held + request.count,
            )
            yield skew
            if (most := spread.max_per_domain) is not None:
                path = ('spread', at, 'max_per_domain')
                change = f'max_per_domain: {{number}}{beside}'
                yield replace(skew, code='max_per_domain', change=change, path=path, now=most)


def _hard(request: Request) -> tuple[Spread, ...]:
    """Return the hard spreads of the request."""
    return tuple(spread for spread in request.spread if spread.is_hard)


def _left(spread: Spread, held: int) -> int | None:
    """Return the number of servers that ``max_per_domain`` still allows; None: unlimited."""
    return None if spread.max_per_domain is None else max(0, spread.max_per_domain - held)


def _verdict(spread: Spread, domain: Domain, held: int, floor: int | None) -> Verdict:
    """Return the verdict on a domain with ``held`` servers: ``full``, else ``skew``, else ``room``.

    :param floor: F of ``check_domains``; None: no limit by skew.
    """
    facts: dict[str, Any] = {'by': domain.by, 'domain': domain.name, 'servers': held}
    left = _left(spread, held)
    if left == 0:
        return Verdict.rejected('spread.full', max_per_domain=spread.max_per_domain, **facts)
    ahead = None if floor is None else floor + spread.max_skew - held
    if ahead is not None and ahead < 1:
        return Verdict.rejected('spread.skew', least=floor, max_skew=spread.max_skew, **facts)
    room = min((each for each in (left, ahead) if each is not None), default=None)
    return Verdict.passed('spread.room', room=room, **facts)
