"""Hosts that are there, changed by an operator so that a rule takes them: as few as are enough.

A host that is kept for others is never one of them, and none that Nova would not let into another
zone: a host is in one zone, and stays there while it has servers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate, compress, count
from typing import NamedTuple

from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.planning.actions import Data, with_aggregate
from senlin_affinity.core.planning.replanner import Planned, Replanner

#: So many aggregates are looked at.
_MOST_AGGREGATES = 50


class Fewest(NamedTuple):
    """How many hosts are changed, and the question with them."""

    number: int
    planned: Planned

    @property
    def hosts(self) -> str:
        """The number in words."""
        return f'{self.number} {"host" if self.number == 1 else "hosts"}'


def refused(planner: Replanner, rule: str) -> list[Host]:
    """The hosts that a rule refuses."""
    table = planner.now.table
    verdicts = [row.verdicts.get(rule) for row in table.kinds]
    is_refused = [verdict is not None and not verdict for verdict in verdicts]
    return [*compress(planner.hosts, map(is_refused.__getitem__, table.kind_of))]


def fewest(
    planner: Replanner,
    hosts: Sequence[Host],
    changed: Callable[[Host], Host],
    data: Callable[[list[str]], Data],
) -> Fewest | None:
    """The fewest of these hosts that are enough once they are changed; None: none is of any use.

    :param data: what is told of the change of hosts with these names, those with most room first.
    """
    known, wanted = planner.hosts, {*map(id, hosts)}
    places = [*compress(count(), map(wanted.__contains__, map(id, known)))]
    judged = planner.judge(places, [changed(known[place]) for place in places])
    rooms: Counter[str] = Counter()
    for host, room in zip(judged.hosts, judged.table.known_rooms, strict=True):
        rooms[host.host] += room or 0
    ranked = sorted((name for name in rooms if rooms[name]), key=lambda name: (-rooms[name], name))
    if not ranked:
        return None
    sums = list(accumulate(rooms[name] for name in ranked))
    guess = 1 + bisect_left(sums, min(planner.missing, sums[-1]))
    is_one_each = not planner.resolved.snapshot.has_shared_services

    def attempt(number: int) -> Planned:
        names = ranked[:number]
        told = data(names)
        if not is_one_each:  # the change is one of all hypervisors of these services
            return planner.plan(told)
        chosen = {*names}
        return planner.plan_hosts(
            told, judged.at([at for at, host in enumerate(judged.hosts) if host.host in chosen])
        )

    return Fewest(*planner.smallest(len(ranked), guess, attempt, lambda number: sums[number - 1]))


def joined(
    planner: Replanner, rule: str, uuids: Iterable[str], kept: Collection[str]
) -> tuple[str, Fewest] | None:
    """Hosts that a rule refuses, put into that of some aggregates which takes the most of them.

    :param kept: the aggregates that are kept for others.
    """
    known, hosts = planner.resolved.snapshot.aggregates_by_uuid, refused(planner, rule)
    hosts = [host for host in hosts if host.aggregates.isdisjoint(kept)]
    offered = [known[uuid] for uuid in uuids if uuid in known and uuid not in kept]
    offered = sorted(offered, key=lambda each: each.name)[:_MOST_AGGREGATES]
    takes = {each.uuid: _joining(planner, hosts, each) for each in offered}
    if not any(takes.values()):
        return None
    best = max(offered, key=lambda each: len(takes[each.uuid]))
    named = {'name': best.name, 'uuid': best.uuid}
    found = fewest(
        planner,
        takes[best.uuid],
        lambda host: with_aggregate(host, best),
        lambda names: {'aggregate_hosts': {'aggregate': named, 'hosts': names}},
    )
    return None if found is None else (f'{found.hosts} put into aggregate {best.name}', found)


def _joining(planner: Replanner, hosts: Sequence[Host], aggregate: Aggregate) -> list[Host]:
    """Those of the hosts that Nova would let into the aggregate."""
    uuid = aggregate.uuid
    if aggregate.availability_zone is None:
        return [host for host in hosts if uuid not in host.aggregates]
    return [host for host in hosts if may_join(planner, host, aggregate)]


def may_join(planner: Replanner, host: Host, aggregate: Aggregate) -> bool:
    """Would Nova let the host into the aggregate?"""
    zone, snapshot = aggregate.availability_zone, planner.resolved.snapshot
    if aggregate.uuid in host.aggregates:
        return False
    if zone in (None, host.availability_zone):
        return True
    carrying = snapshot.zones.carried_by.get(host.availability_zone or '', frozenset())
    has_servers = any(has.used for has in (host.resources or {}).values())
    return carrying.isdisjoint(host.aggregates) and not has_servers and bool(host.resources)
