"""A spread for the eyes: what is asked for, the domains of each host, the servers in each domain.

Shapes::

    in_words(Spread('rack', max_per_domain=4)) == 'rack (max_skew 1, max_per_domain 4)'
    columns(question) == {'by rack': {'cmp-1': 'r1', 'cmp-2': '-', 'cmp-3': 'r1, r2'}}
    tuple(lines(question, spread, decision)) == ('2 servers: r1, r3', '1 server: r2')

Units: numbers of servers of the group, with those that are placed. Domains that are not known are
"?". Zones have a column already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from senlin_affinity.cli.group_view import counted
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.decision import Decision
from senlin_affinity.core.planning.topology import domain_of, domains_of, servers
from senlin_affinity.core.spread import ZONE, Spread

_MOST_NAMES = 20


def in_words(spread: Spread) -> str:
    """What is asked for."""
    most = f', max_per_domain {spread.max_per_domain}' if spread.max_per_domain else ''
    return f'{spread.by} (max_skew {spread.max_skew}{most}{"" if spread.is_hard else ", soft"})'


def columns(resolved: ResolvedRequest) -> dict[str, dict[str, str]]:
    """For each criterion, the domains of each host."""
    return {
        f'by {spread.by}': {
            host.host: _names(domains_of(resolved.snapshot, spread.by, host))
            for host in resolved.snapshot.hosts or ()
        }
        for spread in resolved.request.spread
        if spread.by != ZONE
    }


def _names(domains: frozenset[str] | None) -> str:
    return '?' if domains is None else ', '.join(sorted(domains)) or '-'


def lines(resolved: ResolvedRequest, spread: Spread, decision: Decision) -> Iterator[str]:
    """How many servers each domain holds, the fullest first."""
    snapshot = resolved.snapshot
    found = (domain_of(snapshot, spread.by, host) for host in snapshot.hosts or ())
    names = sorted({name for name in found if name is not None})
    placed = Counter(each.host for each in decision.placements)
    later = replace(resolved, placed=placed)
    held = servers(later, spread.by)
    with_number: dict[int, list[str]] = {}
    for name in names:
        with_number.setdefault(held[name], []).append(name)
    for number, each in sorted(with_number.items(), reverse=True):
        more = len(each) - _MOST_NAMES
        shown = [*each[:_MOST_NAMES], *([f'... and {more:,} more'] if more > 0 else [])]
        yield f'{counted(number, "server")}: {", ".join(shown)}'
    outside = sum(later.members_on.values()) - sum(held.values())
    if names and outside:
        yield f'{counted(outside, "server")}: on hosts that are not in one of them'
