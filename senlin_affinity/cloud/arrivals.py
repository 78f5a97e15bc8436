"""When servers came to the hosts that they are on, by what Nova remembers of its actions.

Requests: one for each server that is asked about; who asks keeps to ``MOST``.

Source: the compute API reference, ``os-instance-actions``. Whoever may not read them gets nothing.
Nova notes a failed step of an action as its ``message``. A resize is also told by what was done
with it; a live migration that fails late, on the host, may look like one that was done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.answers import check_identity, list_of, reading
from senlin_affinity.cloud.rest import BASE, OwnerRest
from senlin_affinity.model.errors import CloudError

#: Servers that one call should ask about.
MOST = 50
#: The actions that give a server a host.
_MOVES = ('create', 'evacuate', 'live-migration', 'migrate', 'resize', 'unshelve')
#: Whether the move before them holds.
_ENDS = {'confirmResize': True, 'live_migration_cancel': False, 'revertResize': False}


def arrived(compute: OwnerRest, servers: Iterable[str]) -> dict[str, str]:
    """The last time that each server came to a host, as ISO 8601 in UTC, where that is known."""
    what = 'list the actions of a server'
    found = {}
    for server in sorted(servers):
        try:
            path = f'/servers/{quote(server, safe="")}/os-instance-actions'
            body = compute.get(path, what, BASE, may_be_missing=True)
        except CloudError as error:
            if error.status != 403:
                raise
            return {}
        with reading(what):
            actions = [] if body is None else list_of(body, 'instanceActions', what)
            for each in actions:
                check_identity(each['instance_uuid'], server, what)
            time = _last(actions)
            if time is not None:
                found[server] = time
    return found


def _last(actions: Sequence[Mapping[str, Any]]) -> str | None:
    """When the last move that holds began; Nova lists the newest action first."""
    holds: bool | None = None  # the move before; None: its own message says so
    for each in sorted(actions, key=lambda each: str(each['start_time']), reverse=True):
        name, is_done = each['action'], each['message'] is None
        if name in _MOVES:
            if holds or (holds is None and (is_done or name == 'create')):
                return str(each['start_time'])
            holds = None
        elif name in _ENDS and is_done and holds is None:
            holds = _ENDS[name]
    return None
