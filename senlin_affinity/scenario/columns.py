"""Hold the fields and the inventories of all hosts as arrays, one element per host.

Each array is computed when it is first read. Hosts with equal values of some fields form a class:
a constraint is evaluated once for each class of the fields that it reads.

Example::

    columns = Columns.of(cloud)
    columns.classes(('enabled',)).of_host        array([0, 1, 0])     the second host is disabled
    columns.classes(('enabled',)).values         [(True,), (False,)]
    columns.inventories('VCPU').free             array([4, 0, 16])

Units: as in the snapshot; ``INFINITE`` for a ``max_unit`` that is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, repeat
from operator import attrgetter, eq, is_, is_not
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host, Resource

_Arrays = TypeVar('_Arrays', bound=tuple[Any, ...])
_Derived = TypeVar('_Derived')
_Key = TypeVar('_Key', bound=str | None)

_NAME = attrgetter('host')
#: Where a host is: the zones of a cloud are derived from it.
_PLACE = attrgetter('availability_zone', 'aggregates')
#: The fields from which properties of hosts are computed.
_SOURCE = {'resource_classes': 'resources', 'granted': 'grants', 'is_vsphere': 'hypervisor_type'}
#: The largest number of entries of a cache of verdicts.
_MOST_KNOWN = 256
#: The number of entries of the cache of arrays follows from the number of hosts: with 100,000 of
#: them, an entry has up to 3 MB.
_LEAST_KNOWN, _MOST_ELEMENTS = 32, 3_000_000


class Classes(NamedTuple):
    """The class of each host by some fields, and the values of the fields for each class.

    ``number_of`` is the number of each class by its values. A class may have no host.
    """

    of_host: Numbers
    values: Sequence[tuple[Any, ...]]
    number_of: Mapping[Any, int]


class Columns:
    """The fields of hosts, as arrays that are computed once.

    :param base: the columns of other hosts, which differ at the indexes ``changed`` only; indexes
        after the last host of ``base`` are ascending.
    :param hosts: by default, those of the cloud.
    :param are_copies: the changed hosts differ from each other in their names only.
    """

    def __init__(
        self,
        cloud: Cloud,
        base: Columns | None = None,
        changed: Sequence[int] = (),
        hosts: Sequence[Host] | None = None,
        *,
        are_copies: bool = False,
    ) -> None:
        self.cloud = cloud
        self.hosts: Sequence[Host] = (cloud.hosts or ()) if hosts is None else hosts
        self._base, self._changed = base, np.array(changed, np.int64)
        own = changed[:1] if are_copies else changed
        # An array of one element is that of all copies.
        self._own = self.hosts if base is None else [self.hosts[index] for index in own]
        self._flags: dict[str, Flags] = {}
        self._same: dict[str, bool] = {}
        self._tables: dict[tuple[str, str | None], Any] = {}
        self._classes: dict[tuple[str, ...], Classes] = {}
        self._derived: dict[Hashable, Any] = {}

    @cached_property
    def verdicts(self) -> dict[Hashable, dict[Any, Any]]:
        """Verdicts by class, shared by all columns that differ in their hosts only."""
        return self._base.verdicts if self._base is not None and self.is_alike else {}

    @cached_property
    def is_alike(self) -> bool:
        """Return whether the cloud and the one before a change differ in hosts and quotas only."""
        return self._base is not None and _is_alike(self.cloud, self._base.cloud)

    @classmethod
    def of(cls, cloud: Cloud) -> Columns:
        """Return the columns of a cloud, which are computed once."""
        known: Columns | None = vars(cloud).get('columns')
        if known is None:
            known = vars(cloud)['columns'] = cls(cloud)
        return known

    def with_hosts(
        self, changed: Mapping[int, Host], *, are_copies: bool = False, **parts: Any
    ) -> Columns:
        """Return the columns with other hosts at these indexes, as ``Cloud.with_hosts``.

        :param parts: other parts of the cloud, such as its quotas.
        """
        cloud = structs.replace(self.cloud.with_hosts(changed), **parts)
        end, now = len(self.hosts), cloud.hosts or ()
        indexes = [index for index in changed if index < end]
        every = [*indexes, *range(end, len(now))]
        columns = Columns(cloud, self, every, are_copies=are_copies)
        before, after = [self.hosts[index] for index in indexes], [now[index] for index in indexes]
        if all(map(eq, map(_NAME, before), map(_NAME, after))):
            vars(columns)['names'] = (*self.names, *(host.host for host in now[end:]))
            vars(cloud)['host_names'] = columns.names
        if len(now) == end and 'names' in vars(columns):
            _keep(('has_shared_services',), self.cloud, cloud)
            _keep(('name_ranks', 'indexes_by_name'), self, columns)
        places = self.cloud.places
        is_same = all(map(eq, map(_PLACE, before), map(_PLACE, after)))
        if is_same and places.issuperset(map(_PLACE, now[end : end + 1 if are_copies else None])):
            _keep(('places', 'zones'), self.cloud, cloud)
        vars(cloud)['columns'] = columns
        return columns

    def of_hosts(self, hosts: Sequence[Host]) -> Columns:
        """Return the columns of other hosts in the same cloud."""
        if hosts is self.hosts:
            return self
        columns = Columns(self.cloud, hosts=hosts)
        _keep(('verdicts',), self, columns)
        return columns

    @cached_property
    def names(self) -> Sequence[str]:
        """Return the service host of each host."""
        is_all = self.hosts is self.cloud.hosts
        return self.cloud.host_names if is_all else [host.host for host in self.hosts]

    def known(
        self, key: Hashable, derive: Callable[[], _Derived], fields: Iterable[str] | None = None
    ) -> _Derived:
        """Return what ``derive`` returns for these hosts, which is computed once for each key.

        :param fields: those that it depends on. The answer is that of the hosts before a change if
            the change does not concern them.
        """
        base = self._base
        is_as_long = base is not None and len(base.hosts) == len(self.hosts)
        if base and is_as_long and fields is not None and all(map(self._has_same, fields)):
            return base.known(key, derive, fields)
        if key not in self._derived:
            most = max(_LEAST_KNOWN, _MOST_ELEMENTS // (len(self.hosts) or 1))
            if len(self._derived) >= min(most, _MOST_KNOWN):
                self._derived.clear()
            self._derived[key] = derive()
        found: _Derived = self._derived[key]
        return found

    def verdicts_by_class(self, key: Hashable) -> dict[Any, Any]:
        """Return the known verdicts of a constraint by class; the cache is bounded."""
        if key not in self.verdicts and len(self.verdicts) >= _MOST_KNOWN:
            self.verdicts.clear()
        return self.verdicts.setdefault(key, {})

    @cached_property
    def indexes_by_name(self) -> Mapping[str, tuple[int, ...]]:
        """Return the indexes of the hosts of each service host."""
        names, begin = self.names, 0
        if self._base is None and len({*names}) == len(names):
            return dict(zip(names, zip(range(len(names)), strict=True), strict=True))
        found: dict[str, tuple[int, ...]] = {}
        if self._base is not None and names[: len(self._base.names)] == self._base.names:
            found, begin = {**self._base.indexes_by_name}, len(self._base.names)
        for index in range(begin, len(names)):
            found[names[index]] = (*found.get(names[index], ()), index)
        return found

    def indexes_of(self, name: str | None, node: str | None) -> Iterator[int]:
        """Yield the indexes of a service host's hypervisors, or that of one; None: not known."""
        indexes = self.indexes_by_name.get(name or '', ())
        return (each for each in indexes if node in (None, self.hosts[each].hypervisor_hostname))

    @cached_property
    def name_ranks(self) -> Numbers:
        """Return the position of each host in the order of the names of the service hosts."""
        names = self.names
        rank_of = {name: rank for rank, name in enumerate(sorted(dict.fromkeys(names)))}
        return np.fromiter(map(rank_of.__getitem__, names), np.int64, len(names))

    def counted(self, by_name: Mapping[str, int]) -> Numbers:
        """Return a number for each host by the name of its service host; 0 for other names."""
        indexes, numbers = self.indexes_by_name, np.zeros(len(self.hosts), np.int64)
        for name, number in by_name.items():
            for index in indexes.get(name, ()):
                numbers[index] = number
        return numbers

    def of_services(self, numbers: Numbers) -> Numbers:
        """Return for each host the sum of the numbers of the hosts of its service."""
        if not self.cloud.has_shared_services:
            return numbers
        sums = np.zeros_like(numbers)
        np.add.at(sums, self.name_ranks, numbers)
        return sums[self.name_ranks]

    def flags(self, name: str, test: Callable[[Host], bool] | None = None) -> Flags:
        """Return a boolean property of each host; a ``test`` computes one of that name."""
        if self._base is not None and test is None and self._has_same(name):
            return self._base.flags(name)
        if name not in self._flags:
            value = attrgetter(name) if test is None else test
            own = np.fromiter(map(value, self._own), bool, len(self._own))
            if self._base is not None:
                own = self._patched(self._base.flags(name, test), own)
            self._flags[name] = own
        return self._flags[name]

    def flags_by_class(self, field: str, test: Callable[[Any], bool]) -> Flags:
        """Return a property of each host that follows from the value of one field."""
        classes = self.classes((field,))
        return np.fromiter((test(value) for (value,) in classes.values), bool)[classes.of_host]

    def inventories(self, name: str) -> Inventories:
        """Return the inventories of a resource class."""
        return self._table('resources', name, inventories_of)

    def grants(self, query: str | None) -> Grants:
        """Return Placement's answers to a query."""
        return self._table('grants', query, grants_of)

    def _table(
        self, field: str, key: _Key, of_hosts: Callable[[Sequence[Host], _Key], _Arrays]
    ) -> _Arrays:
        """Return the arrays of a NamedTuple, which ``of_hosts`` makes of one field of hosts."""
        if self._base is not None and self._has_same(field):
            return self._base._table(field, key, of_hosts)
        known: _Arrays | None = self._tables.get((field, key))
        if known is None:
            known = of_hosts(self._own, key)
            if self._base is not None:
                pairs = zip(self._base._table(field, key, of_hosts), known, strict=True)
                known = type(known)(*(self._patched(old, new) for old, new in pairs))
            self._tables[field, key] = known
        return known

    def classes(self, fields: tuple[str, ...]) -> Classes:
        """Return the classes of the hosts by these fields, in the order in which they appear."""
        if self._base is not None and all(map(self._has_same, (*fields, 'host'))):
            return self._base.classes(fields)
        if fields not in self._classes:
            known = {} if self._base is None else self._base.classes(fields).number_of
            number_of = defaultdict(count(len(known)).__next__, known)
            changed = self._own
            if len(changed) < len(self._changed) and 'host' in fields:  # copies have own names
                changed = [self.hosts[index] for index in self._changed]
            own = map(number_of.__getitem__, _keys(changed, fields))
            of_host = np.fromiter(own, np.int64, len(changed))
            if self._base is not None:
                of_host = self._patched(self._base.classes(fields).of_host, of_host)
            self._classes[fields] = Classes(of_host, [*number_of], number_of)
        return self._classes[fields]

    def _has_same(self, field: str) -> bool:
        """Check whether all changed hosts have the value of this field that the base has there."""
        if field not in self._same and self._base is not None:
            value, old = attrgetter(_SOURCE.get(field, field)), self._base.hosts
            before = map(value, map(old.__getitem__, self._changed.tolist()))
            is_same = len(old) == len(self.hosts) and all(map(is_, before, map(value, self._own)))
            self._same[field] = is_same
        return self._same[field]

    def _patched(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """Return the old elements with those of the changed hosts; indexes after the end append."""
        array = np.empty(len(self.hosts), old.dtype)
        array[: len(old)] = old
        array[self._changed] = new
        return array


def _keep(names: Iterable[str], old: object, new: object) -> None:
    """Let cached properties of an object have the values that another object has."""
    for name in names:
        vars(new)[name] = getattr(old, name)


def _is_alike(one: Cloud, two: Cloud) -> bool:
    """Check whether the clouds differ at most in their hosts and quotas; the zones are equal."""
    names = (name for name in Cloud.__struct_fields__ if name not in ('hosts', 'quotas'))
    same = all(getattr(one, name) is getattr(two, name) for name in names)
    return same and one.zones == two.zones


def _keys(hosts: Iterable[Host], fields: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
    """Yield the values of the fields of each host, always as a tuple."""
    if not fields:
        return (() for _host in hosts)
    if len(fields) == 1:
        return zip(map(attrgetter(fields[0]), hosts))
    return map(attrgetter(*fields), hosts)


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
