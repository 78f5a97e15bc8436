"""Find out when servers came to the hosts that they run on, from Nova's instance actions.

Source: the compute API reference. Nova sets the ``message`` of an action if a step of it failed. A
live migration that fails late may look successful.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.paging import allowed, check_identity, list_of, reading
from senlin_affinity.cloud.rest import BASE, OwnerRest

#: The most servers per call.
MOST = 50
_MOVES = ('create', 'evacuate', 'live-migration', 'migrate', 'resize', 'unshelve')
#: Actions that end a move, and whether the server keeps its new host.
_ENDS = {'confirmResize': True, 'live_migration_cancel': False, 'revertResize': False}


def last_moves(compute: OwnerRest, servers: Iterable[str]) -> dict[str, str]:
    """Return when each server came to its host: ``{server: '2026-01-01T00:00:00.000000'}`` (UTC).

    Servers without a known time, or unknown to Nova, are left out. {} after a 403 for any of them.
    """
    moves = allowed(lambda: [(server, _last_move(compute, server)) for server in sorted(servers)])
    return {server: time for server, time in moves or () if time is not None}


def _last_move(compute: OwnerRest, server: str) -> str | None:
    """Return when the server came to its host; None if that or the server is unknown."""
    what = 'list the actions of a server'
    path = f'/servers/{quote(server, safe="")}/os-instance-actions'
    body = compute.get(path, what, BASE, may_be_missing=True)
    with reading(what):
        actions = [] if body is None else list_of(body, 'instanceActions', what)
        for each in actions:
            check_identity(each['instance_uuid'], server, what)
        return _last(actions)


def _last(actions: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the ``start_time`` of the last move that took effect; None if there is none.

    A later confirm, revert or cancel that succeeded decides. Without one, a creation did, and
    another move if its ``message`` is None.
    """
    holds: bool | None = None  # whether the move before took effect; None: see its message
    for each in sorted(actions, key=lambda each: str(each['start_time']), reverse=True):
        name, is_done = each['action'], each['message'] is None
        if name in _MOVES:
            if holds or (holds is None and (is_done or name == 'create')):
                return str(each['start_time'])
            holds = None
        elif name in _ENDS and is_done and holds is None:
            holds = _ENDS[name]
    return None
