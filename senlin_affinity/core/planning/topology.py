"""In which domains a host lies (its zone, its rack), and how many servers each domain holds.

A criterion is ``availability_zone``, or a metadata key of aggregates; metadata values are split on
commas, as Nova splits them. What is empty names no domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.server_group import Member
from senlin_affinity.core.spread import ZONE


def domains_of(snapshot: CloudSnapshot, by: str, host: Host) -> frozenset[str] | None:
    """The names of the domains in which a host lies: one, if all is well. None: not known."""
    if by == ZONE:
        return None if host.availability_zone is None else frozenset((host.availability_zone,))
    if snapshot.aggregates is None:
        return None
    known = snapshot.aggregates_by_uuid
    return frozenset(
        name
        for uuid in host.aggregates
        if uuid in known and by in known[uuid].metadata
        for name in map(str.strip, known[uuid].metadata[by].split(','))
        if name
    )


def domain_of(snapshot: CloudSnapshot, by: str, host: Host) -> str | None:
    """The one domain in which a host lies; None where it lies in none, in several, or who knows."""
    if by == ZONE:
        return host.availability_zone
    names = domains_of(snapshot, by, host)
    return next(iter(names)) if names is not None and len(names) == 1 else None


def lost(resolved: ResolvedRequest, by: str) -> int:
    """How many servers of the group are in a domain, and nobody knows in which."""
    group = resolved.server_group
    return sum(
        member.host is None and not member.is_nowhere and (by != ZONE or member.zone is None)
        for member in (() if group is None else group.members)
    )


def servers(resolved: ResolvedRequest, by: str) -> Counter[str]:
    """How many servers of the group each domain holds, with those that are planned."""
    group = resolved.server_group
    return held(resolved.snapshot, () if group is None else group.members, by, resolved.placed)


def held(
    snapshot: CloudSnapshot,
    members: Iterable[Member],
    by: str,
    placed: Mapping[str, int] | None = None,
) -> Counter[str]:
    """How many of these servers, and of those that are planned on hosts, each domain holds.

    A server whose host is not known is in the zone that it tells itself. Those on a host of several
    domains, or of none, count for none.
    """
    found: Counter[str | None] = Counter()
    hosts = snapshot.hosts_by_name
    for member in members:
        host = hosts.get(member.host or '')
        if host is not None:
            found[domain_of(snapshot, by, host)] += 1
        elif by == ZONE:
            found[member.zone] += 1
    for name, number in (placed or {}).items():
        found[domain_of(snapshot, by, hosts[name])] += number
    return Counter({name: number for name, number in found.items() if name is not None})
