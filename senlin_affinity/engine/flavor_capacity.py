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

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import reduce
from operator import add, or_
from typing import NamedTuple

import numpy as np

from senlin_affinity.engine import unspecified
from senlin_affinity.engine.capacity import find, mattering
from senlin_affinity.engine.evaluation import NOTHING, Evaluation, Shared, coupled, evaluate
from senlin_affinity.engine.parts import NO_PARTS, ZONE, Parts, parts_of
from senlin_affinity.engine.stranded import FlavorOnHosts, FreeAmount, Remainder
from senlin_affinity.engine.table import PASS, Table
from senlin_affinity.model.bounds import NONE, Bounds
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import QUOTA, Request
from senlin_affinity.model.suggestion import meant
from senlin_affinity.model.verdict import Assumption, Caveat, sentence
from senlin_affinity.scenario.column import limit
from senlin_affinity.scenario.columns import Numbers
from senlin_affinity.scenario.constraint import Constraint, is_of_requests, reasons_of
from senlin_affinity.scenario.scenario import Scenario

#: The characters of a glob.
_GLOB = frozenset('*?[')


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
    zones = parts_of(scenario, ZONE)
    parts = zones if by == ZONE else NO_PARTS if by is None else parts_of(scenario, by)
    remainder = Remainder(scenario)
    waived = request.settings.waived
    shared = _Answers([each for each in constraints if each.name not in waived])
    found = [
        _of_flavor(request, scenario, each, constraints, shared, zones, parts, remainder)
        for each in flavors
    ]
    return Capacity(
        tuple(sorted((each for each, _assumed in found), key=_scarcity)),
        by,
        remainder.amounts(zones),
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
    zones: Parts,
    parts: Parts,
    remainder: Remainder,
) -> tuple[FlavorCapacity, tuple[Assumption, ...]]:
    """Return the capacity of a flavor, and its assumptions."""
    request, cloud = replace(request, flavor=flavor, unknown_flavor=None), scenario.cloud
    now = evaluate(request, scenario, constraints, shared=shared.of(request, scenario))
    total, _chosen, _assumed, restricted = unspecified.with_unspecified(now)
    assumed = mattering(find(request, cloud, now.declared), total)
    found = FlavorCapacity(
        flavor,
        total.bounds,
        total.caveats,
        rejection=_rejection(now, constraints),
        of_quotas=_of_quotas(request, cloud, constraints),
    )
    if found.rejection is None and cloud.hosts is not None:
        found = _with_hosts(found, now, restricted, zones, parts, remainder)
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
    found: FlavorCapacity,
    now: Evaluation,
    restricted: Evaluation | None,
    zones: Parts,
    parts: Parts,
    remainder: Remainder,
) -> FlavorCapacity:
    """Return the capacity with what depends on single hosts.

    :param restricted: the evaluation with all unspecified filters and options, if these count.
    """
    table = now.table if now.domains is None else now.domains.table
    sizes = FlavorOnHosts(now, table)
    remainder.take(sizes)
    of_zones = _in_parts(now, restricted, zones, sizes, found.bounds)
    first, lacking = sizes.runs_out_first()
    return replace(
        found,
        hosts=int(np.count_nonzero(table.expected)),
        runs_out_first=first,
        lacking=lacking,
        stranded=sizes.stranded(),
        rejected_hosts=_rejected_hosts(table),
        zones=of_zones,
        parts=of_zones
        if parts is zones
        else _in_parts(now, restricted, parts, sizes, found.bounds),
    )


def _of_quotas(request: Request, cloud: Cloud, constraints: Iterable[Constraint]) -> Bounds | None:
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


def _in_parts(
    now: Evaluation,
    restricted: Evaluation | None,
    parts: Parts,
    sizes: FlavorOnHosts,
    total: Bounds,
) -> tuple[PartCapacity, ...]:
    """Return the capacity of each part.

    No part is guaranteed more than the whole; a whole that is exact has exact parts.
    """
    if not parts.names:
        return tuple(PartCapacity(name, NONE) for name in parts.empty)
    table = now.table if now.domains is None else now.domains.table
    hosts = parts.sums((table.expected > 0).astype(np.int64))
    largest = parts.largest(sizes.of_empty())
    bounds = _bounds_of(now, parts)
    if restricted is not None:
        least = _bounds_of(restricted, parts)
        bounds = [
            each._replace(lower=(each & other).lower)
            for each, other in zip(bounds, least, strict=True)
        ]
    is_exact = total.lower == total.expected
    found = [
        PartCapacity(name, _certain(each, total, is_exact=is_exact), number, most)
        for name, each, number, most in zip(parts.names, bounds, hosts, largest, strict=True)
    ]
    found += (PartCapacity(name, NONE) for name in parts.empty)
    return tuple(sorted(found, key=lambda each: each.name))


def _bounds_of(now: Evaluation, parts: Parts) -> list[Bounds]:
    """Return the bounds of each part that has hosts."""
    if now.domains is None:
        return [Bounds(*each) for each in zip(*_sums(now.table, parts), strict=True)]
    return [_of_domains(now, indexes) for indexes in parts.sets]


def _sums(table: Table, parts: Parts) -> tuple[list[int], list[int], list[int | None]]:
    """Return the lower, the expected and the upper bounds of the parts."""
    expected = parts.sums(table.expected)
    lower = expected if table.lower is table.expected else parts.sums(table.lower)
    upper = expected if table.upper is table.expected else parts.sums(table.upper)
    return lower, expected, [*map(limit, upper)]


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
