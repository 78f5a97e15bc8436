"""Compute how many servers fit on each of many hosts from inventories and usages, quickly.

Placement's answers (``grants``) are not considered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import contains

from senlin_affinity.model.flavor import PCPU, UNIT_CLASSES, Demand
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.nova.demand import demand_of

_NOTHING = Resource(0, 0)


def plain_rooms(resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[int]:
    """Return the number of servers of each host: ``[7, 0, 12]``.

    0 or less: the host is full, or its figures are not sufficient, because it has several resource
    providers, shares storage, is a vSphere cluster, or has a figure that is unknown.
    """
    asked = demand_of(resolved)
    if asked is None or not asked.amounts or not hosts:
        return [0] * len(hosts)
    if hosts is not resolved.snapshot.hosts:
        return _rooms(asked, hosts)
    key, known = (*asked.amounts.items(), asked.may_be_pinned), resolved.snapshot.rooms_by_demand
    if key not in known:
        known[key] = _rooms(asked, hosts)
    return known[key]


def _is_odd(host: Host) -> bool:
    return host.is_nested or host.is_partial or host.is_vsphere


def _rooms(asked: Demand, hosts: Sequence[Host]) -> Sequence[int]:
    known = [{} if _is_odd(host) else host.resources or {} for host in hosts]
    rooms, *others = [_of_class(known, *each) for each in asked.amounts.items()]
    for other in others:
        rooms = [*map(min, rooms, other)]
    if asked.may_be_pinned and any(map(contains, known, repeat(PCPU))):
        rooms = [0 if PCPU in has else room for room, has in zip(rooms, known, strict=True)]
    return rooms


def _of_class(resources: Sequence[Mapping[str, Resource]], name: str, amount: int) -> list[int]:
    # An unknown max_unit of another class could be less than the amount, except for 1.
    is_any = amount == 1 or name in UNIT_CLASSES
    return [
        (has.capacity - has.used) // amount
        if not (has.is_sum or has.pool)
        and (is_any if has.max_unit is None else amount <= has.max_unit)
        and (has.step_size == 1 or not amount % has.step_size)
        else 0
        for has in (each.get(name, _NOTHING) for each in resources)
    ]
