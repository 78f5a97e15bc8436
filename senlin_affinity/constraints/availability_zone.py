"""Only hosts in the zone that is asked for.

Source: Nova enforces a zone by the Placement aggregates that mirror the host aggregates with
``availability_zone`` metadata, also on a host that is forced. A host in none of them shows the
cloud's default zone. If an aggregate carries that name as well, only the aggregate counts. If none
does, a request for that zone may land on any host (seen on a real Nova), unless the hosts are
pinned, where this rule keeps to it, or an older cloud still runs AvailabilityZoneFilter, which
compares names. Without a zone that of nova.conf's ``default_schedule_zone`` counts, or any does.

Not known: whether an aggregate carries Nova's default zone, where no aggregate is known. A zone of
another name is taken for one that an aggregate carries: a host has it from nowhere else, unless
nova.conf calls the default zone so.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.core.aggregates import membership
from senlin_affinity.core.assumptions import Assumption
from senlin_affinity.core.host import Host
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.options import Option
from senlin_affinity.core.planning import more_hosts
from senlin_affinity.core.planning.actions import Data
from senlin_affinity.core.planning.decision import Kind
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict
from senlin_affinity.core.wanted_zone import DEFAULT_SCHEDULE_ZONE, is_of_host, wanted_zone

DEFAULT_AVAILABILITY_ZONE = Option(
    'default_availability_zone',
    'nova',
    "What the zone of hosts in none is called; as in nova.conf's [DEFAULT].",
    nova='DEFAULT',
)
#: A filter of older Novas, which no longer have it.
_FILTER = 'AvailabilityZoneFilter'
_READ = ('availability_zone', 'aggregates', 'unmirrored')
#: So many other zones are planned at most.
_MOST_ZONES = 10
#: Whatever the code is: which one it is tells of hosts.
_FOR_OWNER = 'they must be in zone {availability_zone}'
NO_ZONE = Assumption('availability_zone.default_schedule_zone', 'no default_schedule_zone')
DEFAULT_ZONE = Assumption(
    'availability_zone.default_availability_zone', 'a default zone called {zone}'
)


class AvailabilityZoneConstraint:
    """The zone of the request."""

    name = 'availability_zone'
    order = 20
    summary = 'only a host in the availability zone that is asked for'
    needs = ('hosts',)
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = False
    is_lasting = True
    is_in_placement = True
    options = DEFAULT_SCHEDULE_ZONE, DEFAULT_AVAILABILITY_ZONE
    reasons: ClassVar[Mapping[str, Reason]] = {
        'availability_zone.in_zone': Reason('in zone {zone}'),
        'availability_zone.other_zone': Reason(
            'in zone {zone}, not {wanted}',
            advice='ask for another zone, or for none',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.not_in_aggregate': Reason(
            'in none of the aggregates that carry zone {wanted}',
            advice='put the host into one of them, or ask for another zone',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.not_mirrored': Reason(
            'in {aggregates}, and Placement does not have it there',
            advice='run "nova-manage placement sync_aggregates"',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.any': Reason('no zone is asked for'),
        'availability_zone.not_enforced': Reason(
            'no aggregate carries zone {wanted}: Nova takes any host for it'
        ),
        'availability_zone.unknown': Reason('whether it counts for the zone is not known'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        wanted = resolved.once(wanted_zone)
        if wanted is None:
            return Verdict.skipped('availability_zone.any')
        if lost := _unmirrored(resolved, host):
            names = membership.names(resolved, lost)
            return Verdict.rejected('availability_zone.not_mirrored', aggregates=names)
        snapshot, zone = resolved.snapshot, host.availability_zone
        is_member = _is_member(resolved, host)
        if is_member or (is_member is None and zone == wanted):
            return Verdict.passed('availability_zone.in_zone', zone=wanted)
        if zone == wanted or (zone is None and is_member is False):
            return Verdict.rejected('availability_zone.not_in_aggregate', wanted=wanted)
        if not (resolved.rules.is_pinned or resolved.is_enforced(_FILTER)):
            if wanted == snapshot.zones.default:
                return Verdict.skipped('availability_zone.not_enforced', wanted=wanted)
            if snapshot.aggregates is None and wanted == _default(resolved):
                return Verdict.unknown('availability_zone.unknown')
        if zone is None:
            return Verdict.unknown('availability_zone.unknown')
        return Verdict.rejected('availability_zone.other_zone', zone=zone, wanted=wanted)

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        wanted = resolved.once(wanted_zone)
        if wanted is None:
            return ()
        is_by_name = wanted not in resolved.snapshot.zones.carried_by
        return _READ[:1] if is_by_name or resolved.is_enforced(_FILTER) else _READ

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The zone, and whether an aggregate says the same."""
        return (host.availability_zone, _is_member(resolved, host), _unmirrored(resolved, host))

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """What nova.conf says of zones, where it could change the number."""
        wanted, snapshot, is_told = wanted_zone(resolved), resolved.snapshot, resolved.rules.is_told
        zones = {zone for zone, _aggregates in snapshot.places} - {None}
        zones |= snapshot.availability_zones or set()
        is_any = wanted is None and not is_of_host(resolved)
        if is_any and len(zones) > 1 and not is_told(DEFAULT_SCHEDULE_ZONE):
            yield NO_ZONE
        is_by_name = wanted is not None and snapshot.hosts and snapshot.aggregates is None
        default = _default(resolved)
        if is_by_name and wanted != default and not is_told(DEFAULT_AVAILABILITY_ZONE):
            yield DEFAULT_ZONE.of(zone=default)

    def without(self, _question: ResolvedRequest) -> Data:
        """What gives the rule up."""
        return {'availability_zone': None}

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Another zone, or none; or hosts put into this one."""
        asked = wanted_zone(planner.resolved)
        if asked is None:
            return
        zones = {host.availability_zone for host in planner.hosts} - {None, asked}
        for zone in sorted(str(zone) for zone in zones)[:_MOST_ZONES]:
            then = planner.plan({'availability_zone': zone})
            change = f'availability_zone: {zone}'
            kind = Kind.ASKERS
            yield planner.change('availability_zone', change, 1, then, kind=kind, is_owners=True)
        if planner.resolved.request.availability_zone is not None:
            change, then = 'no availability_zone', planner.plan(self.without(planner.resolved))
            yield planner.change('any_zone', change, 1, then, kind=Kind.ASKERS, is_owners=True)
        carrying = planner.resolved.snapshot.zones.carried_by.get(asked, ())
        kept = kept_for_others(planner.resolved)
        found = more_hosts.joined(planner, self.name, carrying, kept)
        if found is not None:
            yield planner.change('aggregate_hosts', found[0], *found[1])


def _default(resolved: ResolvedRequest) -> str:
    """What Nova calls the zone of hosts that are in none."""
    return str(resolved.option(DEFAULT_AVAILABILITY_ZONE))


def _unmirrored(resolved: ResolvedRequest, host: Host) -> frozenset[str]:
    """The host's aggregates that carry the zone, if Placement has it in none of them."""
    if not host.unmirrored or resolved.is_enforced(_FILTER):
        return frozenset()
    return membership.unmirrored(
        host, resolved.snapshot.zones.carried_by.get(resolved.once(wanted_zone) or '', frozenset())
    )


def _is_member(resolved: ResolvedRequest, host: Host) -> bool | None:
    """Is the host in an aggregate that carries the zone? None: this does not decide."""
    zones = resolved.snapshot.zones
    carrying = zones.carried_by.get(resolved.once(wanted_zone) or '')
    if carrying is None or not zones.is_by_aggregate or resolved.is_enforced(_FILTER):
        return None
    return not carrying.isdisjoint(host.aggregates)
