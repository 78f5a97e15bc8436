"""A host, its inventory of each resource class, and how many servers Placement allocates there.

``GET /allocation_candidates`` lists the alternatives of one server on a host (the amount of each
resource class from each provider) and the free capacity of each provider. Placement chooses an
alternative for each server. Example::

    count([{('numa-0', 'VCPU'): 2}, {('numa-1', 'VCPU'): 2}],
          {('numa-0', 'VCPU'): 5, ('numa-1', 'VCPU'): 4}) == Count(room=4, certain=4)

Units: memory in MiB, disk in GiB. ``room`` is the number of servers in the best order, or an upper
bound of it, and ``certain`` the number in the worst order, or a lower bound of it. They are equal
for independent choices (a GPU and a port), each among disjoint sets of providers. Any spelling of
an aggregate's UUID is converted to lower case with hyphens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from msgspec import Meta
from msgspec.structs import force_setattr, replace

from senlin_affinity.model.flavor import UNIT_CLASSES
from senlin_affinity.model.member_of import CanonicalUuids
from senlin_affinity.model.value import Amount, Capacity, Size, Texts, Value

ServiceHost = Annotated[str, Meta(min_length=1, description='the name of the compute service host')]


class Resource(Value, frozen=True, gc=False):
    """The inventory of one resource class: ``capacity`` after ratio and reserve, and its use.

    ``is_sum``: several providers supply it (a nested tree, shared storage). ``pool`` is the UUID of
    the one sharing provider that supplies all of it. ``reserved`` is the amount that the capacity
    does not include, if it was read, else 0.
    """

    capacity: Capacity
    used: Capacity
    max_unit: Size | None = None
    step_size: Size = 1
    is_sum: bool = False
    pool: str | None = None
    reserved: Amount = 0

    def is_max_unit_unknown(self, name: str, amount: int) -> bool:
        """Return whether an unknown ``max_unit`` may reject this amount.

        False for an amount of 1, and for VCPU, MEMORY_MB and DISK_GB.
        """
        return self.max_unit is None and amount > 1 and name not in UNIT_CLASSES


class Leftover(Value, frozen=True, gc=False):
    """What a consumer that is no server of the host uses there, by resource class.

    ``server`` is the server of a migration or resize that has not ended, or that itself is being
    created or moved here; None: the consumer is no known server and no migration.
    """

    consumer: str
    amounts: Mapping[str, Amount]
    server: str | None = None


class CandidateCapacity(Value, frozen=True, gc=False):
    """The number of servers that Placement allocates on one host for one query."""

    query: str
    room: Capacity
    certain: Capacity


def is_vsphere(hypervisor_type: str) -> bool:
    """Check whether hosts of this type are vSphere clusters."""
    return 'vmware' in hypervisor_type.lower()


def is_ironic(hypervisor_type: str) -> bool:
    """Check whether hosts of this type are nodes of Ironic, which have their own resource class."""
    return hypervisor_type.lower() == 'ironic'


class Host(Value, frozen=True, gc=False):
    """One compute service and its hypervisor. A value of None is unknown.

    ``host`` is the service host (the name in ``zone:host`` and in migrations),
    ``hypervisor_hostname`` the name of the hypervisor and of its resource provider, by default the
    same (never None). ``is_nested``: the resources sum up a tree of providers. ``is_partial``: a
    resource class that is not listed is unknown, instead of not offered. ``grants`` are Placement's
    answers for the host; None if there was no query, or the host changed since. ``servers`` is the
    number of servers, as Nova's scheduler counts them, which is stale after moves
    (``Cloud.number_of_servers`` is not). ``unmirrored`` are aggregates of which Placement does not
    list the host as a member, and ``stale_aggregates`` aggregates from which only Nova has removed
    it, as far as Placement was queried. ``disabled_reason`` is the operator's. ``leftovers`` are
    the consumers of its own resource providers that are no servers; None if they were not read.
    """

    host: ServiceHost
    hypervisor_hostname: str = None  # type: ignore[assignment]
    hypervisor_type: str = ''
    availability_zone: str | None = None
    enabled: bool = True
    up: bool = True
    aggregates: CanonicalUuids = CanonicalUuids()
    traits: Texts = Texts()
    resources: Mapping[str, Resource] | None = None
    is_nested: bool = False
    is_partial: bool = False
    grants: tuple[CandidateCapacity, ...] | None = None
    servers: Amount | None = None
    unmirrored: CanonicalUuids = CanonicalUuids()
    stale_aggregates: CanonicalUuids = CanonicalUuids()
    disabled_reason: str | None = None
    leftovers: tuple[Leftover, ...] | None = None

    def __post_init__(self) -> None:
        if self.hypervisor_hostname is None:
            force_setattr(self, 'hypervisor_hostname', self.host)
        if type(self.aggregates) is not CanonicalUuids:
            force_setattr(self, 'aggregates', CanonicalUuids(self.aggregates))

    def but(self, *, grants: tuple[CandidateCapacity, ...] | None = None, **changed: Any) -> Host:
        """Return a copy with other values and, by default, without ``grants``."""
        return replace(self, grants=grants, **changed)

    def grant(self, query: str | None) -> CandidateCapacity | None:
        """Return Placement's grant for a query, or None."""
        for each in self.grants or ():
            if each.query == query:
                return each
        return None

    @property
    def resource_classes(self) -> tuple[str, ...] | None:
        """Return the names in ``resources``; None if these are unknown."""
        return None if self.resources is None else (*self.resources,)

    @property
    def granted(self) -> tuple[tuple[str, bool], ...] | None:
        """Return each query of ``grants``, and whether Placement allocates any server for it.

        None without ``grants``.
        """
        if self.grants is None:
            return None
        return tuple((each.query, each.room > 0) for each in self.grants)

    @property
    def is_vsphere(self) -> bool:
        """Return whether the host is a vSphere cluster, which consists of ESXi hosts."""
        return is_vsphere(self.hypervisor_type)


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
