"""Say why Nova found no host for a request, from the request alone.

A user who may not list the hosts reads nothing about them: only at which stage Nova rejected the
request, and which of the user's own requirements that stage reads.

Examples::

    Placement had no enabled host with room for 1 VCPU, 2048 MiB of memory, 10 GiB of disk, trait
    CUSTOM_NVME.
    Placement had hosts for one such server, but the scheduler's filters left too few, probably
    because of hw_architecture=aarch64.

Source: Placement reads amounts, traits and zones, and offers no disabled host; the filters read the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from senlin_affinity.engine import scheduler_filters
from senlin_affinity.model import scheduler_hints
from senlin_affinity.model.flavor import DISK_GB, MEMORY_MB
from senlin_affinity.model.request import Request
from senlin_affinity.nova.demand import demand_of
from senlin_affinity.nova.group_policy import FILTERS

_BY_PLACEMENT = 'Placement had no enabled host'
_BY_FILTERS = "Placement had hosts for one such server, but the scheduler's filters left too few"
_UNEXPLAINED = (
    'no requirement of this request explains it: the hosts may be disabled, down or reserved'
)
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
