"""From the specs of a policy and a profile to what the planner is asked.

The way of the data: properties that were read, a profile's spec and what else was said (a count, a
group, options) come in as an :class:`Asked`; a PlacementRequest and the Rules go out, and the
snapshot that they are asked of: a server group that an attach would create is added to it.

Units: ``count`` is a number of servers more.

Errors: InvalidSpec where the snapshot has something else than the spec asks for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from senlin_affinity.constraints.reservations import keeps_reserved
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, Rules
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy import profile
from senlin_affinity.policy.matching import mismatch
from senlin_affinity.policy.properties import Properties

#: What a group is called in a plan that an attach has not created yet.
_NEW_GROUP = 'new-server-group'


@dataclass(frozen=True)
class Asked:
    """What is asked for, before it is looked up.

    ``server_group`` (an id or a name) wins over what the specs name, a ``spread`` over that of the
    properties by the same criterion. ``rules`` are the option values; what the properties say is
    added to them.
    """

    count: int
    flavor: str | None = None
    properties: Properties | None = None
    profile: Mapping[str, Any] | None = None
    server_group: str | None = None
    availability_zone: str | None = None
    member_of: tuple[str, ...] = ()
    image_properties: Mapping[str, str] | None = None
    project_id: str | None = None
    enabled_filters: tuple[str, ...] | None = None
    rules: Rules = dataclasses.field(default_factory=Rules)
    spread: tuple[Spread, ...] = ()


def groups(asked: Asked) -> tuple[str, ...]:
    """The only server groups that will be asked about: a snapshot of these is enough."""
    named = asked.server_group or profile.group_hint(asked.profile or {})
    if named is None and asked.properties is not None:
        named = asked.properties.server_group_name
    return () if named is None else (named,)


def build(asked: Asked, snapshot: CloudSnapshot) -> tuple[PlacementRequest, CloudSnapshot, Rules]:
    """The request, the snapshot that it is asked of, and the rules."""
    properties, spec = asked.properties, asked.profile or {}
    flavor = asked.flavor or profile.flavor(spec)
    if flavor is None:
        raise InvalidSpec('names no flavor: add properties.flavor', 'profile')
    group, snapshot = _group(asked, snapshot)
    rules = asked.rules
    if properties is not None:
        rules = dataclasses.replace(
            rules,
            is_drs_required=properties.is_drs_enabled,
            is_pinned=must_pin(properties, rules),
        )
    zone = asked.availability_zone or (properties.availability_zone if properties else None)
    spreads = _spread(asked, zone)
    if any(item.by != ZONE for item in spreads):
        rules = dataclasses.replace(rules, is_pinned=True)
    if zone is None and profile.names_host(spec) and not rules.is_pinned:
        # Most filters are not asked about a host that is named: only the quotas are sure to count.
        snapshot = dataclasses.replace(snapshot, hosts=None)
    request = PlacementRequest(
        asked.count,
        flavor,
        group,
        zone or profile.availability_zone(spec),
        (*(properties.member_of if properties else ()), *asked.member_of),
        asked.image_properties,
        asked.project_id,
        is_volume_booted=profile.is_volume_booted(spec),
        spread=spreads,
    )
    if asked.enabled_filters is not None:
        request = dataclasses.replace(request, enabled_filters=asked.enabled_filters)
    return request, snapshot, rules


def must_pin(properties: Properties, rules: Rules) -> bool:
    """Must the policy choose the host of every node, since Nova does not keep to what is asked?

    It does not keep to ``member_of``, to a spread over anything but zones (``pins_hosts`` is True
    with either), to a DRS host, or to the reservations of this project's options.
    """
    return properties.pins_hosts or properties.is_drs_enabled or keeps_reserved(rules)


def _spread(asked: Asked, zone: str | None) -> tuple[Spread, ...]:
    """One spread for each criterion.

    :param zone: the one that is asked for, besides that of the profile.
    """
    of_properties = asked.properties.spread if asked.properties is not None else ()
    spreads = (*{item.by: item for item in (*of_properties, *asked.spread)}.values(),)
    profile.check_zone(asked.profile or {}, spreads)
    if zone is not None and any(item.by == ZONE for item in spreads):
        raise InvalidSpec(
            f'must not be {zone!r} for servers that are spread over the zones: leave out the zone, '
            f'or the spread by {ZONE}',
            'availability_zone',
        )
    return spreads


def _group(asked: Asked, snapshot: CloudSnapshot) -> tuple[str | None, CloudSnapshot]:
    """The group's id or name in the snapshot, with the group that an attach would create."""
    properties = asked.properties
    hint = profile.group_hint(asked.profile or {})
    if properties is None or asked.server_group is not None:
        return asked.server_group or hint, snapshot
    known, name = snapshot.server_groups, hint or properties.server_group_name
    if name is not None and known is None:
        return name, snapshot
    # As an attach does: any group by its id, and the project's own by their name.
    own = snapshot.server_groups_of(asked.project_id)
    found = [group for group in known or () if group.id == name]
    found = found or [group for group in own if group.name == name]
    if found:
        why_not = mismatch(found[0], properties) if len(found) == 1 else None
        if why_not is not None:
            raise InvalidSpec(why_not, 'properties.servergroup')
        return name, snapshot
    if hint is not None:
        return hint, snapshot
    new = ServerGroup(_NEW_GROUP, name or _NEW_GROUP, properties.policy, properties.rules or {})
    groups = (*(known or ()), new)
    return new.id, dataclasses.replace(snapshot, server_groups=groups)
