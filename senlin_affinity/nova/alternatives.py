"""Find replacements for parts of a request: another server group, flavor, or aggregate of hosts.

Nova does not change the policy of an existing group, so a new one replaces it. A host that is kept
for others joins no aggregate, and no host changes its zone while it has servers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter, ge, le
from typing import Any

from msgspec import structs

from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import CanonicalUuids
from senlin_affinity.model.proposal import Change, ChangedHosts, Kind, unused
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.quotas import quotas_of, room_for_group

#: A flavor that keeps this part of each amount is close to the requested one.
CLOSE = 3 / 4
#: With less than half, a server would rarely serve the same purpose.
HALF = 1 / 2
#: Each is evaluated.
_MOST_SMALLER = 5
_MOST_LESS = 3
_MOST_AGGREGATES = 50
_PLACE = attrgetter('availability_zone', 'aggregates')


def may_create_group(request: Request, cloud: Cloud, group: ServerGroup) -> bool:
    """Check whether the quota allows another group; True for a group that does not exist yet."""
    return group.is_planned or bool(room_for_group(quotas_of(request, cloud) or {}))


def new_group(request: Request, cloud: Cloud, group: ServerGroup, **other: Any) -> dict[str, Any]:
    """Return the same group without its servers, under an unused name."""
    name = group.name
    if not group.is_planned:
        known = cloud.server_groups or ()
        name = next(unused(name, (each.name for each in known)))
    same = {'name': name, 'policy': group.policy, 'rules': dict(group.rules)}
    project = request.project_id
    whose = {} if project is None else {'project_id': project}
    return {**same, **other, 'name': name, **whose}


def soft_group(group: ServerGroup) -> dict[str, Any]:
    """Return the same group with a policy that rejects no host."""
    policy = f'soft-{group.policy.removeprefix("soft-")}'
    return {'name': group.name, 'policy': policy, 'rules': {}}


def flavor_change(flavor: Flavor) -> Change:
    """Return the change to this flavor."""
    data = {'flavor': {'id': flavor.id, 'name': flavor.name}}
    return Change('flavor', f'flavor: {flavor.name}', data)


def smaller_flavors(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Return a few flavors with smaller amounts, but at least half of each.

    Those that are CLOSE come first, then the largest.
    """
    smaller = (each for each in known if _is_beside(each, now, _is_reduced))

    def size(flavor: Flavor) -> tuple[bool, tuple[int, ...]]:
        return part_kept(flavor, now) >= CLOSE, _size(flavor)

    return sorted(smaller, key=size, reverse=True)[:_MOST_SMALLER]


def part_kept(flavor: Flavor | None, now: Flavor | None) -> float:
    """Return the smallest part of an amount that a flavor keeps; 1 if either is unknown."""
    if flavor is None or now is None:
        return 1
    pairs = zip(_size(flavor), _size(now), strict=True)
    return min((amount / asked for amount, asked in pairs if asked), default=1)


def much_smaller_flavors(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Return other flavors with smaller amounts: the largest few, and the smallest."""
    every = all_smaller_flavors(known, now)
    smaller = [each for each in every if now and not all(map(_is_reduced, _size(each), _size(now)))]
    return smaller[: _MOST_SMALLER - 1] + smaller[_MOST_SMALLER - 1 :][-1:]


def all_smaller_flavors(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Return the flavors that only have smaller amounts, however small, the largest first.

    None of disk 0 for one with a disk: by default, only administrators may boot an image with it.
    """
    smaller = (each for each in known if _is_beside(each, now, le))
    return sorted(
        (each for each in smaller if each.disk or not (now and now.disk)), key=_size, reverse=True
    )


def asks_for_less(known: Iterable[Flavor], now: Flavor | None) -> bool:
    """Check whether any flavor has smaller amounts or fewer extra specs, and nothing more.

    Not one of disk 0 for one with a disk, as in :func:`all_smaller_flavors`.
    """
    return now is not None and any(
        (each.extra_specs, _size(each)) != (now.extra_specs, _size(now))
        and each.extra_specs.items() <= now.extra_specs.items()
        and all(map(le, _size(each), _size(now)))
        and bool(each.disk or not now.disk)
        for each in known
    )


def is_disk_large(known: Iterable[Flavor], flavor: Flavor) -> bool:
    """Check whether a flavor with at least the memory and the VCPUs of this one has less disk."""
    return any(
        each.disk < flavor.disk and each.ram >= flavor.ram and each.vcpus >= flavor.vcpus
        for each in known
    )


def larger_flavors(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Return the flavors that only have larger amounts, the smallest first."""
    return sorted((each for each in known if _is_beside(each, now, ge)), key=_size)


def with_existing_flavor(request: Request, cloud: Cloud, change: Change) -> Change:
    """Return the change with an existing flavor in place of one without some extra specs.

    It has the same amounts, or else at least half of each; the largest, then the first by name.
    "without traits" becomes "flavor: m1.small, which does not require trait:CUSTOM_A=required"; if
    the change has more parts, " (flavor: m1.small)" is added. Unchanged without such a flavor. If
    only the image changes, "another image, which does not require trait:CUSTOM_A=required".
    """
    flavor, gone = request.flavor, {*change.data.get('removed_extra_specs', ())}
    of_image = change.data.get('removed_image_properties')
    if of_image and change.code == 'rule_given_up' and not gone:
        return replace(change, change=_another_image(request, of_image))
    if flavor is None or not gone:
        return change
    left = {key: value for key, value in flavor.extra_specs.items() if key not in gone}
    without = structs.replace(flavor, id='', extra_specs=left)
    found = [
        each
        for each in cloud.flavors or ()
        if each.is_shared is not False
        and each.extra_specs == left
        and (_size(each) == _size(flavor) or _is_beside(each, without, _is_reduced))
    ]
    if not found:
        return change
    best = min(found, key=lambda each: ([-amount for amount in _size(each)], each.name))
    others = {key: value for key, value in change.data.items() if key != 'removed_extra_specs'}
    instead = flavor_change(best)
    required = ' and '.join(
        f'{key}={value}'
        for key, value in flavor.extra_specs.items()
        if key in gone and not (key.startswith('resources') and value == '0')
    )
    words = f'{instead.change}, which does not require {required}'
    if others:
        words = f'{change.change} ({instead.change})'
    return replace(change, change=words, data={**others, **instead.data})


def without_specs(request: Request, cloud: Cloud) -> Iterator[Change]:
    """Yield changes to a few flavors that require less, such as no GPU, the nearest ones first.

    They have the same amounts, or else at least half of each.
    """
    flavor = request.flavor
    if flavor is None:
        return
    special = flavor.extra_specs
    removed = {
        tuple(key for key in special if key not in each.extra_specs)
        for each in cloud.flavors or ()
        if each.is_shared is not False
        and each.extra_specs.items() < special.items()
        and all(map(_is_reduced, _size(each), _size(flavor)))
    }
    for gone in sorted(removed, key=lambda keys: (len(keys), keys))[:_MOST_LESS]:
        data = {'removed_extra_specs': [*gone]}
        change = Change('rule_given_up', '', data, request.count, Kind.GIVEN_UP, for_tenant=True)
        yield with_existing_flavor(request, cloud, change)


def without_properties(request: Request, keys: Collection[str]) -> Iterator[Change]:
    """Yield the change to an image without the properties of these keys, if it has any."""
    image = request.image_properties or {}
    if gone := [key for key in sorted(image) if key in keys]:
        yield Change(
            'image',
            _another_image(request, gone),
            {'removed_image_properties': gone},
            kind=Kind.GIVEN_UP,
            for_tenant=True,
        )


def _another_image(request: Request, keys: Iterable[str]) -> str:
    """Return the words of a change to an image without these properties."""
    image = request.image_properties or {}
    required = ' and '.join(f'{key}={image[key]}' for key in keys)
    return f'another image, which does not require {required}'


def _size(flavor: Flavor) -> tuple[int, ...]:
    return (flavor.ram, flavor.vcpus, flavor.disk, flavor.ephemeral, flavor.swap)


def _is_beside(one: Flavor, two: Flavor | None, order: Callable[[int, int], bool]) -> bool:
    """Check whether only amounts differ, and all of them in this order."""
    if two is None or one.extra_specs != two.extra_specs or _size(one) == _size(two):
        return False
    return all(map(order, _size(one), _size(two)))


def _is_reduced(amount: int, now: int) -> bool:
    return now * HALF <= amount <= now


def with_aggregate(host: Host, aggregate: Aggregate) -> Host:
    """Return the host as a member of the aggregate, and in its zone."""
    zone = aggregate.availability_zone or host.availability_zone
    return host.but(aggregates=_joined(host.aggregates, aggregate.uuid), availability_zone=zone)


@lru_cache(maxsize=256)
def _joined(aggregates: CanonicalUuids, uuid: str) -> CanonicalUuids:
    """Return the aggregates with one more; hosts of equal ones share it."""
    return CanonicalUuids(aggregates | {uuid})


def joining(
    cloud: Cloud,
    hosts: Sequence[Host],
    uuids: Iterable[str],
    kept: Collection[str],
) -> Iterable[ChangedHosts]:
    """Return the proposal to add hosts to the aggregate that most of them may join, if any.

    :param kept: the aggregates that are kept for others.
    """
    known = cloud.aggregates_by_uuid
    hosts = [host for host in hosts if host.aggregates.isdisjoint(kept)]
    offered = [known[uuid] for uuid in uuids if uuid in known and uuid not in kept]
    offered = sorted(offered, key=lambda each: each.name)[:_MOST_AGGREGATES]

    of_place: defaultdict[Hashable, list[Host]] = defaultdict(list)
    for host in hosts:
        of_place[_PLACE(host)].append(host)

    def joiners(aggregate: Aggregate) -> list[Host]:
        found: list[Host] = []
        for alike in of_place.values():
            may_join = _may_join(cloud, alike[0], aggregate)
            found += filter(_is_empty, alike) if may_join is None else alike * may_join
        return found

    best = max(offered, key=lambda each: len(joiners(each)), default=None)
    if best is None or not (joining := {*map(id, joiners(best))}):
        return ()
    found = tuple(host for host in hosts if id(host) in joining)
    named = {'name': best.name, 'uuid': best.uuid}
    path, names = ('aggregate_hosts', 'hosts'), frozenset(host.host for host in found)
    change = ChangedHosts(
        'aggregate_hosts',
        f'{{hosts}} in aggregate {best.name} {{are}} needed (an existing host may join only if it '
        'is of that kind)',
        {'aggregate_hosts': {'aggregate': named, 'hosts': []}},
        hosts=found,
        lists=((path, names),),
    )
    return (change,)


def _is_empty(host: Host) -> bool:
    """Check whether the resources of the host are known, and no server uses them."""
    has = host.resources or {}
    return bool(has) and not any(each.used for each in has.values())


def _may_join(snapshot: Cloud, host: Host, aggregate: Aggregate) -> bool | None:
    """Check whether Nova would add a host of this zone and these aggregates to the aggregate.

    None: only if it :func:`_is_empty`.
    """
    zone = aggregate.availability_zone
    if aggregate.uuid in host.aggregates:
        return False
    if zone in (None, host.availability_zone):
        return True
    carrying = snapshot.zones.carried_by.get(host.availability_zone or '', frozenset())
    return None if carrying.isdisjoint(host.aggregates) else False
