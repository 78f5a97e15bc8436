"""Allow only compute hosts that stand for a vSphere cluster with DRS.

Source: "Affinity Policy V1.0" in Senlin's manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from senlin_affinity.constraints.base import (
    Cloud,
    Constraint,
    Data,
    Host,
    Option,
    Reason,
    Request,
    Verdict,
)

PATTERN = Option(
    'drs_pattern',
    'drs',
    'The text that the names of vSphere DRS hosts contain, in upper or lower case.',
    pattern=r'\S',
)


class DrsConstraint(Constraint):
    """The DRS extension of the policy."""

    name = 'drs'
    order = 60
    summary = 'with enable_drs_extension: the host is a vSphere DRS host, enabled and up'
    needs = ('hosts',)
    reads_flavor = ()
    reads = ('host', 'hypervisor_hostname', 'enabled', 'up')
    is_unresolvable = True
    is_waivable = True
    options = (PATTERN,)
    reasons: ClassVar[Mapping[str, Reason]] = {
        'drs.host': Reason('{host} is a DRS host'),
        'drs.no_drs': Reason(
            'neither {host} nor {hypervisor_hostname} contains "{pattern}"',
            advice='rename the DRS hosts, or set drs_pattern',
            of_several='is no host whose name contains "{pattern}"',
        ),
        'drs.disabled': Reason(
            '{host} is disabled',
            advice='enable the compute service of the host',
            is_state=True,
            of_several='is disabled',
        ),
        'drs.down': Reason(
            '{host} is down',
            advice='start the compute service of the host',
            is_state=True,
            of_several='is down',
        ),
        'drs.not_asked': Reason('the policy does not enable the DRS extension'),
    }

    def prepare(self, request: Request, cloud: Cloud) -> str | Verdict:
        """Return ``drs_pattern``; SKIP ``not_asked`` without the extension."""
        if not request.is_drs_required:
            return Verdict.skipped('drs.not_asked')
        pattern: str = request.option(PATTERN)
        return pattern

    def check(self, asked: str, host: Host, cloud: Cloud) -> Verdict:
        """Return :func:`check_drs_host` with the pattern."""
        return check_drs_host(host, asked)

    def without(self, request: Request) -> Data:
        """Return ``{'enable_drs_extension': False}``."""
        return {'enable_drs_extension': False}


def check_drs_host(host: Host, pattern: str) -> Verdict:
    """Return a PASS ``host`` for an enabled host that is up and has the pattern in either name.

    The case does not matter. REJECT ``no_drs``, else ``disabled``, else ``down``.
    """
    names = (host.hypervisor_hostname, host.host)
    if not any(pattern.lower() in name.lower() for name in names):
        facts = {'hypervisor_hostname': host.hypervisor_hostname, 'pattern': pattern}
        return Verdict.rejected('drs.no_drs', host=host.host, **facts)
    if not host.enabled:
        return Verdict.rejected('drs.disabled', host=host.host)
    if not host.up:
        return Verdict.rejected('drs.down', host=host.host)
    return Verdict.passed('drs.host', host=host.host)
