"""Count the servers of one kind that Placement allocates on a host, one after another.

``GET /allocation_candidates`` lists the alternatives of one server on a host (the amount of each
resource class from each provider) and the free capacity of each provider. Placement chooses an
alternative for each server.

Example::

    count([{('numa-0', 'VCPU'): 2}, {('numa-1', 'VCPU'): 2}],
          {('numa-0', 'VCPU'): 5, ('numa-1', 'VCPU'): 4}) == Count(room=4, certain=4)

Units: numbers of servers. ``room`` is the number in the best order, or an upper bound of it, and
``certain`` the number in the worst order, or a lower bound of it. They are equal for independent
choices (a GPU and a port), each among disjoint sets of providers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from senlin_affinity.model.value import Capacity, Value

#: A provider and a resource class.
Key = tuple[str, str]
#: The amount that one server uses of each provider's resource class.
Takes = Mapping[Key, int]
#: The same as sorted pairs of the index of a key and the amount.
_Taken = tuple[tuple[int, int], ...]
_MOST_STATES = 500


class Count(NamedTuple):
    """The number of servers in the best order, and in the worst order."""

    room: int
    certain: int


class CandidateCapacity(Value, frozen=True, gc=False):
    """The number of servers that Placement allocates on one host for one query."""

    query: str
    room: Capacity
    certain: Capacity


def count(alternatives: Iterable[Takes], free: Mapping[Key, int]) -> Count:
    """Count the servers that fit if each uses one of the alternatives."""
    unique = {frozenset(takes.items()): takes for takes in alternatives}
    fitting = [takes for takes in unique.values() if _room(takes.items(), free)]
    if len(fitting) < 2:
        room = sum(_room(takes.items(), free) for takes in fitting)
        return Count(room, room)
    # Sort by class and free capacity, so that similar hosts share an entry of the cache.
    keys = sorted({key for takes in fitting for key in takes}, key=lambda key: (key[1], free[key]))
    places = {key: place for place, key in enumerate(keys)}
    left = tuple(free[key] for key in keys)
    taken = [tuple(sorted((places[key], takes[key]) for key in takes)) for takes in fitting]
    counts = [_among(choices, left) for choices in _choices(taken, [key[1] for key in keys])]
    return Count(min(each.room for each in counts), min(each.certain for each in counts))


def _choices(taken: Sequence[_Taken], classes: Sequence[str]) -> Iterable[tuple[_Taken, ...]]:
    """Split the alternatives into independent choices; return one choice if that is impossible.

    Each choice is about one resource class, or several that depend on each other.
    """
    parts = {frozenset([name]): _part(taken, classes, [name]) for name in classes}
    while both := next(
        (
            one | two
            for one, two in itertools.combinations(parts, 2)
            if len(_part(taken, classes, one | two)) < len(parts[one]) * len(parts[two])
        ),
        None,
    ):
        parts = {names: part for names, part in parts.items() if names.isdisjoint(both)}
        parts[both] = _part(taken, classes, both)
    # An alternative that lacks these classes prevents a split.
    is_partial = any(() in part for part in parts.values())
    if is_partial or math.prod(map(len, parts.values())) != len(taken):
        return [tuple(sorted(taken))]
    return [tuple(sorted(part)) for part in parts.values()]


def _part(
    taken: Iterable[_Taken], classes: Sequence[str], names: Collection[str]
) -> frozenset[_Taken]:
    return frozenset(tuple(pair for pair in each if classes[pair[0]] in names) for each in taken)


@lru_cache(maxsize=1024)
def _among(choices: tuple[_Taken, ...], free: tuple[int, ...]) -> Count:
    every = [place for takes in choices for place, _amount in takes]
    if len(set(every)) == len(every):
        room = sum(_room(takes, free) for takes in choices)
        return Count(room, room)
    return _tried(choices, free) or _bounds(choices, free)


def _room(takes: Iterable[tuple[Any, int]], free: Any) -> int:
    room: int = min(free[key] // amount for key, amount in takes)
    return max(0, room)


def _tried(choices: Sequence[_Taken], free: tuple[int, ...]) -> Count | None:
    """Search every order; return None if a host has more than ``_MOST_STATES`` states."""
    known: dict[tuple[int, ...], Count] = {}
    stack = [free]
    while stack:
        state = stack[-1]
        if state in known:
            stack.pop()
            continue
        after = [_after(state, takes) for takes in choices if _room(takes, state)]
        missing = [each for each in after if each not in known]
        if missing:
            if len(known) + len(stack) > _MOST_STATES:
                return None
            stack.extend(missing)
            continue
        rooms = [known[each] for each in after]
        most = 1 + max(each.room for each in rooms) if rooms else 0
        least = 1 + min(each.certain for each in rooms) if rooms else 0
        known[state] = Count(most, least)
    return known[free]


def _after(free: tuple[int, ...], takes: _Taken) -> tuple[int, ...]:
    left = list(free)
    for place, amount in takes:
        left[place] -= amount
    return tuple(left)


def _bounds(choices: Sequence[_Taken], free: Sequence[int]) -> Count:
    """Return bounds that hold in any order.

    Upper: what fits with each alternative alone, in total. Lower: the number of servers that block
    the last alternative, if each uses the greatest amount of any alternative.
    """
    most = sum(_room(takes, free) for takes in choices)
    # Of several amounts for a place, the last one stays.
    greatest = dict(sorted(pair for takes in choices for pair in takes))
    least = max(
        min(-(-(free[place] - amount + 1) // greatest[place]) for place, amount in takes)
        for takes in choices
    )
    return Count(most, least)
