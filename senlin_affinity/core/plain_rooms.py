"""How many servers fit on each host by the figures of its resources, in plain arithmetic.

Shapes::

    plain_rooms(question, hosts) == [7, 0, 12]

Units: numbers of servers. 0 or less is no room, or that plain figures do not tell: the host has a
tree of several providers, shares storage, is a vSphere cluster, has an answer of Placement's own,
or a figure that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from senlin_affinity.core.flavor import PCPU, UNIT_CLASSES
from senlin_affinity.core.objects import Host, ResolvedRequest, Resource, is_vsphere

_has = attrgetter('resources')
_look = attrgetter('is_nested', 'is_partial', 'grants', 'hypervisor_type')
_NOTHING = Resource(0, 0)


def plain_rooms(resolved: ResolvedRequest, hosts: Sequence[Host]) -> Sequence[int]:
    """The room on each host."""
    asked = resolved.demand
    if asked is None or not asked.amounts or not hosts:
        return [0] * len(hosts)
    resources = [has or {} for has in map(_has, hosts)]
    of_classes = [_of_class(resources, *each) for each in asked.amounts.items()]
    rooms = list(map(min, *of_classes)) if len(of_classes) > 1 else of_classes[0]
    looks = list(map(_look, hosts))
    if odd := {look for look in set(looks) if _is_odd(look)}:
        rooms = [0 if look in odd else room for room, look in zip(rooms, looks, strict=True)]
    if asked.may_be_pinned and any(PCPU in has for has in resources):
        rooms = [0 if PCPU in has else room for room, has in zip(rooms, resources, strict=True)]
    return rooms


def _is_odd(look: tuple[bool, bool, object, str]) -> bool:
    *unusual, kind = look
    return unusual != [False, False, None] or is_vsphere(kind)


def _of_class(resources: Sequence[Mapping[str, Resource]], name: str, amount: int) -> list[int]:
    """The room by one class."""
    known = [has.get(name, _NOTHING) for has in resources]
    # Of other classes no list tells the largest unit, so that more than one may be refused.
    is_any = amount == 1 or name in UNIT_CLASSES
    return [
        (capacity - used) // amount
        if not (is_sum or pool)
        and (is_any if max_unit is None else amount <= max_unit)
        and (step_size == 1 or not amount % step_size)
        else 0
        for capacity, used, max_unit, step_size, is_sum, pool in known
    ]
