"""Find what lets a stuck server move; the engine confirms each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from msgspec import structs

from senlin_affinity.engine.drain_plan import Unblocking
from senlin_affinity.engine.drain_targets import Task
from senlin_affinity.engine.new_hosts import empty
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY
from senlin_affinity.nova import moves
from senlin_affinity.nova.moves import COLD, Kind


@dataclass(frozen=True)
class _Way:
    """A change of one server: a code, a text with its zone, and the server afterwards."""

    code: str
    text: str
    change: Callable[[Server], Server]
    kind: Kind | None = None


_WAYS = (
    _Way(
        'unpin',
        f'unpin it from zone {{zone}} (compute API {moves.UNPIN})',
        lambda server: structs.replace(server, pinned_zone=None),
    ),
    _Way(
        'cold',
        'stop it and migrate it cold',
        lambda server: structs.replace(server, status='SHUTOFF'),
        COLD,
    ),
)


def unblocking(task: Task, server: Server, kind: Kind) -> tuple[Unblocking, ...]:
    """Return the changes that would let the server move now, the smallest first.

    Changes of the server, alone or together; the move of its whole affinity group; one more host
    like its own.
    """
    return (
        *_of_server(task, server, kind),
        *_of_group(task, server),
        *_of_hosts(task, server, kind),
    )


def _of_server(task: Task, server: Server, kind: Kind) -> Iterator[Unblocking]:
    """Yield the smallest sets of changes of the server itself."""
    ways = [each for each in _WAYS if each.change(server) != server and each.kind != kind]
    if not moves.may_unpin(task.scenario.cloud):
        ways = [each for each in ways if each.code != 'unpin']
    found: list[set[str]] = []
    for number in range(1, len(ways) + 1):
        for some in combinations(ways, number):
            codes = {each.code for each in some}
            if any(codes >= other for other in found):
                continue
            changed, by = server, kind
            for each in some:
                changed, by = each.change(changed), each.kind or by
            if _is_accepted(task, changed, by):
                found.append(codes)
                texts = (each.text.format(zone=server.pinned_zone) for each in some)
                yield Unblocking('_'.join(each.code for each in some), ', and '.join(texts))


def _is_accepted(task: Task, server: Server, kind: Kind) -> bool:
    """Check whether a target is expected to take the server."""
    if _is_rejected(task, server, kind):
        return False
    return bool(task.room(task.request_of(server), task.scenario).expected.any())


def _is_rejected(task: Task, server: Server, kind: Kind) -> bool:
    cloud = task.scenario.cloud
    return moves.obstacle(server, kind, cloud, task.settings) is not None


def _of_group(task: Task, server: Server) -> Iterator[Unblocking]:
    """Yield the move of an affinity group whose members are all on drained hosts.

    Nova moves no member off the hosts of the group. Unshelved, the first one may go to any host.
    """
    group = task.scenario.cloud.server_groups_by_id.get(server.server_group or '')
    if group is None or group.policy != AFFINITY:
        return
    members = [task.servers.get(each.server) for each in group.members]
    if not members or None in members:
        return
    scenario, fits = task.scenario, task.is_target
    requests = [
        replace(moves.request_of(each, scenario.cloud, task.settings), server_group=None)
        for each in members
        if each is not None
    ]
    for request in requests:  # on each host, after the other members
        fits = fits & (task.room(request, scenario).expected > 0)
        scenario = scenario.place(request, dict.fromkeys(np.flatnonzero(fits).tolist(), 1))
    if fits.any():
        host = task.scenario.hosts[int(np.flatnonzero(fits)[0])].host
        text = f'shelve and offload it, then unshelve it to {host}'
        if len(members) > 1:
            text = (
                f'shelve and offload all {len(members)} servers of its group {group.name}, then '
                f'unshelve them, the first to {host}'
            )
        yield Unblocking(
            'whole_group',
            text,
            {'server_group': group.id, 'servers': [each.server for each in group.members]},
        )


def _of_hosts(task: Task, server: Server, kind: Kind) -> Iterator[Unblocking]:
    """Yield one more host like that of the server."""
    index = task.index_of(server)
    if index is None or _is_rejected(task, server, kind):
        return
    scenario = task.scenario.add([empty(task.scenario.hosts[index])])
    more = replace(task, scenario=scenario, is_target=np.append(task.is_target, True))
    if _is_accepted(more, server, kind):
        data: Mapping[str, str] = {'like': server.host or ''}
        yield Unblocking('one_more_host', f'add a host like {server.host}', data)
