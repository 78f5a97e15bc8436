"""Build the query of ``GET /allocation_candidates`` that nova-scheduler sends for one server.

Example, without percent-encoding::

    member_of=in:<uuid>&resources=MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED

The parameters are sorted, and the values are encoded as in Nova, which adds a ``limit``. Unknown
parts are omitted: Nova's query then requires as much or more, and the answer to this one is an
upper bound. ``OWNER_NOVA`` is also omitted (:mod:`senlin_affinity.nova.flavor_features`).

The snapshot may have Placement's answer to the query, or why it answers 400; not for another flavor
or another zone, whose capacity is computed from the resources of the hosts. Example of a rejected
query::

    Flavor(extra_specs={'trait:CUSTOM_NOPE': 'forbidden'})   no trait has this name
    Rejection('unknown_traits', 'CUSTOM_NOPE', ('trait:CUSTOM_NOPE',))

Nova then finds no valid host. It sends two queries for servers with pinned CPUs, and rejects the
request if Placement rejects both.

A narrower query adds a ``member_of`` that approximates which hosts a constraint accepts, given
whether it accepts each set of aggregates that hosts are in::

    excluding({{ssd}: True, {hdd}: False, {}: False})   ==   in:ssd and !hdd

Source: nova-scheduler's translation of a request and its request filters (Nova 34); Placement's
parser of request groups (``placement/lib.py`` and ``util.py``), which treats these requests alike
in all microversions from 1.29 to 1.36. For a group without resources, Nova sends ``resources=``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Demand, Group
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import flavor_features, queried_aggregates
from senlin_affinity.nova.demand import demand_of, parts_of
from senlin_affinity.nova.effective_zone import ZONE_QUERY, wanted_zone
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.nova.options import FALLBACK_OFF, ISOLATION, TENANT_AGGREGATE, TENANTS
from senlin_affinity.nova.queried_aggregates import are_asked_by_nova, asked_by_nova

#: The microversion of Nova's queries.
MICROVERSION = '1.36'

_SAFE = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~')


def query(request: Request, cloud: Cloud) -> str | None:
    """Return the query for one server; None if there is not exactly one."""
    found = queries(request, cloud)
    return found[0] if len(found) == 1 else None


def queries(request: Request, cloud: Cloud) -> tuple[str, ...]:
    """Return all queries that Nova sends for one server; any of them may return a host.

    There are two if a policy pins CPUs, unless nova.conf disables the second; none if the flavor is
    unknown, if Nova rejects the request before it queries Placement, or if an unknown image could
    request pinned CPUs, which other hosts have.
    """
    asked = demand_of(request)
    if asked is None or (asked.may_be_pinned and cloud.may_pin_cpus):
        return ()
    member_of = request.memo(_member_of, cloud)
    if member_of is None:
        return ()
    root = (
        'root_required',
        ','.join([*sorted(flavor_features.root_required(request, cloud)), f'!{DISABLED}']),
    )
    policy = [('group_policy', asked.group_policy)] if asked.group_policy else []
    return tuple(
        _encoded([root, *policy, *_parameters(each, member_of)])
        for each in alternatives(request, cloud)
    )


def alternatives(request: Request, cloud: Cloud) -> Sequence[Sequence[Group]]:
    """Return the groups of each query that Nova sends; () without a flavor.

    Aggregates add an empty group without a suffix, if there is none.
    """
    asked = demand_of(request)
    if asked is None:
        return ()
    found = [asked.groups]
    if asked.fallback and not request.option(FALLBACK_OFF):
        found.append(asked.fallback)
    if request.memo(_member_of, cloud):
        found = [each if any(not it.suffix for it in each) else (Group(), *each) for each in found]
    return found


def are_aggregates_asked(request: Request) -> bool:
    """Check whether Nova's query may contain aggregates (zone, tenant, isolated, reserved)."""
    is_limited = request.option(TENANTS) or request.option(ISOLATION)
    is_reserved = are_asked_by_nova(request.settings)
    return wanted_zone(request) is not None or bool(is_limited) or is_reserved


def _member_of(request: Request, cloud: Cloud) -> list[str] | None:
    """Return the ``member_of`` of the group without a suffix; None if Nova rejects the request."""
    known, zone = cloud.aggregates, wanted_zone(request)
    if known is None:
        return []
    try:
        kept = asked_by_nova(request, cloud)
    except InvalidSpec:
        return None
    required, forbidden, project = [*kept.required], kept.forbidden, request.project_id
    if request.option(TENANTS) and project is not None:
        is_required = request.option(TENANT_AGGREGATE)
        own = queried_aggregates.limit_to_tenant(project, known, is_aggregate_required=is_required)
        if isinstance(own, Verdict):
            return None
        required += own.required
    of_zone = frozenset(each.uuid for each in known if each.availability_zone == zone)
    required += [of_zone] if zone and of_zone and request.option(ZONE_QUERY) else []
    if request.option(ISOLATION) and request.image_properties is not None:
        asked = demand_of(request) or Demand()
        traits = {trait for group in asked.groups for trait in group.required}
        forbidden |= queried_aggregates.isolate(traits, known).forbidden
    found = [f'in:{",".join(sorted(any_of))}' for any_of in required]
    return [*found, f'!in:{",".join(sorted(forbidden))}'] if forbidden else found


def _parameters(groups: Sequence[Group], member_of: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of the groups; ``member_of`` belongs to the one without a suffix."""
    for group in groups:
        amounts = sorted(f'{name}:{amount}' for name, amount in group.amounts.items())
        yield f'resources{group.suffix}', ','.join(amounts)
        if group.required_value:
            yield f'required{group.suffix}', group.required_value
    yield from (('member_of', value) for value in member_of)


def _encoded(parameters: Sequence[tuple[str, str]]) -> str:
    return '&'.join(
        f'{_percent_encoded(name)}={_percent_encoded(value)}' for name, value in sorted(parameters)
    )


def _percent_encoded(text: str) -> str:
    """Return the text percent-encoded, with + for a blank."""
    octets = (chr(octet) if octet in _SAFE else f'%{octet:02X}' for octet in text.encode())
    return ''.join(octets).replace('%20', '+')


class PlacementAnswer(NamedTuple):
    """A query that Placement answered, or None; ``is_complete``: the answer is complete."""

    query: str | None = None
    is_complete: bool = False


def placement_answer(request: Request, cloud: Cloud) -> PlacementAnswer:
    """Return the query of the request, if it was answered. For :meth:`Request.memo`."""
    known = cloud.queries
    asked = query(request, cloud) if known else None
    return PlacementAnswer(asked, asked in cloud.answered) if asked in known else PlacementAnswer()


def may_take_of_pools(request: Request, cloud: Cloud, host: Host) -> bool:
    """Check whether servers on this host may use up a pool that other hosts share.

    If the host has several providers of the class, Placement chooses one of them.
    """
    has = host.resources or {}
    return any(name in has and has[name].is_sum for name in request.memo(scarce_classes, cloud))


def scarce_classes(request: Request, cloud: Cloud) -> frozenset[str]:
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


def rejection(request: Request, cloud: Cloud) -> Rejection | None:
    """Return why Placement rejects the request; None if it may accept it.

    An unknown name counts only if the snapshot has all names, and no host has it. Names in a query
    that Placement has answered are right. For :meth:`Request.memo`.
    """
    is_answered = _is_answered(request, cloud)
    found = [
        next(_of_groups(request, groups), None)
        or (None if is_answered else next(_of_names(request, cloud, groups), None))
        for groups in alternatives(request, cloud)
    ]
    if found and all(found):
        return found[0]
    rejected = cloud.rejected
    message = rejected.get(query(request, cloud) or '') if rejected else None
    return None if message is None else Rejection(OTHER, message)


def creatable(request: Request, cloud: Cloud) -> tuple[str, ...]:
    """Return the sorted traits that the request names and nobody has created, but somebody can."""
    groups = (group for groups in alternatives(request, cloud) for group in groups)
    names = {name for group in groups for names in group.traits for name in names}
    unknown = names - (cloud.traits or names)
    return tuple(sorted(name for name in unknown if _is_name(name) and name.startswith(_CUSTOM)))


def uncertain_traits(request: Request, cloud: Cloud) -> tuple[str, ...]:
    """Return the sorted traits that the request forbids and that may not exist.

    Others need no check: without a host that has a required trait or a resource class, no server
    fits.
    """
    groups = (group for groups in alternatives(request, cloud) for group in groups)
    forbidden = {name for group in groups for name in group.traits.forbidden} - _OF_NOVA
    if not forbidden or cloud.traits is not None or _is_answered(request, cloud):
        return ()
    uncertain = forbidden - cloud.traits_of_hosts
    return tuple(sorted(uncertain - _accepted(cloud))) if uncertain else ()


def _is_answered(request: Request, cloud: Cloud) -> bool:
    """Check whether Placement has answered the query."""
    return request.memo(placement_answer, cloud).query is not None


def _accepted(cloud: Cloud) -> frozenset[str]:
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
        yield Rejection(NO_RESOURCES, _in_quotes(empty), _specs(request, suffixes=empty))
    if len(suffixes) > 1 and asked is not None and asked.group_policy is None:
        yield Rejection(NO_POLICY, _in_quotes(suffixes))
    for group in groups:
        if both := group.traits.required & group.traits.forbidden - {''}:
            keys = _specs(request, suffixes=(group.suffix,), names=both, value='forbidden')
            yield Rejection(CONFLICT, _joined(both), keys)


def _of_names(request: Request, cloud: Cloud, groups: Sequence[Group]) -> Iterator[Rejection]:
    """Yield each reason for which Placement rejects the names in these groups."""
    classes = {name for group in groups for name in group.amounts}
    traits = {name for group in groups for names in group.traits for name in names}
    if wrong := {name for name in classes | traits if not _is_name(name)}:
        yield Rejection(WRONG_NAMES, _in_quotes(wrong), _specs(request, names=wrong))
    if cloud.traits is not None:
        traits |= flavor_features.root_required(request, cloud)
        traits -= cloud.traits | cloud.traits_of_hosts
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


def _in_quotes(names: Iterable[str]) -> str:
    return ', '.join(f'"{name}"' for name in sorted(names))


#: The length of a URL is limited.
_MOST = 100


def excluding(is_accepted: Mapping[frozenset[str], bool]) -> MemberOf | None:
    """Return an expression that matches some accepted sets and no rejected set, or None.

    The first that works of these: forbid the aggregates that only rejected hosts have; also require
    an aggregate that no other rejected host has; only require an aggregate without rejected hosts.
    """
    good = [each for each, is_good in is_accepted.items() if is_good]
    bad = is_accepted.keys() - good
    used, others = frozenset().union(*good), frozenset().union(*bad)
    forbidden = others - used
    left = frozenset().union(*filter(forbidden.isdisjoint, bad))
    for required, without in (None, forbidden), (used - left, forbidden), (used - others, ()):
        if required == frozenset() or len(without) > _MOST:
            continue
        some = () if required is None else (frozenset(sorted(required)[:_MOST]),)
        asked = MemberOf(some, frozenset(without))
        if any(map(asked.admits, good)) and not any(map(asked.admits, bad)):
            return asked
    return None


def covering(is_accepted: Mapping[frozenset[str], bool]) -> frozenset[str] | None:
    """Return aggregates such that every accepted host is in one, and few rejected hosts are.

    None: no host is accepted. Empty: some accepted host is in no aggregate, or there are too many.
    """
    good = [each for each, is_good in is_accepted.items() if is_good]
    bad = is_accepted.keys() - good
    if not good:
        return None
    used, others = frozenset().union(*good), frozenset().union(*bad)
    for required in (used - others, used):
        if len(required) <= _MOST and not any(map(required.isdisjoint, good)):
            return required
    return frozenset()
