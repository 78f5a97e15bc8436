"""A host, and its inventory of each resource class.

Units: memory in MiB, disk in GiB. Any spelling of an aggregate's UUID is converted to lower case
with hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import force_setattr, replace

from senlin_affinity.model.candidate_capacity import CandidateCapacity
from senlin_affinity.model.flavor import UNIT_CLASSES
from senlin_affinity.model.member_of import CanonicalUuids
from senlin_affinity.model.value import Amount, Capacity, Size, Texts, Value

ServiceHost = Annotated[str, Meta(min_length=1, description='the name of the compute service host')]


class Resource(Value, frozen=True, gc=False):
    """The inventory of one resource class: ``capacity`` after ratio and reserve, and its use.

    ``is_sum``: several providers supply it (a nested tree, shared storage). ``pool`` is the UUID of
    the one sharing provider that supplies all of it. ``reserved`` is the amount that the capacity
    does not include, if it was read, else 0.
    """

    capacity: Capacity
    used: Capacity
    max_unit: Size | None = None
    step_size: Size = 1
    is_sum: bool = False
    pool: str | None = None
    reserved: Amount = 0

    def is_max_unit_unknown(self, name: str, amount: int) -> bool:
        """Return whether an unknown ``max_unit`` may reject this amount.

        False for an amount of 1, and for VCPU, MEMORY_MB and DISK_GB.
        """
        return self.max_unit is None and amount > 1 and name not in UNIT_CLASSES


class Leftover(Value, frozen=True, gc=False):
    """What a consumer that is no server of the host uses there, by resource class.

    ``server`` is the server of a migration or resize that has not ended, or that itself is being
    created or moved here; None: the consumer is no known server and no migration.
    """

    consumer: str
    amounts: Mapping[str, Amount]
    server: str | None = None


def is_vsphere(hypervisor_type: str) -> bool:
    """Check whether hosts of this type are vSphere clusters."""
    return 'vmware' in hypervisor_type.lower()


def is_ironic(hypervisor_type: str) -> bool:
    """Check whether hosts of this type are nodes of Ironic, which have their own resource class."""
    return hypervisor_type.lower() == 'ironic'


class Host(Value, frozen=True, gc=False):
    """One compute service and its hypervisor. A value of None is unknown.

    ``host`` is the service host (the name in ``zone:host`` and in migrations),
    ``hypervisor_hostname`` the name of the hypervisor and of its resource provider, by default the
    same (never None). ``is_nested``:
    the resources sum up a tree of providers. ``is_partial``: a resource class that is not listed is
    unknown, instead of not offered. ``grants`` are Placement's answers for the host; None if there
    was no query, or the host changed since. ``servers`` is the number of servers, as Nova's
    scheduler counts them. ``unmirrored`` are aggregates of which Placement does not list the host
    as a member, and ``stale_aggregates`` aggregates from which only Nova has removed it, as far as
    Placement was queried. ``disabled_reason`` is the operator's. ``leftovers`` are the consumers of
    its own resource providers that are no servers; None if they were not read.
    """

    host: ServiceHost
    hypervisor_hostname: str = None  # type: ignore[assignment]
    hypervisor_type: str = ''
    availability_zone: str | None = None
    enabled: bool = True
    up: bool = True
    aggregates: CanonicalUuids = CanonicalUuids()
    traits: Texts = Texts()
    resources: Mapping[str, Resource] | None = None
    is_nested: bool = False
    is_partial: bool = False
    grants: tuple[CandidateCapacity, ...] | None = None
    servers: Amount | None = None
    unmirrored: CanonicalUuids = CanonicalUuids()
    stale_aggregates: CanonicalUuids = CanonicalUuids()
    disabled_reason: str | None = None
    leftovers: tuple[Leftover, ...] | None = None

    def __post_init__(self) -> None:
        if self.hypervisor_hostname is None:
            force_setattr(self, 'hypervisor_hostname', self.host)
        if type(self.aggregates) is not CanonicalUuids:
            force_setattr(self, 'aggregates', CanonicalUuids(self.aggregates))

    def but(self, *, grants: tuple[CandidateCapacity, ...] | None = None, **changed: Any) -> Host:
        """Return a copy with other values and, by default, without ``grants``."""
        return replace(self, grants=grants, **changed)

    def grant(self, query: str | None) -> CandidateCapacity | None:
        """Return Placement's grant for a query, or None."""
        for each in self.grants or ():
            if each.query == query:
                return each
        return None

    @property
    def resource_classes(self) -> tuple[str, ...] | None:
        """Return the names in ``resources``; None if these are unknown."""
        return None if self.resources is None else (*self.resources,)

    @property
    def granted(self) -> tuple[tuple[str, bool], ...] | None:
        """Return each query of ``grants``, and whether Placement allocates any server for it.

        None without ``grants``.
        """
        if self.grants is None:
            return None
        return tuple((each.query, each.room > 0) for each in self.grants)

    @property
    def is_vsphere(self) -> bool:
        """Return whether the host is a vSphere cluster, which consists of ESXi hosts."""
        return is_vsphere(self.hypervisor_type)
