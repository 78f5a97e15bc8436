"""Count how many servers of each flavor fit: in all, and by zone, aggregate, metadata key or host.

The input is a request for no server, which has the settings, the project and the server group, and
gives up the quotas; each flavor takes the place of its flavor. The number of a flavor is that of a
plan for it. Each flavor is evaluated once; the numbers of its hosts add up to those of the parts.

Example::

    found = capacity(request, scenario, cloud.flavors, constraints, by='zone')
    large = found.flavors[0]
    large.bounds                  Bounds(12, 12, 12)
    large.runs_out_first          'MEMORY_MB'
    large.stranded                (('VCPU', 96), ('DISK_GB', 4000))    left after 12 servers
    large.parts[0]                PartCapacity('az-1', Bounds(8, 8, 8), hosts=5, largest_host=4)

Units: numbers of servers; amounts as in the snapshot. A bound of None is unlimited or unknown.

Raises: InvalidSpec for a ``by`` that is no metadata key of an aggregate, and for the name of a
flavor that does not exist.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, reduce
from operator import add, or_
from typing import NamedTuple

import numpy as np

from senlin_affinity.engine import assumptions, unspecified
from senlin_affinity.engine.capacity import CHOICE
from senlin_affinity.engine.evaluation import NOTHING, Evaluation, Shared, coupled, evaluate
from senlin_affinity.engine.host_verdicts import PASS
from senlin_affinity.engine.table import Table
from senlin_affinity.model.assumption import Assumption
from senlin_affinity.model.bounds import NONE, Bounds
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.reason import sentence
from senlin_affinity.model.request import QUOTA, Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.suggestion import meant
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.scenario.column import limit
from senlin_affinity.scenario.columns import UNLIMITED, Flags, Numbers
from senlin_affinity.scenario.constraint import Constraint, is_of_requests, reasons_of
from senlin_affinity.scenario.scenario import Scenario

#: The values of ``by`` that are no metadata keys.
ZONE, AGGREGATE, HOST = 'zone', 'aggregate', 'host'
#: The name of the part of hosts whose zone is unknown, or that have no value of a metadata key.
NO_NAME = ''
#: The characters of a glob.
_GLOB = frozenset('*?[')
#: A number of servers on a host is below the next larger one.
_NEARLY_ONE = 0.999
#: The codes of caveats, by the beginning of their texts.
_CAVEATS: Mapping[str, str] = {
    'affinity without members': 'server_group.no_members',
    'domains that limit each other': 'domains.crossing',
    'parts of the snapshot that are not known': 'snapshot.unknown',
    "the project's quotas": 'quota.unknown',
    'a private flavor': 'flavor.access',
    CHOICE: 'resources.several_providers',
    'shared resources': 'resources.shared',
    "Placement's answer": 'resources.truncated',
    'hosts with nested resource providers': 'resources.nested',
    'vSphere clusters': 'resources.vsphere',
    'resource classes whose unit limits': 'resources.unit_limits',
    'members whose host is not known': 'server_group.lost_members',
    'soft-deleted servers': 'server_group.soft_deleted',
    'hosts that Placement has in the aggregates of another zone': 'availability_zone.stale',
    'forbidden traits that may not exist': 'traits.uncertain',
    'what nova.conf may enable': unspecified.ASSUMED.code,
}
_OF_CONSTRAINT = re.compile(r'constraint ([^ ,]+)')
#: The code of a caveat about a filter or a feature of the flavor that no constraint covers.
_UNMODELLED = 'flavor.unmodelled'


class Caveat(NamedTuple):
    """Why Nova may place fewer servers: a stable code, and the text in a plan."""

    code: str
    text: str


class Rejection(NamedTuple):
    """Why Nova rejects every request for a flavor: a code, and a sentence."""

    code: str
    sentence: str


@dataclass(frozen=True)
class PartCapacity:
    """The servers that fit on some hosts: those of a zone, an aggregate, a key's value, or one.

    ``hosts`` is the number of these that take at least one server. ``largest_host`` is the number
    of servers that the largest usable one would hold if it were empty.
    """

    name: str
    bounds: Bounds
    hosts: int = 0
    largest_host: int = 0

    @property
    def spare(self) -> Bounds:
        """The servers that still fit after the loss of the largest host and of what it holds."""
        return Bounds(*(each and max(0, each - self.largest_host) for each in self.bounds))


@dataclass(frozen=True)
class FlavorCapacity:
    """How many servers of one flavor fit.

    * ``bounds`` do not count quotas; ``caveats`` say why fewer than ``expected`` may fit.
    * ``rejection``: Nova rejects every request for the flavor; the bounds are 0.
    * ``runs_out_first`` is what limits the number on most hosts: a resource class, or the name of a
      constraint, such as ``server_count``. None if every host is rejected for another reason.
    * ``stranded`` are the amounts of the requested classes that stay free on usable hosts after
      they are full. A host is usable unless it is rejected for more than a lack of capacity.
    * ``lacking`` is the amount of ``runs_out_first`` that one server requests, if no usable host
      has it; otherwise 0.
    * ``rejected_hosts`` has each code with the number of hosts that it rejects first.
    * ``parts`` are those of ``by``, which may overlap; ``zones`` are those of the zones.
    * ``of_quotas`` is the number that the quotas of the project allow; None: they are unknown.
    """

    flavor: Flavor
    bounds: Bounds
    caveats: tuple[Caveat, ...] = ()
    hosts: int = 0
    rejection: Rejection | None = None
    runs_out_first: str | None = None
    lacking: int = 0
    stranded: tuple[tuple[str, int], ...] = ()
    rejected_hosts: tuple[tuple[str, int], ...] = ()
    parts: tuple[PartCapacity, ...] = ()
    zones: tuple[PartCapacity, ...] = ()
    of_quotas: Bounds | None = None

    @property
    def is_at_most(self) -> bool:
        """Whether fewer servers than expected may fit."""
        return bool(self.caveats)

    @property
    def spare(self) -> Bounds:
        """The servers that still fit after the loss of the largest host of each zone."""
        return reduce(add, (zone.spare for zone in self.zones), NONE) & self.bounds


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


@dataclass(frozen=True)
class Capacity:
    """The capacity of several flavors, the scarcest first; those that Nova rejects come last.

    ``by`` is what the parts are: ``zone``, ``aggregate``, ``host`` or a metadata key. ``amounts``
    are those of the classes that the flavors request. The numbers hold under the ``assumptions``.
    """

    flavors: tuple[FlavorCapacity, ...]
    by: str | None = None
    amounts: tuple[FreeAmount, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    taken_at: str | None = None


def capacity(
    request: Request,
    scenario: Scenario,
    flavors: Sequence[Flavor],
    constraints: Sequence[Constraint],
    by: str | None = None,
) -> Capacity:
    """Return the capacity of each flavor.

    :param request: for no server, without quotas.
    :param by: ``zone``, ``aggregate``, ``host``, or a metadata key of aggregates.
    """
    zones = _parts(scenario, ZONE)
    parts = zones if by == ZONE else _NO_PARTS if by is None else _parts(scenario, by)
    rest = _Rest(scenario)
    waived = request.settings.waived
    shared = _Answers([each for each in constraints if each.name not in waived])
    found = [
        _of_flavor(request, scenario, each, constraints, shared, zones, parts, rest)
        for each in flavors
    ]
    return Capacity(
        tuple(sorted((each for each, _assumed in found), key=_scarcity)),
        by,
        rest.amounts(zones),
        tuple(dict.fromkeys(each for _found, assumed in found for each in assumed)),
        scenario.cloud.taken_at,
    )


def usable(flavors: Iterable[Flavor]) -> tuple[Flavor, ...]:
    """Return the flavors without private ones that are not shared with the project."""
    return tuple(each for each in flavors if each.is_shared is not False)


def select(flavors: Sequence[Flavor], names: Iterable[str]) -> tuple[Flavor, ...]:
    """Return the flavors with these ids, names or globs (``m1.*``), each once, in their order.

    An id comes first, then a name, then a glob of names, which leaves out private flavors that are
    not shared with the project. Raise InvalidSpec if nothing matches.
    """
    found: dict[str, Flavor] = {}
    for name in names:
        matching = (
            [each for each in flavors if each.id == name]
            or [each for each in flavors if each.name == name]
            or [each for each in usable(flavors) if fnmatchcase(each.name, name)]
        )
        if not matching:
            what = 'there is no flavor' if _GLOB.isdisjoint(name) else 'no flavor matches'
            words = meant(name, sorted({each.name for each in flavors}))
            raise InvalidSpec(f'{what} {name!r}: {words}', 'flavor')
        found |= {each.id: each for each in matching}
    return tuple(each for each in flavors if each.id in found)


def _scarcity(each: FlavorCapacity) -> tuple[bool, bool, int, str, str]:
    """Return the key by which flavors are sorted."""
    expected, flavor = each.bounds.expected, each.flavor
    is_open = expected is None
    return each.rejection is not None, is_open, expected or 0, flavor.name, flavor.id


def _of_flavor(
    request: Request,
    scenario: Scenario,
    flavor: Flavor,
    constraints: Sequence[Constraint],
    shared: _Answers,
    zones: _Parts,
    parts: _Parts,
    rest: _Rest,
) -> tuple[FlavorCapacity, tuple[Assumption, ...]]:
    """Return the capacity of a flavor, and its assumptions."""
    request, cloud = replace(request, flavor=flavor, unknown_flavor=None), scenario.cloud
    now = evaluate(request, scenario, constraints, shared=shared.of(request, scenario))
    total = unspecified.with_unspecified(now).total
    assumed = assumptions.mattering(assumptions.find(request, cloud, now.declared), total)
    found = FlavorCapacity(
        flavor,
        total.bounds,
        _caveats(total.caveats),
        rejection=_rejection(now, constraints),
        of_quotas=_of_quotas(request, cloud, constraints),
    )
    if found.rejection is None and cloud.hosts is not None:
        found = _with_hosts(found, now, zones, parts, rest)
    return found, assumed


class _Answers:
    """The answers of constraints that flavors with equal values of the fields they read share."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._by_fields: dict[tuple[str, ...], list[Constraint]] = {}
        for each in constraints:
            if each.reads_flavor is not None:
                self._by_fields.setdefault(each.reads_flavor, []).append(each)
        self._known: dict[Hashable, Shared] = {}

    def of(self, request: Request, scenario: Scenario) -> Shared:
        """Return the answers for a request, which differs from earlier ones in its flavor only."""
        found = []
        for fields, constraints in self._by_fields.items():
            key = fields, repr([getattr(request.flavor, name) for name in fields])
            if key not in self._known:
                self._known[key] = Shared.of(request, scenario, constraints)
            found.append(self._known[key])
        return reduce(or_, found, NOTHING)


def _rejection(now: Evaluation, constraints: Iterable[Constraint]) -> Rejection | None:
    """Return why Nova rejects every request; None if it does not."""
    rejected = next((each for each in now.verdicts.values() if not each), None)
    if rejected is None:
        return None
    return Rejection(rejected.code, sentence(rejected, reasons_of(constraints)))


def _with_hosts(
    found: FlavorCapacity, now: Evaluation, zones: _Parts, parts: _Parts, rest: _Rest
) -> FlavorCapacity:
    """Return the capacity with what depends on single hosts."""
    table = now.table if now.domains is None else now.domains.table
    sizes = _Sizes(now, table)
    rest.take(sizes)
    of_zones = _in_parts(now, zones, sizes, found.bounds)
    first, lacking = sizes.runs_out_first()
    return replace(
        found,
        hosts=int(np.count_nonzero(table.expected)),
        runs_out_first=first,
        lacking=lacking,
        stranded=sizes.stranded(),
        rejected_hosts=_rejected_hosts(table),
        zones=of_zones,
        parts=of_zones if parts is zones else _in_parts(now, parts, sizes, found.bounds),
    )


def _caveats(texts: Iterable[str]) -> tuple[Caveat, ...]:
    """Return the caveats with their codes; the name of a constraint is the code of its caveat."""
    return tuple(Caveat(_code(text), text) for text in texts)


def _code(text: str) -> str:
    for beginning, code in _CAVEATS.items():
        if text.startswith(beginning):
            return code
    named = _OF_CONSTRAINT.match(text)
    return _UNMODELLED if named is None else named[1]


def _of_quotas(
    request: Request, cloud: CloudSnapshot, constraints: Iterable[Constraint]
) -> Bounds | None:
    """Return the number of servers that the quotas allow; None if they are unknown."""
    waived = request.settings.waived - {QUOTA}
    counted = replace(request, settings=replace(request.settings, waived=waived))
    for each in constraints:
        if each.name == QUOTA and is_of_requests(each):
            verdict = each.check_request(counted, cloud)
            return verdict.bounds if verdict.outcome is PASS or not verdict else None
    return None


def _rejected_hosts(table: Table) -> tuple[tuple[str, int], ...]:
    """Return each code with the number of hosts that it rejects first, the most frequent first."""
    counts: Counter[str] = Counter()
    for row, number in zip(table.rows, np.bincount(table.row_of).tolist(), strict=False):
        if number and row.code is not None:
            counts[row.code] += number
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


# -- parts of the cloud


class _Parts(NamedTuple):
    """Sets of hosts, by name.

    ``members`` has the host indexes of one set after the other, ``starts`` the index in it at which
    each set begins. ``empty`` are the names of sets without hosts.
    """

    names: Sequence[str]
    members: Numbers
    starts: Numbers
    empty: Sequence[str] = ()

    def sums(self, values: Numbers) -> list[int]:
        """Return the sum of each set."""
        found: list[int] = np.add.reduceat(values[self.members], self.starts).tolist()
        return found

    def largest(self, values: Numbers) -> list[int]:
        """Return the largest value of each set."""
        found: list[int] = np.maximum.reduceat(values[self.members], self.starts).tolist()
        return found


_NO_PARTS = _Parts((), np.zeros(0, np.int64), np.zeros(0, np.int64))


def _parts(scenario: Scenario, by: str) -> _Parts:
    """Return the sets of hosts by zone, aggregate, host, or a metadata key."""
    columns = scenario.columns
    names_of: list[tuple[str, ...]]
    known: Iterable[str] = ()
    if by == HOST:
        names_of = [(name,) for name in columns.names]
        numbers = np.arange(len(names_of))
    elif by == ZONE:
        classes = columns.classes(('availability_zone',))
        names_of = [(zone or NO_NAME,) for (zone,) in classes.values]
        numbers = classes.of_host
    else:
        classes = columns.classes(('aggregates',))
        name_of = _names_of_aggregates(scenario, by)
        names_of = [
            tuple(sorted({name for uuid in uuids for name in name_of.get(uuid, ())})) or (NO_NAME,)
            for (uuids,) in classes.values
        ]
        numbers = classes.of_host
        known = {name for names in name_of.values() for name in names}
    sets: dict[str, list[int]] = {}
    for number, names in enumerate(names_of):
        for name in names:
            sets.setdefault(name, []).append(number)
    order = np.argsort(numbers, kind='stable')
    counts = np.bincount(numbers, minlength=len(names_of))
    ends = np.cumsum(counts)
    members = {
        name: np.sort(np.concatenate([order[ends[one] - counts[one] : ends[one]] for one in own]))
        for name, own in sets.items()
    }
    filled = sorted(name for name, indexes in members.items() if len(indexes))
    sizes = [len(members[name]) for name in filled]
    starts = np.cumsum([0, *sizes])[:-1]
    every = [members[name] for name in filled]
    empty = tuple(sorted({*known, *members} - {*filled}))
    return _Parts(filled, np.concatenate(every) if every else _NO_PARTS.members, starts, empty)


def _names_of_aggregates(scenario: Scenario, by: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the parts of which an aggregate's hosts are members, by its UUID.

    Its own name, or the values of the metadata key ``by``.
    """
    aggregates = scenario.cloud.aggregates
    if aggregates is None:
        raise InvalidSpec(f'must be {ZONE} or {HOST}, because the aggregates are not known', 'by')
    if by == AGGREGATE:
        return {each.uuid: (each.name,) for each in aggregates}
    keys = sorted({key for each in aggregates for key in each.metadata})
    if by not in keys:
        words = meant(by, [ZONE, AGGREGATE, HOST, *keys])
        raise InvalidSpec(f'no aggregate has the metadata key {by!r}: {words}', 'by')
    return {each.uuid: (each.metadata[by],) for each in aggregates if by in each.metadata}


def _in_parts(
    now: Evaluation, parts: _Parts, sizes: _Sizes, total: Bounds
) -> tuple[PartCapacity, ...]:
    """Return the capacity of each part.

    No part is guaranteed more than the whole; a whole that is exact has exact parts.
    """
    if not parts.names:
        return tuple(PartCapacity(name, NONE) for name in parts.empty)
    table = now.table if now.domains is None else now.domains.table
    hosts = parts.sums((table.expected > 0).astype(np.int64))
    largest = parts.largest(sizes.of_empty())
    if now.domains is None:
        bounds = [Bounds(*each) for each in zip(*_sums(now.table, parts), strict=True)]
    else:
        ends = (*parts.starts[1:].tolist(), len(parts.members))
        pieces = zip(parts.starts.tolist(), ends, strict=True)
        bounds = [_of_domains(now, parts.members[one:two]) for one, two in pieces]
    is_exact = total.lower == total.expected
    found = [
        PartCapacity(name, _certain(each, total, is_exact=is_exact), number, most)
        for name, each, number, most in zip(parts.names, bounds, hosts, largest, strict=True)
    ]
    found += (PartCapacity(name, NONE) for name in parts.empty)
    return tuple(sorted(found, key=lambda each: each.name))


def _sums(table: Table, parts: _Parts) -> tuple[list[int], list[int], list[int | None]]:
    """Return the lower, the expected and the upper bounds of the parts."""
    upper = [limit(each) for each in parts.sums(table.upper)]
    return parts.sums(table.lower), parts.sums(table.expected), upper


def _of_domains(now: Evaluation, indexes: Numbers) -> Bounds:
    """Return the bounds of some hosts if racks, pools or affinity couple them."""
    is_part = np.zeros(len(now.table.upper), bool)
    is_part[indexes] = True
    bounds = (np.where(is_part, each, 0) for each in (now.table.lower, now.table.expected))
    upper = np.where(is_part, now.table.upper, 0)
    lower, expected = bounds
    table = replace(now.table, lower=lower, expected=expected, upper=upper)
    found = coupled(now.request, now.scenario, now.constraints, table)
    return NONE if found is None else found.bounds


def _certain(bounds: Bounds, total: Bounds, *, is_exact: bool) -> Bounds:
    """Return the bounds of a part with what is guaranteed, given the bounds of the whole."""
    if is_exact:
        return bounds._replace(lower=bounds.expected)
    lower, most = bounds.lower or 0, total.lower or 0
    return bounds._replace(lower=min(lower, most, bounds.expected or 0))


# -- what runs out, and what is left


class _Sizes:
    """The amounts of one flavor, and what the hosts have of them.

    ``usable`` are the hosts that lack nothing but capacity, and could hold a server if they were
    empty; ``table`` counts the domains.
    """

    def __init__(self, now: Evaluation, table: Table) -> None:
        asked = demand_of(now.request)
        self.table = table
        self.amounts: Mapping[str, int] = {} if asked is None else asked.amounts
        self._columns = now.scenario.columns
        self.free = {name: np.maximum(now.scenario.free(name), 0) for name in self.amounts}
        usable = table.where(row.is_eligible is not False for row in table.rows)
        for name, amount in self.amounts.items():
            has = self._columns.inventories(name)
            usable = usable & (has.capacity >= amount) & (has.max_unit >= amount)
            usable &= amount % has.step_size == 0
        self.usable: Flags = usable

    def of_empty(self) -> Numbers:
        """Return the number of servers that each usable host would hold if it were empty."""
        most = np.full(len(self.usable), UNLIMITED)
        for name, amount in self.amounts.items():
            most = np.minimum(most, self._columns.inventories(name).capacity // amount)
        return np.where(self.usable & (most < UNLIMITED), most, 0)

    @cached_property
    def left(self) -> Mapping[str, Numbers]:
        """What each host has left of each class, if it takes all the servers that it can."""
        number = self.table.expected
        return {
            name: np.maximum(self.free[name] - number * amount, 0)
            for name, amount in self.amounts.items()
        }

    def stranded(self) -> tuple[tuple[str, int], ...]:
        """Return what is left of each requested class on usable hosts; not of shared pools."""
        return tuple(
            (name, int(left[self.usable].sum()))
            for name, left in self.left.items()
            if not self._columns.inventories(name).is_pooled.any()
        )

    def runs_out_first(self) -> tuple[str | None, int]:
        """Return what limits the number on most usable hosts, and how much of it no host has.

        A class of which no host has enough comes before others.
        """
        if not self.amounts or not self.usable.any():
            return None, 0
        names = [*self.amounts]
        rooms = np.stack([self.free[name] / amount for name, amount in self.amounts.items()])
        which, least = rooms.argmin(axis=0), rooms.min(axis=0)
        is_other = self.table.upper + _NEARLY_ONE < least
        counts = np.bincount(which[self.usable & ~is_other], minlength=len(names)).tolist()
        lacking = [
            name
            for name, amount in self.amounts.items()
            if not (self.free[name][self.usable] >= amount).any()
        ]
        limits = Counter(
            {
                name: number
                for name, number in zip(names, counts, strict=True)
                if not lacking or name in lacking
            }
        )
        others = np.bincount(self.table.row_of[self.usable & is_other]).tolist()
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


class _Rest:
    """What the flavors leave of each resource class on each host, at least."""

    def __init__(self, scenario: Scenario) -> None:
        columns = self._columns = scenario.columns
        self._scenario = scenario
        in_use = columns.flags('enabled') & columns.flags('up')
        self._in_use = in_use & ~columns.flags_by_class('traits', lambda traits: DISABLED in traits)
        self._left: dict[str, Numbers] = {}
        self._takes = np.zeros(len(scenario.hosts), bool)

    def take(self, sizes: _Sizes) -> None:
        """Count another flavor."""
        self._takes |= sizes.table.expected > 0
        for name, left in sizes.left.items():
            known = self._left.get(name)
            self._left[name] = left if known is None else np.minimum(known, left)

    def amounts(self, zones: _Parts) -> tuple[FreeAmount, ...]:
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
