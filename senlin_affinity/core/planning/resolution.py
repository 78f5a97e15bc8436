"""Looks up the names of a request in the snapshot.

Errors: InvalidSpec for a name that the snapshot does not hold, or that two things have, with the
path of the request's field; a part of the snapshot that is not known is None in what comes out, and
the constraints say "unknown".
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from senlin_affinity.core.aggregates import names
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.flavor import Flavor
from senlin_affinity.core.member_of import MemberOf, canonical, read
from senlin_affinity.core.numbers import whole
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.core.server_group import ServerGroup
from senlin_affinity.core.spread import ZONE
from senlin_affinity.core.suggestion import nearest

Thing = TypeVar('Thing', Flavor, ServerGroup)


def resolve(
    request: PlacementRequest, snapshot: CloudSnapshot, rules: Rules | None = None
) -> ResolvedRequest:
    """The request, with what its names mean in the snapshot."""
    request = replace(request, count=whole(request.count, 'count', 0))
    _check_texts(request)
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
    """Whoever calls the library may pass anything."""
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
    """Those that a name may mean: a project's own group goes before another's of that name.

    Where the request names the project, another's group is meant by its id only.
    """
    groups, own = snapshot.server_groups, snapshot.server_groups_of(request.project_id)
    if any(request.server_group in (group.id, group.name) for group in own):
        return own
    if groups is None or request.project_id is None:
        return groups
    return (*own, *(group for group in groups if group.id == request.server_group))


def member_of(expressions: tuple[str, ...], snapshot: CloudSnapshot) -> MemberOf:
    """The expression with UUIDs; where the aggregates are not known, its names stay as they are."""
    if not expressions:
        return MemberOf()
    if snapshot.aggregates is None:
        return read(expressions, 'member_of', lambda part: canonical(part) or part)
    nameless = frozenset().union(*{aggregates for _zone, aggregates in snapshot.places})
    return names.resolve(expressions, snapshot.aggregates, nameless=nameless)


def _find(wanted: str, things: Sequence[Thing] | None, path: str) -> Thing | None:
    """The one thing with this id, or else with this name; None where they are not known."""
    if things is None:
        return None
    what = path.replace('_', ' ')
    by_id = [thing for thing in things if thing.id == wanted]
    found = by_id or [thing for thing in things if thing.name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ', '.join(sorted(thing.id for thing in found))
        raise InvalidSpec(
            f'{len(found)} of them are called {wanted!r} ({ids}): name the one by its id', path
        )
    near = _near(wanted, (thing.name for thing in things))
    raise InvalidSpec(f'there is no {what} {wanted!r}{near}', path)


def _check_zone(zone: str | None, snapshot: CloudSnapshot) -> None:
    """A zone that no host has is wrong, unless the zone of one of them is not known."""
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
    """A key that no aggregate has names no domains."""
    if snapshot.aggregates is None:
        return
    known = {key for aggregate in snapshot.aggregates for key in aggregate.metadata} | {ZONE}
    for number, spread in enumerate(request.spread):
        if spread.by not in known:
            words = f'no aggregate has the metadata key {spread.by!r}{_near(spread.by, known)}'
            raise InvalidSpec(words, f'spread[{number}].by')


def _near(wanted: str, names: Iterable[str]) -> str:
    names = sorted(set(names))
    near = nearest(wanted, names)
    if near is not None:
        return f': did you mean {near}?'
    if len(names) == 1:
        return f'; there is only {names[0]}'
    return f'; there are {", ".join(names[:10])}' if names else ''
