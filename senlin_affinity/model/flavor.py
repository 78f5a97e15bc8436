"""A flavor, and what one server of it requests from Placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from senlin_affinity.model.value import Amount, Value

VCPU, PCPU, MEMORY_MB, DISK_GB = 'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB'
#: The resource classes of virtual machines whose sizes hypervisors report.
UNIT_CLASSES = (VCPU, MEMORY_MB, DISK_GB)


class Flavor(Value, frozen=True):
    """A flavor; ``ram`` and ``swap`` in MiB, ``disk`` and ``ephemeral`` in GiB.

    ``is_shared``: whether the snapshot's project may use it; None if unknown.
    """

    id: str
    name: str
    vcpus: Amount
    ram: Amount
    disk: Amount
    ephemeral: Amount = 0
    swap: Amount = 0
    extra_specs: Mapping[str, str] = {}
    is_shared: bool | None = True


class Traits(NamedTuple):
    """The traits of a request group as Placement reads them; ``''`` is an empty name."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Group:
    """A request group: resources and traits that one provider must supply.

    A provider tree with its sharing providers may supply the group without a suffix. An amount of 0
    requests nothing, and overrides the amount that the flavor implies. The traits are the names in
    the extra specs and image properties, which may be any text.
    """

    suffix: str = ''
    amounts: Mapping[str, int] = field(default_factory=dict, hash=False)
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()

    @property
    def required_value(self) -> str:
        """Return the value of ``required`` in Nova's query; Nova omits an empty one."""
        return ','.join((*sorted(self.required), *(f'!{name}' for name in sorted(self.forbidden))))

    @property
    def traits(self) -> Traits:
        """Return the traits that Placement reads from ``required_value``."""
        value = self.required_value
        names = [name.strip() for name in value.split(',')] if value else []
        forbidden = (name.lstrip('!') for name in names if name.startswith('!'))
        required = (name for name in names if not name.startswith('!'))
        return Traits(frozenset(required), frozenset(forbidden))


@dataclass(frozen=True)
class Demand:
    """The allocation request of one server: ``groups``, and their sum in the other fields.

    The traits that the root provider itself must have are not among them. ``group_policy`` is that
    of the Placement query. If a policy pins CPUs, Nova queries again with the groups of
    ``fallback``, which have VCPU instead of PCPU; ``amounts`` and the traits are those of both
    queries.

    ``unmodelled`` describes what Placement does not decide, and ``only_placement`` what only
    Placement can decide. ``may_be_pinned``: an image that was not read could turn VCPU into PCPU.
    """

    amounts: Mapping[str, int] = field(default_factory=dict, hash=False)
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    unmodelled: tuple[str, ...] = ()
    may_be_pinned: bool = False
    groups: tuple[Group, ...] = ()
    group_policy: str | None = None
    fallback: tuple[Group, ...] = ()
    only_placement: tuple[str, ...] = ()
