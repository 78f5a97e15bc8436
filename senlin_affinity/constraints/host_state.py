"""Allow only compute services that are enabled and up, as far as Nova enforces this.

ComputeFilter rejects a service that is disabled or down. Placement does not offer a host with the
trait COMPUTE_STATUS_DISABLED, with any filters. A host may keep the trait after its service was
enabled again.

Source: Nova's ComputeFilter, and its request filter ``compute_status_filter``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress
from textwrap import shorten
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Change,
    ChangedHosts,
    Cloud,
    Constraint,
    Evaluated,
    Host,
    Reason,
    Request,
    Verdict,
)
from senlin_affinity.nova import host_status
from senlin_affinity.nova.actions import SAME_HOST
from senlin_affinity.nova.effective_zone import wanted_zone
from senlin_affinity.nova.host_status import DISABLED, has_stale_trait
from senlin_affinity.scenario.scenario import Scenario

_LONGEST = 80
_UNEXPLAINED = 'disabled without a reason: check {it} first'


class HostStateConstraint(Constraint):
    """The state of compute services."""

    name = 'host_state'
    order = 10
    summary = 'the compute service of the host is enabled and up'
    needs = ('hosts',)
    reads_flavor = ()
    reads = ('enabled', 'up', 'traits', 'is_nested', 'disabled_reason')
    options = (SAME_HOST,)
    enforced_by_placement = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'host_state.up': Reason(
            'the compute service is enabled and up',
            caveat=f'it is not known which of the providers of a host has the trait {DISABLED}',
        ),
        'host_state.disabled': Reason(
            'the compute service is disabled',
            advice='enable the compute service of the host',
            is_state=True,
        ),
        'host_state.down': Reason(
            'the compute service is down',
            advice='start the compute service of the host',
            is_state=True,
        ),
        'host_state.not_enforced': Reason(
            'the compute service is {state}, but the scheduler does not run ComputeFilter, so Nova '
            'may use the host',
            caveat='the scheduler does not run ComputeFilter, so Nova may use a host that is down',
        ),
        'host_state.any_zone': Reason('not checked: no zone is requested, or hosts are pinned'),
        'host_state.zone_available': Reason('zone {zone} is not known to be unavailable'),
        'host_state.zone_unavailable': Reason(
            'every compute service in zone {zone} is disabled, so Nova rejects requests for it',
            advice='request another zone, or have a compute service in the zone enabled',
        ),
        'host_state.disabled_in_placement': Reason(
            'the compute service is enabled, but its resource provider still has the trait {trait}',
            advice='restart nova-compute on the host, or remove the trait from its resource '
            'provider',
            is_state=True,
        ),
    }

    def check_request(self, request: Request, cloud: Cloud) -> Verdict:
        """Reject (``zone_unavailable``) a zone in which every compute service is disabled.

        Otherwise PASS ``zone_available``, also if services are down. SKIP ``any_zone`` without a
        requested zone, for a named host, and if hosts are pinned.
        """
        zone = wanted_zone(request)
        if zone is None or request.is_pinned or request.forced_host:
            return Verdict.skipped('host_state.any_zone')
        if zone in cloud.unavailable_zones:
            return Verdict.rejected('host_state.zone_unavailable', zone=zone)
        return Verdict.passed('host_state.zone_available', zone=zone)

    def prepare(self, request: Request, cloud: Cloud) -> bool:
        """Return whether every service that is disabled or down is rejected."""
        return host_status.is_filtered(request)

    def check(self, asked: bool, host: Host, cloud: Cloud) -> Verdict:
        """Return a PASS ``up`` for a service that is enabled and up.

        REJECT ``disabled``, else ``down``, else ``disabled_in_placement`` for a stale trait. On a
        nested host, the trait makes the PASS "at most". Without ComputeFilter, only the trait
        rejects a host; PASS ``not_enforced`` for others, at most if it is down or its traits are
        unknown.
        """
        is_forbidden = host_status.is_forbidden(host)
        if not host.enabled and (asked or is_forbidden):
            reason = host.disabled_reason
            return Verdict.rejected('host_state.disabled', **({'reason': reason} if reason else {}))
        if not host.up and asked:
            return Verdict.rejected('host_state.down')
        if is_forbidden:
            return Verdict.rejected('host_state.disabled_in_placement', trait=DISABLED)
        if host.enabled and host.up:
            return Verdict.passed('host_state.up', is_at_most=has_stale_trait(host))
        state = 'down' if host.enabled else 'disabled' if host.up else 'disabled and down'
        is_at_most = not (host.up and host.traits)
        return Verdict.passed('host_state.not_enforced', is_at_most=is_at_most, state=state)

    def proposals(
        self, request: Request, scenario: Scenario, evaluation: Evaluated
    ) -> Iterator[Change]:
        """Yield ``started_hosts`` of all hosts that are disabled, down, or have a stale trait.

        It may have none. If some were disabled with a reason, the first is without these, a second
        with all. The text has the names and the reasons, and the number of hosts that were disabled
        without one.
        """
        columns = scenario.columns
        is_idle = columns.flags('has_stale_trait', has_stale_trait)
        is_idle = is_idle | columns.flags('is_forbidden', host_status.is_forbidden)
        if host_status.is_filtered(request):
            is_idle |= ~(columns.flags('enabled') & columns.flags('up'))
        idle = tuple(compress(scenario.hosts, is_idle.tolist()))
        plain = tuple(host for host in idle if not host.disabled_reason)
        disabled = [host.host for host in idle if not host.enabled or has_stale_trait(host)]
        down = [host.host for host in idle if not host.up]
        notes = {
            host.host: f'{host.host} was disabled: {shorten(host.disabled_reason, _LONGEST)}'
            for host in idle
            if host.disabled_reason
        }
        unexplained = [host.host for host in plain if not host.enabled]
        for some in (plain, idle) if notes else (idle,):
            yield ChangedHosts(
                'started_hosts',
                'nova-compute {done} on {names}',
                is_sufficient=True,
                hosts=some,
                lists=(
                    (('enabled_hosts',), frozenset(disabled)),
                    (('started_hosts',), frozenset(down)),
                ),
                verbs=('enabled', 'started'),
                notes=notes,
                remarks=dict.fromkeys(unexplained, _UNEXPLAINED),
            )
