"""The largest of the cloud's flavors that differ in amounts alone, and that is small enough.

Data flow: flavors in which no amount is larger than in the one that is asked for, and one smaller,
are planned, the largest first that is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import le

from senlin_affinity.core.flavor import Flavor
from senlin_affinity.core.planning.replanner import Planned, Replanner


def best(planner: Replanner, rule: str) -> tuple[str, Planned] | None:
    """Such a flavor, where the resources that this rule reads, or the quotas, are in the way."""
    found = smaller(planner.resolved.snapshot.flavors or (), planner.resolved.flavor)
    told = planner.now.table
    each = zip(told.rows, told.frees, told.rooms, strict=True)
    is_in_the_way = any(row.by == rule or free == (room or -1) for row, free, room in each)
    is_in_quotas = not all(planner.now.request.values())  # which take cores and ram of a flavor
    if not found or not (is_in_the_way or is_in_quotas):
        return None

    def attempt(number: int) -> Planned:
        flavor = found[number - 1]
        return planner.plan({'flavor': {'id': flavor.id, 'name': flavor.name}})

    number, then = planner.smallest(len(found), 1, attempt)
    return f'flavor: {found[number - 1].name}', then


def _size(flavor: Flavor) -> tuple[int, ...]:
    return (flavor.ram, flavor.vcpus, flavor.disk, flavor.ephemeral, flavor.swap)


def smaller(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Those that are smaller than this one, the largest first."""
    return sorted((each for each in known if _is_smaller(each, now)), key=_size, reverse=True)


def _is_smaller(one: Flavor, two: Flavor | None) -> bool:
    """Is no amount larger, one smaller, and everything else the same?"""
    if two is None or one.extra_specs != two.extra_specs or _size(one) == _size(two):
        return False
    return all(map(le, _size(one), _size(two)))
