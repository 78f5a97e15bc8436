"""Say what runs out first on the hosts, and what is left when they are full of one flavor.

``FlavorOnHosts`` is about one flavor, ``Remainder`` about all flavors: what even the flavor
that leaves least leaves on each host is stranded.

Units: amounts as in the snapshot; numbers of servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from senlin_affinity.engine.evaluation import Evaluation
from senlin_affinity.engine.parts import NO_NAME, Parts
from senlin_affinity.engine.table import Table
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.scenario.columns import INFINITE, Flags, Numbers
from senlin_affinity.scenario.scenario import Scenario

#: A number of servers on a host is below the next larger one.
_NEARLY_ONE = 0.999


@dataclass(frozen=True)
class FreeAmount:
    """The amounts of a resource class on the hosts of a zone whose services are enabled and up.

    ``stranded`` is the part of ``free`` that no flavor can use: what is left on each host after
    servers of the one flavor that leaves least. A shared pool counts once, in the zone NO_NAME if
    its hosts are in several; it is stranded if none of its hosts takes a server.
    """

    resource_class: str
    zone: str
    capacity: int
    free: int
    stranded: int


class _Part(NamedTuple):
    """What the hosts have of one resource class, for servers that request an amount of it.

    ``room`` is a fraction; ``of_empty`` is the number of servers if nothing is used.
    """

    free: Numbers
    room: NDArray[np.float64]
    of_empty: Numbers
    could_hold: Flags


def _part(scenario: Scenario, name: str, amount: int) -> _Part:
    """Return what the hosts have; it is computed once if no servers were placed."""

    def part() -> _Part:
        has, free = scenario.columns.inventories(name), np.maximum(scenario.free(name), 0)
        could_hold = (has.capacity >= amount) & (has.max_unit >= amount)
        could_hold &= amount % has.step_size == 0
        return _Part(free, free / amount, has.capacity // amount, could_hold)

    if scenario.placed is not None:
        return part()
    return scenario.columns.known(('part', name, amount), part, ('resources',))


class FlavorOnHosts:
    """The amounts of one flavor, and what the hosts have of them.

    ``usable`` are the hosts that lack nothing but capacity, and could hold a server if they were
    empty; ``table`` counts the domains.
    """

    def __init__(self, now: Evaluation, table: Table) -> None:
        asked = demand_of(now.request)
        self.table = table
        self.amounts: Mapping[str, int] = {} if asked is None else asked.amounts
        self._columns = now.scenario.columns
        usable = table.where(row.is_eligible is not False for row in table.rows)
        self._parts = {name: _part(now.scenario, name, self.amounts[name]) for name in self.amounts}
        for part in self._parts.values():
            usable = usable & part.could_hold
        self.usable: Flags = usable

    def of_empty(self) -> Numbers:
        """Return the number of servers that each usable host would hold if it were empty."""
        most = np.full(len(self.usable), INFINITE)
        for part in self._parts.values():
            most = np.minimum(most, part.of_empty)
        return np.where(self.usable & (most < INFINITE), most, 0)

    @cached_property
    def left(self) -> Mapping[str, Numbers]:
        """What each host has left of each class, if it takes all the servers that it can."""
        number = self.table.expected
        return {
            name: np.maximum(self._parts[name].free - number * amount, 0)
            for name, amount in self.amounts.items()
        }

    def stranded(self) -> tuple[tuple[str, int], ...]:
        """Return what is left of each requested class on usable hosts; not of shared pools."""
        return tuple(
            (name, int((left * self.usable).sum()))
            for name, left in self.left.items()
            if not self._columns.inventories(name).is_pooled.any()
        )

    def runs_out_first(self) -> tuple[str | None, int]:
        """Return what limits the number on most usable hosts, and how much of it no host has.

        A class of which no host has enough comes before others.
        """
        if not self.amounts or not self.usable.any():
            return None, 0
        names, rooms = [*self.amounts], [part.room for part in self._parts.values()]
        which, least = np.zeros(len(self.usable), np.int8), rooms[0]
        for number, room in enumerate(rooms[1:], 1):
            which[room < least] = number
            least = np.minimum(least, room)
        is_other = self.usable & (self.table.upper + _NEARLY_ONE < least)
        is_first = self.usable & ~is_other
        counts = [np.count_nonzero(is_first & (which == each)) for each in range(len(names))]
        lacking = [
            name
            for name, amount in self.amounts.items()
            if not (self.usable & (self._parts[name].free >= amount)).any()
        ]
        limits = Counter(
            {
                name: number
                for name, number in zip(names, counts, strict=True)
                if not lacking or name in lacking
            }
        )
        others = np.bincount(self.table.row_of[is_other]).tolist()
        for number, hosts in enumerate(others):
            other = self._limit_of_row(number) if hosts and not lacking else None
            if other is not None:
                limits[other] += hosts
        ((first, _hosts),) = limits.most_common(1)
        return first, self.amounts[first] if first in lacking else 0

    def _limit_of_row(self, number: int) -> str | None:
        """Return the constraint with the smallest bound, other than those with many numbers."""
        row = self.table.rows[number]
        found = [
            (each.bounds.upper, name)
            for name, each in row.verdicts.items()
            if name not in self.table.counted and each.bounds.upper is not None
        ]
        return min(found)[1] if found else None


class Remainder:
    """What the flavors leave of each resource class on each host, at least."""

    def __init__(self, scenario: Scenario) -> None:
        columns = self._columns = scenario.columns
        self._scenario = scenario
        in_use = columns.flags('enabled') & columns.flags('up')
        self._in_use = in_use & ~columns.flags_by_class('traits', lambda traits: DISABLED in traits)
        self._left: dict[str, Numbers] = {}
        self._takes = np.zeros(len(scenario.hosts), bool)

    def take(self, sizes: FlavorOnHosts) -> None:
        """Count another flavor."""
        self._takes |= sizes.table.expected > 0
        for name, left in sizes.left.items():
            known = self._left.get(name)
            self._left[name] = left if known is None else np.minimum(known, left)

    def amounts(self, zones: Parts) -> tuple[FreeAmount, ...]:
        """Return the amounts by resource class and zone."""
        found: list[FreeAmount] = []
        for name, left in sorted(self._left.items()):
            has = self._columns.inventories(name)
            counted = self._in_use & has.is_listed & ~has.is_pooled
            values = (has.capacity, np.maximum(has.free, 0), left)
            sums = zip(*(zones.sums(np.where(counted, each, 0)) for each in values), strict=True)
            found += (
                FreeAmount(name, zone, *each)
                for zone, each in zip(zones.names, sums, strict=True)
                if any(each)
            )
            if has.is_pooled.any():
                found += self._of_pools(name)
        return tuple(found)

    def _of_pools(self, name: str) -> list[FreeAmount]:
        """Return the amounts of the shared pools of a resource class, by zone."""
        zones: dict[str, set[str]] = {}
        taking = set[str]()
        pairs = zip(self._scenario.hosts, self._takes.tolist(), strict=True)
        pools = self._scenario.cloud.pools
        for host, is_taking in pairs:
            own = (host.resources or {}).get(name)
            pool = None if own is None else own.pool
            if pool is not None and name in pools.get(pool, ()):
                zones.setdefault(pool, set()).add(host.availability_zone or NO_NAME)
                taking.update([pool] * is_taking)
        by_zone: dict[str, FreeAmount] = {}
        for pool, names in zones.items():
            has = pools[pool][name]
            zone = next(iter(names)) if len(names) == 1 else NO_NAME
            free = max(0, has.capacity - has.used)
            old = by_zone.get(zone, FreeAmount(name, zone, 0, 0, 0))
            stranded = old.stranded + (0 if pool in taking else free)
            by_zone[zone] = FreeAmount(
                name, zone, old.capacity + has.capacity, old.free + free, stranded
            )
        return [by_zone[zone] for zone in sorted(by_zone)]
