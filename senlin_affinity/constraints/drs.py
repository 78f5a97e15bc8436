"""Only compute hosts that stand for a vSphere cluster with DRS.

Source: document 003. In practice it is the service host's name that holds the pattern, since
the hypervisor of a vCenter cluster is called ``domain-c7.<uuid of the vCenter>``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import Data, Host, Option, Reason, ResolvedRequest, Verdict

PATTERN = Option(
    'drs_pattern',
    'drs',
    'What the name of a vSphere DRS host contains, ignoring case.',
    pattern=r'\S',
)


class DrsConstraint:
    """The DRS extension of the affinity policy."""

    name = 'drs'
    order = 60
    summary = 'with enable_drs_extension: only an enabled vSphere host with DRS that is up'
    needs = ('hosts',)
    is_by_name = True
    is_by_resources = False
    is_lasting = True
    may_be_given_up = True
    filters: tuple[str, ...] = ()
    options = (PATTERN,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'drs.host': Reason('{host} is a DRS host'),
        'drs.no_drs': Reason(
            'neither {host} nor {hypervisor_hostname} holds "{pattern}"',
            advice='name the DRS hosts so, or set drs_pattern',
        ),
        'drs.disabled': Reason(
            '{host} is disabled', advice='enable the compute service of the host'
        ),
        'drs.down': Reason('{host} is down', advice='start the compute service of the host'),
        'drs.not_asked': Reason('the DRS extension is not asked for'),
    }

    def check_host(self, resolved: ResolvedRequest, host: Host) -> Verdict:
        """See :meth:`HostConstraint.check_host`."""
        if not resolved.rules.is_drs_required:
            return Verdict.skipped('drs.not_asked')
        return check_drs_host(host, resolved.option(PATTERN))

    def without(self, _question: ResolvedRequest) -> Data:
        """What gives the rule up."""
        return {'enable_drs_extension': False}

    def reads(self, resolved: ResolvedRequest) -> Collection[str]:
        """What counts of a host beside its names."""
        return ('enabled', 'up') if resolved.rules.is_drs_required else ()

    def shape(self, resolved: ResolvedRequest, host: Host) -> Hashable:
        """The names, and whether it runs."""
        if not resolved.rules.is_drs_required:
            return None
        return (host.host, host.hypervisor_hostname, host.enabled, host.up)

    def named(self, resolved: ResolvedRequest) -> Collection[str] | None:
        """Any host, where DRS is asked for."""
        return None if resolved.rules.is_drs_required else ()


def check_drs_host(host: Host, pattern: str) -> Verdict:
    """Is this a DRS host that takes servers?"""
    names = (host.hypervisor_hostname, host.host)
    if not any(pattern.lower() in name.lower() for name in names):
        facts = {'hypervisor_hostname': host.hypervisor_hostname, 'pattern': pattern}
        return Verdict.rejected('drs.no_drs', host=host.host, **facts)
    if not host.enabled:
        return Verdict.rejected('drs.disabled', host=host.host)
    if not host.up:
        return Verdict.rejected('drs.down', host=host.host)
    return Verdict.passed('drs.host', host=host.host)
