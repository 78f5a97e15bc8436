"""Allow only hosts in the requested availability zone.

Nova enforces a zone by the Placement aggregates that mirror the host aggregates with
``availability_zone`` metadata. Other hosts are in the default zone, for which Nova may use any
host, unless an aggregate carries its name, AvailabilityZoneFilter runs, or hosts are pinned. A
request without a zone gets ``default_schedule_zone``. If the aggregates are unknown, every other
zone counts as carried by one.

Source: Nova's request filter ``map_az_to_placement_aggregate``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Constraint,
    Data,
    Evaluated,
    Host,
    Kind,
    OpenAssumption,
    Reason,
    ResolvedRequest,
    Verdict,
)
from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.nova import aggregate_membership
from senlin_affinity.nova.alternatives import joining
from senlin_affinity.nova.effective_zone import (
    DEFAULT_AVAILABILITY_ZONE,
    DEFAULT_SCHEDULE_ZONE,
    ZONE_FILTER,
    ZONE_QUERY,
    is_hard_spread,
    is_of_host,
    may_be_ignored,
    wanted_zone,
)
from senlin_affinity.nova.host_status import is_in_use

_READ = ('availability_zone', 'aggregates', 'unmirrored', 'stale_aggregates')
_MOST_ZONES = 10

_FOR_OWNER = 'the servers must be in zone {availability_zone}'
NO_ZONE = Assumption('availability_zone.default_schedule_zone', 'no default_schedule_zone')
DEFAULT_ZONE = Assumption(
    'availability_zone.default_availability_zone', 'a default zone called {zone}'
)

SPREAD_ZONE = OpenAssumption(*DEFAULT_ZONE)


def any_zone_change() -> Change:
    """Return the change ``any_zone``, which removes the zone from the request."""
    data = {'availability_zone': None}
    return Change('any_zone', 'no availability_zone', data, kind=Kind.ASKERS, for_tenant=True)


class AvailabilityZoneConstraint(Constraint):
    """The requested zone."""

    name = 'availability_zone'
    order = 20
    summary = 'the host is in the requested availability zone'
    needs = ('hosts',)
    is_host_specific = False
    uses_resources = False
    is_unresolvable = True
    enforced_by_placement = True
    options = DEFAULT_SCHEDULE_ZONE, DEFAULT_AVAILABILITY_ZONE, ZONE_QUERY
    reasons: ClassVar[Mapping[str, Reason]] = {
        'availability_zone.in_zone': Reason('in zone {zone}'),
        'availability_zone.other_zone': Reason(
            'in zone {zone}, not {wanted}',
            advice='request another zone, or none',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.not_in_aggregate': Reason(
            'in none of the aggregates that carry zone {wanted}',
            advice='add the host to one of these aggregates, or request another zone',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.not_mirrored': Reason(
            'in {aggregates} in Nova, but not in Placement',
            advice='run "nova-manage placement sync_aggregates"',
            for_owner=_FOR_OWNER,
        ),
        'availability_zone.only_in_placement': Reason(
            'in {aggregates} in Placement, but not in Nova; Placement decides about the zone'
        ),
        'availability_zone.any': Reason('the request names no zone'),
        'availability_zone.not_enforced': Reason(
            'no aggregate carries zone {wanted}, so Nova accepts any host'
        ),
        'availability_zone.not_asked': Reason(
            'not in zone {wanted}, which Nova enforces only from release 29 on here',
            caveat=f'{ZONE_QUERY.dest} is off, so a Nova below 29 enforces no zone',
        ),
        'availability_zone.unknown': Reason('it is not known whether the host is in the zone'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Return :meth:`_of_zone`; PASS ``not_asked``, at most, for a REJECT if Nova may not care.

        That is so without the query for the zone, AvailabilityZoneFilter and pinned hosts.
        """
        verdict = self._of_zone(resolved, host)
        if verdict or not may_be_ignored(resolved):
            return verdict
        zone = resolved.memo(wanted_zone) or host.availability_zone
        return Verdict.passed('availability_zone.not_asked', is_at_most=True, wanted=zone)

    def _of_zone(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """Check that the host is in the requested zone; the first that applies decides.

        * REJECT ``not_mirrored`` if Placement has the host in none of its aggregates of the zone.
        * SKIP ``any`` without a requested zone.
        * PASS ``only_in_placement`` if only Placement has it in an aggregate of the zone.
        * PASS ``in_zone`` if :func:`_is_member`, or if that is None and its zone is the same.
        * REJECT ``not_in_aggregate`` if that is False, and its zone is the same or unknown.
        * SKIP ``not_enforced`` if Nova accepts any host for the default zone.
        * ``unknown`` if its zone is unknown, or the aggregates for the default zone.
        * REJECT ``other_zone``.
        """
        wanted = resolved.memo(wanted_zone)
        if lost := _unmirrored(resolved, host):
            names = aggregate_membership.names(resolved.snapshot, lost)
            return Verdict.rejected('availability_zone.not_mirrored', aggregates=names)
        if wanted is None:
            return Verdict.skipped('availability_zone.any')
        if stale := _stale(resolved, host):
            names = aggregate_membership.names(resolved.snapshot, stale, ' or ')
            return Verdict.passed('availability_zone.only_in_placement', aggregates=names)
        snapshot, zone = resolved.snapshot, host.availability_zone
        is_member = _is_member(resolved, host)
        if is_member or (is_member is None and zone == wanted):
            return Verdict.passed('availability_zone.in_zone', zone=wanted)
        if zone == wanted or (zone is None and is_member is False):
            return Verdict.rejected('availability_zone.not_in_aggregate', wanted=wanted)
        if not (resolved.rules.is_pinned or resolved.is_enforced(ZONE_FILTER)):
            if wanted == snapshot.zones.default:
                return Verdict.skipped('availability_zone.not_enforced', wanted=wanted)
            if snapshot.aggregates is None and wanted == _default(resolved):
                return Verdict.unknown('availability_zone.unknown')
        if zone is None:
            return Verdict.unknown('availability_zone.unknown')
        return Verdict.rejected('availability_zone.other_zone', zone=zone, wanted=wanted)

    def caveats(self, resolved: ResolvedRequest) -> Iterator[str]:
        """Yield one phrase if Nova may send a server of a hard zone spread to another zone."""
        if is_hard_spread(resolved) and resolved.memo(_is_any_stale):
            yield 'hosts that Placement has in the aggregates of another zone'

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return the fields about the zone and the aggregates.

        Only the zone if no aggregate carries it. () without a requested zone, unless
        :func:`_is_own_zone_named`.
        """
        wanted = resolved.memo(wanted_zone)
        if wanted is None:
            return _READ if resolved.memo(_is_own_zone_named) else ()
        return _READ if wanted in resolved.snapshot.zones.carried_by else _READ[:1]

    def assumptions(self, resolved: ResolvedRequest) -> Iterator[Assumption]:
        """Yield NO_ZONE if no zone of several is requested, unless pinned or spread by zone.

        DEFAULT_ZONE if hosts are known, aggregates are not, and a zone other than the default is
        requested; SPREAD_ZONE if either is unknown, for an unpinned spread over several zones.
        Nothing about an explicit option.
        """
        wanted, snapshot = wanted_zone(resolved), resolved.snapshot
        is_explicit = resolved.rules.is_explicit
        zones = {zone for zone, _aggregates in snapshot.places} - {None}
        zones |= snapshot.availability_zones or set()
        is_any = wanted is None and not is_of_host(resolved)
        if is_any and len(zones) > 1 and not is_explicit(DEFAULT_SCHEDULE_ZONE):
            yield NO_ZONE
        if is_explicit(DEFAULT_AVAILABILITY_ZONE):
            return
        is_by_name = wanted is not None and snapshot.hosts and snapshot.aggregates is None
        default = _default(resolved)
        if is_by_name and wanted != default:
            yield DEFAULT_ZONE.of(zone=default)
        is_pinned = resolved.rules.is_pinned or resolved.is_enforced(ZONE_FILTER)
        is_guessed = snapshot.hosts is None or snapshot.aggregates is None
        if is_guessed and len(zones) > 1 and is_of_host(resolved) and not is_pinned:
            yield SPREAD_ZONE.of(zone=default)

    def without(self, _question: ResolvedRequest) -> Data:
        """Return ``{'availability_zone': None}``."""
        return {'availability_zone': None}

    def proposals(self, resolved: ResolvedRequest, evaluation: Evaluated) -> Iterator[Change]:
        """Yield changes: up to ten other zones, no zone, hosts added to an aggregate of the zone.

        Nothing without a requested zone; ``any_zone`` only if the request itself names one.
        """
        asked = wanted_zone(resolved)
        if asked is None:
            return
        zones = {host.availability_zone for host in resolved.snapshot.hosts or ()} - {None, asked}
        for zone in sorted(map(str, zones))[:_MOST_ZONES]:
            change, data = f'availability_zone: {zone}', {'availability_zone': zone}
            yield Change('availability_zone', change, data, kind=Kind.ASKERS, for_tenant=True)
        if resolved.request.availability_zone is not None:
            yield any_zone_change()
        carrying = resolved.snapshot.zones.carried_by.get(asked, ())
        kept = kept_for_others(resolved)
        yield from joining(resolved, evaluation.rejected, carrying, kept)


def _default(resolved: ResolvedRequest) -> str:
    return str(resolved.option(DEFAULT_AVAILABILITY_ZONE))


def _is_own_zone_named(resolved: ResolvedRequest) -> bool:
    """Check whether each server names the zone of its planned host: pinned, or a hard zone spread.

    False with a requested zone.
    """
    if wanted_zone(resolved) is not None:
        return False
    return resolved.rules.is_pinned or is_hard_spread(resolved)


def _unmirrored(resolved: ResolvedRequest, host: Host) -> frozenset[str]:
    """Return the host's aggregates that carry the zone, if Placement has it in none of them.

    Otherwise, and if only AvailabilityZoneFilter runs, an empty set. The zone is the host's own if
    :func:`_is_own_zone_named`.
    """
    is_by_name = resolved.is_enforced(ZONE_FILTER) and not resolved.option(ZONE_QUERY)
    if not host.unmirrored or is_by_name:
        return frozenset()
    is_own = resolved.memo(_is_own_zone_named)
    zone = host.availability_zone if is_own else resolved.memo(wanted_zone)
    return aggregate_membership.unmirrored_in_zone(resolved, host, zone)


def _is_any_stale(resolved: ResolvedRequest) -> bool:
    """Check whether an aggregate that carries a zone has a usable host in Placement only.

    False with AvailabilityZoneFilter.
    """
    if resolved.is_enforced(ZONE_FILTER):
        return False
    carrying = frozenset().union(*resolved.snapshot.zones.carried_by.values())
    hosts = resolved.snapshot.hosts or ()
    return any(
        not carrying.isdisjoint(host.stale_aggregates) and is_in_use(resolved, host)
        for host in hosts
    )


def _stale(resolved: ResolvedRequest, host: Host) -> frozenset[str]:
    """Return the aggregates of the requested zone in which only Placement has the host.

    Empty if Nova has it in another of them, and if hosts are pinned or AvailabilityZoneFilter runs.
    """
    carrying = resolved.snapshot.zones.carried_by.get(resolved.memo(wanted_zone) or '', frozenset())
    is_ours = resolved.rules.is_pinned or resolved.is_enforced(ZONE_FILTER)
    if is_ours or not carrying.isdisjoint(host.aggregates):
        return frozenset()
    return carrying & host.stale_aggregates


def _is_member(resolved: ResolvedRequest, host: Host) -> bool | None:
    """Check whether the host is in an aggregate that carries the requested zone.

    None if none carries it, if the aggregates are incomplete, and with AvailabilityZoneFilter.
    """
    zones = resolved.snapshot.zones
    carrying = zones.carried_by.get(resolved.memo(wanted_zone) or '')
    if carrying is None or not zones.is_by_aggregate or resolved.is_enforced(ZONE_FILTER):
        return None
    return not carrying.isdisjoint(host.aggregates)
