"""Write requests by names, and resolve them: what tests state, and what the planner receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from senlin_affinity import engine
from senlin_affinity.engine import resolution
from senlin_affinity.engine.changes import carry_out
from senlin_affinity.engine.decision import Decision
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.proposal import Data
from senlin_affinity.model.request import DEFAULT_FILTERS, Request, Settings
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import Spread
from senlin_affinity.scenario.constraint import Constraint
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class NamedRequest:
    """A request for ``count`` servers, with the names of a flavor, a group and aggregates."""

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
    is_group_optional: bool = False


@dataclass(frozen=True)
class Given:
    """What besides the request a policy and the configuration give."""

    is_drs_required: bool = False
    is_pinned: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    explicit: frozenset[str] = frozenset()
    waived: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, is_drs_required: bool = False, is_pinned: bool = False, **options: Any) -> Given:
        """Return what is given, with these values of options."""
        return cls(is_drs_required, is_pinned, options)


class Asked(NamedTuple):
    """A request with values, and the cloud that it is about."""

    request: Request
    cloud: Cloud

    @property
    def scenario(self) -> Scenario:
        """The cloud without changes."""
        return Scenario.of(self.cloud)

    @property
    def planned(self) -> tuple[Request, Scenario]:
        """The first arguments of ``plan`` and ``evaluate``."""
        return self.request, self.scenario

    def but(self, **fields: Any) -> Asked:
        """Return the same with another cloud, or other fields of the request."""
        cloud = fields.pop('cloud', self.cloud)
        return Asked(replace(self.request, **fields), cloud)

    def changed(self, data: Data) -> Asked:
        """Return the same with the change of a remedy."""
        request, scenario = carry_out(data, *self.planned)
        return Asked(request, scenario.cloud)

    def with_settings(self, **fields: Any) -> Asked:
        """Return the same with other settings."""
        return self.but(settings=replace(self.request.settings, **fields))


def _conditions(request: NamedRequest, given: Given | None) -> dict[str, Any]:
    """Return the fields of Request that need no lookup."""
    given = given or Given()
    own = {name: getattr(request, name) for name in asdict(request)}
    for name in ('count', 'flavor', 'server_group', 'member_of'):
        del own[name]
    filters = own.pop('enabled_filters')
    own['settings'] = Settings(filters, given.options, given.explicit, given.waived)
    return {**own, 'is_drs_required': given.is_drs_required, 'is_pinned': given.is_pinned}


def resolve(request: NamedRequest, cloud: Cloud, given: Given | None = None) -> Asked:
    """Resolve the names in the cloud."""
    names = {'server_group': request.server_group, 'member_of': request.member_of}
    rest = {**names, **_conditions(request, given)}
    return Asked(resolution.resolve(cloud, request.count, request.flavor, **rest), cloud)


def with_values(
    request: NamedRequest,
    cloud: Cloud,
    flavor: Flavor | None = None,
    server_group: ServerGroup | None = None,
    given: Given | None = None,
    member_of: MemberOf | None = None,
) -> Asked:
    """Return the request with these values, which the cloud need not have."""
    fields = _conditions(request, given)
    project = server_group.project_id if server_group is not None else None
    project = fields['project_id'] = fields['project_id'] or project or cloud.project_id
    fields['user_id'] = fields['user_id'] or resolution.user_of(project, server_group, cloud)
    unknown = request.server_group if server_group is None else None
    fields |= {'unknown_flavor': request.flavor, 'unknown_group': unknown}
    wanted = MemberOf() if member_of is None else member_of
    return Asked(Request(request.count, flavor, server_group, member_of=wanted, **fields), cloud)


def plan(
    request: NamedRequest,
    cloud: Cloud,
    constraints: Sequence[Constraint],
    given: Given | None = None,
    *,
    remedies: bool = True,
) -> Decision:
    """Resolve the names, and return the decision."""
    return engine.plan(*resolve(request, cloud, given).planned, constraints, remedies=remedies)
