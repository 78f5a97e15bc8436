"""Group the members of a server group by host, and find the hosts that violate its policy.

A host is a compute host, or the ``hostId`` of the servers if the caller may not list hosts. Nothing
violates a soft policy. Servers in BUILD violate no policy, because Nova may still move them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from senlin_affinity.model.server_group import AFFINITY, BUILD, ServerGroup


@dataclass(frozen=True)
class Place:
    """The members of a group on one host; ``host`` is None for members without a known host.

    ``since`` is the time of the first violation by these members; None if unknown.
    """

    host: str | None
    servers: tuple[str, ...]
    is_violated: bool = False
    since: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the host and the servers as plain values, ready for JSON."""
        return {'host': self.host, 'servers': list(self.servers)}


def places(group: ServerGroup) -> tuple[Place, ...]:
    """Return the members by host, the fullest first, and mark violations of the policy."""
    by_host: dict[str | None, list[str]] = {}
    for member in group.members:
        by_host.setdefault(member.host or member.host_id, []).append(member.server)
    settled = _settled(group)
    known = sorted(host for host in by_host if host is not None)
    known.sort(key=lambda host: (-settled[host], -len(by_host[host])))
    limit = group.max_server_per_host
    found = []
    for number, host in enumerate(known):
        servers = settled[host]
        is_elsewhere = group.policy == AFFINITY and number > 0 and servers > 0
        is_violated = (limit is not None and servers > limit) or is_elsewhere
        found.append(Place(host, tuple(sorted(by_host[host])), is_violated))
    if None in by_host:
        found.append(Place(None, tuple(sorted(by_host[None]))))
    return tuple(found)


def _settled(group: ServerGroup) -> Counter[str | None]:
    """Return the number of members on each host that Nova does not move any more."""
    return Counter(each.host or each.host_id for each in group.members if each.state != BUILD)


def violated(group: ServerGroup | None) -> tuple[Place, ...]:
    """Return the places that violate the policy; with affinity, all but the fullest."""
    if group is None or (group.max_server_per_host is None and group.policy != AFFINITY):
        return ()
    most = group.max_server_per_host
    if most is not None and max(_settled(group).values(), default=0) <= most:
        return ()
    return tuple(place for place in places(group) if place.is_violated)
