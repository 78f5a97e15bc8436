"""Only compute services that are enabled and up.

Source: Nova's ComputeFilter, and the trait COMPUTE_STATUS_DISABLED, by which Placement
leaves out the host of a disabled service before any filter runs. It may be left behind on the host
of a service that was enabled again. In a tree of several providers the trait may be that of
another one: at most.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from senlin_affinity.core.host import Host
from senlin_affinity.core.host_status import DISABLED, is_left_behind, started
from senlin_affinity.core.objects import ResolvedRequest
from senlin_affinity.core.planning import more_hosts
from senlin_affinity.core.planning.actions import Data
from senlin_affinity.core.planning.replanner import Change, Replanner
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict


class HostStateConstraint:
    """The state of the compute service."""

    name = 'host_state'
    order = 10
    summary = 'only a compute service that is enabled and up'
    needs = ('hosts',)
    filters: tuple[str, ...] = ()
    is_by_name = False
    is_by_resources = False
    is_in_placement = True
    reasons: ClassVar[Mapping[str, Reason]] = {
        'host_state.up': Reason(
            'the compute service is enabled and up',
            doubt=f'a provider still has the trait {DISABLED}',
        ),
        'host_state.disabled': Reason(
            'the compute service is disabled', advice='enable the compute service of the host'
        ),
        'host_state.down': Reason(
            'the compute service is down', advice='start the compute service of the host'
        ),
        'host_state.disabled_in_placement': Reason(
            'the compute service is enabled, and its provider still has the trait {trait}',
            advice='restart nova-compute on the host, or take the trait from its provider',
        ),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if not host.enabled:
            return Verdict.rejected('host_state.disabled')
        if not host.up:
            return Verdict.rejected('host_state.down')
        if is_left_behind(host) and not host.is_nested:
            return Verdict.rejected('host_state.disabled_in_placement', trait=DISABLED)
        return Verdict.passed('host_state.up', is_at_most=is_left_behind(host))

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host."""
        return ('enabled', 'up', 'traits', 'is_nested')

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """Both states, and what Placement has."""
        return (host.enabled, host.up, is_left_behind(host) and (True, host.is_nested))

    def remedies(self, planner: Replanner) -> Iterator[Change]:
        """Hosts that are there, but disabled or down, if only in Placement."""
        idle = [host for host in planner.hosts if not _takes_servers(host)]
        found = more_hosts.fewest(planner, idle, started, partial(_started, idle))
        if found is not None:
            change = f'{found.hosts} enabled and started'
            yield planner.change('started_hosts', change, *found)


def _takes_servers(host: Host) -> bool:
    return host.enabled and host.up and not is_left_behind(host)


def _started(idle: Iterable[Host], names: list[str]) -> Data:
    """What enables and starts these of the idle hosts."""
    disabled = {host.host for host in idle if not host.enabled or is_left_behind(host)}
    down = {host.host for host in idle if not host.up}
    data = {
        'enabled_hosts': [name for name in names if name in disabled],
        'started_hosts': [name for name in names if name in down],
    }
    return {action: hosts for action, hosts in data.items() if hosts}
