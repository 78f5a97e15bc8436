"""Flavors of the cloud in place of the one that is asked for.

Data flow: those that differ in amounts alone, none of them larger (or none smaller), are planned,
those first that differ least. One that only lacks some extra specs is as good as a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import ge, le
from typing import Any

from senlin_affinity.core.flavor import Flavor
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning.replanner import Planned, Replanner

#: So many larger ones are planned.
_MOST_LARGER = 3


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
        return planner.plan(taken(found[number - 1]))

    number, then = planner.smallest(len(found), 1, attempt)
    return f'flavor: {found[number - 1].name}', then


def larger(planner: Replanner, is_enough: Callable[[Flavor], bool]) -> tuple[str, Planned] | None:
    """The smallest one that is large enough, of those that differ least one of which most fit."""
    now = planner.resolved.flavor
    known = planner.resolved.snapshot.flavors or ()
    found = sorted((each for each in known if _is_beside(each, now, ge)), key=_size)
    nearest = islice(filter(is_enough, found), _MOST_LARGER)
    plans = [(f'flavor: {flavor.name}', planner.plan(taken(flavor))) for flavor in nearest]
    return max(plans, key=lambda each: min(each[1].capacity, planner.wanted), default=None)


def named(resolved: ResolvedRequest, data: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """A change with a flavor of the cloud in place of a new one, and words for it, if there is."""
    flavor = _without(resolved, data.get('removed_extra_specs', ()))
    if flavor is None:
        return {**data}, ''
    others = {key: value for key, value in data.items() if key != 'removed_extra_specs'}
    return others | taken(flavor), f' (flavor: {flavor.name})'


def _without(resolved: ResolvedRequest, extra_specs: Iterable[str]) -> Flavor | None:
    """One that is the same but for these extra specs, which it does not have."""
    flavor, gone = resolved.flavor, {*extra_specs}
    if flavor is None or not gone:
        return None
    left = {key: value for key, value in flavor.extra_specs.items() if key not in gone}
    known = resolved.snapshot.flavors or ()
    same = [each for each in known if _size(each) == _size(flavor) and each.extra_specs == left]
    return min(same, key=lambda each: each.name, default=None)


def taken(flavor: Flavor) -> dict[str, Any]:
    """The change to this flavor."""
    return {'flavor': {'id': flavor.id, 'name': flavor.name}}


def _size(flavor: Flavor) -> tuple[int, ...]:
    return (flavor.ram, flavor.vcpus, flavor.disk, flavor.ephemeral, flavor.swap)


def smaller(known: Iterable[Flavor], now: Flavor | None) -> list[Flavor]:
    """Those that are smaller than this one, the largest first."""
    return sorted((each for each in known if _is_beside(each, now, le)), key=_size, reverse=True)


def _is_beside(one: Flavor, two: Flavor | None, order: Callable[[int, int], bool]) -> bool:
    """Do the amounts differ, none of them against this order, and is everything else the same?"""
    if two is None or one.extra_specs != two.extra_specs or _size(one) == _size(two):
        return False
    return all(map(order, _size(one), _size(two)))
