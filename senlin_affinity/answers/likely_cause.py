"""Find the likely cause of a failure that the planner's answer does not explain.

Nova has rejected a request that fits by an upper bound: the failure is evidence that one of the
reasons for the bound applies.

Example: ``filter NUMATopologyFilter probably rejected all 4 hosts: the flavor requires
hw:mem_page_size=1GB, which is not modelled``.

A user who may not list the hosts reads nothing about them: only at which stage Nova rejected the
request, and which of the user's own requirements that stage reads::

    Placement had no enabled host with room for 1 VCPU, 2048 MiB of memory, 10 GiB of disk, trait
    CUSTOM_NVME.
    Placement had hosts for one such server, but the scheduler's filters left too few, probably
    because of hw_architecture=aarch64.

Source: Placement reads amounts, traits and zones, and offers no disabled host; the filters read the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from senlin_affinity.constraints.base import Constraint
from senlin_affinity.engine import scheduler_filters
from senlin_affinity.engine.decision import Decision
from senlin_affinity.engine.unspecified import ASSUMED
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB
from senlin_affinity.model.request import Request
from senlin_affinity.model.verdict import caveat
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import FILTERS
from senlin_affinity.preflight.failed_server import HEADLINES, ActionFailure, Cause


def of_message(failure: ActionFailure) -> str | None:
    """Return what Nova's message means, if it names a cause; None if it does not.

    'the last attempt failed because a network has no free address: No fixed IP ...'.
    """
    if failure.rejection:
        return f'nova-scheduler rejected the request itself: {failure.rejection}'
    meaning, last = failure.meaning, failure.last_exception
    if last is None:
        return meaning or None
    is_known = failure.origin is not Cause.RETRIES
    known = HEADLINES.get(failure.origin, 'failed') if is_known else 'failed'
    return f'the last attempt {f"failed because {meaning}" if meaning else known}: {last}'


def of_bound(
    scheduled: Decision,
    request: Request,
    constraints: Sequence[Constraint],
    *,
    is_by_filters: bool | None,
) -> str | None:
    """Return which reason for an upper bound probably applies; None if it fits without.

    Filters and hints that read a part of the request come first, then other filters, then whatever
    else the planner does not fully model.

    :param scheduled: the decision about the hosts alone, without what nova-api checks.
    :param is_by_filters: False: Placement had no candidate, so no filter ran.
    """
    if not scheduled.fits_by_upper_bound:
        return None
    modelled = {name for item in constraints for name in item.filters}
    filters = [*scheduler_filters.suspects(request, modelled)]
    filters += [*_of_hints(request)]
    which = f'probably rejected {_which(scheduled)}'
    unspecified = [
        f'an assumption is probably wrong on this cloud: {item.text}'
        for item in scheduled.assumptions
        if item.code == ASSUMED.code
    ]
    if is_by_filters is False:
        hints = scheduler_hints.unmodelled(request)
        phrases = {*hints, *(f'filter {each.name}' for each in filters)}
        left = [each for each in scheduled.at_most if each not in phrases]
        return '; or '.join(unspecified) or _others(left)
    found = [
        f'filter {each.name}{"" if each.is_enabled else ", if it is enabled,"} {which}: '
        f'{each.reads}, which is not modelled'
        for each in filters
        if each.reads
    ]
    found += _of_constraints(scheduled, request, constraints, which)
    found = found + unspecified or [
        f'filter {each.name}, which is not modelled, {which}' for each in filters
    ]
    return '; or '.join(found) or _others(scheduled.at_most)


def all_hosts(number: int) -> str:
    """Return 'the only host', 'both hosts' or 'all 3 hosts'."""
    return {1: 'the only host', 2: 'both hosts'}.get(number, f'all {number:,} hosts')


def _of_hints(request: Request) -> Iterator[scheduler_filters.Suspect]:
    """Yield the filter that reads each hint which is not modelled."""
    for hint, name in scheduler_hints.readers(request).items():
        is_enabled = request.is_enforced(name)
        words = f'the request has scheduler hint {hint}'
        yield scheduler_filters.Suspect(name or 'of another package', words, is_enabled)


def _of_constraints(
    scheduled: Decision, request: Request, constraints: Sequence[Constraint], which: str
) -> Iterator[str]:
    """Yield a sentence for each enabled filter whose constraint gives an upper bound only."""
    rows = [row for row, _number in scheduled.tally]
    rows = [row for row in rows if row.code is None] or rows
    for item in constraints:
        verdicts = (row.verdicts[item.name] for row in rows if item.name in row.verdicts)
        doubtful = next((each for each in verdicts if each and each.bounds.is_at_most), None)
        name = next((each for each in item.filters if request.is_enforced(each)), None)
        if doubtful is not None and name is not None:
            known = scheduler_filters.reads(request, name), caveat(doubtful, scheduled.reasons)
            why = '; '.join(filter(None, known))
            yield f'filter {name} {which}{why and f": {why}"}'


def _which(scheduled: Decision) -> str:
    """Return which of the hosts that the planner accepts Nova rejected: 'all 4 hosts'."""
    accepted = sum(bool(each.placed) or each.code is None for each in scheduled.hosts)
    some = f'too many of the {accepted:,} hosts'
    which = all_hosts(accepted) if 1 in (scheduled.wanted, accepted) else some
    return which if accepted == len(scheduled.hosts) else f'{which} that the planner accepts'


def _others(phrases: Sequence[str]) -> str | None:
    """Return a sentence about other reasons for an upper bound; None without any."""
    words = 'the cause is probably what the planner does not fully model'
    return f'{words}: {", ".join(phrases)}' if phrases else None


_BY_PLACEMENT = 'Placement had no enabled host'
_BY_FILTERS = "Placement had hosts for one such server, but the scheduler's filters left too few"
_UNEXPLAINED = 'no requirement of this request explains it: the hosts may be down or reserved'
_FOR_FEWER = ', or have room for fewer servers'
_UNITS: Mapping[str, str] = {MEMORY_MB: 'MiB of memory', DISK_GB: 'GiB of disk'}
_ZONE_FILTER = 'AvailabilityZoneFilter'
_MOST_CAUSES = 3


def of_request(request: Request, *, is_by_filters: bool) -> str:
    """Return the sentence; ``is_by_filters``: filters, not Placement, rejected the request."""
    if is_by_filters:
        return f'{_by_filters(request)}.'
    zone = request.availability_zone
    where = f'{_BY_PLACEMENT} in zone {zone}' if zone else _BY_PLACEMENT
    if needed := ', '.join(_needed(request)):
        return f'{where} with room for {needed}.'
    return f'{where} with the resources, traits and aggregates that such a server needs.'


def _needed(request: Request) -> Iterator[str]:
    """Yield the amounts and the traits that one server needs; nothing without a flavor."""
    demand = demand_of(request)
    if demand is not None:
        for name, amount in demand.amounts.items():
            yield f'{amount} {_UNITS.get(name, name)}'
        yield from (f'trait {name}' for name in sorted(demand.required))


def _by_filters(request: Request) -> str:
    """Return at which stage the request failed, with its requirements that filters read."""
    causes = [*_causes(request)][:_MOST_CAUSES]
    if causes:
        return f'{_BY_FILTERS}, probably because of {" or ".join(causes)}'
    return f'{_BY_FILTERS}; {_UNEXPLAINED}{_FOR_FEWER if request.count > 1 else ""}'


def _causes(request: Request) -> Iterator[str]:
    """Yield the requirements that filters probably read, the most specific ones first."""
    may_run, group = request.settings.are_filters_unspecified, request.server_group
    others = scheduler_hints.readers(request)
    for name, value in request.scheduler_hints.items():
        reader = scheduler_hints.OF_SERVERS.get(name, '')
        if value and (name in others or (reader and (may_run or request.is_enforced(reader)))):
            yield f'the scheduler hint {name}'
    if group is not None and group.policy in FILTERS:
        yield f'the policy {group.policy} of server group {group.name}'
    yield from scheduler_filters.compared(request)
    if request.availability_zone is not None and request.is_enforced(_ZONE_FILTER):
        yield f'zone {request.availability_zone}'
