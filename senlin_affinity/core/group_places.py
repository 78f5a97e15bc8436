"""Where the members of a server group are, and at which of these places its rule is violated.

Shapes::

    Place('cmp-1', ('server-1', 'server-2'), is_violated=True)

A place is a compute host, or for who may not see hosts the ``hostId`` that servers share. A soft
policy is never violated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from senlin_affinity.core.server_group import AFFINITY, ServerGroup


@dataclass(frozen=True)
class Place:
    """The members of a group on one host; ``host`` is None for those that are on none, or hidden.

    ``since`` is when the rule was first violated by those that are there; None: not known.
    """

    host: str | None
    servers: tuple[str, ...]
    is_violated: bool = False
    since: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The place as plain values, ready for JSON."""
        return {'host': self.host, 'servers': list(self.servers)}


def places(group: ServerGroup) -> tuple[Place, ...]:
    """Where the members are, the fullest host first, and which of these places violate the rule."""
    by_host: dict[str | None, list[str]] = {}
    for member in group.members:
        by_host.setdefault(member.host or member.host_id, []).append(member.server)
    known = sorted(
        (host for host in by_host if host is not None),
        key=lambda host: (-len(by_host[host]), host),
    )
    found = []
    for number, host in enumerate(known):
        servers = tuple(sorted(by_host[host]))
        found.append(Place(host, servers, _is_violated(group, number, len(servers))))
    if None in by_host:
        found.append(Place(None, tuple(sorted(by_host[None]))))
    return tuple(found)


def violated(group: ServerGroup | None) -> tuple[Place, ...]:
    """The places that violate the rule; with affinity, all but the one that holds the most."""
    if group is None:
        return ()
    held = Counter(member.host or member.host_id for member in group.members)
    del held[None]
    fullest = enumerate(sorted(held.values(), reverse=True))
    if not any(_is_violated(group, number, servers) for number, servers in fullest):
        return ()
    return tuple(place for place in places(group) if place.is_violated)


def _is_violated(group: ServerGroup, number: int, servers: int) -> bool:
    """Does so full a host violate the rule, of which so many are before it, the fullest first?"""
    limit = group.max_server_per_host
    return (limit is not None and servers > limit) or (group.policy == AFFINITY and number > 0)
