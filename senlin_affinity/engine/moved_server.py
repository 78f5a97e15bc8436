"""Find the smallest server whose move to another host makes room for a request.

Only few hosts may have what a request needs, such as GPUs, and be full of servers that do not need
it. The servers of these hosts are read for it (``Cloud.servers_by_host``).

Example::

    smallest(what_if).words  'server web-7 (flavor m1.large, which does not require '
                             'resources:VGPU=1) migrated live from cmp-3 to cmp-1'

A server qualifies only if everything about it is known, no rule of Nova keeps it where it is, a
target certainly takes it while the old host still holds its resources, and the request then fits.
What only the hypervisor of the target decides, such as its CPU model, is not checked
(:mod:`senlin_affinity.nova.moves`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cache
from itertools import compress
from typing import NamedTuple

from senlin_affinity.engine.drain_targets import Task
from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.engine.table import capacity_constraints
from senlin_affinity.engine.what_if import WhatIf, WhatIfResult
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.server import Server
from senlin_affinity.nova import moves

#: The servers with different hosts, flavors, zones and groups that are evaluated.
_MOST = 20


class SufficientMove(NamedTuple):
    """The move of a server with this flavor; ``stays``: in its zone."""

    flavor: Flavor
    stays: bool
    words: str
    result: WhatIfResult


def smallest(what_if: WhatIf) -> SufficientMove | None:
    """Return the move; None if no single move is known to suffice.

    Of equally large servers, one that stays in its zone.
    """
    tried: set[Hashable] = set()
    crossing: SufficientMove | None = None
    before, request = what_if.before, what_if.request

    @cache
    def task_of(host: str) -> Task:
        return Task.of([host], before.scenario, request.settings, before.constraints)

    for server, flavor in _movable(what_if):
        if crossing is not None and _size(flavor) != _size(crossing.flavor):
            break
        key = server.host, repr(flavor), server.pinned_zone, server.server_group, bool(server.hints)
        if key in tried:
            continue
        if len(tried) == _MOST:
            break
        tried.add(key)
        if (found := _moved(what_if, task_of(server.host or ''), server, flavor)) is not None:
            if found.stays:
                return found
            crossing = crossing or found
    return crossing


def _size(flavor: Flavor) -> tuple[int, int, int]:
    return flavor.ram, flavor.vcpus, flavor.disk


def _movable(what_if: WhatIf) -> Iterator[tuple[Server, Flavor]]:
    """Yield the servers that Nova may move, with their flavors, the smallest first.

    Of hosts that only lack capacity; without those that the request names, or shares a group with.
    """
    cloud, request, before = what_if.cloud, what_if.request, what_if.before
    about = capacity_constraints(before.constraints)
    rejections = (
        {name for name, each in row.verdicts.items() if not each} for row in before.table.rows
    )
    is_full = before.table.where(bool(each) and each <= about for each in rejections)
    full = {host.host for host in compress(before.hosts, is_full.tolist())}
    named = scheduler_hints.named(request.scheduler_hints, None)
    group = request.server_group
    found = [
        (each, each.flavor)
        for name, servers in cloud.servers_by_host.items()
        for each in (servers if name in full else ())
        if each.flavor is not None
        and not (each.unknown or each.allocated or each.id in named)
        and (group is None or each.server_group != group.id)
    ]
    found.sort(key=lambda each: (_size(each[1]), each[0].name))
    for server, flavor in found:
        kind = moves.kind_of(server)
        is_free = moves.obstacle(server, kind, cloud, request.settings) is None
        if is_free and not moves.caveats(server, kind):
            yield server, flavor


def _moved(what_if: WhatIf, task: Task, server: Server, flavor: Flavor) -> SufficientMove | None:
    """Return the move of a server; None if it does not suffice."""
    scenario, kind = what_if.before.scenario, moves.kind_of(server)
    request, index = task.request_of(server), task.index_of(server)
    if index is None or scenario.columns.indexes_by_name[server.host or ''] != (index,):
        return None
    freed = scenario.remove(request, {index: 1})
    if not evaluate(what_if.request, freed, what_if.before.constraints, is_brief=True).fits:
        return None
    source = scenario.hosts[index]
    is_alike = [moves.mismatch(kind, source, each) is None for each in scenario.hosts]
    is_near = [each.availability_zone == source.availability_zone for each in scenario.hosts]
    targets = task.is_target & is_alike
    for is_target in (targets & is_near, targets):  # its user may rely on the zone
        room = replace(task, is_target=is_target).room(request, task.scenario)
        if room.certain.any():
            break
    else:
        return None
    host = scenario.hosts[room.choose(1, is_tight=False)[0]]
    move = {'id': server.id, 'name': server.name, 'from': source.host, 'to': host.host}
    after = what_if.plan({'moved_servers': [{**move, 'kind': kind}]})
    if not after.after.fits:
        return None
    specs = what_if.request.flavor.extra_specs if what_if.request.flavor else {}
    more = [f'{key}={value}' for key, value in specs.items() if key not in flavor.extra_specs]
    less = f', which does not require {" and ".join(more)}' if more else ''
    how = 'live' if kind == moves.LIVE else 'cold'
    stays, zone = host.availability_zone == source.availability_zone, host.availability_zone
    where = '' if stays else f', in {f"zone {zone}" if zone else "no zone"}'
    words = f'server {server.name} (flavor {flavor.name}{less}) migrated {how}'
    words += f' from {source.host} to {host.host}{where}'
    return SufficientMove(flavor, stays, words, after)
