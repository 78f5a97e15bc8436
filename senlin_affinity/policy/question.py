"""What is asked, what must be seen for it, and what the planner makes of both.

Data flow: a :class:`Question` says what must be seen (:func:`needs`); what was seen is a
:class:`Look`; :func:`ask` looks the names of the one up in the other, and the planner decides. A
server group that an attach would create is added to the snapshot.

Units: ``count`` is a number of servers more.

Errors: InvalidSpec where a spec is not right, or the snapshot has something else than it asks for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.constraints.reservations import pins_reserved, reads_images
from senlin_affinity.core import spread as spreads
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.image import Image
from senlin_affinity.core.objects import (
    FILTERS,
    CloudSnapshot,
    PlacementRequest,
    ResolvedRequest,
    Rules,
)
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.core.server_group import NOT_YET, ServerGroup
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy import profile
from senlin_affinity.policy.matching import mismatch
from senlin_affinity.policy.properties import Properties, load

#: The parts of a :class:`Look` that the properties of images, and Placement's answer, are.
IMAGE, ANSWER = 'image', 'answer'


@dataclass(frozen=True)
class Question:
    """Will ``count`` servers more fit?

    ``flavor`` and ``server_group`` are an id or a name, ``project_id`` is an id. ``policy`` is the
    spec of an affinity policy (or its Properties), ``profile`` that of a Senlin profile: what is
    said beside them wins, also a ``spread`` over one of the policy by the same criterion. ``image``
    is a name or an id, or what it is; ``image_properties`` are added to it, or are all of one that
    is not named.
    ``spread`` has mappings as in a policy, or Spreads. ``enabled_filters`` of None are Nova's own
    default. ``options`` are values of the constraints' options, by their names; ``told`` are the
    keys of others that are known to be as usual. A flavor that is None is the profile's.
    """

    count: int
    flavor: str | None = None
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
    told: frozenset[str] = frozenset()
    image: str | Image | None = None

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
        told = self.told if self.enabled_filters is None else self.told | {FILTERS}
        return Rules(is_drs_required, options=self.options, told=told)


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
class Needs:
    """What must be seen of the cloud.

    ``server_groups`` (ids or names) are the only ones that a snapshot is asked about (None: all),
    ``project_id`` is whose it is. ``image`` is the image that counts; one that
    ``is_image_needed`` must be there. ``drs_pattern`` asks for no more than the hosts with this in
    their names. ``question`` is what Placement is asked about beside all this, in Nova's words.
    ``narrow`` is for whom a yes is enough, if it can be had for less.
    """

    server_groups: tuple[str, ...] | None = None
    project_id: str | None = None
    image: str | None = None
    is_image_needed: bool = False
    drs_pattern: str | None = None
    question: Question | None = None
    narrow: Narrow | None = None

    def lasting(self) -> Needs:
        """For a no that lasts: of more than the hosts that have room today."""
        narrow = self.narrow and dataclasses.replace(self.narrow, is_lasting=True)
        return dataclasses.replace(self, narrow=narrow)


@dataclass(frozen=True)
class Look:
    """What was seen. ``unknown`` says why a part is not known, by its name; ``images`` are by their
    names or ids, as they were asked for. ``is_owners``: what is known of hosts is what the owner
    may see himself, and so may be told. ``is_yes``: of the hosts only some are in the snapshot, and
    they are enough. ``is_part``: they are what a no needs, or none of them is; then ``enough`` is
    how many of them have room for all that a quota leaves.
    """

    snapshot: CloudSnapshot = field(default_factory=CloudSnapshot)
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)
    images: Mapping[str, Image] = field(default_factory=dict, hash=False)
    is_owners: bool = True
    is_yes: bool = False
    is_part: bool = False
    enough: int = 0


def needs(question: Question) -> Needs:
    """What must be seen to answer it."""
    spec = question.profile or {}
    named = question.server_group or profile.group_hint(spec)
    if named is None and question.properties is not None:
        named = question.properties.server_group_name
    return Needs(
        () if named is None else (named,),
        question.project_id,
        _image_name(question),
        # A host that somebody chooses must have the traits that the image requires, too.
        question.image is not None or question.is_pinned or reads_images(question.rules),
        question=question,
    )


def _image_name(question: Question) -> str | None:
    """The image that is to be read: none where it is told, be it by its properties alone."""
    if question.image is not None:
        return question.image if isinstance(question.image, str) else None
    return profile.image(question.profile or {}) if question.image_properties is None else None


def _image(question: Question, look: Look) -> tuple[Image | None, Mapping[str, str] | None]:
    """The image, and where it is not known, what is said to be all of its properties."""
    image = question.image
    if not isinstance(image, Image):
        image = look.images.get(_image_name(question) or '')
    if image is None:
        return None, question.image_properties if question.image is None else None
    properties = {**image.properties, **(question.image_properties or {})}
    return dataclasses.replace(image, properties=properties), None


def ask(question: Question, look: Look) -> ResolvedRequest:
    """The question with its names looked up, and what the specs say in it."""
    return resolve(*build(question, look))


def build(question: Question, look: Look) -> tuple[PlacementRequest, CloudSnapshot, Rules]:
    """The request, the snapshot that it is asked of, and the rules."""
    properties, spec = question.properties, question.profile or {}
    flavor = question.flavor or profile.flavor(spec)
    if flavor is None:
        raise InvalidSpec('names no flavor: add properties.flavor', 'profile')
    group, snapshot = _group(question, look.snapshot)
    rules = dataclasses.replace(question.rules, is_pinned=question.is_pinned)
    zone = question.availability_zone or (properties.availability_zone if properties else None)
    _check_zones(question, zone)
    if zone is None and profile.names_host(spec) and not rules.is_pinned:
        # Most filters are not asked about a host that is named: only the quotas are sure to count.
        snapshot = dataclasses.replace(snapshot, hosts=None)
    image, image_properties = _image(question, look)
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
    hint = profile.group_hint(question.profile or {})
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
