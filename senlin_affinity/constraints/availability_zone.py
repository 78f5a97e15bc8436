"""Allow only hosts in the requested availability zone.

Nova enforces a zone by the Placement aggregates that mirror the host aggregates with
``availability_zone`` metadata. Other hosts are in the default zone, for which Nova may use any
host, unless an aggregate carries its name, AvailabilityZoneFilter runs, or hosts are pinned. A
request without a zone gets ``default_schedule_zone``. If the aggregates are unknown, every other
zone counts as carried by one.

Source: Nova's request filter ``map_az_to_placement_aggregate``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Assumption,
    Change,
    Cloud,
    Constraint,
    Data,
    Evaluated,
    Host,
    Kind,
    OpenAssumption,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.constraints.reservations import kept_for_others
from senlin_affinity.model.verdict import Caveat
from senlin_affinity.nova import aggregates
from senlin_affinity.nova.alternatives import joining
from senlin_affinity.nova.effective_zone import (
    DEFAULT_AVAILABILITY_ZONE,
    DEFAULT_SCHEDULE_ZONE,
    ZONE_FILTER,
    ZONE_QUERY,
    is_hard_spread,
    is_of_host,
    wanted_zone,
)
from senlin_affinity.nova.host_status import is_in_use
from senlin_affinity.scenario.scenario import Scenario

_MOST_ZONES = 10

NOT_ENFORCED = 'availability_zone.not_enforced'
OTHER_ZONE = 'availability_zone.other_zone'
UNKNOWN = 'availability_zone.unknown'
_FOR_OWNER = 'the servers must be in zone {availability_zone}'
STALE = Caveat(
    'availability_zone.stale', 'hosts that Placement has in the aggregates of another zone'
)
NO_ZONE = Assumption('availability_zone.default_schedule_zone', 'no default_schedule_zone')
DEFAULT_ZONE = Assumption(
    'availability_zone.default_availability_zone', 'a default zone called {zone}'
)

SPREAD_ZONE = OpenAssumption(*DEFAULT_ZONE)


def any_zone_change() -> Change:
    """Return the change ``any_zone``, which removes the zone from the request."""
    data = {'availability_zone': None}
    return Change('any_zone', 'no availability_zone', data, kind=Kind.REQUESTER, for_tenant=True)


@dataclass(frozen=True)
class _Zone:
    """The requested zone (None: each server names the zone of its host), and how Nova enforces it.

    ``carrying`` are the aggregates of the zone. ``is_in_query``: a query to Placement requires
    these. ``is_only_in_query``: no filter enforces the zone, and no pinned host.
    ``is_by_aggregate``: exactly the hosts of these aggregates are in the zone. ``elsewhere`` is the
    code for hosts of other zones. ``is_ignorable``: a Nova below 29 enforces no zone.
    """

    wanted: str | None
    carrying: frozenset[str]
    is_in_query: bool
    is_only_in_query: bool
    is_by_aggregate: bool
    elsewhere: str
    is_ignorable: bool


class AvailabilityZoneConstraint(Constraint):
    """The requested zone."""

    name = 'availability_zone'
    order = 20
    summary = 'the host is in the requested availability zone'
    needs = ('hosts',)
    reads_flavor = ()
    reads = ('availability_zone', 'aggregates', 'unmirrored', 'stale_aggregates')
    is_unresolvable = True
    enforced_by_placement = True
    options = DEFAULT_SCHEDULE_ZONE, DEFAULT_AVAILABILITY_ZONE, ZONE_QUERY
    reasons: ClassVar[Mapping[str, Reason]] = {
        'availability_zone.in_zone': Reason('in zone {zone}'),
        OTHER_ZONE: Reason(
            'in zone {zone}, not {wanted}',
            advice='request another zone, or none',
            for_owner=_FOR_OWNER,
            short='not in zone {wanted}',
            of_host='{zone}',
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
            is_state=True,
            of_several='is in an aggregate of the zone in Nova, but not in Placement',
            of_host='{aggregates}',
        ),
        'availability_zone.only_in_placement': Reason(
            'in {aggregates} in Placement, but not in Nova; Placement decides about the zone'
        ),
        'availability_zone.any': Reason('the request names no zone'),
        NOT_ENFORCED: Reason('no aggregate carries zone {wanted}, so Nova accepts any host'),
        'availability_zone.not_asked': Reason(
            'not in zone {wanted}, which Nova enforces only from release 29 on here',
            caveat=f'{ZONE_QUERY.dest} is off, so a Nova below 29 enforces no zone',
        ),
        UNKNOWN: Reason('it is not known whether the host is in the zone'),
    }

    def prepare(self, request: Request, cloud: Cloud) -> _Zone | Verdict:
        """Return the requested zone, or SKIP ``any`` if no server names a zone.

        The SKIP also holds if each names the zone of its host, and Nova only compares the names.
        """
        wanted, zones = wanted_zone(request), cloud.zones
        is_filtered = request.is_enforced(ZONE_FILTER)
        is_asked = bool(request.option(ZONE_QUERY))
        is_in_query = is_asked or not is_filtered
        is_by_name = request.is_pinned or is_filtered
        is_own_named = request.is_pinned or is_hard_spread(request)
        if wanted is None and not (is_own_named and is_in_query):
            return Verdict.skipped('availability_zone.any')
        elsewhere, is_guessed = OTHER_ZONE, cloud.aggregates is None
        if not is_by_name and wanted == zones.default:
            elsewhere = NOT_ENFORCED
        elif not is_by_name and is_guessed and wanted == _default(request):
            elsewhere = UNKNOWN
        carrying = zones.carried_by.get(wanted or '', frozenset())
        return _Zone(
            wanted,
            carrying,
            is_in_query=is_in_query,
            is_only_in_query=not is_by_name,
            is_by_aggregate=bool(carrying) and zones.is_by_aggregate and not is_filtered,
            elsewhere=elsewhere,
            is_ignorable=not (is_by_name or is_asked),
        )

    def check(self, asked: _Zone, host: Host, cloud: Cloud) -> Verdict:
        """Return :func:`_of_zone`; PASS ``not_asked``, at most, for a REJECT if Nova may not care.

        That is so without the query for the zone, AvailabilityZoneFilter and pinned hosts.
        """
        verdict = _of_zone(asked, host, cloud)
        if verdict or not asked.is_ignorable:
            return verdict
        zone = asked.wanted or host.availability_zone
        return Verdict.passed('availability_zone.not_asked', is_at_most=True, wanted=zone)

    def caveats(self, request: Request, cloud: Cloud) -> Iterator[Caveat]:
        """Yield one phrase if Nova may send a server of a hard zone spread to another zone."""
        if is_hard_spread(request) and request.memo(_is_any_stale, cloud):
            yield STALE

    def assumptions(self, request: Request, cloud: Cloud) -> Iterator[Assumption]:
        """Yield NO_ZONE if no zone of several is requested, unless pinned or spread by zone.

        DEFAULT_ZONE if hosts are known, aggregates are not, and a zone other than the default is
        requested; SPREAD_ZONE if either is unknown, for an unpinned spread over several zones.
        Nothing about an explicit option.
        """
        wanted = wanted_zone(request)
        is_explicit = request.settings.is_explicit
        zones = {zone for zone, _aggregates in cloud.places} - {None}
        zones |= cloud.availability_zones or set()
        is_any = wanted is None and not is_of_host(request)
        if is_any and len(zones) > 1 and not is_explicit(DEFAULT_SCHEDULE_ZONE):
            yield NO_ZONE
        if is_explicit(DEFAULT_AVAILABILITY_ZONE):
            return
        is_by_name = wanted is not None and cloud.hosts and cloud.aggregates is None
        default = _default(request)
        if is_by_name and wanted != default:
            yield DEFAULT_ZONE.of(zone=default)
        is_pinned = request.is_pinned or request.is_enforced(ZONE_FILTER)
        is_guessed = cloud.hosts is None or cloud.aggregates is None
        if is_guessed and len(zones) > 1 and is_of_host(request) and not is_pinned:
            yield SPREAD_ZONE.of(zone=default)

    def without(self, request: Request) -> Data:
        """Return ``{'availability_zone': None}``."""
        return {'availability_zone': None}

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield changes: up to ten other zones, no zone, hosts added to an aggregate of the zone.

        Nothing without a requested zone; ``any_zone`` only if the request itself names one.
        """
        cloud = scenario.cloud
        asked = wanted_zone(request)
        if asked is None:
            return
        zones = {host.availability_zone for host in cloud.hosts or ()}
        if cloud.hosts is None:
            zones |= cloud.availability_zones or set()
        zones -= {None, asked}
        for zone in sorted(map(str, zones))[:_MOST_ZONES]:
            change, data = f'availability_zone: {zone}', {'availability_zone': zone}
            yield Change('availability_zone', change, data, kind=Kind.REQUESTER, for_tenant=True)
        if request.availability_zone is not None:
            yield any_zone_change()
        carrying = cloud.zones.carried_by.get(asked, ())
        kept = kept_for_others(request, cloud)
        yield from joining(cloud, evaluation.rejected, carrying, kept)


def _default(request: Request) -> str:
    return str(request.option(DEFAULT_AVAILABILITY_ZONE))


def _of_zone(asked: _Zone, host: Host, cloud: Cloud) -> Verdict:
    """Check that the host is in the requested zone; the first that applies decides.

    * REJECT ``not_mirrored`` if Placement has the host in none of its aggregates of the zone.
    * SKIP ``any`` without a requested zone.
    * PASS ``only_in_placement`` if only Placement has it in an aggregate of the zone.
    * PASS ``in_zone`` if it is in an aggregate of the zone, or if aggregates do not determine the
      zone, and its zone is the same.
    * REJECT ``not_in_aggregate`` if aggregates do, and its zone is the same or unknown.
    * SKIP ``not_enforced`` if Nova accepts any host for the default zone.
    * ``unknown`` if its zone is unknown, or the aggregates for the default zone.
    * REJECT ``other_zone``.
    """
    wanted, carrying, zone = asked.wanted, asked.carrying, host.availability_zone
    lost = aggregates.unmirrored_in_zone(cloud, host, wanted or zone)
    if lost and asked.is_in_query:
        names = aggregates.names(cloud, lost)
        return Verdict.rejected('availability_zone.not_mirrored', aggregates=names)
    if wanted is None:
        return Verdict.skipped('availability_zone.any')
    is_member = not carrying.isdisjoint(host.aggregates)
    stale = carrying & host.stale_aggregates
    if asked.is_only_in_query and stale and not is_member:
        names = aggregates.names(cloud, stale, ' or ')
        return Verdict.passed('availability_zone.only_in_placement', aggregates=names)
    if is_member if asked.is_by_aggregate else zone == wanted:
        return Verdict.passed('availability_zone.in_zone', zone=wanted)
    if asked.is_by_aggregate and zone in (wanted, None):
        return Verdict.rejected('availability_zone.not_in_aggregate', wanted=wanted)
    if asked.elsewhere == NOT_ENFORCED:
        return Verdict.skipped(NOT_ENFORCED, wanted=wanted)
    if asked.elsewhere == UNKNOWN or zone is None:
        return Verdict.unknown(UNKNOWN)
    return Verdict.rejected(OTHER_ZONE, zone=zone, wanted=wanted)


def _is_any_stale(request: Request, cloud: Cloud) -> bool:
    """Check whether an aggregate that carries a zone has a usable host in Placement only.

    False with AvailabilityZoneFilter.
    """
    if request.is_enforced(ZONE_FILTER):
        return False
    carrying = frozenset().union(*cloud.zones.carried_by.values())
    hosts = cloud.hosts or ()
    return any(
        not carrying.isdisjoint(host.stale_aggregates) and is_in_use(request, host)
        for host in hosts
    )
