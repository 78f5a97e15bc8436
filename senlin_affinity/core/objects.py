"""The cloud as the planner sees it: frozen values, taken once, never changed.

Shapes: the snapshot file of the documentation (``"format": 1``) holds exactly these values.

Units: memory in MiB, disk in GiB; ``None`` is "not known", which is never the same as empty. The
UUIDs of aggregates are held in one spelling, whatever they are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from senlin_affinity.core import flavor as flavors
from senlin_affinity.core import zones
from senlin_affinity.core.flavor import Demand
from senlin_affinity.core.flavor import Flavor as Flavor
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.image import Image
from senlin_affinity.core.member_of import MemberOf, spelt
from senlin_affinity.core.options import Option
from senlin_affinity.core.quota import Quota as Quota
from senlin_affinity.core.server_group import Member, ServerGroup
from senlin_affinity.core.spread import Spread
from senlin_affinity.core.zones import Zones

_Worked = TypeVar('_Worked')
_PLACE = attrgetter('availability_zone', 'aggregates')
_GRANTS = attrgetter('grants')
_HOST = attrgetter('host')
_CARRIED = attrgetter('uuid', 'availability_zone')

#: Nova's own default of ``[filter_scheduler] enabled_filters`` (nova 34).
DEFAULT_FILTERS = (
    'ComputeFilter',
    'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
)
#: What :attr:`Rules.told` calls them.
FILTERS = 'enabled_filters'


@dataclass(frozen=True)
class Aggregate:
    """A host aggregate, known to Placement by the same UUID."""

    uuid: str
    name: str
    availability_zone: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'uuid', spelt(self.uuid))


@dataclass(frozen=True)
class CloudSnapshot:
    """The cloud at one moment. A part that is None is not known.

    ``availability_zones`` are the names of all zones: what a plain user may see of the hosts.
    ``closed_zones`` are those of them that have no host which is enabled, as far as he is told.
    ``pools`` are the providers that share resources with several hosts, by their UUIDs (a host's
    ``Resource.pool`` names one). ``soft_deleted`` are servers that are not reclaimed yet, as far as
    they matter to the groups, which do not show them. ``user_id`` and ``project_id`` are whose
    snapshot it is: the quotas are that project's, also where they are not known. ``answered`` are
    the queries of which all that Placement grants is known: where a host has grants, but none of
    these, it gives none.
    """

    hosts: tuple[Host, ...] | None = None
    aggregates: tuple[Aggregate, ...] | None = None
    flavors: tuple[Flavor, ...] | None = None
    server_groups: tuple[ServerGroup, ...] | None = None
    quotas: Mapping[str, Quota] | None = field(default=None, hash=False)
    taken_at: str | None = None
    availability_zones: frozenset[str] | None = None
    user_id: str | None = None
    project_id: str | None = None
    pools: Mapping[str, Mapping[str, Resource]] = field(default_factory=dict, hash=False)
    closed_zones: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    soft_deleted: tuple[Member, ...] | None = None

    @cached_property
    def aggregates_by_uuid(self) -> Mapping[str, Aggregate]:
        """The aggregates by their UUID; empty where they are not known."""
        return {aggregate.uuid: aggregate for aggregate in self.aggregates or ()}

    def server_groups_of(self, project_id: str | None) -> tuple[ServerGroup, ...]:
        """Those of a project, or of the one whose snapshot it is; all where neither is known."""
        project, groups = project_id or self.project_id, self.server_groups or ()
        own = (None, project)
        return tuple(group for group in groups if project is None or group.project_id in own)

    @cached_property
    def queries(self) -> frozenset[str]:
        """What Placement was asked, whether or not all of the answer is known."""
        granted = [*filter(None, map(_GRANTS, self.hosts or ()))]
        every = dict(zip(map(id, granted), granted, strict=True))
        return self.answered.union(grant.query for grants in every.values() for grant in grants)

    @cached_property
    def places(self) -> frozenset[tuple[str | None, frozenset[str]]]:
        """The zone and the aggregates of the hosts, once for all that are alike in both."""
        return frozenset(map(_PLACE, self.hosts or ()))

    @cached_property
    def zones(self) -> Zones:
        """What is known of the availability zones."""
        carriers = None if self.aggregates is None else map(_CARRIED, self.aggregates)
        return zones.read(carriers, self.places)

    @cached_property
    def hosts_by_name(self) -> Mapping[str, Host]:
        """The hosts by the names of their services: of several hypervisors the last one."""
        return dict(zip(self.host_names, self.hosts or (), strict=True))

    @cached_property
    def host_names(self) -> tuple[str, ...]:
        """The names of the hosts' services, in their order."""
        return tuple(map(_HOST, self.hosts or ()))

    @cached_property
    def has_shared_services(self) -> bool:
        """Does a service host have several hypervisors?"""
        return len({*self.host_names}) < len(self.host_names)


@dataclass(frozen=True)
class PlacementRequest:
    """What is asked: ``count`` servers of a flavor, and under which conditions.

    ``flavor`` and ``server_group`` are an id or a name that the snapshot holds. A server that is
    booted from a volume asks its host for no root disk. ``image_properties`` of None are not known:
    such a request is not refused for a trait that its image may require; ``{}`` are known to be
    none. An ``image`` that was read says all of it, and counts in their place.
    """

    count: int
    flavor: str
    server_group: str | None = None
    availability_zone: str | None = None
    member_of: tuple[str, ...] = ()
    image_properties: Mapping[str, str] | None = field(default=None, hash=False)
    project_id: str | None = None
    enabled_filters: tuple[str, ...] = DEFAULT_FILTERS
    is_volume_booted: bool = False
    spread: tuple[Spread, ...] = ()
    image: Image | None = None


@dataclass(frozen=True)
class Rules:
    """What the constraints are told besides the request.

    ``is_drs_required`` says that only DRS hosts will do, ``is_pinned`` that every server will be
    sent to the host that is planned for it. ``options`` are the values of the constraints' options
    that are not their defaults, by their keys; ``told`` are the keys of those that somebody told,
    also where they are as usual. ``given_up`` are the names of constraints that are not asked.
    """

    is_drs_required: bool = False
    is_pinned: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    told: frozenset[str] = frozenset()
    given_up: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, is_drs_required: bool = False, is_pinned: bool = False, **options: Any) -> Rules:
        """With these values of options."""
        return cls(is_drs_required, is_pinned, options)

    def value(self, option: Option) -> Any:
        """The value of an option, or its default."""
        return self.options.get(option.key, option.default)

    def is_told(self, option: Option) -> bool:
        """Does somebody say what the value is?"""
        return option.key in self.told or option.key in self.options


@dataclass(frozen=True)
class ResolvedRequest:
    """A request with its names looked up in the snapshot: what a constraint is asked about.

    ``member_of`` is the request's own, with the names of aggregates replaced by their UUIDs.
    ``placed`` are servers of the request that are planned already, by their host.
    """

    request: PlacementRequest
    snapshot: CloudSnapshot
    flavor: Flavor | None = None
    server_group: ServerGroup | None = None
    rules: Rules = Rules()
    member_of: MemberOf = field(default_factory=MemberOf)
    placed: Mapping[str, int] = field(default_factory=dict, hash=False)

    @cached_property
    def members_on(self) -> Mapping[str, int]:
        """How many servers of the group each host holds, as Nova counts them and it is known."""
        there = Counter(self.placed)
        if self.server_group is not None:
            there.update(self.server_group.held())
        return there

    @property
    def project_id(self) -> str | None:
        """The servers' project: as the request says, or else the group's own, or the snapshot's."""
        group = self.server_group
        of_group = None if group is None else group.project_id
        return self.request.project_id or of_group or self.snapshot.project_id

    @property
    def has_quotas(self) -> bool:
        """Are the snapshot's quotas those of the servers' project, as far as that is known?"""
        return self.project_id == (self.snapshot.project_id or self.project_id)

    @property
    def has_hidden_quotas(self) -> bool:
        """Has the project quotas that the snapshot does not know?

        A snapshot that names no project may leave them out, and its numbers stand.
        """
        is_quotas_known = self.snapshot.quotas is not None and self.has_quotas
        return self.snapshot.project_id is not None and not is_quotas_known

    @cached_property
    def demand(self) -> Demand | None:
        """What one server asks of Placement; None where the flavor is not known."""
        if self.flavor is None:
            return None
        is_volume_booted = self.request.is_volume_booted
        return flavors.demand(self.flavor, self.image_properties, is_volume_booted=is_volume_booted)

    @property
    def image_properties(self) -> Mapping[str, str] | None:
        """Those of the servers' image; None where they are not known."""
        image = self.request.image
        return self.request.image_properties if image is None else image.properties

    def option(self, option: Option) -> Any:
        """The value of a constraint's option."""
        return self.rules.value(option)

    def is_enforced(self, name: str) -> bool:
        """Does the cloud's scheduler run this filter?"""
        return name in self.request.enabled_filters

    def once(self, work: Callable[[ResolvedRequest], _Worked]) -> _Worked:
        """What ``work`` makes of this question, worked out when it is first wanted."""
        try:
            known: _Worked = self._worked_out[work]
        except KeyError:
            known = self._worked_out[work] = work(self)
        return known

    @cached_property
    def _worked_out(self) -> dict[Callable[[ResolvedRequest], Any], Any]:
        return {}
