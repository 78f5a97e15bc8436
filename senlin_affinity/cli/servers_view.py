"""Describe how the servers of a group are distributed over hosts and domains.

Example::

    server group web (anti-affinity max_server_per_host=1): 2 servers on cmp-1
    5 servers, on 3 hosts: 2, 2, 1
    these hosts have 4 slots left (max_server_per_host: 3)

Numbers of servers include the planned ones. Unknown domains are "?".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from senlin_affinity.answers.headline import short_sentence
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.numbers import counted
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import AFFINITY, Place, ServerGroup, places
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova.topology import domain_of, domains_of, servers

_MOST_NAMES, _MOST_PLACES = 20, 5
#: A domain that the spread itself has filled still counts.
_FULL = ('spread.full', 'spread.skew')


def in_words(spread: Spread) -> str:
    """Return the spread as a phrase: ``rack (max_skew 1, max_per_domain 4)``."""
    most = f', max_per_domain {spread.max_per_domain}' if spread.max_per_domain else ''
    return f'{spread.by} (max_skew {spread.max_skew}{most}{"" if spread.is_hard else ", soft"})'


def columns(request: Request, cloud: Cloud) -> dict[str, dict[str, str]]:
    """Return the domains of each host but zones: ``{'By rack': {'cmp-1': 'r1, r2'}}``."""
    return {
        f'By {spread.by}': {
            host.host: _names(domains_of(cloud, spread.by, host)) for host in cloud.hosts or ()
        }
        for spread in request.spread
        if spread.by != ZONE
    }


def _names(domains: frozenset[str] | None) -> str:
    return '?' if domains is None else ', '.join(sorted(domains)) or '-'


def in_domains(request: Request, cloud: Cloud, spread: Spread, decision: Decision) -> Iterator[str]:
    """Yield a line for each number of servers, the largest first: ``2 servers: r1, r3``."""
    found = (domain_of(request, cloud, spread.by, host) for host in cloud.hosts or ())
    names = sorted({name for name in found if name is not None})
    of_group = {} if request.server_group is None else request.server_group.held()
    placed = Counter(each.host for each in decision.placements)
    held = servers(request, cloud, spread.by, placed)
    with_number: dict[int, list[str]] = {}
    for name in names:
        with_number.setdefault(held[name], []).append(name)
    for number, each in sorted(with_number.items(), reverse=True):
        more = len(each) - _MOST_NAMES
        shown = [*each[:_MOST_NAMES], *([f'... and {more:,} more'] if more > 0 else [])]
        yield f'{counted(number, "server")}: {", ".join(shown)}'
    outside = sum(placed.values()) + sum(of_group.values()) - sum(held.values())
    if names and outside:
        yield f'{counted(outside, "server")}: on hosts in no domain, or in several'
    if spread.is_hard:
        yield from _uncounted(request, cloud, spread, decision)


def _uncounted(request: Request, cloud: Cloud, spread: Spread, decision: Decision) -> Iterator[str]:
    """Yield a sentence for each domain that the skew does not count, with the reasons."""
    why: dict[str, list[str | None]] = {}
    for host, report in zip(cloud.hosts or (), decision.hosts, strict=False):
        against = (
            short_sentence(verdict, decision)
            for name, verdict in report.verdicts.items()
            if not verdict and name not in decision.about_capacity and verdict.code not in _FULL
        )
        names = domains_of(cloud, spread.by, host) or ()
        for name in names if len(names) == 1 else ():
            why.setdefault(name, []).append(next(against, None))
    for name, words in sorted(why.items()):
        if None not in words:
            reasons = ', '.join(sorted({each for each in words if each is not None}))
            yield f'{name} does not count for max_skew: none of its hosts fits ({reasons})'


def rule(group: ServerGroup) -> str:
    """Return the policy and the rules of the group."""
    rules = ', '.join(f'{key}={value}' for key, value in sorted(group.rules.items()))
    return f'{group.policy} {rules}'.strip()


def violation(group: ServerGroup, violated: Sequence[Place]) -> str:
    """Return which hosts violate the group's policy, without host ids."""
    names = {member.host for member in group.members}
    words = [
        f'{counted(len(place.servers), "server")} on '
        f'{place.host if place.host in names else "one host"}'
        for place in (places(group) if group.policy == AFFINITY else violated)
        if place.host is not None
    ]
    more = len(words) - _MOST_PLACES
    shown = [
        *words[:_MOST_PLACES],
        *([f'... and {counted(more, "more host")}'] * (more > 0)),
    ]
    return f'Server group {group.name} ({rule(group)}) is violated already: {", ".join(shown)}'


def together(group: ServerGroup) -> Iterator[str]:
    """Yield how many servers share a host; yield nothing if no host is known.

    Without access to hosts, ``hostId`` is equal for servers of one project on one host.
    """
    places = [member.host or member.host_id for member in group.members]
    held_by = sorted(Counter(place for place in places if place).values(), reverse=True)
    lost = len(places) - sum(held_by)
    if not held_by:
        return
    numbers = f': {", ".join(map(str, held_by))}' if len(held_by) > 1 else ''
    words = f'{counted(sum(held_by), "server")}, on {counted(len(held_by), "host")}{numbers}'
    yield f'{words}; {lost} on unknown hosts' if lost else words
    limit = group.max_server_per_host
    if limit is not None:
        slots = sum(group.free_slots(held) or 0 for held in held_by)
        most = 'at most ' if lost and slots else ''
        left = f'{most}{counted(slots, "slot")} left (max_server_per_host: {limit})'
        yield f'{"this host has" if len(held_by) == 1 else "these hosts have"} {left}'
    elif group.policy == AFFINITY:
        yield f'new servers must go to {"that host" if len(held_by) == 1 else "these hosts"}'
