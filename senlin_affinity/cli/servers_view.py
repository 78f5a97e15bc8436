"""Where servers are, in words: how many of a group are together, and how they are spread.

Shapes::

    server group web (anti-affinity max_server_per_host=1): 2 servers on cmp-1
    5 servers, on 3 hosts: 2, 2, 1
    these hosts have 4 slots left (max_server_per_host: 3)
    in_words(Spread('rack', max_per_domain=4)) == 'rack (max_skew 1, max_per_domain 4)'
    columns(question) == {'by rack': {'cmp-1': 'r1', 'cmp-2': '-', 'cmp-3': 'r1, r2'}}
    tuple(in_domains(question, spread, decision)) == ('2 servers: r1, r3', '1 server: r2')

Units: numbers of servers of the group, with those that are placed. Domains that are not known are
"?". Zones have a column already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from senlin_affinity.core.group_places import Place, places
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.decision import Decision
from senlin_affinity.core.planning.topology import domain_of, domains_of, servers
from senlin_affinity.core.server_group import AFFINITY, ServerGroup
from senlin_affinity.core.spread import ZONE, Spread

_MOST_NAMES, _MOST_PLACES = 20, 5


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


def in_domains(resolved: ResolvedRequest, spread: Spread, decision: Decision) -> Iterator[str]:
    """How many servers each domain holds, the fullest first."""
    snapshot = resolved.snapshot
    found = (domain_of(snapshot, spread.by, host) for host in snapshot.hosts or ())
    names = sorted({name for name in found if name is not None})
    later = replace(resolved, placed=Counter(each.host for each in decision.placements))
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


def rule(group: ServerGroup) -> str:
    """Its policy and its rules."""
    rules = ', '.join(f'{key}={value}' for key, value in sorted(group.rules.items()))
    return f'{group.policy} {rules}'.strip()


def violation(group: ServerGroup, violated: Sequence[Place]) -> str:
    """Where the rule of a group does not hold already, without the id of a host."""
    names = {member.host for member in group.members}
    words = [
        f'{counted(len(place.servers), "server")} on '
        f'{place.host if place.host in names else "one host"}'
        for place in (places(group) if group.policy == AFFINITY else violated)
        if place.host is not None
    ]
    more = len(words) - _MOST_PLACES
    shown = [*words[:_MOST_PLACES], *([f'... and {counted(more, "host")} more'] * (more > 0))]
    return f'server group {group.name} ({rule(group)}): {", ".join(shown)}'


def together(group: ServerGroup) -> Iterator[str]:
    """How many servers are together; nothing where no server's host can be told from another's.

    For who may not see the hosts: a ``hostId`` is equal for the servers of one project on one host,
    and it names nothing.
    """
    places = [member.host or member.host_id for member in group.members]
    held_by = sorted(Counter(place for place in places if place).values(), reverse=True)
    lost = len(places) - sum(held_by)
    if not held_by:
        return
    numbers = ', '.join(map(str, held_by))
    words = f'{counted(sum(held_by), "server")}, on {counted(len(held_by), "host")}: {numbers}'
    yield f'{words}; and {lost} of which the host is not known' if lost else words
    limit = group.max_server_per_host
    if limit is not None:
        slots = sum(group.free_slots(held) or 0 for held in held_by)
        most = 'at most ' if lost and slots else ''
        left = f'{most}{counted(slots, "slot")} left (max_server_per_host: {limit})'
        yield f'{"this host has" if len(held_by) == 1 else "these hosts have"} {left}'
    elif group.policy == AFFINITY:
        yield f'new servers must go to {"that host" if len(held_by) == 1 else "these hosts"}'


def counted(number: int, what: str) -> str:
    """So many of them."""
    return f'{number:,} {what}{"" if number == 1 else "s"}'
