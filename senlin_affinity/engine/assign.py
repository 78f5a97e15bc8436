"""Choose the host of each server, one server after the other.

Hosts in the same domains of all spreads (of the zones, without a spread) form a cell. A server goes
to the cell whose domains hold the fewest servers, in the order of the spreads; there, to the host
with the fewest members (and placed servers), then the most free resources, then the first by name;
of equal cells, to the one with the first such host. A cell in which one more server would exceed
the skew of a hard spread waits. If domains cross, the hard spreads come first. With affinity, hard
or soft, a server goes where the most members are, and zones do not count.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from senlin_affinity.engine.domains import DomainCapacity
from senlin_affinity.engine.table import Table
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import AFFINITY, SOFT_AFFINITY
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova.topology import domain_of
from senlin_affinity.scenario.column import in_order
from senlin_affinity.scenario.columns import Numbers
from senlin_affinity.scenario.scenario import Scenario

_ZONE = ('availability_zone',)
#: The fields of a host that determine its domains.
_WHERE = ('availability_zone', 'aggregates')
#: The sort key of hosts without a single domain.
_LAST = 2**62
#: The domains of a cell, in the order of the criteria; '' stands for none or several.
Cell = tuple[str, ...]
_Key = tuple[int, int, int, int]
#: A heap of fewer hosts is faster than arrays.
_FEW = 100


def choose(
    request: Request,
    scenario: Scenario,
    table: Table,
    domains: DomainCapacity | None,
    number: int,
) -> list[int]:
    """Return the host index of each server in the order of placement; an index may repeat.

    Fewer than ``number`` if no more fit: ``table.expected`` on a host, the limit in a domain.
    """
    if not number:
        return []
    choice = _Choice(request, scenario, table, domains)
    if (every := choice.at_once(number)) is not None:
        return every
    choice.begin()
    chosen: list[int] = []
    while len(chosen) < number and (index := choice.next()) is not None:
        chosen.append(index)
    return chosen


def filled(rooms: Numbers, number: int, *keys: Numbers) -> list[int]:
    """Return the host index of up to ``number`` servers, if each host is filled before the next.

    :param rooms: the number of servers that each host takes.
    :param keys: sort the hosts, ascending; the last one decides first.
    """
    places = np.flatnonzero(rooms)
    ordered = places[np.lexsort([key[places] for key in keys])]
    found: list[int] = np.repeat(ordered, np.minimum(rooms[ordered], number))[:number].tolist()
    return found


def _cells(
    request: Request, scenario: Scenario, indexes: Numbers, spreads: Iterable[Spread]
) -> Mapping[Cell, Numbers]:
    """Return the indexes by the cell of their hosts; without spreads, all are in cell ``()``."""
    domains = [partial(domain_of, request, scenario.cloud, spread.by) for spread in spreads]
    if not domains or not len(indexes):
        return {(): indexes} if len(indexes) else {}
    classes = scenario.classes(_ZONE if all(each.by == ZONE for each in spreads) else _WHERE)
    numbers, firsts = in_order(classes.of_host[indexes])
    examples = [scenario.hosts[index] for index in indexes[firsts].tolist()]
    number_of: dict[Cell, int] = {}
    cell_of = [
        number_of.setdefault((*[domain(host) or '' for domain in domains],), len(number_of))
        for host in examples
    ]
    of_host = np.array(cell_of, np.int64)[numbers]
    order = np.argsort(of_host, kind='stable')
    ends = np.cumsum(np.bincount(of_host, minlength=len(number_of)))
    return dict(zip(number_of, np.split(indexes[order], ends[:-1]), strict=True))


def _levels(
    held: Numbers,
    free: Numbers,
    ranks: Numbers,
    rooms: Numbers,
    indexes: Numbers,
    closed: Sequence[int] = (),
    most: int = _LAST,
) -> Iterator[tuple[int, Numbers, Numbers, Numbers]]:
    """Yield the keys of the hosts that take a server with so many members, for each such number.

    :param closed: the hosts that take no more; the caller may add to it.
    :param most: the number of keys that are needed; a level may have only so many.
    """
    level = 0
    while len(indexes):
        level = max(level, int(held.min()))
        now = held <= level
        left, own, places = level - held[now] - free[now], ranks[now], indexes[now]
        if most < len(left):
            first = left <= np.partition(left, most - 1)[most - 1]
            left, own, places = left[first], own[first], places[first]
        order = np.lexsort((own, left))
        yield level, left[order], own[order], places[order]
        level += 1
        is_open = held + rooms > level
        if closed:
            is_open &= ~np.isin(indexes, closed)
        held, free, ranks, rooms, indexes = (
            each[is_open] for each in (held, free, ranks, rooms, indexes)
        )


def _first_keys(arrays: Sequence[Numbers], number: int) -> tuple[Numbers, ...]:
    """Return the levels, and the other parts of the keys, of the first servers of a cell."""
    found: list[tuple[Numbers, ...]] = []
    size = 0
    held, free, ranks, rooms, indexes = arrays
    for level, *columns in _levels(held, free, ranks, rooms, indexes, most=number):
        found.append((np.full(len(columns[0]), level), *columns))
        size += len(columns[0])
        if size >= number:
            break
    return tuple(np.concatenate(each)[:number] for each in zip(*found, strict=True))


class _Choice:
    """The servers that are placed so far, and the choice of the next host.

    Each cell has a sequence of hosts (such as :meth:`_apart`), and the cells are in a heap; a
    changed key is corrected when it comes up.
    """

    def __init__(
        self,
        request: Request,
        scenario: Scenario,
        table: Table,
        domains: DomainCapacity | None,
    ) -> None:
        policy = '' if request.server_group is None else request.server_group.policy
        is_together = policy in (AFFINITY, SOFT_AFFINITY)
        self._of_host = domains.of_host if domains is not None else {}
        self._left = dict(domains.limits) if domains is not None else {}
        affinity_host = None if domains is None else domains.affinity_host
        spreads = request.spread
        if not (spreads or is_together):
            spreads = (Spread(ZONE),)
        if domains is not None and domains.crossing:
            spreads = tuple(sorted(spreads, key=lambda spread: not spread.is_hard))
        self._spreads = spreads
        self._floors = self._eligible(domains)
        self._servers_by = partial(scenario.servers_by, request)
        columns = scenario.columns
        indexes = np.flatnonzero(table.expected)
        if affinity_host is not None:
            indexes = indexes[np.isin(indexes, columns.indexes_by_name.get(affinity_host, ()))]
        self._held, self._ranks = scenario.members(request), columns.name_ranks
        arrays = self._held, table.free, self._ranks, table.expected
        self._is_together, self._is_shared = is_together, scenario.cloud.has_shared_services
        # With affinity, more members come first.
        self._sign = -1 if is_together else 1
        self._hosts: Mapping[Cell, tuple[Numbers, ...]] = {
            cell: (*(array[each] for array in arrays), each)
            for cell, each in _cells(request, scenario, indexes, spreads).items()
        }

    def at_once(self, number: int) -> list[int] | None:
        """Return the index of the host of each server; None if they must be placed one by one.

        If no domain is limited, and hosts share nothing, the servers of the cells are in the order
        of the servers in their cells.
        """
        is_coupled = self._left or self._is_together or self._is_shared or len(self._spreads) > 1
        if is_coupled or min((len(each[0]) for each in self._hosts.values()), default=0) < _FEW:
            return None
        keys = [_first_keys(arrays, number) for arrays in self._hosts.values()]
        if len(keys) == 1:
            chosen: list[int] = keys[0][-1].tolist()
            return chosen
        start = self._servers_by(self._spreads[0].by)
        counts = [
            np.arange(len(each[0])) + start[name] if name else np.full(len(each[0]), _LAST)
            for (name,), each in zip(self._hosts, keys, strict=True)
        ]
        parts = (counts, *zip(*keys, strict=True))
        count, level, left, rank, index = map(np.concatenate, parts)
        chosen = index[np.lexsort((rank, left, level, count))[:number]].tolist()
        return chosen

    def begin(self) -> None:
        """Start the sequence of each cell."""
        self._counts = [self._servers_by(spread.by) for spread in self._spreads]
        self._members = dict(zip(self._ranks.tolist(), self._held.tolist(), strict=True))
        self._placed: Counter[int] = Counter()
        self._cells = {cell: self._sequence(*each) for cell, each in self._hosts.items()}
        self._first: dict[Cell, _Key] = {}
        self._heap: list[tuple[Any, Cell]] = []
        for cell in self._cells:
            if self._advance(cell):
                self._heap.append((self._key(cell), cell))
        heapq.heapify(self._heap)

    def next(self) -> int | None:
        """Place a server, and return the index of its host; None if no host takes one."""
        waiting = []
        chosen = None
        while self._heap and chosen is None:
            key, cell = self._heap[0]
            if not self._is_current(self._first[cell]) and not self._advance(cell):
                heapq.heappop(self._heap)
            elif (now := self._key(cell)) != key:
                heapq.heapreplace(self._heap, (now, cell))
            elif self._is_ahead(cell):
                waiting.append(heapq.heappop(self._heap))
            else:
                chosen = self._first[cell][-1]
                self._place(chosen, cell)
                if not self._advance(cell):
                    heapq.heappop(self._heap)
        for item in waiting:
            heapq.heappush(self._heap, item)
        return chosen

    def _sequence(self, *arrays: Numbers) -> Iterator[_Key]:
        """Return the sequence of a cell, for members, free, ranks, rooms and indexes of its hosts.

        Many hosts are sorted together. In a heap, hosts that share a service share its members.
        """
        if self._is_together and not self._is_shared:
            return self._together(*arrays)
        if self._is_shared or len(arrays[0]) < _FEW:
            return self._in_heap(*arrays)
        return self._apart(*arrays)

    def _place(self, index: int, cell: Cell) -> None:
        """Count one more server on the host, its service, its domains, and those of the cell."""
        self._placed[index] += 1
        self._members[int(self._ranks[index])] += 1
        for key in self._of_host.get(index, ()):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = left - 1
        for counts, name in zip(self._counts, cell, strict=True):
            counts[name] += 1

    def _is_open(self, index: int) -> bool:
        """Check whether no domain of a host is full."""
        return all(self._left.get(key) != 0 for key in self._of_host.get(index, ()))

    def _is_current(self, key: _Key) -> bool:
        """Check whether a host is open, and no other cell has counted a server on its service."""
        is_same = not self._is_shared or key[0] == self._sign * self._members[key[2]]
        return is_same and self._is_open(key[-1])

    def _advance(self, cell: Cell) -> bool:
        """Take the next host of a cell whose domains are not full; False if there is none."""
        for key in self._cells[cell]:
            if self._is_open(key[-1]):
                self._first[cell] = key
                return True
        return False

    def _key(self, cell: Cell) -> tuple[tuple[int, ...], _Key]:
        """Return the servers in each domain of the cell ('': ``_LAST``), and its first key."""
        each = zip(self._counts, cell, strict=True)
        counts = (*[counts.get(name, 0) if name else _LAST for counts, name in each],)
        return counts, self._first[cell]

    def _together(
        self, held: Numbers, free: Numbers, ranks: Numbers, rooms: Numbers, indexes: Numbers
    ) -> Iterator[_Key]:
        """Yield a key for each server that the hosts take, one host after the other.

        The host with the most members is first. Each array has an element for each host.
        """
        for at in np.lexsort((indexes, ranks, -free, -held)).tolist():
            rank, index = int(ranks[at]), int(indexes[at])
            for number in range(int(rooms[at])):
                if not self._is_open(index):
                    break
                yield -int(held[at]) - number, number - int(free[at]), rank, index

    def _apart(
        self, held: Numbers, free: Numbers, ranks: Numbers, rooms: Numbers, indexes: Numbers
    ) -> Iterator[_Key]:
        """Yield a key for each server that the hosts take, on the host with the fewest members.

        The servers before it count as members. Each array has an element for each host.
        """
        closed: list[int] = []
        for level, *columns in _levels(held, free, ranks, rooms, indexes, closed):
            for key in zip(repeat(level), *(each.tolist() for each in columns)):
                if self._is_open(key[-1]):
                    yield key
                else:
                    closed.append(key[-1])

    def _in_heap(
        self, held: Numbers, free: Numbers, ranks: Numbers, rooms: Numbers, indexes: Numbers
    ) -> Iterator[_Key]:
        """Yield the keys of :meth:`_apart` or :meth:`_together`.

        The hosts of a service share its members, which other cells may change meanwhile.
        """
        room_of = dict(zip(indexes.tolist(), rooms.tolist(), strict=True))
        keys = (self._sign * held).tolist(), (-free).tolist(), ranks.tolist(), indexes.tolist()
        heap = [*zip(*keys, strict=True)]
        heapq.heapify(heap)
        while heap:
            members, used, rank, index = heap[0]
            if self._placed[index] >= room_of[index] or not self._is_open(index):
                heapq.heappop(heap)
            elif members != self._sign * self._members[rank]:
                heapq.heapreplace(heap, (self._sign * self._members[rank], used, rank, index))
            else:
                before = self._placed[index]
                yield heap[0]
                more = self._placed[index] - before  # 0: its domain became full
                heapq.heapreplace(
                    heap, (self._sign * self._members[rank], used + more, rank, index)
                )

    def _eligible(self, domains: DomainCapacity | None) -> Mapping[int, set[str]]:
        """Return the names of the domains in ``domains.limits``, by the index of each hard spread.

        {} without ``domains``, or with at most one spread and nothing ``crossing``.
        """
        eligible: dict[int, set[str]] = {}
        if domains is None or not (domains.crossing or len(self._spreads) > 1):
            return eligible
        for place, spread in enumerate(self._spreads):
            for _constraint, domain in domains.limits if spread.is_hard else ():
                if domain.by == spread.by:
                    eligible.setdefault(place, set()).add(domain.name)
        return eligible

    def _is_ahead(self, cell: Cell) -> bool:
        """Check whether one more server in the cell exceeds the skew of a spread in ``_floors``."""
        return any(
            self._counts[place][cell[place]]
            >= min(self._counts[place][name] for name in names) + self._spreads[place].max_skew
            for place, names in self._floors.items()
        )
