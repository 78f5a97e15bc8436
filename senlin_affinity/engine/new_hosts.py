"""Propose new hosts, with the zone, aggregates and traits that matter.

Example::

    {'name': 'cmp-1-new', 'hypervisor_hostname': 'cmp-1-new', 'hypervisor_type': 'QEMU',
     'availability_zone': 'az-1', 'aggregates': [{'name': 'ssd', 'uuid': '...'}],
     'traits': ['CUSTOM_A'], 'amounts': {'VCPU': 64, 'MEMORY_MB': 131072, 'DISK_GB': 2000},
     'units': {'VCPU': {'max_unit': 16}}, 'is_nested': True, 'is_partial': True}

The last three only if they differ from the default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import eq, itemgetter
from typing import Any

import numpy as np
from msgspec import structs

from senlin_affinity.engine.what_if import WhatIf, WhatIfResult
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import UNIT_CLASSES
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.member_of import CanonicalUuids
from senlin_affinity.model.request import Request
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.flavor_features import OWNER
from senlin_affinity.nova.host_status import started
from senlin_affinity.scenario.column import in_order
from senlin_affinity.scenario.columns import Columns, Numbers
from senlin_affinity.scenario.constraint import OF_EACH_HOST, Domain, is_of_domains, is_of_hosts
from senlin_affinity.scenario.scenario import FREE

#: The largest number of new hosts, unless the cloud has more hosts.
MOST_NEW_HOSTS = 1000
_MOST_DOMAINS = 3
#: A ratio from here up to 1 may be the effect of a reserve.
_LEAST_RATIO = 0.9
_LOOK = 'availability_zone aggregates traits hypervisor_type is_nested is_partial'


def fewest(what_if: WhatIf) -> tuple[str, int, WhatIfResult] | None:
    """Return the smallest sufficient number of new hosts of one kind: text, number and result.

    The text is like "2 more hosts (VCPU 64, zone az-1)". The kind has the most common size; if that
    does not suffice, the greatest capacity; or else it helps most. None if no server is missing, or
    :func:`_fewest` finds none.
    """
    if what_if.missing < 1:
        return None
    found: list[tuple[str, int, WhatIfResult]] = []
    for kinds in _candidates(what_if):
        each = (_fewest(what_if, host, room) for host, room in kinds if room > 0)
        found += [one for one in each if one is not None]
        if enough := [one for one in found if one[2].after.fits]:
            return min(enough, key=itemgetter(1))
    return max(found, key=lambda one: one[2].capacity, default=None)


def _candidates(what_if: WhatIf) -> Iterator[Sequence[tuple[Host, int]]]:
    """Yield the best hosts of the most common size, then the host with the greatest capacity.

    Each has the number of servers that it takes. The second list only if that is greater.
    """
    empty, commonness = _kinds(what_if)
    if not empty:
        return
    rooms = what_if.rooms(empty)
    kinds = sorted(
        zip(empty, rooms, commonness, strict=True),
        key=lambda each: (each[1] < 1, -each[2], -each[1]),
    )
    ranked = [(host, room) for host, room, _number in kinds]
    yield _in_domains(what_if, ranked)
    largest = max(ranked, key=itemgetter(1))
    if largest[1] > ranked[0][1]:
        yield [largest]


def _in_domains(what_if: WhatIf, ranked: Sequence[tuple[Host, int]]) -> Sequence[tuple[Host, int]]:
    """Return the first host, and the first in each of the three domains that have the least room.

    Without domains, the first. No host occurs twice.
    """
    if what_if.before.domains is None:
        return ranked[:1]
    request, scenario = what_if.request, what_if.before.scenario
    limiting = [
        item
        for item in what_if.before.constraints
        if is_of_domains(item) and item.has_domains(request, scenario)
    ]

    def domains(host: Host) -> tuple[Domain, ...]:
        return tuple(each for item in limiting for each in item.domains(request, scenario, host))

    left: defaultdict[tuple[Domain, ...], float] = defaultdict(float)
    for host, room in zip(what_if.before.hosts, what_if.before.table.upper.tolist(), strict=True):
        left[domains(host)] += room
    of_domains = {domains(host): (host, room) for host, room in reversed(ranked)}
    least = sorted(of_domains, key=left.__getitem__)[:_MOST_DOMAINS]
    each = [ranked[0], *map(of_domains.__getitem__, least)]
    return [*{id(one[0]): one for one in each}.values()]


def _fewest(what_if: WhatIf, kind: Host, room: int) -> tuple[str, int, WhatIfResult] | None:
    """Return text, number and result of the smallest sufficient number of hosts of a kind.

    If even the limit is not enough, a smaller number that helps as much; None if there is none. The
    limit is the number of missing servers, at most 1000 (or the number of hosts, if greater).

    :param room: the number of servers per host.
    """
    missing = what_if.missing
    best = _plain(what_if, kind, room)
    one = described(best, what_if.cloud)
    most = min(missing, max(MOST_NEW_HOSTS, len(what_if.before.hosts)))
    guess = min(most, -(-missing // room))

    def attempt(number: int) -> WhatIfResult:
        return what_if.plan({'new_hosts': {'number': number, **one}})

    number, result = what_if.smallest(most, guess, attempt, room.__mul__)
    if number == most and not result.after.fits:
        return None
    change = f'{number} more {"host" if number == 1 else "hosts"}'
    words = ', '.join(_words(what_if.request, what_if.cloud, best))
    return change + (f' ({words})' if words else ''), number, result


def _kinds(what_if: WhatIf) -> tuple[list[Host], list[int]]:
    """Return a new host of each kind (:func:`empty`), and the number of hosts of its size.

    Hosts of one size have equal hypervisor types and inventories; hosts of one kind also equal
    zones, aggregates, traits, nesting, and codes of the constraints that read names or servers.
    """
    hosts, table = what_if.before.hosts, what_if.before.table
    if not hosts:
        return [], []
    of_any = [
        item.name
        for item in what_if.before.constraints
        if is_of_hosts(item) and not OF_EACH_HOST.difference((FREE,)).isdisjoint(item.reads)
    ]
    codes = _numbered((*(row.verdicts[name].code for name in of_any),) for row in table.rows)
    columns = what_if.before.scenario.columns
    sizes = _sizes(columns)
    looks = columns.classes(tuple(_LOOK.split())).of_host
    _kind_of, firsts = in_order(_both(_both(looks, sizes), codes[table.row_of]))
    commonness: list[int] = np.bincount(sizes)[sizes[firsts]].tolist()
    return [empty(hosts[first]) for first in firsts.tolist()], commonness


def _sizes(columns: Columns) -> Numbers:
    """Return a number for each host, the same for equal hypervisor types and inventories."""
    types = columns.classes(('hypervisor_type', 'resource_classes'))
    named = [(kind, names or ()) for kind, names in types.values]
    sizes = _numbered(named)[types.of_host]
    for name in sorted({name for _kind, names in named for name in names}):
        has = columns.inventories(name)
        figures = [has.capacity, has.max_unit, has.step_size, has.is_sum]
        if has.is_pooled.any():
            of_hosts = ((host.resources or {}).get(name) for host in columns.hosts)
            figures.append(_numbered(each and each.pool for each in of_hosts))
        for each in figures:
            if (each != each[0]).any():
                sizes = _both(sizes, in_order(each.astype(np.int64))[0])
    return sizes


def _numbered(values: Iterable[Hashable]) -> Numbers:
    """Return a number for each value, the same for equal ones."""
    number_of: dict[Hashable, int] = {}
    return np.array([number_of.setdefault(each, len(number_of)) for each in values], np.int64)


def _both(one: Numbers, two: Numbers) -> Numbers:
    """Return a number for each pair of numbers, the same for equal pairs."""
    return in_order(one * (two.max() + 1) + two)[0]


def empty(host: Host) -> Host:
    """Return the host as a new one: started, unused, and with "-new" after both names."""
    resources = host.resources and {
        name: structs.replace(has, used=0) for name, has in host.resources.items()
    }
    return started(host).but(
        host=f'{host.host}-new',
        hypervisor_hostname=f'{host.hypervisor_hostname}-new',
        resources=resources,
        servers=None,
        unmirrored=CanonicalUuids(),
        stale_aggregates=CanonicalUuids(),
        leftovers=None,
    )


def described(host: Host, snapshot: Cloud) -> dict[str, Any]:
    """Return an unused host as in the example of this module."""
    by_uuid = snapshot.aggregates_by_uuid
    named = [(by_uuid[uuid].name if uuid in by_uuid else uuid, uuid) for uuid in host.aggregates]
    units = {}
    for name, has in (host.resources or {}).items():
        usual = structs.asdict(Resource(has.capacity, 0))
        units[name] = {key: each for key, each in structs.asdict(has).items() if each != usual[key]}
    odd = {
        'units': {name: each for name, each in units.items() if each},
        'is_nested': host.is_nested,
        'is_partial': host.is_partial,
    }
    return {
        'name': host.host,
        'hypervisor_hostname': host.hypervisor_hostname,
        'hypervisor_type': host.hypervisor_type,
        'availability_zone': host.availability_zone,
        'aggregates': [{'name': name, 'uuid': uuid} for name, uuid in sorted(named)],
        'traits': sorted(host.traits),
        'amounts': {name: has.capacity for name, has in (host.resources or {}).items()},
        **{key: each for key, each in odd.items() if each},
    }


def _plain(what_if: WhatIf, host: Host, room: int) -> Host:
    """Return the host without the aggregates and traits that change neither room nor domains.

    Aggregates that carry its zone stay. All traits but OWNER_NOVA and required ones go, or none.
    """
    request, scenario = what_if.request, what_if.before.scenario
    sets = [item for item in what_if.before.constraints if is_of_domains(item)]

    def is_as_good(other: Host) -> bool:
        of_both = (
            [item.domains(request, scenario, each) for item in sets] for each in (host, other)
        )
        return what_if.rooms([other]) == [room] and eq(*of_both)

    for uuid in sorted(_beside_zone(what_if.cloud, host)):
        other = host.but(aggregates=host.aggregates - {uuid})
        host = other if is_as_good(other) else host
    other = host.but(traits=host.traits & (_asked(request) | {OWNER}))
    return other if is_as_good(other) else host


def _words(request: Request, cloud: Cloud, host: Host) -> Iterator[str]:
    """Yield "VCPU 64" for each requested class, "zone az-1", "aggregate ssd", "trait CUSTOM_A".

    The zone only if hosts have several or an aggregate carries one; aggregates that do not carry
    it; traits that the request requires.
    """
    gives = host.resources or {}
    demand = demand_of(request)
    for name in () if demand is None else demand.amounts:
        if name in gives:
            yield f'{name} {_amount(name, gives[name])}'
    if cloud.zones.carried_by or len({zone for zone, _of_host in cloud.places}) > 1:
        yield f'zone {host.availability_zone}'
    by_uuid, uuids = cloud.aggregates_by_uuid, _beside_zone(cloud, host)
    names = sorted(by_uuid[uuid].name if uuid in by_uuid else uuid for uuid in uuids)
    yield from (f'aggregate {name}' for name in names)
    yield from (f'trait {name}' for name in sorted(host.traits & _asked(request)))


def _amount(resource_class: str, has: Resource) -> str:
    """Return "16 with ratio 4" for a capacity of 64 and a ``max_unit`` of 16; "16" from 0.9 to 1.

    "64" for a class other than VCPU, MEMORY_MB and DISK_GB, without ``max_unit``, and if shared.
    """
    if resource_class not in UNIT_CLASSES or not has.max_unit or has.pool or has.is_sum:
        return str(has.capacity)
    ratio = round(has.capacity / has.max_unit, 2)
    return str(has.max_unit) + ('' if _LEAST_RATIO <= ratio <= 1 else f' with ratio {ratio:g}')


def _beside_zone(snapshot: Cloud, host: Host) -> frozenset[str]:
    """Return the host's aggregates that do not carry its zone."""
    zone = host.availability_zone
    return host.aggregates - snapshot.zones.carried_by.get(zone or '', frozenset())


def _asked(request: Request) -> frozenset[str]:
    """Return the traits that the flavor requires; empty without one."""
    demand = demand_of(request)
    return frozenset() if demand is None else demand.required
