"""In which domains a host lies (its zone, its rack), and how many servers each domain holds.

A criterion is ``availability_zone``, or a metadata key of aggregates; metadata values are split on
commas, as Nova splits them.

Units: numbers of servers.
"""

from __future__ import annotations

from collections import Counter

from senlin_affinity.core.objects import CloudSnapshot, Host, Question
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
    )


def domain_of(snapshot: CloudSnapshot, by: str, host: Host) -> str | None:
    """The one domain in which a host lies; None where it lies in none, in several, or who knows."""
    names = domains_of(snapshot, by, host)
    return next(iter(names)) if names is not None and len(names) == 1 else None


def servers(question: Question, by: str) -> Counter[str]:
    """How many servers of the group each domain holds, with those that are planned.

    Those on a host of several domains, or of none, count for none.
    """
    snapshot = question.snapshot
    found: Counter[str] = Counter()
    members = question.members_on
    for name, host in {host.host: host for host in snapshot.hosts or ()}.items():
        if name in members:
            domain = domain_of(snapshot, by, host)
            if domain is not None:
                found[domain] += members[name]
    return found
