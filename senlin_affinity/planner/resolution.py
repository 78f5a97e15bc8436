"""Resolve the names of a request in the snapshot."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.member_of import MemberOf, canonical, read
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.request import PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.spread import ZONE
from senlin_affinity.model.suggestion import nearest
from senlin_affinity.nova import aggregate_names as names

Thing = TypeVar('Thing', Flavor, ServerGroup)


def resolve(
    request: PlacementRequest, snapshot: CloudSnapshot, rules: Rules | None = None
) -> ResolvedRequest:
    """Return the request with its flavor, group and aggregates as values of the snapshot.

    A flavor or group is None if the snapshot does not list these. Raise InvalidSpec with the path
    of the first invalid, unknown or ambiguous field.
    """
    request = replace(request, count=whole(request.count, 'count', 0))
    _check_texts(request)
    scheduler_hints.check(request.scheduler_hints, 'scheduler_hints')
    _check_zone(request.availability_zone, snapshot)
    _check_spreads(request, snapshot)
    group = request.server_group
    return ResolvedRequest(
        request,
        snapshot,
        _find(request.flavor, snapshot.flavors, 'flavor'),
        None if group is None else _find(group, _groups(request, snapshot), 'server_group'),
        rules or Rules(),
        member_of(request.member_of, snapshot),
    )


def _check_texts(request: PlacementRequest) -> None:
    """Raise InvalidSpec for a flavor, group or zone that is not a string; the last two may be None.

    Also for filters that are not a collection, or a string.
    """
    for path in ('flavor', 'server_group', 'availability_zone'):
        value = getattr(request, path)
        if not isinstance(value, str) and (value is not None or path == 'flavor'):
            shown = reprlib.repr(value)
            raise InvalidSpec(f'must be a name or an id, as a string, not {shown}', path)
    filters: object = request.enabled_filters
    if isinstance(filters, str) or not isinstance(filters, Collection):
        shown = reprlib.repr(filters)
        raise InvalidSpec(f'must be a tuple of names, not {shown}', 'enabled_filters')


def _groups(request: PlacementRequest, snapshot: CloudSnapshot) -> Sequence[ServerGroup] | None:
    """Return ``server_groups_of`` the project if one has the requested id or name.

    Otherwise all groups (None: unknown), or with a ``project_id`` its groups and those with the id.
    """
    groups, own = snapshot.server_groups, snapshot.server_groups_of(request.project_id)
    if any(request.server_group in (group.id, group.name) for group in own):
        return own
    if groups is None or request.project_id is None:
        return groups
    return (*own, *(group for group in groups if group.id == request.server_group))


def member_of(expressions: tuple[str, ...], snapshot: CloudSnapshot) -> MemberOf:
    """Return the parsed expressions, with UUIDs instead of aggregate names.

    Names stay if the aggregates are unknown; otherwise, raise InvalidSpec for an unknown or
    ambiguous one.
    """
    if not expressions:
        return MemberOf()
    if snapshot.aggregates is None:
        return read(expressions, 'member_of', lambda part: canonical(part) or part)
    nameless = frozenset().union(*{aggregates for _zone, aggregates in snapshot.places})
    return names.resolve(expressions, snapshot.aggregates, nameless=nameless)


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


def _check_zone(zone: str | None, snapshot: CloudSnapshot) -> None:
    """Raise InvalidSpec if no host, no aggregate and no zone of the snapshot has this name.

    Any name is valid if ``availability_zones`` and the hosts, or the zone of one, are unknown.
    """
    if zone is None:
        return
    of_hosts = {None} if snapshot.hosts is None else {zone for zone, _of_host in snapshot.places}
    zones = of_hosts | {aggregate.availability_zone for aggregate in snapshot.aggregates or ()}
    zones |= snapshot.availability_zones or frozenset()
    is_known = snapshot.availability_zones is not None or None not in of_hosts
    if is_known and zone not in zones:
        near = _near(zone, (name for name in zones if name is not None))
        raise InvalidSpec(f'there is no availability zone {zone!r}{near}', 'availability_zone')


def _check_spreads(request: PlacementRequest, snapshot: CloudSnapshot) -> None:
    """Raise InvalidSpec for a ``by`` that is not ``availability_zone`` or a key of any aggregate.

    Any key is valid if the aggregates are unknown.
    """
    if snapshot.aggregates is None:
        return
    known = {key for aggregate in snapshot.aggregates for key in aggregate.metadata} | {ZONE}
    for number, spread in enumerate(request.spread):
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
