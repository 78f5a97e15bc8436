"""Only hosts in the zone that is asked for.

Source: RX-01. Nova enforces a zone by the Placement aggregates that mirror the host aggregates with
``availability_zone`` metadata. A host in none of them is in the cloud's default zone, which no
aggregate carries: a request for that one may land on any host (seen on a real Nova), unless the
hosts are pinned, where this rule is what keeps to it, or the cloud is an older one that still runs
AvailabilityZoneFilter. A request without a zone may land in any (unless nova.conf's
``default_schedule_zone`` says otherwise).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

from senlin_affinity.core.objects import Host, Question
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

#: A filter of older Novas, which no longer have it.
_FILTERS = ('AvailabilityZoneFilter',)


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
        'availability_zone.any': Reason('no zone is asked for'),
        'availability_zone.not_enforced': Reason(
            'no aggregate carries zone {wanted}: Nova takes any host for it'
        ),
        'availability_zone.unknown': Reason('the zone of this host is not known'),
    }

    def check_host(self, question: Question, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        wanted = question.request.availability_zone
        if wanted is None:
            return Verdict.skipped('availability_zone.any')
        zone = host.availability_zone
        if zone == wanted:
            return Verdict.passed('availability_zone.in_zone', zone=zone)
        is_held = question.rules.is_pinned or question.is_enforced(_FILTERS)
        if not is_held and wanted == question.snapshot.default_zone:
            return Verdict.skipped('availability_zone.not_enforced', wanted=wanted)
        if zone is None:
            return Verdict.unknown('availability_zone.unknown')
        return Verdict.rejected('availability_zone.other_zone', zone=zone, wanted=wanted)

    def shape(self, question: Question, host: Host) -> Hashable:
        """The zone."""
        return host.availability_zone
