"""When servers came to the hosts that they are on, by what Nova remembers of its actions.

Requests: one for each server that is asked about, and no more than ``_MOST``.

Source: the compute API reference, ``os-instance-actions``. Whoever may not read them gets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from senlin_affinity.cloud.answers import list_of, reading
from senlin_affinity.cloud.rest import BASE, OwnersRest
from senlin_affinity.core.errors import CloudError

_MOST = 50
#: The actions that give a server a host.
_MOVES = ('create', 'evacuate', 'live-migration', 'migrate', 'resize', 'unshelve')


def arrived(compute: OwnersRest, servers: Iterable[str]) -> dict[str, str]:
    """The last time that each server came to a host, as ISO 8601 in UTC, where that is known."""
    what = 'list the actions of a server'
    found = {}
    for server in sorted(servers)[:_MOST]:
        try:
            path = f'/servers/{quote(server, safe="")}/os-instance-actions'
            body = compute.get(path, what, BASE, may_be_missing=True)
        except CloudError as error:
            if error.status != 403:
                raise
            return {}
        with reading(what):
            actions = [] if body is None else list_of(body, 'instanceActions', what)
            times = [each['start_time'] for each in actions if each['action'] in _MOVES]
            if times:
                found[server] = max(times)
    return found
