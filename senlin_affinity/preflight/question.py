"""What is asked, what must be seen for it, and what the planner makes of both.

Data flow: a :class:`Question` determines what to fetch (:func:`scope_of`); what was fetched is a
:class:`CloudView`; :func:`ask` resolves the question's names in the view, and the planner decides.
A server group that an attach would create is added to the snapshot.

Units: ``count`` is a number of servers more.

Errors: InvalidSpec where a spec is not right, or the snapshot has something else than it asks for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model import scheduler_hints as hints
from senlin_affinity.model import spread as spreads
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.request import FILTERS, PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.server_group import NOT_YET, ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.nova.reserved_aggregates import pins_reserved, reads_images
from senlin_affinity.planner.resolution import resolve
from senlin_affinity.policy import profile
from senlin_affinity.policy.group_lookup import mismatch
from senlin_affinity.policy.properties import Properties, load

#: The parts of a :class:`CloudView` that the properties of images, and Placement's answer, are.
IMAGE, ANSWER = 'image', 'answer'


@dataclass(frozen=True)
class Question:
    """A question: do ``count`` more servers fit?

    ``flavor`` and ``server_group`` are an id or a name, ``project_id`` is an id. ``policy`` is the
    spec of an affinity policy (or its Properties), ``profile`` that of a Senlin profile: what is
    said beside them wins, also a ``spread`` over one of the policy by the same criterion. ``image``
    is a name or an id, or what it is; ``image_properties`` are added to it, or are all of one that
    is not named.
    ``spread`` has mappings as in a policy, or Spreads. ``enabled_filters`` of None are Nova's own
    default. ``scheduler_hints`` replace the hints with the same keys in the profile; the key
    ``group`` names the server group. ``options`` are values of the constraints' options, by
    their names; ``explicit_options`` are the keys of options whose
    values are specified, also where they are the defaults. A flavor that is
    None is the profile's.
    """

    count: int
    flavor: str | None = None
    _: KW_ONLY
    server_group: str | None = None
    policy: Properties | Mapping[str, Any] | None = field(default=None, hash=False)
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

    def __post_init__(self) -> None:
        if isinstance(self.policy, Mapping):
            object.__setattr__(self, 'policy', load(self.policy))
        if not all(isinstance(item, Spread) for item in self.spread):
            object.__setattr__(self, 'spread', spreads.read_all(self.spread, 'spread'))

    @property
    def properties(self) -> Properties | None:
        """What the policy says."""
        return cast('Properties | None', self.policy)

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """One spread for each criterion."""
        said = (*(self.properties.spread if self.properties else ()), *self.spread)
        return (*{item.by: item for item in cast('tuple[Spread, ...]', said)}.values(),)

    @property
    def hints(self) -> Mapping[str, Any]:
        """Return the scheduler hints of the profile and of the question."""
        return {**profile.scheduler_hints(self.profile or {}), **self.scheduler_hints}

    @property
    def group_hint(self) -> str | None:
        """Return the server group that a scheduler hint names."""
        return profile.group_hint({'scheduler_hints': self.hints})

    @property
    def is_pinned(self) -> bool:
        """Must somebody choose the host of every server, since Nova does not keep to what is asked?

        It does not keep to what :attr:`chooses_hosts`, or beside a policy, unless an option says
        that it does, to reservations.
        """
        is_reserved = self.properties is not None and pins_reserved(self.rules)
        return self.chooses_hosts or is_reserved

    @property
    def chooses_hosts(self) -> bool:
        """Does it ask for a host itself, by ``member_of``, a spread over racks, DRS or pinning?"""
        wanted = self.properties
        return any(item.by != ZONE for item in self.spreads) or (
            wanted is not None and (wanted.pins_hosts or wanted.is_drs_enabled)
        )

    @property
    def rules(self) -> Rules:
        """What the constraints are told."""
        is_drs_required = self.properties is not None and self.properties.is_drs_enabled
        explicit = (
            self.explicit_options
            if self.enabled_filters is None
            else self.explicit_options | {FILTERS}
        )
        return Rules(is_drs_required, options=self.options, explicit=explicit)


@dataclass(frozen=True)
class Narrow:
    """What a look at a few hosts must answer for, to be enough: every rule has to let all in.

    ``rules`` are those of the group that the binding remembers. ``is_lasting``: a no of today is
    none, as hosts may be freed.
    """

    question: Question
    constraints: Sequence[Constraint]
    rules: Mapping[str, int] | None = field(default=None, hash=False)
    is_lasting: bool = False


@dataclass(frozen=True)
class FetchScope:
    """What must be seen of the cloud.

    ``server_groups`` (ids or names) are the only ones that a snapshot is asked about (None: all),
    ``project_id`` is whose it is. ``image`` is the image that counts; one that
    ``is_image_needed`` must be there. ``drs_pattern`` asks for no more than the hosts with this in
    their names. ``question`` is what Placement is asked about beside all this, in Nova's words.
    ``narrow`` is for whom a yes is enough, if it can be had for less. ``servers`` are the ids of
    those whose hosts count.
    """

    server_groups: tuple[str, ...] | None = None
    project_id: str | None = None
    image: str | None = None
    is_image_needed: bool = False
    drs_pattern: str | None = None
    question: Question | None = None
    narrow: Narrow | None = None
    servers: tuple[str, ...] = ()

    def any_time(self) -> FetchScope:
        """For a no that lasts: of more than the hosts that have room today."""
        narrow = self.narrow and dataclasses.replace(self.narrow, is_lasting=True)
        return dataclasses.replace(self, narrow=narrow)


@dataclass(frozen=True)
class CloudView:
    """What was fetched of a cloud.

    ``unavailable`` gives the reason for each part that could not be read; ``images`` are by the
    names or ids that the question uses. ``owner_sees_hosts``: the owner may read the hosts, so a
    message may name them. ``is_yes``: the snapshot contains only some of the hosts, and they are
    enough to accept. ``is_part``: it contains the hosts that a rejection needs, or none; ``enough``
    is then how many of them have free capacity for all that a quota leaves.
    """

    snapshot: CloudSnapshot = field(default_factory=CloudSnapshot)
    unavailable: Mapping[str, str] = field(default_factory=dict, hash=False)
    images: Mapping[str, Image] = field(default_factory=dict, hash=False)
    owner_sees_hosts: bool = True
    is_yes: bool = False
    is_part: bool = False
    enough: int = 0


def scope_of(question: Question) -> FetchScope:
    """What must be seen to answer it."""
    named = question.server_group or question.group_hint
    if named is None and question.properties is not None:
        named = question.properties.server_group_name
    return FetchScope(
        () if named is None else (named,),
        question.project_id,
        _image_name(question),
        # A host that somebody chooses must have the traits that the image requires, too.
        question.image is not None or question.is_pinned or reads_images(question.rules),
        question=question,
        servers=hints.named(
            question.hints, None if question.is_pinned else question.enabled_filters
        ),
    )


def _image_name(question: Question) -> str | None:
    """The image that is to be read: none where it is told, be it by its properties alone."""
    if question.image is not None:
        return question.image if isinstance(question.image, str) else None
    return profile.image(question.profile or {}) if question.image_properties is None else None


def _image(question: Question, view: CloudView) -> tuple[Image | None, Mapping[str, str] | None]:
    """The image, and where it is not known, what is said to be all of its properties."""
    image = question.image
    if not isinstance(image, Image):
        image = view.images.get(_image_name(question) or '')
    if image is None:
        return None, question.image_properties if question.image is None else None
    properties = {**image.properties, **(question.image_properties or {})}
    return dataclasses.replace(image, properties=properties), None


def ask(question: Question, view: CloudView) -> ResolvedRequest:
    """The question with its names looked up, and what the specs say in it."""
    return resolve(*build(question, view))


def build(question: Question, view: CloudView) -> tuple[PlacementRequest, CloudSnapshot, Rules]:
    """The request, the snapshot that it is asked of, and the rules."""
    properties, spec = question.properties, question.profile or {}
    flavor = question.flavor or profile.flavor(spec)
    if flavor is None:
        raise InvalidSpec('names no flavor: add properties.flavor', 'profile')
    group, snapshot = _group(question, view.snapshot)
    rules = dataclasses.replace(question.rules, is_pinned=question.is_pinned)
    zone = question.availability_zone or (properties.availability_zone if properties else None)
    _check_zones(question, zone)
    if zone is None and profile.names_host(spec) and not rules.is_pinned:
        # Most filters are not asked about a host that is named: only the quotas are sure to count.
        snapshot = dataclasses.replace(snapshot, hosts=None)
    image, image_properties = _image(question, view)
    request = PlacementRequest(
        question.count,
        flavor,
        group,
        zone or profile.availability_zone(spec),
        (*(properties.member_of if properties else ()), *question.member_of),
        image_properties,
        question.project_id,
        is_volume_booted=question.is_volume_booted or profile.is_volume_booted(spec),
        spread=question.spreads,
        image=image,
        metadata_items=profile.metadata_items(spec),
        scheduler_hints={key: value for key, value in question.hints.items() if key != 'group'},
    )
    if question.enabled_filters is not None:
        request = dataclasses.replace(request, enabled_filters=question.enabled_filters)
    return request, snapshot, rules


def _check_zones(question: Question, zone: str | None) -> None:
    """Refuse a zone, the profile's or this one, of servers that are spread over the zones."""
    profile.check_zone(question.profile or {}, question.spreads)
    if zone is not None and any(item.by == ZONE for item in question.spreads):
        raise InvalidSpec(
            f'must not be {zone!r} for servers that are spread over the zones: leave out the zone, '
            f'or the spread by {ZONE}',
            'availability_zone',
        )


def _group(question: Question, snapshot: CloudSnapshot) -> tuple[str | None, CloudSnapshot]:
    """The group's id or name in the snapshot, with the group that an attach would create."""
    properties = question.properties
    hint = question.group_hint
    if properties is None or question.server_group is not None:
        return question.server_group or hint, snapshot
    known, name = snapshot.server_groups, hint or properties.server_group_name
    if name is not None and known is None:
        return name, snapshot
    # As an attach does: any group by its id, and the project's own by their name.
    own = snapshot.server_groups_of(question.project_id)
    found = [group for group in known or () if group.id == name]
    found = found or [group for group in own if group.name == name]
    if found:
        why_not = mismatch(found[0], properties) if len(found) == 1 else None
        if why_not is not None:
            raise InvalidSpec(why_not, 'properties.servergroup')
        return name, snapshot
    if hint is not None:
        return hint, snapshot
    new = ServerGroup(NOT_YET, name or NOT_YET, properties.policy, properties.rules or {})
    groups = (*(known or ()), new)
    return new.id, dataclasses.replace(snapshot, server_groups=groups)
