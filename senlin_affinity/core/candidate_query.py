"""What nova-scheduler asks Placement for one server: the query of ``GET /allocation_candidates``.

Shapes, without the percent signs of what is really sent::

    member_of=in:<uuid>&resources=MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED

The names are sorted, and the values are encoded as Nova does it; Nova adds a ``limit``.

What is not known is left out: Nova's own query then asks for the same or for more, and the answer
to this one is an upper bound. ``OWNER_NOVA`` is left out as well, which Nova requires once every
compute service reports it: then it changes nothing.

Source: nova-scheduler's translation of a request and its request filters (Nova 34), with both of
which tests compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from senlin_affinity.core import root_traits
from senlin_affinity.core.aggregates import isolation
from senlin_affinity.core.aggregates.reserved import are_asked_by_nova, asked_by_nova
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.flavor import PCPU, Demand, Group
from senlin_affinity.core.host_status import DISABLED
from senlin_affinity.core.nova_options import (
    FALLBACK_OFF,
    ISOLATION,
    TENANT_AGGREGATE,
    TENANTS,
)
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.verdict import Verdict
from senlin_affinity.core.wanted_zone import wanted_zone

#: The microversion at which Nova asks, and for which these queries are written.
MICROVERSION = '1.36'

_SAFE = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~')


def query(resolved: ResolvedRequest) -> str | None:
    """The query for one server of the request; None where there is not just one."""
    found = queries(resolved)
    return found[0] if len(found) == 1 else None


def queries(resolved: ResolvedRequest) -> tuple[str, ...]:
    """All that Nova asks for one server: a host may be in the answer to any of them.

    There are two where CPUs are pinned by a policy, unless nova.conf says otherwise. There is none
    where the flavor is not known, where Nova refuses before it asks, and where an image that is not
    known could ask for pinned CPUs, which other hosts have.
    """
    asked = resolved.demand
    if asked is None or (asked.may_be_pinned and _is_pinning_offered(resolved)):
        return ()
    member_of = _member_of(resolved, asked)
    if member_of is None:
        return ()
    groups = [asked.groups]
    if asked.fallback and not resolved.option(FALLBACK_OFF):
        groups.append(asked.fallback)
    root = ('root_required', ','.join([*sorted(root_traits.required(resolved)), f'!{DISABLED}']))
    policy = [('group_policy', asked.group_policy)] if asked.group_policy else []
    return tuple(_encoded([root, *policy, *_of_groups(each, member_of)]) for each in groups)


def are_aggregates_asked(resolved: ResolvedRequest) -> bool:
    """May Nova ask for aggregates: of a zone, or where it keeps some for somebody?"""
    is_limited = resolved.option(TENANTS) or resolved.option(ISOLATION)
    is_reserved = are_asked_by_nova(resolved.rules)
    return wanted_zone(resolved) is not None or bool(is_limited) or is_reserved


def _is_pinning_offered(resolved: ResolvedRequest) -> bool:
    """Does any host have CPUs for pinned servers, as far as that is known?"""
    for host in resolved.snapshot.hosts or ():
        if host.resources is None or (PCPU in host.resources and host.resources[PCPU].capacity):
            return True
    return False


def _member_of(resolved: ResolvedRequest, asked: Demand) -> list[str] | None:
    """The aggregates of the group without a suffix; None where Nova refuses the request."""
    known, zone = resolved.snapshot.aggregates, wanted_zone(resolved)
    if known is None:
        return []
    try:
        kept = asked_by_nova(resolved)
    except InvalidSpec:
        return None
    required, forbidden, project = [*kept.required], kept.forbidden, resolved.project_id
    if resolved.option(TENANTS) and project is not None:
        is_required = resolved.option(TENANT_AGGREGATE)
        own = isolation.limit_to_tenant(project, known, is_aggregate_required=is_required)
        if isinstance(own, Verdict):
            return None
        required += own.required
    of_zone = frozenset(each.uuid for each in known if each.availability_zone == zone)
    required += [of_zone] if zone and of_zone else []
    if resolved.option(ISOLATION) and resolved.image_properties is not None:
        traits = {trait for group in asked.groups for trait in group.required}
        forbidden |= isolation.isolate(traits, known).forbidden
    found = [f'in:{",".join(sorted(any_of))}' for any_of in required]
    return [*found, f'!in:{",".join(sorted(forbidden))}'] if forbidden else found


def _of_groups(groups: Sequence[Group], member_of: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The parameters of the groups; ``member_of`` is that of the one without a suffix."""
    if member_of and not any(group.suffix == '' for group in groups):
        groups = [Group(), *groups]
    for group in groups:
        amounts = sorted(f'{name}:{amount}' for name, amount in group.amounts.items())
        yield f'resources{group.suffix}', ','.join(amounts)
        traits = [*sorted(group.required), *(f'!{trait}' for trait in sorted(group.forbidden))]
        if traits:
            yield f'required{group.suffix}', ','.join(traits)
    yield from (('member_of', value) for value in member_of)


def _encoded(parameters: Sequence[tuple[str, str]]) -> str:
    """A query string."""
    return '&'.join(f'{_quoted(name)}={_quoted(value)}' for name, value in sorted(parameters))


def _quoted(text: str) -> str:
    """Percent-encoded, with + for a blank."""
    octets = (chr(octet) if octet in _SAFE else f'%{octet:02X}' for octet in text.encode())
    return ''.join(octets).replace('%20', '+')
