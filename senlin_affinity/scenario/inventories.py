"""Make arrays of the inventories of hosts, and of Placement's answers about them.

Units: as in the snapshot; ``INFINITE`` for a ``max_unit`` that is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_not
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from senlin_affinity.model.host import Host, Resource

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: A number of servers without a limit, above that of any host. Half a million of them have a valid
#: sum.
INFINITE = 1 << 43
#: The largest element of an array: a larger amount is that of no host.
_LARGEST = INFINITE - 1
_NOTHING: Mapping[str, Resource] = {}
#: The inventory of a class that a host does not have: its ``max_unit`` is below any amount.
_NONE = Resource(0, 0, 0)
_RESOURCES, _GRANTS = attrgetter('resources'), attrgetter('grants')
_CAPACITY, _USED, _MAX_UNIT, _STEP_SIZE, _IS_SUM, _POOL, _RESERVED = map(
    attrgetter, Resource.__struct_fields__
)


class Inventories(NamedTuple):
    """The inventories of one resource class.

    ``is_listed``: the host has an inventory of the class; the other arrays are 0 without one, and
    ``step_size`` is 1. ``free`` may be negative. ``is_sum`` and ``is_pooled`` are
    ``Resource.is_sum``, and whether it has a ``pool``.
    """

    is_listed: Flags
    capacity: Numbers
    free: Numbers
    max_unit: Numbers
    step_size: Numbers
    is_sum: Flags
    is_pooled: Flags
    reserved: Numbers


class Grants(NamedTuple):
    """Placement's answers to one query.

    ``is_asked``: Placement was asked about the host, by any query. ``is_listed``: its answer has
    the host; otherwise, ``room`` and ``certain`` are 0.
    """

    is_asked: Flags
    is_listed: Flags
    room: Numbers
    certain: Numbers


def grants_of(hosts: Sequence[Host], query: str | None) -> Grants:
    """Return Placement's answers to a query about these hosts."""
    if {*map(_GRANTS, hosts)} <= {None}:
        none, zeros = np.zeros(len(hosts), bool), np.zeros(len(hosts), np.int64)
        return Grants(none, none, zeros, zeros)
    found = [host.grant(query) for host in hosts]
    is_asked = np.array([host.grants is not None for host in hosts], bool)
    rooms = np.array([(each.room, each.certain) if each else (0, 0) for each in found], np.int64)
    room, certain = rooms.reshape(-1, 2).T
    return Grants(is_asked, np.array([each is not None for each in found], bool), room, certain)


def inventories_of(hosts: Sequence[Host], name: str) -> Inventories:
    """Return the inventories of one resource class of these hosts."""
    listed = [(each or _NOTHING).get(name, _NONE) for each in map(_RESOURCES, hosts)]
    if all(each is _NONE for each in listed):
        none, zeros = np.zeros(len(listed), bool), np.zeros(len(listed), np.int64)
        return Inventories(none, zeros, zeros, zeros, zeros + 1, none, none, zeros)
    try:
        capacity, used = (
            np.fromiter(map(v, listed), np.int64, len(listed)) for v in (_CAPACITY, _USED)
        )
        free = np.clip(capacity - used, -_LARGEST, _LARGEST)
    except OverflowError:
        capacity = np.array([min(each.capacity, _LARGEST) for each in listed], np.int64)
        differences = (each.capacity - each.used for each in listed)
        free = np.array([max(-_LARGEST, min(each, _LARGEST)) for each in differences], np.int64)
    return Inventories(
        np.fromiter(map(is_not, listed, repeat(_NONE)), bool, len(listed)),
        np.minimum(capacity, _LARGEST),
        free,
        _each(
            map(_MAX_UNIT, listed), lambda most: INFINITE if most is None else min(most, _LARGEST)
        ),
        _each(map(_STEP_SIZE, listed), int),
        _each(map(_IS_SUM, listed), bool),
        _each(map(_POOL, listed), lambda pool: pool is not None),
        _each(map(_RESERVED, listed), lambda reserved: min(reserved, _LARGEST)),
    )


def _each(values: Iterable[Any], convert: Callable[[Any], int]) -> Any:
    """Return an array of the converted values, which are often all the same."""
    every = [*values]
    array_of = {value: convert(value) for value in {*every}}
    if len(array_of) == 1:
        return np.full(len(every), array_of[every[0]])
    return np.array([*map(array_of.__getitem__, every)])
