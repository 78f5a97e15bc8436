"""Where a group's servers are, for who may not see the hosts: how many are together.

Shapes::

    5 servers, on 3 hosts: 2, 2, 1
    these hosts have 4 slots left (max_server_per_host: 3)

Units: numbers of servers. A ``hostId`` is equal for the servers of one project on one host, and it
names nothing: so a plain user may know this, and no name is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from senlin_affinity.core.server_group import AFFINITY, ServerGroup


def lines(group: ServerGroup) -> Iterator[str]:
    """In words; nothing where no server's host can be told from another's."""
    places = [member.host or member.host_id for member in group.members]
    together = sorted(Counter(place for place in places if place).values(), reverse=True)
    lost = len(places) - sum(together)
    if not together:
        return
    numbers = ', '.join(map(str, together))
    words = f'{counted(sum(together), "server")}, on {counted(len(together), "host")}: {numbers}'
    yield f'{words}; and {lost} of which the host is not known' if lost else words
    limit = group.max_server_per_host
    if limit is not None:
        slots = sum(group.free_slots(held) or 0 for held in together)
        most = 'at most ' if lost and slots else ''
        left = f'{most}{counted(slots, "slot")} left (max_server_per_host: {limit})'
        yield f'{"this host has" if len(together) == 1 else "these hosts have"} {left}'
    elif group.policy == AFFINITY:
        yield f'new servers must go to {"that host" if len(together) == 1 else "these hosts"}'


def counted(number: int, what: str) -> str:
    """So many of them."""
    return f'{number:,} {what}{"" if number == 1 else "s"}'
