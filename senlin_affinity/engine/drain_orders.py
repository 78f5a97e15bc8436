"""Try orders in which servers of equal requests take their targets.

1. The hardest servers first: those of which the fewest fit. Each goes where Nova would place it,
   or in every other order to the host that it fills most.
2. If some are left, they come first in the next order.
3. If no order places all, :class:`_Search` tries every target, as long as that is quick. If it has
   tried all, no order places all servers.

Units: numbers of servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from senlin_affinity.engine.drain_targets import Room, Task
from senlin_affinity.model.request import Request
from senlin_affinity.model.server import Server
from senlin_affinity.nova.moves import Kind
from senlin_affinity.scenario.scenario import Scenario

#: Evaluate at most this number of hosts in all orders, and as many in a search.
MOST_HOSTS = 20_000
#: The least and the largest number of orders.
_FEWEST, _MOST = 2, 16


@dataclass(frozen=True)
class Kin:
    """Servers with equal requests, which move in the same way; ``room`` is that of the cloud."""

    request: Request
    kind: Kind
    servers: tuple[Server, ...]
    room: Room

    @property
    def hardness(self) -> float:
        """The number of servers that fit, for each one that moves."""
        number = len(self.servers)
        return float(np.minimum(self.room.expected, number).sum()) / number

    @property
    def is_too_many(self) -> bool:
        """Whether not all of the servers fit, even without the others."""
        number = len(self.servers)
        return bool(np.minimum(self.room.upper, number).sum() < number)


@dataclass(frozen=True)
class Placed:
    """A server and the index of its target; a later ``stage`` needs what an earlier one frees."""

    server: Server
    kin: Kin
    index: int
    stage: int
    caveats: tuple[str, ...]

    @property
    def is_improvable(self) -> bool:
        """Whether a caveat applies, and another host was certain at first."""
        return bool(self.caveats) and bool(self.kin.room.certain.any())


@dataclass(frozen=True)
class Order:
    """The servers that were placed in one order, and those that are left.

    ``is_proven``: no order places all of them.
    """

    placed: tuple[Placed, ...]
    left: tuple[Kin, ...]
    is_proven: bool = False

    @property
    def quality(self) -> tuple[int, int]:
        """The number of servers that move, and of those without a caveat."""
        return len(self.placed), sum(not each.caveats for each in self.placed)


def best_order(task: Task, every: Sequence[Kin], most_hosts: int = MOST_HOSTS) -> Order:
    """Try orders until all servers are placed without a caveat, and return the best one.

    The hardest servers come first; in the next order, those that were left come before them. If
    none moves all servers, search for one.

    :param most_hosts: evaluate at most this number of hosts in all orders, and as many in a search.
    """
    order = sorted(every, key=attrgetter('hardness'))
    evaluations = most_hosts // (len(task.scenario.hosts) or 1)
    number = min(_MOST, max(_FEWEST, evaluations))
    best = Order((), (*order,))
    for trial in range(number if order else 0):
        found = _in_order(task, order, is_tight=trial % 2 == 1)
        best = max(best, found, key=attrgetter('quality'))
        if not found.left and not any(each.is_improvable for each in found.placed):
            break
        order = [*found.left, *_rest(order, found.left)]
    if not best.left:
        return best
    if any(kin.is_too_many for kin in every) and not task.is_coupled:
        return replace(best, is_proven=True)
    search = _Search(task, evaluations)
    if search.visit(task.scenario, (), sorted(every, key=attrgetter('hardness'))):
        return Order(search.found, ())
    return replace(best, is_proven=search.is_complete)


@dataclass
class _Search:
    """A search for an order that moves all servers, which counts the evaluations that are left.

    ``is_complete``: no other order or target is possible.
    """

    task: Task
    evaluations: int
    is_complete: bool = True
    found: tuple[Placed, ...] = ()
    seen: set[frozenset[tuple[str, int]]] = field(default_factory=set)

    def visit(self, scenario: Scenario, placed: tuple[Placed, ...], rest: Sequence[Kin]) -> bool:
        """Place the rest of the servers in any way; return whether this is possible.

        Unless servers free what others need, one order of the servers stands for all.
        """
        if not rest:
            self.found = placed
            return True
        is_coupled = self.task.is_coupled
        state = frozenset((each.server.id, each.index) for each in placed)
        if is_coupled and state in self.seen:
            return False
        self.seen.add(state)
        for kin in rest if is_coupled else rest[:1]:
            if not self.evaluations:
                self.is_complete = False
                return False
            self.evaluations -= 1
            room = self.task.room(kin.request, scenario)
            self.is_complete &= not (room.upper > room.expected).any()
            for server in kin.servers if is_coupled else kin.servers[:1]:
                others = [*_rest(rest, [replace(kin, servers=(server,))])]
                for at in np.flatnonzero(room.expected).tolist():
                    last = placed[-1] if placed else None
                    is_mirrored = last and last.kin.request is kin.request and at < last.index
                    if is_mirrored and not is_coupled:
                        continue  # the same hosts for equal servers in another order
                    one = Placed(server, kin, at, len(placed) * is_coupled, room.caveats(at))
                    after = self.task.located(scenario.place(kin.request, {at: 1}), {server.id: at})
                    if is_coupled:
                        after = self.task.without(after, {server.id: kin.request})
                    if self.visit(after, (*placed, one), others):
                        return True
        return False


def _rest(order: Iterable[Kin], left: Iterable[Kin]) -> Iterator[Kin]:
    """Yield the servers of an order without those that are left."""
    names = {server.id for kin in left for server in kin.servers}
    for kin in order:
        servers = tuple(each for each in kin.servers if each.id not in names)
        if servers:
            yield replace(kin, servers=servers)


def _in_order(task: Task, order: Sequence[Kin], *, is_tight: bool) -> Order:
    """Place the servers in this order.

    If some are left, and others have freed what they share with them, place these in a later stage.
    """
    scenario, placed, stage = task.scenario, list[Placed](), 0
    while True:
        left: list[Kin] = []
        before = len(placed)
        for kin in order:
            scenario, more, rest = _place(task, scenario, kin, stage, is_tight=is_tight)
            placed += more
            if rest:
                left.append(replace(kin, servers=rest))
        new = placed[before:]
        freed = task.without(scenario, {each.server.id: each.kin.request for each in new})
        is_new = freed is not scenario or any(each.server.id in task.named for each in new)
        if not (left and is_new):
            return Order((*placed,), (*left,))
        scenario, order, stage = freed, left, stage + 1


def _place(
    task: Task, scenario: Scenario, kin: Kin, stage: int, *, is_tight: bool
) -> tuple[Scenario, list[Placed], tuple[Server, ...]]:
    """Place servers with equal requests; return the scenario, these, and those that are left."""
    left, placed = kin.servers, list[Placed]()
    while left:
        room = None if is_tight else kin.room.apart(scenario, len(left))
        if room is None:
            room = task.room(kin.request, scenario)
        is_named = not task.named.isdisjoint(each.id for each in left)
        chosen = room.choose(1 if is_named else len(left), is_tight=is_tight)
        if not chosen:
            break
        pairs = [*zip(left, chosen, strict=False)]
        placed += (Placed(each, kin, at, stage, room.caveats(at)) for each, at in pairs)
        scenario = scenario.place(kin.request, Counter(chosen))
        scenario = task.located(scenario, {each.id: at for each, at in pairs})
        left = left[len(pairs) :]
    return scenario, placed, left
