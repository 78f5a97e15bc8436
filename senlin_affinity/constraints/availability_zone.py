"""Only hosts in the zone that is asked for.

Source: Nova enforces a zone by the Placement aggregates that mirror the host aggregates with
``availability_zone`` metadata, also on a host that is forced. A host in none of them shows the
cloud's default zone. If an aggregate carries that name as well, only the aggregate counts. If none
does, a request for that zone may land on any host (seen on a real Nova), unless the hosts are
pinned, where this rule keeps to it, or an older cloud still runs AvailabilityZoneFilter, which
compares names. Without a zone, any will do (unless nova.conf's ``default_schedule_zone`` is set).

Not known: whether an aggregate carries Nova's default zone, where no aggregate is known. A zone of
another name is taken for one that an aggregate carries: a host has it from nowhere else, unless
nova.conf calls the default zone so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.core.objects import Host, ResolvedRequest
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

#: What Nova calls the zone of hosts that are in none (``default_availability_zone``).
_DEFAULT = 'nova'
#: A filter of older Novas, which no longer have it.
_FILTER = 'AvailabilityZoneFilter'
#: So many other zones are planned at most.
_MOST_ZONES = 10


class AvailabilityZoneConstraint:
    """The zone of the request."""

    name = 'availability_zone'
    order = 20
    summary = 'only a host in the availability zone that is asked for'
    needs = ('hosts',)
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = False
    reasons: ClassVar[Mapping[str, Reason]] = {
        'availability_zone.in_zone': Reason('in zone {zone}'),
        'availability_zone.other_zone': Reason(
            'in zone {zone}, not {wanted}', advice='ask for another zone, or for none'
        ),
        'availability_zone.not_in_aggregate': Reason(
            'in none of the aggregates that carry zone {wanted}',
            advice='put the host into one of them, or ask for another zone',
        ),
        'availability_zone.any': Reason('no zone is asked for'),
        'availability_zone.not_enforced': Reason(
            'no aggregate carries zone {wanted}: Nova takes any host for it'
        ),
        'availability_zone.unknown': Reason('whether it counts for the zone is not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        wanted = resolved.request.availability_zone
        if wanted is None:
            return Verdict.skipped('availability_zone.any')
        snapshot, zone = resolved.snapshot, host.availability_zone
        is_member = _is_member(resolved, host)
        if is_member or (is_member is None and zone == wanted):
            return Verdict.passed('availability_zone.in_zone', zone=wanted)
        if zone == wanted or (zone is None and is_member is False):
            return Verdict.rejected('availability_zone.not_in_aggregate', wanted=wanted)
        if not (resolved.rules.is_pinned or resolved.is_enforced(_FILTER)):
            if wanted == snapshot.zones.default:
                return Verdict.skipped('availability_zone.not_enforced', wanted=wanted)
            if snapshot.aggregates is None and wanted == _DEFAULT:
                return Verdict.unknown('availability_zone.unknown')
        if zone is None:
            return Verdict.unknown('availability_zone.unknown')
        return Verdict.rejected('availability_zone.other_zone', zone=zone, wanted=wanted)

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The zone, and whether an aggregate says the same."""
        return (host.availability_zone, _is_member(resolved, host))

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Another zone, or none."""
        asked = planner.resolved.request.availability_zone
        if asked is None:
            return
        zones = {host.availability_zone for host in planner.hosts} - {None, asked}
        for zone in sorted(str(zone) for zone in zones)[:_MOST_ZONES]:
            then = planner.plan_request(availability_zone=zone)
            change = f'availability_zone: {zone}'
            yield planner.change('availability_zone', change, 1, then, kind=Kind.ASKERS)
        then = planner.plan_request(availability_zone=None)
        yield planner.change('any_zone', 'no availability_zone', 1, then, kind=Kind.ASKERS)


def _is_member(resolved: ResolvedRequest, host: Host) -> bool | None:
    """Is the host in an aggregate that carries the zone? None: this does not decide."""
    zones = resolved.snapshot.zones
    carrying = zones.carried_by.get(resolved.request.availability_zone or '')
    if carrying is None or not zones.is_by_aggregate or resolved.is_enforced(_FILTER):
        return None
    return not carrying.isdisjoint(host.aggregates)
