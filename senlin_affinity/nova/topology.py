"""Look up the domains of a host (its zone, its rack), and count the servers of each domain.

A criterion is ``availability_zone``, or a metadata key of aggregates, whose values are split at
commas, as in Nova; empty parts are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.spread import ZONE
from senlin_affinity.nova.effective_zone import default_zone


def domains_of(snapshot: Cloud, by: str, host: Host) -> frozenset[str] | None:
    """Return the names of the host's domains, normally one; None if unknown."""
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


def domain_of(request: Request, cloud: Cloud, by: str, host: Host) -> str | None:
    """Return the single domain of a host; None if there is none or several, or if it is unknown.

    The default zone is not a domain, because Nova does not restrict servers to it.
    """
    if by == ZONE:
        zone = host.availability_zone
        return None if zone == request.memo(default_zone, cloud) else zone
    names = domains_of(cloud, by, host)
    return next(iter(names)) if names is not None and len(names) == 1 else None


def lost(request: Request, by: str) -> int:
    """Return the number of group members whose domain is unknown."""
    group = request.server_group
    return sum(
        member.host is None and not member.is_nowhere and (by != ZONE or member.zone is None)
        for member in (() if group is None else group.members)
    )


def servers(request: Request, cloud: Cloud, by: str, placed: Mapping[str, int]) -> Counter[str]:
    """Count the servers of the group in each domain, with those that are ``placed``, by host.

    A server whose host is unknown counts in its own zone. A server on a host of several domains, or
    of none, is not counted.
    """
    found: Counter[str | None] = Counter()
    hosts, group = cloud.hosts_by_name, request.server_group
    for member in () if group is None else group.members:
        host = hosts.get(member.host or '')
        if host is not None:
            found[domain_of(request, cloud, by, host)] += 1
        elif by == ZONE and member.zone != request.memo(default_zone, cloud):
            found[member.zone] += 1
    for name, number in placed.items():
        found[domain_of(request, cloud, by, hosts[name])] += number
    return Counter({name: number for name, number in found.items() if name is not None})
