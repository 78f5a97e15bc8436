"""Prove from arrays that evacuated servers fit whichever hosts Nova picks, or that they do not.

Two proofs, each of which suffices. Both hold for any order, as each of the other servers is on one
host when the last one is placed:

* **Largest flavor**: the hosts that take any of the servers have room for as many servers of the
  componentwise largest flavor as there are servers, under the strictest group rule.
* **Volume**, for each server: to close a host for it, the others must use, of one resource class,
  what is free there beyond its own amount, or all slots. The share of what they use in total is at
  most 1 for each class and for the slots. If the least shares of the hosts add up to more than the
  number of classes, a host stays open.

Anti-affinity closes the hosts of other members, and another host for each member that is placed.

Units: amounts as in the snapshot, else numbers of servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np

from senlin_affinity.engine.drain_plan import Unblocking
from senlin_affinity.engine.evacuation import Evacuations, Kind
from senlin_affinity.engine.workload_bounds import Need, free_of, of_hosts, shortfalls, slots
from senlin_affinity.engine.workload_plan import Obstacle
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB
from senlin_affinity.model.numbers import counted
from senlin_affinity.scenario.columns import Flags, Numbers
from senlin_affinity.scenario.scenario import Scenario


def unproven(counts: Mapping[Kind, int], every: Evacuations, hosts: Flags) -> list[Kind]:
    """Return the kinds of which not each server is proven to fit, wherever the others are.

    :param counts: the number of servers of each kind.
    :param hosts: those that may take them.
    """
    if not counts:
        return []
    closed, left, mates = dict[Kind, Numbers](), list[Kind](), Counter[str]()
    for kind, count in counts.items():
        mates[kind.group or ''] += count
        found = _closed(kind, every)
        if found is None or every.room(Kind(kind.asked)).now.domains is not None:
            left.append(kind)
        else:
            closed[kind] = found
    mates[''] = 1
    if not left and _largest(counts, every, hosts, closed, mates):
        return []
    is_open = (_is_open(kind, counts, every, hosts, closed[kind], mates) for kind in closed)
    return left + [kind for kind, each in zip(closed, is_open, strict=True) if not each]


def _closed(kind: Kind, every: Evacuations) -> Numbers | None:
    """Return the hosts that the group of a kind closes; None if nothing is proven about it."""
    if kind.own is not None:
        return None
    return np.zeros(0, np.int64) if kind.group is None else every.closed(kind)


def _largest(
    counts: Mapping[Kind, int],
    every: Evacuations,
    hosts: Flags,
    closed: Mapping[Kind, Numbers],
    mates: Mapping[str, int],
) -> bool:
    """Check the proof by the largest flavor."""
    wanted = sum(counts.values())
    largest: Counter[str] = reduce(or_, (Counter(every.amounts(kind)[1]) for kind in counts))
    room = np.where(hosts, wanted, 0)
    for asked in {kind.asked for kind in counts}:
        room = np.minimum(room, every.room(Kind(asked)).certain)
    room = np.minimum(room, slots(every.scenario, largest, room > 0))
    total, most = int(room.sum()), int(room.max(initial=0))
    return all(
        total - int(room[closed[kind]].sum()) - (mates[kind.group or ''] - 1) * most >= wanted
        for kind in counts
    )


def _is_open(
    kind: Kind,
    counts: Mapping[Kind, int],
    every: Evacuations,
    hosts: Flags,
    closed: Numbers,
    mates: Mapping[str, int],
) -> bool:
    """Check the proof by volume for a server of a kind."""
    used = Counter[str]()
    for other, count in counts.items():
        number = count - (other == kind)
        used.update({name: amount * number for name, amount in every.amounts(other)[1].items()})
    _least, own = every.amounts(kind)
    certain = every.room(Kind(kind.asked)).certain
    others = sum(counts.values()) - 1
    share, classes = certain / max(others, 0.5), 1  # without others, any host is enough
    for name, total in used.items():
        if total and name in own and own[name]:
            free = free_of(every.scenario, name)
            share = np.minimum(share, (free - own[name] + 1) / total)
            classes += 1
    share = np.where(hosts & (certain > 0), share, 0)
    share[closed] = 0
    gone = mates[kind.group or ''] - 1
    if gone:
        share = np.sort(share)[: len(share) - gone] if gone < len(share) else share[:0]
    return float(share.sum()) > classes


def needs_of(counts: Mapping[Kind, int], every: Evacuations, hosts: Flags) -> list[Need]:
    """Return what the servers need of some hosts, without regard to groups."""
    numbers = Counter[Kind]()
    for kind, count in counts.items():
        numbers[Kind(kind.asked)] += count
    found = []
    for kind, count in numbers.items():
        flavor = every.request(kind).flavor
        name = '?' if flavor is None else flavor.name
        upper = np.where(hosts, every.room(kind).upper, 0)
        found.append(Need(name, count, upper, *every.amounts(kind)))
    return found


def obstacles(needs: Sequence[Need], scenario: Scenario) -> list[Obstacle]:
    """Return the proofs by sums that the servers do not fit."""
    found = []
    for each in needs:
        fit = int(np.minimum(each.upper, each.count).sum())
        if fit < each.count:
            need = 'needs' if each.count == 1 else 'need'
            who = f'{counted(each.count, "server")} of {each.name} {need} a suitable host'
            text = f'{who}; such hosts have room for {fit:,}'
            found.append(Obstacle('workload.servers', text))
    return found or [*of_hosts(needs, scenario)]


def lacking(needs: Sequence[Need], scenario: Scenario) -> Iterator[Unblocking]:
    """Yield the amounts that are missing in zones, for servers of no other zone, else in total.

    A server that no host takes is not counted: more of a resource may not help it.
    """
    zones = scenario.classes(('availability_zone',))
    sets = [(name or '', zones.of_host == at) for at, (name,) in enumerate(zones.values)]
    is_zone = False
    for zone, hosts in (*sets, ('', np.ones(len(scenario.hosts), bool))):
        own = [each for each in needs if each.usable.any() and not each.usable[~hosts].any()]
        if not own or (is_zone and hosts.all()):
            continue
        need: Counter[str] = Counter()
        for each in own:
            need.update({name: amount * each.count for name, amount in each.least.items()})
        usable: Flags = reduce(or_, (each.usable for each in own))
        for name, amount, free in shortfalls(need, scenario, usable):
            is_zone, less = True, amount - free
            words = f'{_words(name, less)}{f" in {zone}" if zone else ""}'
            yield Unblocking(
                'amount', words, {'resource_class': name, 'amount': less, 'zone': zone}
            )


def _words(name: str, amount: int) -> str:
    if name == MEMORY_MB:
        return f'{-(-amount // 1024):,} GiB of memory'
    return f'{amount:,} GiB of disk' if name == DISK_GB else f'{amount:,} {name}'
