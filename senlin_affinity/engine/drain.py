"""Plan how the servers of hosts move to other hosts, so that the hosts end empty.

Example::

    plan = drain(['cmp-7'], scenario, settings, constraints)
    plan.moves[0]        web-1 to cmp-3, live, wave 1
    plan.stuck[0]        db-1: server_group.other_host, "..."
    plan.line()          '31 of 33 servers move in 5 waves; 2 are stuck'

1. The drained hosts are disabled: none of them takes a server. ``targets`` limits the others.
2. ``nova.moves`` rejects servers that no host could take, and gives the request of each other one.
3. The requests are placed one after the other, the hardest first. A server that fits nowhere,
   wherever the other servers go, is stuck, with the verdicts of its hosts. If the others do not all
   fit in this order, other orders are tried; what is left then is "not found", which proves nothing
   unless no order is possible. It has the verdicts of the hosts after the moves of the others.
4. Moves that may run at the same time are in one wave: members of one group move one after the
   other, because Nova checks a group before, not after, a concurrent move (bug 1821755). Each move
   holds resources on both hosts until its wave has ended.

A plan says ``fits`` True only if Nova's scheduler would accept each move, in this order, on its
named target; False only if a server is stuck, or if no order moves all others; None otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

import numpy as np

from senlin_affinity.engine import capacity
from senlin_affinity.engine.drain_orders import Kin, Order, Placed, best_order
from senlin_affinity.engine.drain_plan import DrainPlan as DrainPlan
from senlin_affinity.engine.drain_plan import Move as Move
from senlin_affinity.engine.drain_plan import Stuck as Stuck
from senlin_affinity.engine.drain_plan import Unblocking as Unblocking
from senlin_affinity.engine.drain_remedies import unblocking
from senlin_affinity.engine.drain_targets import Room, Task
from senlin_affinity.engine.table import capacity_constraints, nearest
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server import Server
from senlin_affinity.model.verdict import Assumption, Reason, Verdict, sentence
from senlin_affinity.nova import moves
from senlin_affinity.nova.group_policy import SYNC
from senlin_affinity.nova.moves import Kind
from senlin_affinity.scenario.constraint import Constraint, reasons_of
from senlin_affinity.scenario.scenario import Scenario

#: The code of a server if there is no other host.
NO_TARGET = 'move.no_target'
#: The sentences of the codes that are no constraint's.
REASONS: Mapping[str, Reason] = {
    **moves.REASONS,
    NO_TARGET: Reason('there is no other host that may take it'),
}


def drain(
    hosts: Sequence[str],
    scenario: Scenario,
    settings: Settings,
    constraints: Sequence[Constraint],
    *,
    targets: Iterable[str] | None = None,
) -> DrainPlan:
    """Plan the moves of all servers of these service hosts.

    :param targets: the service hosts that may take servers; None: all others.
    """
    drained = (*dict.fromkeys(hosts),)
    task = Task.of(drained, scenario, settings, constraints, targets)
    servers = [*task.servers.values()]
    reasons = {**reasons_of(constraints), **REASONS}
    stuck: list[Stuck] = []
    movable: list[tuple[Server, Kind]] = []
    for server in servers:
        kind = moves.kind_of(server)
        verdict = moves.obstacle(server, kind, task.scenario.cloud, settings)
        if verdict is None:
            movable.append((server, kind))
        else:
            why = sentence(verdict, reasons)
            stuck.append(Stuck(server, kind, verdict, why, {}, unblocking(task, server, kind)))
    every = _kin(task, movable)
    open_kin = []
    for kin in every:
        if kin.room.is_open or may_open(task, kin, every):
            open_kin.append(kin)
        else:
            stuck += stuck_of(task, kin, reasons)
    best, place_of = best_order(task, open_kin), {name: at for at, name in enumerate(task.servers)}
    return DrainPlan(
        drained,
        in_waves(task, best.placed),
        tuple(sorted(stuck, key=lambda each: place_of[each.server.id])),
        tuple(server for kin in best.left for server in kin.servers),
        best.is_proven,
        (*assumed_by(kin.room for kin in every),),
        (*_blocked(task, best, reasons),),
    )


def _kin(task: Task, servers: Iterable[tuple[Server, Kind]]) -> list[Kin]:
    """Return the servers by equal requests, in the order in which these appear."""
    found: list[tuple[Request, Kind, list[Server]]] = []
    for server, kind in servers:
        request = task.request_of(server)
        for known, of_kind, members in found:
            if of_kind == kind and known == request:
                members.append(server)
                break
        else:
            found.append((request, kind, [server]))
    return [
        Kin(request, kind, (*members,), task.room(request, task.scenario))
        for request, kind, members in found
    ]


def may_open(task: Task, kin: Kin, every: Iterable[Kin]) -> bool:
    """Check whether a host may take one of the servers after all others have moved.

    Others free what a shared pool has, and change the hosts that scheduler hints mean.
    """
    if not task.is_coupled:
        return False
    hints = {
        name: value
        for name, value in kin.request.scheduler_hints.items()
        if task.named.isdisjoint(scheduler_hints.servers(kin.request.scheduler_hints, name))
    }
    request = replace(kin.request, scheduler_hints=hints)
    gone = {server.id: each.request for each in every for server in each.servers}

    def others(server: Server) -> Mapping[str, Request]:
        return {name: each for name, each in gone.items() if name != server.id}

    rooms = (task.room(request, task.without(task.scenario, others(each))) for each in kin.servers)
    return any(room.is_open for room in rooms)


def stuck_of(
    task: Task, kin: Kin, reasons: Mapping[str, Reason], *, remedies: bool = True
) -> Iterator[Stuck]:
    """Yield the servers of equal requests that no host takes, with the verdicts.

    The reason is that of the host which is the closest to being suitable, the first in ``hosts``.
    """
    room, names = kin.room, task.scenario.columns.names
    places = np.flatnonzero(task.is_target).tolist()
    indexes = room.table.row_of[places].tolist()
    numbers, rows = Counter(indexes), room.table.rows
    hosts = {
        names[at]: code
        for at, row in zip(places, indexes, strict=True)
        if (code := rows[row].code) is not None
    }
    verdict = room.rejection
    if verdict is None:
        verdict = Verdict.rejected(NO_TARGET)
        about = capacity_constraints(task.constraints)
        near = {*map(id, nearest((rows[row] for row in numbers), reasons, about))}
        found = [row for row in numbers if id(rows[row]) in near]
        if found:
            row = max(found, key=numbers.__getitem__)
            first = places[indexes.index(row)]
            verdict = room.table.verdicts(first)[rows[row].rejected_by or '']
            hosts = {names[first]: verdict.code, **hosts}
    why = sentence(verdict, reasons)
    changes = unblocking(task, kin.servers[0], kin.kind) if remedies else ()
    for server in kin.servers:
        yield Stuck(server, kin.kind, verdict, why, hosts, changes)


def _blocked(task: Task, best: Order, reasons: Mapping[str, Reason]) -> Iterator[Stuck]:
    """Yield each server that is left and that no host takes after the moves, with the verdict."""
    if not best.left:
        return
    scenario = task.scenario
    for each in best.placed:
        scenario = scenario.place(each.kin.request, {each.index: 1})
        scenario = task.located(scenario, {each.server.id: each.index})
    scenario = task.without(scenario, {each.server.id: each.kin.request for each in best.placed})
    for kin in best.left:
        room = task.room(kin.request, scenario)
        if not room.is_open:
            yield from stuck_of(task, replace(kin, room=room), reasons, remedies=False)


def in_waves(task: Task, placed: Iterable[Placed]) -> tuple[Move, ...]:
    """Return the moves by wave."""
    found: list[Move] = []
    for _stage, group in groupby(placed, key=attrgetter('stage')):
        begin, last = max((each.wave for each in found), default=0), dict[str, int]()
        for each in group:
            server, kind, host = each.server, each.kin.kind, task.scenario.hosts[each.index]
            keys = task.keys(server, each.kin.request)
            wave = 1 + max((last.get(key, 0) for key in keys), default=0)
            last |= dict.fromkeys(keys, wave)
            found.append(
                Move(
                    server,
                    kind,
                    host.host,
                    host.hypervisor_hostname,
                    begin + wave,
                    moves.unchecked(server, kind),
                    (*each.caveats, *_caveats(task, server, kind, host)),
                )
            )
    return tuple(sorted(found, key=attrgetter('wave')))


def _caveats(task: Task, server: Server, kind: Kind, target: Host) -> Iterator[str]:
    """Yield why Nova may reject a target for a reason that no constraint reads."""
    yield from moves.caveats(server, kind)
    for name in scheduler_hints.servers(server.hints, scheduler_hints.SAME_HOST):
        other = task.servers.get(name)
        is_noticed = kind == moves.EVACUATE  # the target tells nova-scheduler
        if other is not None and moves.kind_of(other) == moves.LIVE and not is_noticed:
            yield f'nova-scheduler notices the live migration of {other.name} only after {SYNC.key}'
    index = task.index_of(server)
    differs = None if index is None else moves.mismatch(kind, task.scenario.hosts[index], target)
    if differs is not None:
        yield f'{target.host} is {sentence(differs, REASONS)}'


def assumed_by(rooms: Iterable[Room]) -> Iterable[Assumption]:
    """Return the assumptions about the requests, each once."""
    return dict.fromkeys(
        each
        for room in rooms
        for now in (room.now,)
        for each in capacity.mattering(
            capacity.find(now.request, now.scenario.cloud, now.declared), now.total
        )
    )
