"""Where the members of a server group are, and at which of these places its rule is violated.

Shapes::

    Place('cmp-1', ('server-1', 'server-2'), is_violated=True)

A place is a compute host, or for who may not see hosts the ``hostId`` that servers share. A soft
policy is never violated.
"""

from __future__ import annotations

import math
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
        limit = group.max_server_per_host
        is_full = limit is not None and len(by_host[host]) > limit
        is_apart = group.policy == AFFINITY and number > 0
        found.append(Place(host, tuple(sorted(by_host[host])), is_full or is_apart))
    if None in by_host:
        found.append(Place(None, tuple(sorted(by_host[None]))))
    return tuple(found)


def violated(group: ServerGroup | None) -> tuple[Place, ...]:
    """The places that violate the rule; with affinity, all but the one that holds the most."""
    if group is None:
        return ()
    held = Counter(member.host or member.host_id for member in group.members)
    del held[None]
    is_one = len(held) < 2 or group.policy != AFFINITY
    if is_one and max(held.values(), default=0) <= (group.max_server_per_host or math.inf):
        return ()
    return tuple(place for place in places(group) if place.is_violated)
