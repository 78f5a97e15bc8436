"""How many servers of one kind Placement grants on a host, one after the other.

Data flow: an answer of ``GET /allocation_candidates`` has the alternatives of one server on a host
(what it takes, of which class, from which provider), and what each provider has free. Each server
takes one alternative, and which of them is Placement's choice; servers come until none fits.

Shapes::

    count([{('numa-0', 'VCPU'): 2}, {('numa-1', 'VCPU'): 2}],
          {('numa-0', 'VCPU'): 5, ('numa-1', 'VCPU'): 4}) == Count(room=4, certain=4)

Units: numbers of servers. ``room`` is the most that fit in any order, or a bound above it;
``certain`` is what fits in every order, or a bound below it. They are equal where the order does
not matter: where the alternatives are choices that are made independently of each other (a GPU, and
a port), each among disjoint sets of providers. Others are tried one by one while they are few.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

#: A provider and a resource class.
Key = tuple[str, str]
#: What one server takes.
Takes = Mapping[Key, int]
#: The same, with the places of the keys in place of the keys: sorted pairs of place and amount.
_Taken = tuple[tuple[int, int], ...]

#: Where the order matters, so many states of a host are looked at.
_MOST_STATES = 500


class Count(NamedTuple):
    """The most that fit, and what fits in every order."""

    room: int
    certain: int


class Grant(NamedTuple):
    """What Placement grants of one query on a host: so many such servers."""

    query: str
    room: int
    certain: int

    def less(self, servers: int) -> Grant:
        """What is left of it for more of them."""
        return Grant(self.query, max(0, self.room - servers), max(0, self.certain - servers))


def count(alternatives: Iterable[Takes], free: Mapping[Key, int]) -> Count:
    """How many servers fit, of which each takes one of the alternatives."""
    unique = {frozenset(takes.items()): takes for takes in alternatives}
    fitting = [takes for takes in unique.values() if _room(takes.items(), free)]
    if len(fitting) < 2:
        room = sum(_room(takes.items(), free) for takes in fitting)
        return Count(room, room)
    # In an order by which hosts that are alike look alike.
    keys = sorted({key for takes in fitting for key in takes}, key=lambda key: (key[1], free[key]))
    places = {key: place for place, key in enumerate(keys)}
    left = tuple(free[key] for key in keys)
    taken = [tuple(sorted((places[key], takes[key]) for key in takes)) for takes in fitting]
    counts = [_among(choices, left) for choices in _choices(taken, [key[1] for key in keys])]
    return Count(min(each.room for each in counts), min(each.certain for each in counts))


def _choices(taken: Sequence[_Taken], classes: Sequence[str]) -> Iterable[tuple[_Taken, ...]]:
    """The choices that are made independently of each other, each with its alternatives.

    The alternatives are a product of those of single resource classes, or of sets of classes that
    depend on each other (two that come from the same provider).
    """
    sets = [{name} for name in dict.fromkeys(classes)]
    parts = [_part(taken, classes, names) for names in sets]
    one = 0
    while one < len(sets):
        for two in range(one + 1, len(sets)):
            both = sets[one] | sets[two]
            together = _part(taken, classes, both)
            if len(together) < len(parts[one]) * len(parts[two]):
                sets[one], parts[one] = both, together
                del sets[two], parts[two]
                one = -1
                break
        one += 1
    if math.prod(map(len, parts)) != len(taken):
        return [tuple(sorted(taken))]
    return [tuple(sorted(part)) for part in parts]


def _part(
    taken: Iterable[_Taken], classes: Sequence[str], names: Collection[str]
) -> frozenset[_Taken]:
    """What the alternatives take of some classes."""
    return frozenset(tuple(pair for pair in each if classes[pair[0]] in names) for each in taken)


@lru_cache(maxsize=1024)
def _among(choices: tuple[_Taken, ...], free: tuple[int, ...]) -> Count:
    """How many servers fit by one choice."""
    every = [place for takes in choices for place, _amount in takes]
    if len(set(every)) == len(every):
        room = sum(_room(takes, free) for takes in choices)
        return Count(room, room)
    return _tried(choices, free) or _bounds(choices, free)


def _room(takes: Iterable[tuple[Any, int]], free: Any) -> int:
    """How many servers fit that all take the same; ``free`` is by the key, or by its place."""
    room: int = min(free[key] // amount for key, amount in takes)
    return max(0, room)


def _tried(choices: Sequence[_Taken], free: tuple[int, ...]) -> Count | None:
    """The most and the least that fit, by every order; None where there are too many of them."""
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
        stack.pop()
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
    """Bounds that hold in any order.

    No more fit than each alternative alone lets in, all added up. No fewer fit than it takes to
    block the alternative that is blocked last, by servers of those that take the most.
    """
    most = sum(_room(takes, free) for takes in choices)
    greatest: dict[int, int] = {}
    for place, amount in (pair for takes in choices for pair in takes):
        greatest[place] = max(amount, greatest.get(place, 0))
    least = max(
        min(-(-(free[place] - amount + 1) // greatest[place]) for place, amount in takes)
        for takes in choices
    )
    return Count(most, least)
