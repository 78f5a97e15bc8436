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
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter

from senlin_affinity.model.host import Host
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.server_group import AFFINITY, SOFT_AFFINITY
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova.topology import domain_of, servers
from senlin_affinity.planner.domains import DomainCapacity
from senlin_affinity.planner.matrix import VerdictMatrix, numbered

_ZONE = attrgetter('availability_zone')
#: The fields of a host that determine its domains.
_WHERE = attrgetter('availability_zone', 'aggregates')
#: The sort key of hosts without a single domain.
_LAST = 2**62
#: The domains of a cell, in the order of the criteria; '' stands for none or several.
Cell = tuple[str, ...]
_Key = tuple[int, int, str, int]


def choose(
    resolved: ResolvedRequest,
    hosts: Sequence[Host],
    matrix: VerdictMatrix,
    domains: DomainCapacity | None,
    number: int,
) -> list[int]:
    """Return the host index of each server in the order of placement; an index may repeat.

    Fewer than ``number`` if no more fit: ``matrix.expected`` on a host, the limit in a domain.
    """
    if not number:
        return []
    choice = _Choice(resolved, hosts, matrix, domains)
    chosen: list[int] = []
    while len(chosen) < number and (index := choice.next()) is not None:
        chosen.append(index)
    return chosen


def _cells(
    resolved: ResolvedRequest,
    hosts: Sequence[Host],
    indexes: Sequence[int],
    spreads: Iterable[Spread],
) -> dict[Cell, list[int]]:
    """Return the indexes by the cell of their hosts; without spreads, all are in cell ``()``."""
    where = _ZONE if all(spread.by == ZONE for spread in spreads) else _WHERE
    domains = [partial(domain_of, resolved, spread.by) for spread in spreads]
    numbers, firsts = numbered(map(where, map(hosts.__getitem__, indexes)))
    examples = [hosts[indexes[first]] for first in firsts]
    cell_of = [(*[domain(host) or '' for domain in domains],) for host in examples]
    cells: defaultdict[Cell, list[int]] = defaultdict(list)
    for index, number in zip(indexes, numbers, strict=True):
        cells[cell_of[number]].append(index)
    return cells


class _Choice:
    """The servers that are placed so far, and the choice of the next host.

    Cells, and the hosts of each, are in heaps; a changed key is corrected when it comes up.
    """

    def __init__(
        self,
        resolved: ResolvedRequest,
        hosts: Sequence[Host],
        matrix: VerdictMatrix,
        domains: DomainCapacity | None,
    ) -> None:
        policy = '' if resolved.server_group is None else resolved.server_group.policy
        self._is_together = policy in (AFFINITY, SOFT_AFFINITY)
        self._names = resolved.snapshot.host_names
        self._rooms = list(matrix.expected)
        self._free = list(matrix.free)
        self._held = Counter(resolved.members_on)
        self._of_host = domains.of_host if domains is not None else {}
        self._left = dict(domains.limits) if domains is not None else {}
        affinity_host = None if domains is None else domains.affinity_host
        spreads = resolved.request.spread
        if not (spreads or self._is_together):
            spreads = (Spread(ZONE),)
        if domains is not None and domains.crossing:
            spreads = tuple(sorted(spreads, key=lambda spread: not spread.is_hard))
        self._spreads = spreads
        self._floors = self._eligible(domains)
        self._counts = [servers(resolved, spread.by) for spread in spreads]
        named = enumerate(self._names)
        indexes = [index for index, name in named if affinity_host in (None, name)]
        cells = _cells(resolved, hosts, indexes, spreads)
        self._cells = {cell: [*map(self._key, each)] for cell, each in cells.items()}
        for keys in self._cells.values():
            heapq.heapify(keys)
        self._heap = [(self._cell_key(cell), cell) for cell in self._cells]
        heapq.heapify(self._heap)

    def next(self) -> int | None:
        """Place a server, and return the index of its host; None if no host takes one."""
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
        """Count one more server on the host, in its domains and its cell."""
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
        """Return ``(members, -free, name, index)``; with affinity, ``-members``."""
        name = self._names[index]
        held = self._held.get(name, 0)
        return (-held if self._is_together else held, -self._free[index], name, index)

    def _cell_key(self, cell: Cell) -> tuple[tuple[int, ...], _Key]:
        """Return the servers in each domain of the cell ('': ``_LAST``), and its first key."""
        each = zip(self._counts, cell, strict=True)
        counts = (*[counts.get(name, 0) if name else _LAST for counts, name in each],)
        return counts, self._cells[cell][0]

    def _best(self, cell: Cell) -> int | None:
        """Return the index of the next host of a cell; None if none takes a server."""
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
