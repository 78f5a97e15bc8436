"""Look up Placement's answer to the query of a request in the snapshot, or why it answers 400.

The snapshot has no answer to a query for another flavor or another zone. The capacity is then
computed from the resources of the hosts.

Example of a rejected query::

    Flavor(extra_specs={'trait:CUSTOM_NOPE': 'forbidden'})   no trait has this name
    Rejection('unknown_traits', 'CUSTOM_NOPE', ('trait:CUSTOM_NOPE',))

Nova then finds no valid host. It sends two queries for servers with pinned CPUs, and rejects the
request if Placement rejects both.

Source: Placement's parser of request groups (``placement/lib.py`` and ``util.py``), which treats
these requests alike in all microversions from 1.29 to 1.36. For a group without resources, Nova
sends ``resources=``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from senlin_affinity.model.flavor import Group
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova import candidate_query, flavor_features
from senlin_affinity.nova.demand import demand_of, parts_of


class PlacementAnswer(NamedTuple):
    """A query that Placement answered, or None; ``is_complete``: the answer is complete."""

    query: str | None = None
    is_complete: bool = False


NOT_ASKED = PlacementAnswer()


def placement_answer(request: Request, cloud: CloudSnapshot) -> PlacementAnswer:
    """Return the query of the request, if it was answered. For :meth:`Request.memo`."""
    known = cloud.queries
    query = candidate_query.query(request, cloud) if known else None
    if query not in known:
        return NOT_ASKED
    return PlacementAnswer(query, query in cloud.answered)


def may_take_of_pools(request: Request, cloud: CloudSnapshot, host: Host) -> bool:
    """Check whether servers on this host may use up a pool that other hosts share.

    If the host has several providers of the class, Placement chooses one of them.
    """
    has = host.resources or {}
    return any(name in has and has[name].is_sum for name in request.memo(scarce_classes, cloud))


def scarce_classes(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return the resource classes of which a pool has less than its hosts together could use."""
    pools, demand = cloud.pools, demand_of(request)
    asked = {} if demand is None else demand.amounts
    names = frozenset(asked).intersection(chain(*pools.values()))
    if not names:
        return names
    answer = request.memo(placement_answer, cloud)
    wanted: Counter[tuple[str | None, str]] = Counter()
    for host in cloud.hosts or ():
        grant = host.grant(answer.query)
        if grant is None:
            if not answer.is_complete:
                return names
            continue
        for name in names:
            has = (host.resources or {}).get(name)
            if has is None or has.is_sum or has.pool:
                wanted[None if has is None else has.pool, name] += grant.room
    return frozenset(
        name
        for uuid, given in pools.items()
        for name in names.intersection(given)
        if (wanted[uuid, name] + wanted[None, name]) * asked[name]
        > given[name].capacity - given[name].used
    )


NO_RESOURCES, NO_POLICY, CONFLICT = 'no_resources', 'no_group_policy', 'conflicting_traits'
WRONG_NAMES, NO_TRAITS, NO_CLASSES = 'wrong_names', 'unknown_traits', 'unknown_classes'
OTHER = 'query_rejected'
_NAME, _CUSTOM = re.compile('(?!CUSTOM_$)[A-Z0-9_]+'), 'CUSTOM_'
#: In a query, where a comma and an exclamation mark are encoded.
_BETWEEN_NAMES = re.compile('%2C|%21|[&=+]')
#: Nova itself forbids this trait, which every Placement has.
_OF_NOVA = frozenset(('HW_CPU_HYPERTHREADING',))


class Rejection(NamedTuple):
    """Why Placement rejects a request, what it is about, and the extra specs to remove.

    ``names`` are traits, resource classes, or suffixes of groups; of OTHER, Placement's message.
    ``extra_specs`` has no required traits that do not exist: the constraint on traits is about
    them.
    """

    kind: str
    names: str
    extra_specs: tuple[str, ...] = ()


def find(request: Request, cloud: CloudSnapshot) -> Rejection | None:
    """Return why Placement rejects the request; None if it may accept it.

    An unknown name counts only if the snapshot has all names, and no host has it. Names in a query
    that Placement has answered are right. For :meth:`Request.memo`.
    """
    is_answered = _is_answered(request, cloud)
    found = [
        next(_of_groups(request, groups), None)
        or (None if is_answered else next(_of_names(request, cloud, groups), None))
        for groups in candidate_query.alternatives(request, cloud)
    ]
    if found and all(found):
        return found[0]
    rejected = cloud.rejected
    message = rejected.get(candidate_query.query(request, cloud) or '') if rejected else None
    return None if message is None else Rejection(OTHER, message)


def creatable(request: Request, cloud: CloudSnapshot) -> tuple[str, ...]:
    """Return the sorted traits that the request names and nobody has created, but somebody can."""
    groups = (group for groups in candidate_query.alternatives(request, cloud) for group in groups)
    names = {name for group in groups for names in group.traits for name in names}
    unknown = names - (cloud.traits or names)
    return tuple(sorted(name for name in unknown if _is_name(name) and name.startswith(_CUSTOM)))


def uncertain_traits(request: Request, cloud: CloudSnapshot) -> tuple[str, ...]:
    """Return the sorted traits that the request forbids and that may not exist.

    Others need no check: without a host that has a required trait or a resource class, no server
    fits.
    """
    groups = (group for groups in candidate_query.alternatives(request, cloud) for group in groups)
    forbidden = {name for group in groups for name in group.traits.forbidden} - _OF_NOVA
    if not forbidden or cloud.traits is not None or _is_answered(request, cloud):
        return ()
    uncertain = forbidden - request.memo(flavor_features.traits_of_hosts, cloud)
    return tuple(sorted(uncertain - _accepted(request, cloud))) if uncertain else ()


def _is_answered(request: Request, cloud: CloudSnapshot) -> bool:
    """Check whether Placement has answered the query."""
    return request.memo(placement_answer, cloud).query is not None


def _accepted(request: Request, cloud: CloudSnapshot) -> frozenset[str]:
    """Return the traits, and other words, in the queries for which any host has a grant.

    An answer without candidates does not show that they exist: Placement may not look them up.
    """
    return frozenset(
        name for query in cloud.granting_queries for name in _BETWEEN_NAMES.split(query)
    )


def _of_groups(request: Request, groups: Sequence[Group]) -> Iterator[Rejection]:
    """Yield each reason for which Placement rejects these groups, whatever exists."""
    asked = demand_of(request)
    suffixes = [group.suffix for group in groups if group.suffix]
    empty = [group.suffix for group in groups or (Group(),) if not group.amounts]
    if empty:
        yield Rejection(NO_RESOURCES, _quoted(empty), _specs(request, suffixes=empty))
    if len(suffixes) > 1 and asked is not None and asked.group_policy is None:
        yield Rejection(NO_POLICY, _quoted(suffixes))
    for group in groups:
        if both := group.traits.required & group.traits.forbidden - {''}:
            keys = _specs(request, suffixes=(group.suffix,), names=both, value='forbidden')
            yield Rejection(CONFLICT, _joined(both), keys)


def _of_names(
    request: Request, cloud: CloudSnapshot, groups: Sequence[Group]
) -> Iterator[Rejection]:
    """Yield each reason for which Placement rejects the names in these groups."""
    classes = {name for group in groups for name in group.amounts}
    traits = {name for group in groups for names in group.traits for name in names}
    if wrong := {name for name in classes | traits if not _is_name(name)}:
        yield Rejection(WRONG_NAMES, _quoted(wrong), _specs(request, names=wrong))
    if cloud.traits is not None:
        traits |= flavor_features.root_required(request, cloud)
        traits -= cloud.traits | request.memo(flavor_features.traits_of_hosts, cloud)
        if traits:
            keys = _specs(request, names=traits, value='forbidden')
            yield Rejection(NO_TRAITS, _joined(traits), keys)
    if cloud.resource_classes is not None and (classes := classes - cloud.resource_classes):
        offered = {name for host in cloud.hosts or () for name in host.resources or ()}
        if classes := classes - offered:
            yield Rejection(NO_CLASSES, _joined(classes), _specs(request, names=classes))


def _is_name(name: str) -> bool:
    """Check whether a trait or a resource class may have this name."""
    return _NAME.fullmatch(name) is not None


def _specs(
    request: Request,
    suffixes: Collection[str] | None = None,
    names: Collection[str] | None = None,
    value: str | None = None,
) -> tuple[str, ...]:
    """Return the sorted extra specs for groups with these suffixes, names and this value.

    None: any. Without ``names``, only traits.
    """
    found = []
    for key, its_value in request.extra_specs.items():
        kind, suffix, name = parts_of(key)
        is_meant = kind == 'trait' if names is None else kind and name.strip() in names
        if is_meant and (suffixes is None or suffix in suffixes) and value in (None, its_value):
            found.append(key)
    return tuple(sorted(found))


def _joined(names: Iterable[str]) -> str:
    return ', '.join(sorted(names))


def _quoted(names: Iterable[str]) -> str:
    return ', '.join(f'"{name}"' for name in sorted(names))
