"""What a host must be like that is proposed: amounts, zone, aggregates, traits, and no more.

Shapes::

    {'name': 'cmp-1-new', 'hypervisor_hostname': 'cmp-1-new', 'hypervisor_type': 'QEMU',
     'availability_zone': 'az-1', 'aggregates': [{'name': 'ssd', 'uuid': '...'}],
     'traits': ['CUSTOM_A'], 'amounts': {'VCPU': 64, 'MEMORY_MB': 131072, 'DISK_GB': 2000},
     'units': {'VCPU': {'max_unit': 16}}, 'is_nested': True, 'is_partial': True}

The last three are there only where something is not as usual.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import attrgetter, eq, itemgetter
from typing import Any

from senlin_affinity.core.constraint import Domain, is_of_domains, is_of_hosts
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.host_status import started
from senlin_affinity.core.objects import CloudSnapshot, ResolvedRequest
from senlin_affinity.core.planning.actions import Data, carry_out
from senlin_affinity.core.planning.evaluation import Judged
from senlin_affinity.core.planning.looks import Rule
from senlin_affinity.core.planning.numbering import numbered
from senlin_affinity.core.planning.replanner import Planned, Replanner
from senlin_affinity.core.planning.rows import is_by_name

#: They are planned one by one: so many are proposed at most, or as many as there are.
MOST_NEW_HOSTS = 1000
#: One kind is tried in so many domains.
_MOST_DOMAINS = 3
_LOOK = 'availability_zone aggregates traits hypervisor_type is_nested is_partial'
_look, _size = attrgetter(*_LOOK.split()), itemgetter(0, 2, 3, 4, 5)


def fewest(planner: Replanner) -> tuple[str, int, Planned] | None:
    """As few as are enough of one kind, in words and in number."""
    if planner.missing < 1:
        return None
    empty = _kinds(planner)
    each = (_fewest(planner, host, room) for host, room in _best(planner, empty) if room > 0)
    found = [one for one in each if one is not None]
    return min(found, key=lambda one: (not one[2].fits, one[1]), default=None)


def _best(planner: Replanner, empty: Sequence[Host]) -> list[tuple[Host, int]]:
    """The host with the most room, and one in each of the domains that have the least of it."""
    if not empty:
        return []
    rooms = planner.rooms(empty)
    ranked = sorted(zip(empty, rooms, strict=True), key=lambda each: -each[1])
    if planner.now.found is None:
        return ranked[:1]
    rules = [item for item in planner.constraints if is_of_domains(item)]

    def domains(host: Host) -> tuple[Domain, ...]:
        return tuple(each for rule in rules for each in rule.domains(planner.resolved, host))

    left: Counter[tuple[Domain, ...]] = Counter()
    for host, room in zip(planner.hosts, planner.now.table.rooms, strict=True):
        left[domains(host)] += 0 if room == math.inf else int(room)
    of_domains = {domains(host): (host, room) for host, room in reversed(ranked)}
    least = sorted(of_domains, key=left.__getitem__)[:_MOST_DOMAINS]
    each = [ranked[0], *map(of_domains.__getitem__, least)]
    return [*{id(one[0]): one for one in each}.values()]


def _fewest(planner: Replanner, kind: Host, room: int) -> tuple[str, int, Planned] | None:
    """As few of this kind as are enough, where one of them has so much room."""
    missing = planner.missing
    best = _plain(planner, kind, room)
    one = _described(best, planner.resolved.snapshot)
    most = min(missing, max(MOST_NEW_HOSTS, len(planner.hosts)))
    guess = min(most, -(-missing // room))
    judged = _judged(planner, guess, one)

    def attempt(number: int) -> Planned:
        data = {'new_hosts': {'number': number, **one}}
        if number > guess:
            return planner.plan(data)
        return planner.plan_hosts(data, judged.at(range(number)))

    number, then = planner.smallest(most, guess, attempt, room.__mul__)
    if number == most and not then.fits:
        return None  # one more would help more: this is not the number to name
    change = f'{number} more {"host" if number == 1 else "hosts"}'
    return change + _in_words(planner.resolved, best), number, then


def _kinds(planner: Replanner) -> list[Host]:
    """The hosts that are there, empty and enabled, with another name; one of each kind."""
    of_hosts = [item for item in planner.constraints if is_of_hosts(item)]
    rules = [Rule(planner.resolved, item) for item in of_hosts if is_by_name(item)]
    hosts = planner.hosts
    shapes = [map(rule.shape, hosts) for rule in rules if rule.named is None]
    resources = [host.resources or {} for host in hosts]
    columns = map(_look, hosts), map(tuple, resources), map(_sizes, resources), *shapes
    every = zip(*columns, strict=True)
    return [_empty(hosts[first]) for first in numbered(every).firsts]


def _sizes(resources: Mapping[str, Resource]) -> tuple[Hashable, ...]:
    """All that is had of each class, whatever is used of it."""
    return tuple(map(_size, resources.values()))


def _empty(host: Host) -> Host:
    resources = host.resources and {
        name: has._replace(used=0) for name, has in host.resources.items()
    }
    return started(host).but(
        host=f'{host.host}-new',
        hypervisor_hostname=f'{host.hypervisor_hostname}-new',
        resources=resources,
        servers=0,
        unmirrored=frozenset(),
    )


def _described(host: Host, snapshot: CloudSnapshot) -> dict[str, Any]:
    """The host in plain values."""
    known, usual = snapshot.aggregates_by_uuid, Resource(0, 0)._asdict()
    named = [(known[uuid].name if uuid in known else uuid, uuid) for uuid in host.aggregates]
    units = {}
    for name, has in (host.resources or {}).items():
        odd = {key: each for key, each in has._asdict().items() if each != usual[key]}
        units[name] = {key: each for key, each in odd.items() if key not in ('capacity', 'used')}
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


def _judged(planner: Replanner, number: int, one: Data) -> Judged:
    """So many hosts as described, after those that are there, and what is said about them."""
    there = len(planner.hosts)
    data = {'new_hosts': {'number': number, **one}}
    hosts = carry_out(data, planner.resolved).snapshot.hosts or ()
    return planner.judge(range(there, len(hosts)), hosts[there:])


def _plain(planner: Replanner, host: Host, room: int) -> Host:
    """The same host without the aggregates and traits that make no difference."""
    resolved = planner.resolved
    sets = [item for item in planner.constraints if is_of_domains(item)]

    def is_as_good(other: Host) -> bool:
        of_both = ([item.domains(resolved, each) for item in sets] for each in (host, other))
        return planner.rooms([other]) == [room] and eq(*of_both)

    for uuid in sorted(_beside_zone(resolved.snapshot, host)):
        other = host.but(aggregates=host.aggregates - {uuid})
        host = other if is_as_good(other) else host
    other = host.but(traits=host.traits & _asked(resolved))
    return other if is_as_good(other) else host


def _in_words(resolved: ResolvedRequest, host: Host) -> str:
    """The same, in parentheses behind the number of hosts; '' for nothing."""
    has = ', '.join(_words(resolved, host))
    return f' ({has})' if has else ''


def _words(resolved: ResolvedRequest, host: Host) -> Iterator[str]:
    snapshot, gives = resolved.snapshot, host.resources or {}
    for name in () if resolved.demand is None else resolved.demand.amounts:
        if name in gives:
            yield f'{name} {gives[name].capacity}'
    if snapshot.zones.carried_by or len({zone for zone, _of_host in snapshot.places}) > 1:
        yield f'zone {host.availability_zone}'
    known, uuids = snapshot.aggregates_by_uuid, _beside_zone(snapshot, host)
    names = sorted(known[uuid].name if uuid in known else uuid for uuid in uuids)
    yield from (f'aggregate {name}' for name in names)
    yield from (f'trait {name}' for name in sorted(host.traits & _asked(resolved)))


def _beside_zone(snapshot: CloudSnapshot, host: Host) -> frozenset[str]:
    """The aggregates that do not carry its zone."""
    zone = host.availability_zone
    return host.aggregates - snapshot.zones.carried_by.get(zone or '', frozenset())


def _asked(resolved: ResolvedRequest) -> frozenset[str]:
    return frozenset() if resolved.demand is None else resolved.demand.required
