"""Whether a compute service takes servers, as Nova says and as Placement has it.

Source: nova-compute gives its provider the trait COMPUTE_STATUS_DISABLED when the service is
disabled, and takes it away again; what it could not do then, it does when it starts. Nova never
asks Placement for a host with the trait.
"""

from __future__ import annotations

from senlin_affinity.core.objects import Host

DISABLED = 'COMPUTE_STATUS_DISABLED'


def is_left_behind(host: Host) -> bool:
    """Is the service enabled, and has its provider the trait of a disabled one?"""
    return host.enabled and DISABLED in host.traits


def started(host: Host) -> Host:
    """The host with its service enabled and up, of which Placement knows."""
    return host.but(enabled=True, up=True, traits=host.traits - {DISABLED})
