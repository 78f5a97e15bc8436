"""A request for servers, with values in place of names, and the settings of the cloud.

Units: memory in MiB, disk in GiB. None is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.option import Option
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import Spread

_Worked = TypeVar('_Worked')
_Rest = ParamSpec('_Rest')

#: Nova's default of ``[filter_scheduler] enabled_filters`` (nova 34).
DEFAULT_FILTERS = (
    'ComputeFilter',
    'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
)
#: The key of the enabled filters in :attr:`Settings.explicit`.
FILTERS = 'enabled_filters'
#: The name of the constraint of quotas.
QUOTA = 'quota'


@dataclass(frozen=True)
class Settings:
    """How the cloud's services are configured, and which constraints count.

    ``options`` are values that differ from the defaults, by key. ``explicit`` are the keys of
    options that are specified, even with their default value; ``FILTERS`` stands for the filters.
    ``waived`` are the names of constraints that are not evaluated.
    """

    enabled_filters: tuple[str, ...] = DEFAULT_FILTERS
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    explicit: frozenset[str] = frozenset()
    waived: frozenset[str] = frozenset()

    def value(self, option: Option) -> Any:
        """Return the value of an option, or its default."""
        return self.options.get(option.key, option.default)

    def is_explicit(self, option: Option) -> bool:
        """Return whether the value of an option is specified."""
        return option.key in self.explicit or option.key in self.options

    @property
    def are_filters_unspecified(self) -> bool:
        """Return whether Nova's default filters are assumed because nothing specifies them."""
        is_default = set(self.enabled_filters) == set(DEFAULT_FILTERS)
        return is_default and FILTERS not in self.explicit


@dataclass(frozen=True)
class Request:
    """A request for ``count`` servers of a flavor, and its conditions.

    * ``unknown_flavor`` and ``unknown_group`` are the names of a flavor and a group of which
      nothing is known; ``flavor`` and ``server_group`` are then None.
    * ``member_of`` has UUIDs in place of names where the aggregates are known; ``member_of_text``
      are the expressions as specified.
    * ``image_properties`` of None are unknown: the traits that they may require reject nothing.
      Those of an ``image`` are used, if it is known.
    * A server that boots from a volume requests no root disk from its host.
    * ``metadata_items`` is their number for each server. ``scheduler_hints`` are as nova-api
      accepts them, without ``group``.
    * ``project_id`` is the servers' project, ``user_id`` the user for whom Nova counts quotas.
    * ``forced_host`` and ``forced_node`` are the host and the hypervisor of ``zone:host:node``,
      the only ones in the cloud of the request. ``is_host_named``: the request names its host, in
      any way.
    * ``is_group_optional``: nothing but the request itself chooses the server group, so the
      requester could leave it out. False for the group of an affinity policy.
    * ``is_drs_required``: only DRS hosts are allowed. ``is_pinned``: every server will be sent to
      its planned host.
    * ``elsewhere`` is the same request without its host, with the cloud to plan it on, if the
      request names its host.
    """

    count: int
    flavor: Flavor | None = None
    server_group: ServerGroup | None = None
    unknown_flavor: str | None = None
    unknown_group: str | None = None
    availability_zone: str | None = None
    member_of: MemberOf = field(default_factory=MemberOf)
    member_of_text: tuple[str, ...] = ()
    spread: tuple[Spread, ...] = ()
    image: Image | None = None
    image_properties: Mapping[str, str] | None = field(default=None, hash=False)
    is_volume_booted: bool = False
    metadata_items: int = 0
    scheduler_hints: Mapping[str, Any] = field(default_factory=dict, hash=False)
    project_id: str | None = None
    user_id: str | None = None
    forced_host: str | None = None
    forced_node: str | None = None
    is_host_named: bool = False
    is_group_optional: bool = False
    is_drs_required: bool = False
    is_pinned: bool = False
    settings: Settings = Settings()
    elsewhere: tuple[Request, Cloud] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Take the properties of a known image."""
        if self.image is not None:
            object.__setattr__(self, 'image_properties', self.image.properties)

    @property
    def is_forced(self) -> bool:
        """Return whether the request names a host or a node, for which Nova runs no filter."""
        return bool(self.forced_host or self.forced_node)

    @property
    def extra_specs(self) -> Mapping[str, str]:
        """Return the flavor's extra specs; {} if the flavor is unknown."""
        return {} if self.flavor is None else self.flavor.extra_specs

    @property
    def are_quotas_ignored(self) -> bool:
        """Return whether quotas are waived."""
        return QUOTA in self.settings.waived

    def option(self, option: Option) -> Any:
        """Return the value of a constraint's option."""
        return self.settings.value(option)

    def is_enforced(self, name: str) -> bool:
        """Return whether the cloud's scheduler runs this filter."""
        return name in self.settings.enabled_filters

    def memo(
        self,
        work: Callable[Concatenate[Request, _Rest], _Worked],
        *rest: _Rest.args,
        **named: _Rest.kwargs,
    ) -> _Worked:
        """Return ``work(self, *rest)``; what the last call returned if it had the same objects."""
        given = (*rest, *named.values())
        known = self._worked_out.get(work)
        if known is not None and all(map(is_, known[0], given)):
            return cast('_Worked', known[1])
        found = work(self, *rest, **named)
        self._worked_out[work] = given, found
        return found

    @cached_property
    def _worked_out(self) -> dict[Callable[..., Any], tuple[tuple[Any, ...], Any]]:
        return {}
