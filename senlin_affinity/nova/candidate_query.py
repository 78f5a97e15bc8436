"""Build the query of ``GET /allocation_candidates`` that nova-scheduler sends for one server.

Example, without percent-encoding::

    member_of=in:<uuid>&resources=MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED

A narrower query adds a ``member_of`` that approximates which hosts a constraint accepts, given
whether it accepts each set of aggregates that hosts are in::

    excluding({{ssd}: True, {hdd}: False, {}: False})   ==   in:ssd and !hdd

The parameters are sorted, and the values are encoded as in Nova, which adds a ``limit``.

Unknown parts are omitted: Nova's query then requires as much or more, and the answer to this one is
an upper bound. ``OWNER_NOVA`` is also omitted (:mod:`senlin_affinity.nova.flavor_features`).

Source: nova-scheduler's translation of a request and its request filters (Nova 34).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.flavor import Demand, Group
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.model.request import Request
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import flavor_features, queried_aggregates
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.effective_zone import ZONE_QUERY, wanted_zone
from senlin_affinity.nova.host_status import DISABLED
from senlin_affinity.nova.options import FALLBACK_OFF, ISOLATION, TENANT_AGGREGATE, TENANTS
from senlin_affinity.nova.queried_aggregates import are_asked_by_nova, asked_by_nova

#: The microversion of Nova's queries.
MICROVERSION = '1.36'

_SAFE = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~')


def query(request: Request, cloud: CloudSnapshot) -> str | None:
    """Return the query for one server; None if there is not exactly one."""
    found = queries(request, cloud)
    return found[0] if len(found) == 1 else None


def queries(request: Request, cloud: CloudSnapshot) -> tuple[str, ...]:
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
        _encoded([root, *policy, *_of_groups(each, member_of)])
        for each in alternatives(request, cloud)
    )


def alternatives(request: Request, cloud: CloudSnapshot) -> Sequence[Sequence[Group]]:
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


def _member_of(request: Request, cloud: CloudSnapshot) -> list[str] | None:
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


def _of_groups(groups: Sequence[Group], member_of: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of the groups; ``member_of`` belongs to the one without a suffix."""
    for group in groups:
        amounts = sorted(f'{name}:{amount}' for name, amount in group.amounts.items())
        yield f'resources{group.suffix}', ','.join(amounts)
        if group.required_value:
            yield f'required{group.suffix}', group.required_value
    yield from (('member_of', value) for value in member_of)


def _encoded(parameters: Sequence[tuple[str, str]]) -> str:
    return '&'.join(f'{_quoted(name)}={_quoted(value)}' for name, value in sorted(parameters))


def _quoted(text: str) -> str:
    """Return the text percent-encoded, with + for a blank."""
    octets = (chr(octet) if octet in _SAFE else f'%{octet:02X}' for octet in text.encode())
    return ''.join(octets).replace('%20', '+')


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
