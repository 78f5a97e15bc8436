"""Turn a question and a cloud into a request for the planner.

A server group that the attach of the policy will create is a value of the request.

Raises: InvalidSpec for an invalid spec, for a name that the cloud does not have, and for an
existing server group that contradicts the policy.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

from msgspec import structs

from senlin_affinity.engine.resolution import resolve
from senlin_affinity.model import scheduler_hints as hints
from senlin_affinity.model import spread as spreads
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import (
    DEFAULT_FILTERS,
    FILTERS,
    QUOTA,
    Request,
    Settings,
)
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.model.suggestion import meant
from senlin_affinity.nova.effective_zone import (
    DEFAULT_AVAILABILITY_ZONE,
    DEFAULT_SCHEDULE_ZONE,
    Target,
)
from senlin_affinity.nova.queried_aggregates import pins_reserved, reads_images
from senlin_affinity.policy import profile
from senlin_affinity.policy.group_lookup import mismatch
from senlin_affinity.policy.properties import PolicySpec, load


@dataclass(frozen=True)
class Question:
    """The question whether ``count`` more servers fit.

    * ``flavor`` and ``server_group`` are an id or a name, or one that the cloud does not have yet;
      ``project_id`` and ``user_id`` are ids. ``user_id`` is the user who requests the servers, and
      whose quotas apply.
    * ``policy`` is the spec of an affinity policy or its PolicySpec, ``profile`` the spec of a
      Senlin profile. The other fields override both; ``member_of`` is added to the policy's, and a
      ``spread`` (a Spread, or a mapping as in a policy) overrides the policy's by its criterion.
    * ``image`` is a name, an id or an Image. ``image_properties`` are added to its properties;
      without an ``image``, they replace the profile's image.
    * ``enabled_filters`` are the scheduler filters of the cloud; None: Nova's default.
    * ``scheduler_hints`` replace the profile's hints with the same keys. The hint ``group`` names
      the server group.
    * ``options`` are values of constraint options, by key; ``explicit_options`` are the keys that
      are specified, even with their default value.
    * ``host`` is the only host that the request allows, as Nova's parameter ``host`` (2.74): the
      scheduler runs its filters, unlike for a zone ``zone:host``.
    * ``are_quotas_ignored``: no quota counts, so the answer is about hosts only.
    * ``group_rules`` are the rules of the server group, which an old Nova does not show.
    * ``name`` tells it apart in a list of questions. ``metadata_items`` are added to the profile's.
    """

    count: int
    flavor: str | Flavor | None = None
    _: KW_ONLY
    server_group: str | ServerGroup | None = None
    policy: PolicySpec | Mapping[str, Any] | None = field(default=None, hash=False)
    profile: Mapping[str, Any] | None = field(default=None, hash=False)
    availability_zone: str | None = None
    member_of: tuple[str, ...] = ()
    spread: tuple[Spread | Mapping[str, Any], ...] = ()
    image_properties: Mapping[str, str] | None = field(default=None, hash=False)
    is_volume_booted: bool = False
    project_id: str | None = None
    enabled_filters: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    explicit_options: frozenset[str] = frozenset()
    image: str | Image | None = None
    scheduler_hints: Mapping[str, Any] = field(default_factory=dict, hash=False)
    user_id: str | None = None
    are_quotas_ignored: bool = False
    host: str | None = None
    name: str = ''
    metadata_items: int = 0
    group_rules: Mapping[str, int] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Convert ``policy`` and ``spread`` to values."""
        if isinstance(self.policy, Mapping):
            object.__setattr__(self, 'policy', load(self.policy))
        if not all(isinstance(item, Spread) for item in self.spread):
            object.__setattr__(self, 'spread', spreads.read_all(self.spread, 'spread'))

    @property
    def properties(self) -> PolicySpec | None:
        """The policy as PolicySpec."""
        return cast('PolicySpec | None', self.policy)

    @property
    def flavor_name(self) -> str | None:
        """The id or name of the question's flavor, else the profile's; None without both."""
        if isinstance(self.flavor, Flavor):
            return self.flavor.id
        return self.flavor or profile.flavor(self.profile or {})

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """One spread for each criterion: the policy's, overridden by the question's."""
        every = (*(self.properties.spread if self.properties else ()), *self.spread)
        return (*{item.by: item for item in cast('tuple[Spread, ...]', every)}.values(),)

    @property
    def zone_spread(self) -> Spread | None:
        """The spread over zones; None without one."""
        return next((item for item in self.spreads if item.by == ZONE), None)

    @property
    def hints(self) -> Mapping[str, Any]:
        """The profile's scheduler hints, overridden by the question's; with ``group``."""
        return {**profile.scheduler_hints(self.profile or {}), **self.scheduler_hints}

    @property
    def group_hint(self) -> str | None:
        """The server group that a scheduler hint names; None without one."""
        return profile.group_hint({'scheduler_hints': self.hints})

    @property
    def named_group(self) -> str | None:
        """The id or name of the group: the question's, else a hint's, else the policy's."""
        named = self.server_group or self.group_hint
        if named is None and self.properties is not None:
            named = self.properties.server_group_name
        return named if isinstance(named, str) else None

    @property
    def named_image(self) -> str | None:
        """The name or id of the image to fetch: the question's, else the profile's.

        None for an ``Image``, and with ``image_properties`` and no image of the question's own.
        """
        if self.image is not None:
            return self.image if isinstance(self.image, str) else None
        return profile.image(self.profile or {}) if self.image_properties is None else None

    @property
    def is_image_needed(self) -> bool:
        """Whether there is no answer without the image.

        True if the question names one, if hosts are pinned, which needs the traits of the image,
        and if reservations depend on images.
        """
        return self.image is not None or self.is_pinned or reads_images(self.settings)

    @property
    def named_servers(self) -> tuple[str, ...]:
        """The ids of the servers whose hosts a scheduler hint refers to."""
        return hints.named(self.hints, None if self.is_pinned else self.enabled_filters)

    @property
    def is_pinned(self) -> bool:
        """Whether the policy must choose the host of every server, because Nova would not comply.

        True if it :attr:`chooses_hosts`, and with a policy if an option of ``reservations``
        reserves hosts, and no option says that Nova enforces this.
        """
        is_reserved = self.properties is not None and pins_reserved(self.settings)
        return self.chooses_hosts or is_reserved

    @property
    def chooses_hosts(self) -> bool:
        """Whether the policy's ``member_of``, ``pin_hosts`` or DRS extension pins hosts.

        Also for a spread by anything but the zone, even without a policy.
        """
        wanted = self.properties
        return any(item.by != ZONE for item in self.spreads) or (
            wanted is not None and (wanted.pins_hosts or wanted.is_drs_enabled)
        )

    @property
    def target(self) -> Target:
        """The zone, host and node that the servers request: the question's, policy's or profile's.

        No host and node if the policy :attr:`is_pinned`.
        """
        wanted = self.properties
        text = self.availability_zone or (wanted.availability_zone if wanted else None)
        found = Target.parse(text or profile.availability_zone(self.profile or {}))
        return Target(found.zone) if self.is_pinned else found

    @property
    def settings(self) -> Settings:
        """The filters and options, the keys of those that are specified, and ignored quotas."""
        filters = set() if self.enabled_filters is None else {FILTERS}
        return Settings(
            DEFAULT_FILTERS if self.enabled_filters is None else self.enabled_filters,
            self.options,
            self.explicit_options | filters,
            frozenset({QUOTA} if self.are_quotas_ignored else ()),
        )


def image_of(question: Question, cloud: Cloud) -> tuple[Image | None, Mapping[str, str] | None]:
    """Return the image with the question's properties added, and None.

    For an unknown image, return None and the question's ``image_properties`` (None if the question
    names an image).
    """
    image = question.image
    if not isinstance(image, Image):
        image = cloud.images.get(question.named_image or '')
    if image is None:
        return None, question.image_properties if question.image is None else None
    properties = {**image.properties, **(question.image_properties or {})}
    return dataclasses.replace(image, properties=properties), None


def resolve_question(question: Question, cloud: Cloud) -> tuple[Request, Cloud]:
    """Return the request with values of the cloud in place of names, and the cloud to plan it on.

    If the request names its host (``zone:host``), the cloud has no other, and no filter is enabled;
    the hosts are unknown if the owner may not list them. A flavor or group in an unknown part
    (``flavors`` is None) is unknown. Raise InvalidSpec for any other name that the cloud lacks, but
    for the group of a policy, without a flavor, and for a host that does not exist.
    """
    request, resolved = _resolved(question, cloud, question.target)
    if not (question.target.is_forced and cloud.owner_sees_hosts):
        return request, resolved
    with contextlib.suppress(InvalidSpec):  # Nova ignores another zone than that of the host
        elsewhere = _resolved(question, cloud, Target(question.target.zone))
        request = dataclasses.replace(request, elsewhere=elsewhere)
    return request, resolved


def _resolved(question: Question, cloud: Cloud, target: Target) -> tuple[Request, Cloud]:
    """Return the request with this zone, host and node, and the cloud to plan it on."""
    properties, spec = question.properties, question.profile or {}
    flavor = question.flavor if isinstance(question.flavor, Flavor) else question.flavor_name
    if flavor is None:
        raise InvalidSpec('names no flavor: add properties.flavor', 'profile')
    cloud, settings = _with_rules(question, cloud), question.settings
    group = _group(question, cloud)
    _check_zones(question)
    is_host_named = target.is_forced
    if target.is_forced:
        if not cloud.owner_sees_hosts:  # the answer would tell about the host
            cloud = structs.replace(cloud, hosts=None)
        target, cloud = _forced(target, cloud, settings)
        settings = dataclasses.replace(settings, enabled_filters=())
    if question.host is not None:
        is_host_named = True
        cloud = only_on(question.host, cloud)
    image, image_properties = image_of(question, cloud)
    request = resolve(
        cloud,
        question.count,
        flavor,
        server_group=group,
        member_of=(*(properties.member_of if properties else ()), *question.member_of),
        settings=settings,
        availability_zone=target.zone,
        spread=question.spreads,
        image=image,
        image_properties=image_properties,
        is_volume_booted=question.is_volume_booted or profile.is_volume_booted(spec),
        metadata_items=profile.metadata_items(spec) + question.metadata_items,
        scheduler_hints={key: value for key, value in question.hints.items() if key != 'group'},
        project_id=question.project_id,
        user_id=question.user_id,
        forced_host=target.host,
        forced_node=target.node,
        is_host_named=is_host_named,
        is_group_optional=properties is None and group is not None,
        is_drs_required=properties is not None and properties.is_drs_enabled,
        is_pinned=question.is_pinned,
    )
    return request, cloud


def _with_rules(question: Question, cloud: Cloud) -> Cloud:
    """Return the cloud with ``group_rules`` in the group that the question names by its id."""
    rules, groups = question.group_rules, cloud.server_groups
    if not rules or groups is None:
        return cloud
    known = (
        structs.replace(each, rules=rules) if each.id == question.server_group else each
        for each in groups
    )
    return structs.replace(cloud, server_groups=tuple(known))


def _forced(target: Target, cloud: Cloud, settings: Settings) -> tuple[Target, Cloud]:
    """Return the target with the zone that Nova uses, and the cloud with its hosts only.

    Nova ignores another zone than that of the host. For a node alone, it only checks that the
    default zone is available, unless an aggregate carries this zone. Raise InvalidSpec if known
    hosts lack the host.
    """
    if cloud.hosts is None:
        return target._replace(zone=None), cloud
    found = tuple(
        host
        for host in cloud.hosts
        if target.host in (None, host.host) and target.node in (None, host.hypervisor_hostname)
    )
    if not found:
        named = ' with hypervisor '.join(map(repr, filter(None, target[1:])))
        raise InvalidSpec(f'there is no host {named}', 'availability_zone')
    zone = target.zone or settings.value(DEFAULT_SCHEDULE_ZONE)
    if target.host is not None:
        is_used = zone in {host.availability_zone for host in found}
    else:
        known, zones = cloud.availability_zones, cloud.zones
        is_open = zone not in cloud.unavailable_zones and zone in (known or (zone,))
        is_default = zone == settings.value(DEFAULT_AVAILABILITY_ZONE)
        is_used = is_default and (zone in zones.carried_by or not is_open)
    target = target._replace(zone=zone if is_used else None)
    return target, structs.replace(cloud, hosts=found)


def only_on(host: str, cloud: Cloud) -> Cloud:
    """Return the cloud with the hypervisors of one service host only.

    The hosts are unknown if the owner may not list them. Raise InvalidSpec if there is no such
    host.
    """
    if cloud.hosts is None or not cloud.owner_sees_hosts:
        return structs.replace(cloud, hosts=None)
    found = tuple(each for each in cloud.hosts if each.host == host)
    if not found:
        names = sorted({*cloud.host_names})
        raise InvalidSpec(f'there is no host {host!r}: {meant(host, names)}', 'host')
    return structs.replace(cloud, hosts=found)


def _check_zones(question: Question) -> None:
    """Raise InvalidSpec for a zone of the profile or the question beside a spread over zones."""
    profile.check_zone(question.profile or {}, question.spreads)
    properties = question.properties
    zone = question.availability_zone or (properties.availability_zone if properties else None)
    if zone is not None and any(item.by == ZONE for item in question.spreads):
        raise InvalidSpec(
            f'must not be {zone!r} for servers that are spread over the zones: remove the zone, or '
            f'the spread by {ZONE}',
            'availability_zone',
        )


def _group(question: Question, cloud: Cloud) -> str | ServerGroup | None:
    """Return the group's id or name, or the group that an attach would create (``NOT_YET``).

    The question's group precedes the hint and the policy's name; None without these and a policy.
    None is created for a hint, or for a name if the groups are unknown. Raise InvalidSpec if the
    one group of that hint or name contradicts the policy.
    """
    properties = question.properties
    hint = question.group_hint
    if properties is None or question.server_group is not None:
        return question.server_group or hint
    known, name = cloud.server_groups, hint or properties.server_group_name
    if name is not None and known is None:
        return name
    # As in an attach: find any group by its id, and a group of the project by its name.
    own = cloud.server_groups_of(question.project_id)
    found = [group for group in known or () if group.id == name]
    found = found or [group for group in own if group.name == name]
    if found:
        why_not = mismatch(found[0], properties) if len(found) == 1 else None
        if why_not is not None:
            raise InvalidSpec(why_not, 'properties.servergroup')
        return name
    if hint is not None:
        return hint
    return ServerGroup(NOT_YET, name or NOT_YET, properties.policy, properties.rules or {})
