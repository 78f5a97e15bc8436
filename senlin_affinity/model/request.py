"""A request for servers, before and after its names are resolved in a snapshot.

Units: memory in MiB, disk in GiB. None is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from msgspec import structs

from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.option import Option
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot, Quota
from senlin_affinity.model.spread import Spread

_Worked = TypeVar('_Worked')

#: Nova's default of ``[filter_scheduler] enabled_filters`` (nova 34).
DEFAULT_FILTERS = (
    'ComputeFilter',
    'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
)
#: The key of the enabled filters in :attr:`Rules.explicit`.
FILTERS = 'enabled_filters'
#: The name of the constraint of quotas.
QUOTA = 'quota'


@dataclass(frozen=True)
class PlacementRequest:
    """A request for ``count`` servers of a flavor, and its conditions.

    ``flavor`` and ``server_group`` are an id or a name in the snapshot. A server that boots from a
    volume requests no root disk from its host. ``image_properties`` of None are unknown: the traits
    that they may require reject nothing. ``image`` replaces ``image_properties``.
    ``metadata_items`` is their number for each server. ``forced_host`` and ``forced_node`` are the
    host and the hypervisor of ``zone:host:node``, the only ones in the snapshot.
    ``scheduler_hints`` are as nova-api accepts them, without ``group``. ``user_id`` is the user who
    requests the servers. ``is_host_named``: the request names its host, in any way.
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
    metadata_items: int = 0
    forced_host: str | None = None
    forced_node: str | None = None
    scheduler_hints: Mapping[str, Any] = field(default_factory=dict, hash=False)
    user_id: str | None = None
    is_host_named: bool = False

    @property
    def is_forced(self) -> bool:
        """Return whether the request names a host or a node, for which Nova runs no filter."""
        return bool(self.forced_host or self.forced_node)


@dataclass(frozen=True)
class Rules:
    """The settings that constraints read besides the request.

    ``is_drs_required``: only DRS hosts are allowed. ``is_pinned``: every server will be sent to its
    planned host. ``options`` are values that differ from the defaults, by key. ``explicit`` are the
    keys of options that are specified, even with their default value. ``given_up`` are the names of
    constraints that are not evaluated.
    """

    is_drs_required: bool = False
    is_pinned: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    explicit: frozenset[str] = frozenset()
    given_up: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, is_drs_required: bool = False, is_pinned: bool = False, **options: Any) -> Rules:
        """Return rules with these values of options."""
        return cls(is_drs_required, is_pinned, options)

    def value(self, option: Option) -> Any:
        """Return the value of an option, or its default."""
        return self.options.get(option.key, option.default)

    def is_explicit(self, option: Option) -> bool:
        """Return whether the value of an option is specified."""
        return option.key in self.explicit or option.key in self.options


@dataclass(frozen=True)
class ResolvedRequest:
    """A request whose names are resolved in the snapshot: the input of every constraint.

    ``member_of`` is the request's, with UUIDs instead of names. ``placed`` is the number of servers
    of the request that are already planned, by host.
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
        """Return the known number of group members on each host, as Nova counts them."""
        there = Counter(self.placed)
        if self.server_group is not None:
            there.update(self.server_group.held())
        return there

    @property
    def project_id(self) -> str | None:
        """Return the servers' project: the request's, else the group's, else the snapshot's."""
        group = self.server_group
        of_group = None if group is None else group.project_id
        return self.request.project_id or of_group or self.snapshot.project_id

    @property
    def has_quotas(self) -> bool:
        """Return whether the snapshot's quotas are those of the servers' project.

        True if either project is unknown.
        """
        return self.project_id == (self.snapshot.project_id or self.project_id)

    @property
    def user_id(self) -> str | None:
        """Return the servers' user, for whom Nova counts quotas; None if unknown.

        The request's, else the snapshot's if it is of the servers' project, else the creator of the
        group if the group is of that project.
        """
        group = self.server_group
        of_snapshot = self.snapshot.user_id if self.has_quotas else None
        is_of_group = group is not None and group.project_id == self.project_id
        of_group = group.user_id if group is not None and is_of_group else None
        return self.request.user_id or of_snapshot or of_group

    @cached_property
    def quotas(self) -> Mapping[str, Quota] | None:
        """Return the quotas of the servers' project and user; None if unknown, or ignored.

        ``of_user`` is None in all of them if the snapshot has those of another user.
        """
        known = self.snapshot.quotas
        if known is None or not self.has_quotas or self.are_quotas_ignored:
            return None
        if self.user_id == self.snapshot.user_id:
            return known
        return {name: structs.replace(quota, of_user=None) for name, quota in known.items()}

    @property
    def has_hidden_quotas(self) -> bool:
        """Return whether the snapshot lacks the quotas of the project.

        False for a snapshot without a project: it may omit the quotas. False if they are ignored.
        """
        is_hidden = self.snapshot.project_id is not None and self.quotas is None
        return is_hidden and not self.are_quotas_ignored

    @property
    def are_quotas_ignored(self) -> bool:
        """Return whether quotas are given up."""
        return QUOTA in self.rules.given_up

    @property
    def extra_specs(self) -> Mapping[str, str]:
        """Return the flavor's extra specs; {} if the flavor is unknown."""
        return {} if self.flavor is None else self.flavor.extra_specs

    @property
    def image_properties(self) -> Mapping[str, str] | None:
        """Return the properties of the servers' image; None if they are unknown."""
        image = self.request.image
        return self.request.image_properties if image is None else image.properties

    def option(self, option: Option) -> Any:
        """Return the value of a constraint's option."""
        return self.rules.value(option)

    @property
    def are_filters_unspecified(self) -> bool:
        """Return whether Nova's default filters are assumed because nothing specifies them."""
        is_default = set(self.request.enabled_filters) == set(DEFAULT_FILTERS)
        return is_default and FILTERS not in self.rules.explicit

    def is_enforced(self, name: str) -> bool:
        """Return whether the cloud's scheduler runs this filter."""
        return name in self.request.enabled_filters

    def memo(self, work: Callable[[ResolvedRequest], _Worked]) -> _Worked:
        """Return ``work(self)``, which is computed on the first call only."""
        try:
            known: _Worked = self._worked_out[work]
        except KeyError:
            known = self._worked_out[work] = work(self)
        return known

    @cached_property
    def _worked_out(self) -> dict[Callable[[ResolvedRequest], Any], Any]:
        return {}
