"""Replace the names of a request by values of the cloud."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.member_of import MemberOf, canonical, read
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.request import Request, Settings
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import ZONE, Spread
from senlin_affinity.model.suggestion import nearest
from senlin_affinity.nova import aggregates

#: Nova's defaults.
DEFAULTS = Settings()
Thing = TypeVar('Thing', Flavor, ServerGroup)


def resolve(
    cloud: Cloud,
    count: int,
    flavor: str | Flavor,
    *,
    server_group: str | ServerGroup | None = None,
    member_of: tuple[str, ...] = (),
    settings: Settings = DEFAULTS,
    **conditions: Any,
) -> Request:
    """Return the request for ``count`` servers, with values of the cloud in place of names.

    :param flavor: an id or a name; or a flavor that the cloud does not have yet.
    :param server_group: an id or a name; or a group that the cloud does not have yet.
    :param member_of: expressions with the names or UUIDs of aggregates.
    :param conditions: the other fields of Request. ``project_id`` is by default that of the group,
        else that of the cloud's data; ``user_id`` that of the cloud's data or the creator of the
        group, if these are of that project.

    A flavor is None, and a group unknown, if the cloud does not list these. Raise InvalidSpec with
    the path of the first invalid, unknown or ambiguous field.
    """
    zone, project = conditions.get('availability_zone'), conditions.get('project_id')
    count = whole(count, 'count', 0)
    if not isinstance(flavor, Flavor):
        _check_text(flavor, 'flavor')
    if server_group is not None and not isinstance(server_group, ServerGroup):
        _check_text(server_group, 'server_group')
    if zone is not None:
        _check_text(zone, 'availability_zone')
    filters: object = settings.enabled_filters
    if isinstance(filters, str) or not isinstance(filters, Collection):
        shown = reprlib.repr(filters)
        raise InvalidSpec(f'must be a tuple of names, not {shown}', 'enabled_filters')
    scheduler_hints.check(conditions.get('scheduler_hints', {}), 'scheduler_hints')
    _check_zone(zone, cloud)
    _check_spreads(conditions.get('spread', ()), cloud)
    found = flavor if isinstance(flavor, Flavor) else _find(flavor, cloud.flavors, 'flavor')
    group = server_group if isinstance(server_group, ServerGroup) else None
    unknown = None
    if isinstance(server_group, str):
        group = _find(server_group, _groups(server_group, project, cloud), 'server_group')
        unknown = server_group if group is None else None
    project = project or (group and group.project_id) or cloud.project_id
    conditions['project_id'] = project
    conditions['user_id'] = conditions.get('user_id') or user_of(project, group, cloud)
    return Request(
        count,
        found,
        group,
        unknown_flavor=str(flavor) if found is None else None,
        unknown_group=unknown,
        member_of=resolve_member_of(member_of, cloud),
        member_of_text=member_of,
        settings=settings,
        **conditions,
    )


def _check_text(value: object, path: str) -> None:
    """Raise InvalidSpec for a name that is not a string."""
    if not isinstance(value, str):
        shown = reprlib.repr(value)
        raise InvalidSpec(f'must be a name or an id, as a string, not {shown}', path)


def user_of(project: str | None, group: ServerGroup | None, cloud: Cloud) -> str | None:
    """Return the user of the cloud's data, else the creator of the group, if of the project."""
    if cloud.user_id is not None and project == (cloud.project_id or project):
        return cloud.user_id
    return group.user_id if group is not None and group.project_id == project else None


def _groups(wanted: str, project: str | None, cloud: Cloud) -> Sequence[ServerGroup] | None:
    """Return ``server_groups_of`` the project if one has the requested id or name.

    Otherwise all groups (None: unknown), or with a project its groups and those with the id.
    """
    groups, own = cloud.server_groups, cloud.server_groups_of(project)
    if any(wanted in (group.id, group.name) for group in own):
        return own
    if groups is None or project is None:
        return groups
    return (*own, *(group for group in groups if group.id == wanted))


def resolve_member_of(expressions: tuple[str, ...], cloud: Cloud) -> MemberOf:
    """Return the parsed expressions, with UUIDs instead of aggregate names.

    Names stay if the aggregates are unknown; otherwise, raise InvalidSpec for an unknown or
    ambiguous one.
    """
    if not expressions:
        return MemberOf()
    if cloud.aggregates is None:
        return read(expressions, 'member_of', lambda part: canonical(part) or part)
    nameless = frozenset().union(*{aggregates for _zone, aggregates in cloud.places})
    return aggregates.resolve(expressions, cloud.aggregates, nameless=nameless)


def _find(wanted: str, things: Sequence[Thing] | None, path: str) -> Thing | None:
    """Return the only object with this id, or else with this name; None if ``things`` is None.

    Raise InvalidSpec if none or several match.
    """
    if things is None:
        return None
    what = path.replace('_', ' ')
    by_id = [thing for thing in things if thing.id == wanted]
    found = by_id or [thing for thing in things if thing.name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ', '.join(sorted(thing.id for thing in found))
        raise InvalidSpec(f'{len(found)} {what}s are called {wanted!r}: use an id ({ids})', path)
    near = _near(wanted, (thing.name for thing in things))
    raise InvalidSpec(f'there is no {what} {wanted!r}{near}', path)


def _check_zone(zone: str | None, cloud: Cloud) -> None:
    """Raise InvalidSpec if no host, no aggregate and no zone of the cloud has this name.

    Any name is valid if ``availability_zones`` and the hosts, or the zone of one, are unknown.
    """
    if zone is None:
        return
    of_hosts = {None} if cloud.hosts is None else {zone for zone, _of_host in cloud.places}
    zones = of_hosts | {aggregate.availability_zone for aggregate in cloud.aggregates or ()}
    zones |= cloud.availability_zones or frozenset()
    is_known = cloud.availability_zones is not None or None not in of_hosts
    if is_known and zone not in zones:
        near = _near(zone, (name for name in zones if name is not None))
        raise InvalidSpec(f'there is no availability zone {zone!r}{near}', 'availability_zone')


def _check_spreads(spreads: Iterable[Spread], cloud: Cloud) -> None:
    """Raise InvalidSpec for a ``by`` that is not ``availability_zone`` or a key of any aggregate.

    Any key is valid if the aggregates are unknown.
    """
    if cloud.aggregates is None:
        return
    known = cloud.metadata_keys | {ZONE}
    for number, spread in enumerate(spreads):
        if spread.by not in known:
            words = f'no aggregate has the metadata key {spread.by!r}{_near(spread.by, known)}'
            raise InvalidSpec(words, f'spread[{number}].by')


def _near(wanted: str, names: Iterable[str]) -> str:
    """Return ": did you mean web?", or "; there is only web", or "; there are db, web" (up to ten).

    '' without names.
    """
    names = sorted(set(names))
    near = nearest(wanted, names)
    if near is not None:
        return f': did you mean {near}?'
    if len(names) == 1:
        return f'; there is only {names[0]}'
    return f'; there are {", ".join(names[:10])}' if names else ''
