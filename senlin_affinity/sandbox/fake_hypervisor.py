"""A hypervisor that has a size, a name and a type of its own on every host, and runs nothing.

It is Nova's fake driver; only what a host reports about itself is replaced.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from senlin_affinity.sandbox.blueprint import HostSpec


def install(hosts: Iterable[HostSpec]) -> None:
    """Make the driver known to Nova as ``fake.SandboxDriver``: it looks in ``nova.virt`` only."""
    from nova.virt import fake

    specs = {host.name: host for host in hosts}

    class SandboxDriver(fake.FakeDriver):
        """The driver of one compute service."""

        def init_host(self, host: str) -> None:
            spec = specs.get(host, HostSpec(host))
            self._host = host
            self._set_nodes([spec.hypervisor_hostname or host])
            self.vcpus, self.memory_mb = spec.vcpus, spec.memory_mb
            self.local_gb = spec.disk_gb
            self.resources = fake.Resources(spec.vcpus, spec.memory_mb, spec.disk_gb)
            self.host_status_base['hypervisor_type'] = spec.hypervisor_type

        def get_available_resource(self, nodename: str) -> dict[str, Any]:
            resources = super().get_available_resource(nodename)
            if resources:
                resources['uuid'] = _identity(nodename)
            return resources

        def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
            return {_identity(name): name for name in self.get_available_nodes()}

    fake.SandboxDriver = SandboxDriver


def _identity(hypervisor_hostname: str) -> str:
    """Give the UUID of a hypervisor: the same whenever it starts."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, hypervisor_hostname))
