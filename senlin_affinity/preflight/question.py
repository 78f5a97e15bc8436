"""Turn a question and the fetched view of a cloud into a request for the planner.

A server group that the attach of the policy will create is added to the snapshot.

Raises: InvalidSpec for an invalid spec, for a name that the snapshot does not have, and for an
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
from senlin_affinity.model.snapshot import CloudSnapshot, CloudView
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

#: All hosts, in place of names.
EVERY_HOST = ('*',)


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
    def hints(self) -> Mapping[str, Any]:
        """The profile's scheduler hints, overridden by the question's; with ``group``."""
        return {**profile.scheduler_hints(self.profile or {}), **self.scheduler_hints}

    @property
    def group_hint(self) -> str | None:
        """The server group that a scheduler hint names; None without one."""
        return profile.group_hint({'scheduler_hints': self.hints})

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


@dataclass(frozen=True)
class FetchScope:
    """The parts of a cloud to fetch.

    * ``server_groups`` are ids or names (None: all), ``image`` is a name or id. With
      ``is_image_needed``, there is no answer without the image.
    * ``drs_pattern`` limits the fetch to the hosts with this text in their names.
    * ``question`` is the question whose allocation candidates are fetched.
    * ``servers`` are the ids of servers whose hosts a scheduler hint refers to.
    * ``flavors`` are ids, names or globs of the flavors whose capacity is counted under the
      conditions of ``question``, which names no flavor; None: no capacity is counted.
    * ``servers_on`` are the hosts whose servers are fetched, by the name of the service host or of
      its hypervisor, with what a move of these depends on under the settings of ``question``;
      :data:`EVERY_HOST`: the servers of all hosts, and no more.
    * ``questions`` are those of a list, and ``images`` the names or ids of their images, all of
      which must exist.
    """

    server_groups: tuple[str, ...] | None = None
    project_id: str | None = None
    image: str | None = None
    is_image_needed: bool = False
    drs_pattern: str | None = None
    question: Question | None = None
    servers: tuple[str, ...] = ()
    user_id: str | None = None
    flavors: tuple[str, ...] | None = None
    servers_on: tuple[str, ...] | None = None
    images: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()


def scope_of(question: Question) -> FetchScope:
    """Return the parts of a cloud that the answer needs.

    ``server_groups`` has the group of the question, else of a hint, else of the policy; () without
    any. The image is needed if the question names one or pins hosts, or if reservations depend on
    images.
    """
    named = question.server_group or question.group_hint
    if named is None and question.properties is not None:
        named = question.properties.server_group_name
    return FetchScope(
        (named,) if isinstance(named, str) else (),
        question.project_id,
        _image_name(question),
        # A pinned host needs the traits of the image.
        question.image is not None or question.is_pinned or reads_images(question.settings),
        question=question,
        servers=hints.named(
            question.hints, None if question.is_pinned else question.enabled_filters
        ),
        user_id=question.user_id,
    )


def _image_name(question: Question) -> str | None:
    """Return the name or id of the image to fetch: the question's, else the profile's.

    None for an ``Image``, and if the question has ``image_properties`` and no image of its own.
    """
    if question.image is not None:
        return question.image if isinstance(question.image, str) else None
    return profile.image(question.profile or {}) if question.image_properties is None else None


def image_of(question: Question, view: CloudView) -> tuple[Image | None, Mapping[str, str] | None]:
    """Return the image with the question's properties added, and None.

    For an unknown image, return None and the question's ``image_properties`` (None if the question
    names an image).
    """
    image = question.image
    if not isinstance(image, Image):
        image = view.images.get(_image_name(question) or '')
    if image is None:
        return None, question.image_properties if question.image is None else None
    properties = {**image.properties, **(question.image_properties or {})}
    return dataclasses.replace(image, properties=properties), None


def resolve_question(question: Question, view: CloudView) -> tuple[Request, CloudSnapshot]:
    """Return the request with values of the view in place of names, and the cloud to plan it on.

    If the request names its host (``zone:host``), the cloud has no other, and no filter is enabled;
    the hosts are unknown if the owner may not list them. A flavor or group in an unknown part
    (``flavors`` is None) is unknown. Raise InvalidSpec for any other name that the view lacks, but
    for the group of a policy, without a flavor, and for a host that does not exist.
    """
    request, cloud = _resolved(question, view, question.target)
    if not (question.target.is_forced and view.owner_sees_hosts):
        return request, cloud
    with contextlib.suppress(InvalidSpec):  # Nova ignores another zone than that of the host
        elsewhere = _resolved(question, view, Target(question.target.zone))
        request = dataclasses.replace(request, elsewhere=elsewhere)
    return request, cloud


def _resolved(question: Question, view: CloudView, target: Target) -> tuple[Request, CloudSnapshot]:
    """Return the request with this zone, host and node, and the cloud to plan it on."""
    properties, spec = question.properties, question.profile or {}
    flavor = question.flavor if isinstance(question.flavor, Flavor) else question.flavor_name
    if flavor is None:
        raise InvalidSpec('names no flavor: add properties.flavor', 'profile')
    cloud, settings = view.snapshot, question.settings
    group = _group(question, cloud)
    _check_zones(question)
    is_host_named = target.is_forced
    if target.is_forced:
        if not view.owner_sees_hosts:  # the answer would tell about the host
            cloud = structs.replace(cloud, hosts=None)
        target, cloud = _forced(target, cloud, settings)
        settings = dataclasses.replace(settings, enabled_filters=())
    if question.host is not None:
        is_host_named = True
        cloud = only_on(question.host, cloud, view)
    image, image_properties = image_of(question, view)
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


def _forced(
    target: Target, cloud: CloudSnapshot, settings: Settings
) -> tuple[Target, CloudSnapshot]:
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


def only_on(host: str, snapshot: CloudSnapshot, view: CloudView) -> CloudSnapshot:
    """Return the snapshot with the hypervisors of one service host only.

    The hosts are unknown if the owner may not list them. Raise InvalidSpec if there is no such
    host.
    """
    if snapshot.hosts is None or not view.owner_sees_hosts:
        return structs.replace(snapshot, hosts=None)
    found = tuple(each for each in snapshot.hosts if each.host == host)
    if not found:
        names = sorted({*snapshot.host_names})
        raise InvalidSpec(f'there is no host {host!r}: {meant(host, names)}', 'host')
    return structs.replace(snapshot, hosts=found)


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


def _group(question: Question, cloud: CloudSnapshot) -> str | ServerGroup | None:
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
