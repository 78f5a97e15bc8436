"""Allow only compute hosts that stand for a vSphere cluster with DRS.

A host has DRS if the name of its service host or its hypervisor contains the option
``drs_pattern``. In practice it is the service host, because the hypervisor of a vCenter cluster is
named ``domain-c7.<uuid of the vCenter>``.

Source: "Affinity Policy V1.0" in Senlin's manual.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Constraint,
    Data,
    Host,
    Option,
    Reason,
    ResolvedRequest,
    Verdict,
)

PATTERN = Option(
    'drs_pattern',
    'drs',
    'What the name of a vSphere DRS host contains, ignoring case.',
    pattern=r'\S',
)


class DrsConstraint(Constraint):
    """The DRS extension of the affinity policy, as a constraint."""

    name = 'drs'
    order = 60
    summary = 'with enable_drs_extension: only an enabled vSphere host with DRS that is up'
    needs = ('hosts',)
    is_host_specific = True
    uses_resources = False
    is_unresolvable = True
    is_waivable = True
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
        """See :meth:`Constraint.check_host`."""
        if not resolved.rules.is_drs_required:
            return Verdict.skipped('drs.not_asked')
        return check_drs_host(host, resolved.option(PATTERN))

    def without(self, _question: ResolvedRequest) -> Data:
        """Return the change that disables the extension."""
        return {'enable_drs_extension': False}

    def host_fields(self, resolved: ResolvedRequest) -> Collection[str]:
        """Return the fields of a host, beside its names, that the verdict depends on."""
        return ('enabled', 'up') if resolved.rules.is_drs_required else ()

    def specific_hosts(self, resolved: ResolvedRequest) -> Collection[str] | None:
        """Return None (the names of every host count), or () without the extension."""
        return None if resolved.rules.is_drs_required else ()


def check_drs_host(host: Host, pattern: str) -> Verdict:
    """Return a pass if the host is an enabled DRS host that is up, and a rejection otherwise."""
    names = (host.hypervisor_hostname, host.host)
    if not any(pattern.lower() in name.lower() for name in names):
        facts = {'hypervisor_hostname': host.hypervisor_hostname, 'pattern': pattern}
        return Verdict.rejected('drs.no_drs', host=host.host, **facts)
    if not host.enabled:
        return Verdict.rejected('drs.disabled', host=host.host)
    if not host.up:
        return Verdict.rejected('drs.down', host=host.host)
    return Verdict.passed('drs.host', host=host.host)
