"""A host as the planner sees it, and what it has of each resource class.

Shapes::

    Host('cmp-1', 'cmp-1.example.org', resources={'VCPU': Resource(capacity=64, used=10)})

Units: memory in MiB, disk in GiB; None is "not known", which is never the same as empty. The UUIDs
of aggregates are held in one spelling, whatever they are made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, NamedTuple

from senlin_affinity.core.flavor import UNIT_CLASSES
from senlin_affinity.core.grants import Grant
from senlin_affinity.core.member_of import Spelt, spelt


class Resource(NamedTuple):
    """What a host has of one resource class: ``capacity`` after ratio and reserve, and the use.

    ``is_sum`` says that several providers give it (a nested tree, shared storage); ``pool`` is the
    UUID of the one provider that shares all of it with this and other hosts.
    """

    capacity: int
    used: int
    max_unit: int | None = None
    step_size: int = 1
    is_sum: bool = False
    pool: str | None = None

    def is_limit_untold(self, name: str, amount: int) -> bool:
        """May a ``max_unit`` that no list tells (of no unit class) refuse this much?"""
        return self.max_unit is None and amount > 1 and name not in UNIT_CLASSES


def is_vsphere(hypervisor_type: str) -> bool:
    """Is it the type of hosts that are vSphere clusters?"""
    return 'vmware' in hypervisor_type.lower()


@dataclass(frozen=True)
class Host:
    """One compute service and its hypervisor.

    ``host`` is the service host (what ``zone:host`` and migrations name), ``hypervisor_hostname``
    the name of the hypervisor and of its resource provider. ``resources`` is None where they are
    not known. ``is_nested`` says that a tree of several providers was taken together;
    ``is_partial`` that a resource class which is not listed is not known, instead of not offered.
    ``grants`` are what Placement answered about it; None: nothing was asked, or not about the host
    as it is now. ``servers`` is how many it holds, as Nova's scheduler counts them; ``unmirrored``
    are those of its aggregates in which Placement does not have it, as far as that was asked.
    """

    host: str
    hypervisor_hostname: str
    hypervisor_type: str = ''
    availability_zone: str | None = None
    enabled: bool = True
    up: bool = True
    aggregates: frozenset[str] = Spelt()
    traits: frozenset[str] = frozenset()
    resources: Mapping[str, Resource] | None = field(default=None, hash=False)
    is_nested: bool = False
    is_partial: bool = False
    grants: tuple[Grant, ...] | None = None
    servers: int | None = None
    unmirrored: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if type(self.aggregates) is not Spelt:
            object.__setattr__(self, 'aggregates', Spelt(map(spelt, self.aggregates)))

    def but(self, *, grants: tuple[Grant, ...] | None = None, **changed: Any) -> Host:
        """The same host with other values, of which the aggregates are spelt already.

        What Placement granted to this one says nothing about the other.
        """
        # Not by vars(), which has Python keep a dictionary for this host from then on.
        values = dict(zip(_NAMES, _values(self), strict=True), grants=grants, **changed)
        other = object.__new__(Host)
        object.__setattr__(other, '__dict__', values)
        return other

    def grant(self, query: str | None) -> Grant | None:
        """What Placement grants of a query; None: nothing, or it is not known."""
        for each in self.grants or ():
            if each.query == query:
                return each
        return None

    @property
    def is_vsphere(self) -> bool:
        """Is it a vSphere cluster, whose resources are those of several ESXi hosts?"""
        return is_vsphere(self.hypervisor_type)


_NAMES = tuple(each.name for each in fields(Host))
_values = attrgetter(*_NAMES)
