"""Which host each server goes to, one after the other.

Hosts in the same domains of the criteria that the servers are spread over (the zone, where none is
asked for) are a cell. Each server goes to the cell whose domains hold the fewest servers, and in it
to the host with the fewest members, then with the most free resources, then the first by its name.
With affinity, hard or soft, it goes where the most members are, and zones do not count.

The keys of cells and hosts only grow, so two kinds of heaps keep them, and what has grown meanwhile
is put back when it comes up.

Units: numbers of servers; hosts are called by their places.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter

from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.planning.domains import Survey
from senlin_affinity.core.planning.numbering import numbered
from senlin_affinity.core.planning.table import Table
from senlin_affinity.core.planning.topology import domain_of, servers
from senlin_affinity.core.server_group import AFFINITY, SOFT_AFFINITY
from senlin_affinity.core.spread import ZONE, Spread

_ZONE = attrgetter('availability_zone')
#: All that tells in which domains a host lies.
_WHERE = attrgetter('availability_zone', 'aggregates')
#: The hosts that are in no one domain come after all others.
_LAST = 2**62
#: The domains of a cell, in the order of the criteria; '' is none, or not just one.
Cell = tuple[str, ...]
_Key = tuple[int, int, str, int]


def choose(
    resolved: ResolvedRequest,
    hosts: Sequence[Host],
    told: Table,
    found: Survey | None,
    number: int,
) -> list[int]:
    """The hosts of so many servers, or of as many as can be placed."""
    if not number:
        return []
    choice = _Choice(resolved, hosts, told, found)
    is_alone = not resolved.snapshot.has_shared_services and len(choice.spreads) < 2
    if found is None and is_alone:
        return choice.quickly(number)
    choice.begin()
    chosen: list[int] = []
    while len(chosen) < number:
        index = choice.next()
        if index is None:
            break
        chosen.append(index)
    return chosen


def _cells(
    snapshot: CloudSnapshot,
    hosts: Sequence[Host],
    places: Sequence[int],
    spreads: Iterable[Spread],
) -> dict[Cell, list[int]]:
    """The hosts at these places by their cells."""
    where = _ZONE if all(spread.by == ZONE for spread in spreads) else _WHERE
    domains = [partial(domain_of, snapshot, spread.by) for spread in spreads]
    numbers, firsts = numbered(map(where, map(hosts.__getitem__, places)))
    alike: list[list[int]] = [[] for _ in firsts]
    for place, number in zip(places, numbers, strict=True):
        alike[number].append(place)
    found: dict[Cell, list[int]] = {}
    for each in alike:
        cell = (*[domain(hosts[each[0]]) or '' for domain in domains],)
        found.setdefault(cell, []).extend(each)
    return found


class _Choice:
    """The servers that are placed so far, and where the next one goes."""

    def __init__(
        self,
        resolved: ResolvedRequest,
        hosts: Sequence[Host],
        told: Table,
        found: Survey | None,
    ) -> None:
        policy = '' if resolved.server_group is None else resolved.server_group.policy
        is_together = policy in (AFFINITY, SOFT_AFFINITY)
        #: With affinity the most members come first, and else the fewest.
        self._sign = -1 if is_together else 1
        self._names = resolved.snapshot.host_names
        self._rooms = list(told.certain)
        self._free = list(told.frees)
        self._held = Counter(resolved.members_on)
        self._of_host = found.of_host if found is not None else {}
        self._left = dict(found.limits) if found is not None else {}
        home = None if found is None else found.home
        spreads = resolved.request.spread
        if not (spreads or is_together):
            spreads = (Spread(ZONE),)
        self.spreads = spreads
        self._resolved = resolved
        self._counts: list[Counter[str]] = []
        open_ = [index for index, room in enumerate(self._rooms) if room]
        if home is not None:
            open_ = [index for index in open_ if self._names[index] == home]
        self._open = _cells(resolved.snapshot, hosts, open_, spreads)
        self._cells: dict[Cell, list[_Key]] = {}
        self._heap: list[tuple[tuple[tuple[int, ...], _Key], Cell]] = []
        self._floors = self._eligible(found)

    def begin(self) -> None:
        """Sort the hosts of each cell, and the cells."""
        self._counts = [servers(self._resolved, spread.by) for spread in self.spreads]
        names, free, sign, members = self._names, self._free, self._sign, self._held.get
        self._cells = {
            cell: [(sign * members(names[at], 0), -free[at], names[at], at) for at in hosts]
            for cell, hosts in self._open.items()
        }
        for keys in self._cells.values():
            if len(keys) > 1:
                heapq.heapify(keys)
        self._heap = [(self._cell_key(cell), cell) for cell in self._cells]
        heapq.heapify(self._heap)

    def quickly(self, number: int) -> list[int]:
        """The hosts of so many servers, where each changes the keys of its host and cell alone."""
        if len(self._open) == 1 and self._sign > 0:
            (hosts,) = self._open.values()
            return self._evenly(hosts, number)
        self.begin()
        heap, cells, rooms, sign = self._heap, self._cells, self._rooms, self._sign
        chosen: list[int] = []
        while heap and len(chosen) < number:
            (counts, _key), cell = heap[0]
            keys = cells[cell]
            held, free, name, index = keys[0]
            chosen.append(index)
            rooms[index] -= 1
            if rooms[index]:
                heapq.heapreplace(keys, (held + sign, free + 1, name, index))
            else:
                heapq.heappop(keys)
            if keys:
                heapq.heapreplace(heap, (((*(count + 1 for count in counts),), keys[0]), cell))
            else:
                heapq.heappop(heap)
        return chosen

    def _evenly(self, hosts: Iterable[int], number: int) -> list[int]:
        """The same in the only cell: layer by layer, each of the hosts that hold the fewest."""
        waiting: dict[int, list[int]] = {}
        names, members = self._names, self._held.get
        for index in hosts:
            waiting.setdefault(members(names[index], 0), []).append(index)
        chosen: list[int] = []
        layer: list[int] = []
        held, free, rooms = 0, self._free, self._rooms
        while (layer or waiting) and len(chosen) < number:
            held = held if layer else min(waiting)
            more = waiting.pop(held, [])
            if more:  # those that are there stay in their order
                layer = self._emptiest(layer + more, number - len(chosen))
            chosen += layer
            held += 1
            for index in layer:
                rooms[index] -= 1
                free[index] -= 1
            layer = [index for index in layer if rooms[index]]
        return chosen[:number]

    def _emptiest(self, hosts: list[int], most: int) -> list[int]:
        """The first so many of these hosts, of which each holds as many servers."""
        free, names = self._free, self._names
        if len(hosts) > most:
            least = sorted([free[index] for index in hosts], reverse=True)[most - 1]
            hosts = [index for index in hosts if free[index] >= least]
        hosts = sorted(hosts, key=names.__getitem__)
        return sorted(hosts, key=free.__getitem__, reverse=True)  # those as empty stay in order

    def next(self) -> int | None:
        """The host of one server more; None where there is none."""
        waiting = []
        chosen = None
        while self._heap and chosen is None:
            key, cell = self._heap[0]
            index = self._best(cell)
            if index is None:
                heapq.heappop(self._heap)
            elif (now := self._cell_key(cell)) != key:
                heapq.heapreplace(self._heap, (now, cell))
            elif self._is_ahead(cell):
                waiting.append(heapq.heappop(self._heap))
            else:
                chosen = index
                self._place(index, cell)
        for item in waiting:
            heapq.heappush(self._heap, item)
        return chosen

    def _place(self, index: int, cell: Cell) -> None:
        self._rooms[index] -= 1
        self._free[index] -= 1
        self._held[self._names[index]] += 1
        for key in self._of_host.get(index, ()):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = left - 1
        for counts, name in zip(self._counts, cell, strict=True):
            counts[name] += 1

    def _key(self, index: int) -> _Key:
        name = self._names[index]
        return (self._sign * self._held.get(name, 0), -self._free[index], name, index)

    def _cell_key(self, cell: Cell) -> tuple[tuple[int, ...], _Key]:
        each = zip(self._counts, cell, strict=True)
        counts = (*[counts.get(name, 0) if name else _LAST for counts, name in each],)
        return counts, self._cells[cell][0]

    def _best(self, cell: Cell) -> int | None:
        """The host in a cell that is next, which then is the first of its heap."""
        keys = self._cells[cell]
        while keys:
            key = keys[0]
            index = key[-1]
            limits = (self._left.get(each) for each in self._of_host.get(index, ()))
            if not self._rooms[index] or 0 in limits:
                heapq.heappop(keys)
            elif (now := self._key(index)) != key:
                heapq.heapreplace(keys, now)
            else:
                return index
        return None

    def _eligible(self, found: Survey | None) -> Mapping[int, set[str]]:
        """Where criteria cross: the domains of each spread that its rule was asked about.

        Elsewhere what each domain takes is exact, and the emptiest is always next.
        """
        eligible: dict[int, set[str]] = {}
        for place, spread in enumerate(self.spreads):
            for _rule, domain in found.limits if found is not None and found.crossing else ():
                if domain.by == spread.by:
                    eligible.setdefault(place, set()).add(domain.name)
        return eligible

    def _is_ahead(self, cell: Cell) -> bool:
        """Would one server more make a domain of the cell fuller than its skew allows?"""
        return any(
            self._counts[place][cell[place]]
            >= min(self._counts[place][name] for name in names) + self.spreads[place].max_skew
            for place, names in self._floors.items()
        )
