"""Tell which releases of Nova know an extra spec.

A release has the number of Nova's distribution: 26 is Zed, 34 is 2026.2. Names that are in neither
table are known to all supported releases (24 and later).

Example::

    Releases(26, 26).unknown('hw:cpu_max_cores') == 'Nova 26 does not know it, but Nova 30 does'
    Releases.of_microversion((2, 95)) == Releases(27, 28)

Source: ``nova/api/validation/extra_specs`` and the maximum microversion of the releases 24 to 34.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The first release that knows a name.
SINCE = {
    'hw:vif_multiqueue_enabled': 25,
    'hw:ephemeral_encryption': 26,
    'hw:ephemeral_encryption_format': 26,
    'hw:locked_memory': 26,
    'hw:viommu_model': 26,
    'hw:virtio_packed_ring': 29,
    'hw:cpu_max_cores': 30,
    'hw:cpu_max_sockets': 30,
    'hw:cpu_max_threads': 30,
    'hw:mem_encryption_model': 32,
    'hw:redirected_usb_ports': 32,
    'hw:sound_model': 32,
    'hw:usb_model': 32,
    'hw:tpm_secret_security': 33,
}
_POWERVM = (
    'availability_priority', 'dedicated_proc', 'dedicated_sharing_mode', 'max_mem',
    'max_proc_units', 'max_vcpu', 'min_mem', 'min_proc_units', 'min_vcpu', 'proc_units',
    'processor_compatibility', 'shared_proc_pool_name', 'shared_weight', 'srr_capability',
    'uncapped',
)  # fmt: skip
#: The last release that knows a name.
UNTIL = {
    **{f'powervm:{name}': 25 for name in _POWERVM},
    'os:monitors': 28,
    'os:resolution': 28,
    'os:vram': 28,
    'hw:max_cpu_cores': 29,
    'hw:max_cpu_sockets': 29,
    'hw:max_cpu_threads': 29,
}
#: The maximum minor microversion of each release.
_MICROVERSIONS = {
    24: 90, 25: 90, 26: 93, 27: 95, 28: 95, 29: 96, 30: 96, 31: 100, 32: 100, 33: 103, 34: 104,
}  # fmt: skip


@dataclass(frozen=True)
class Releases:
    """The releases that Nova may have, from ``oldest`` to ``newest``."""

    oldest: int
    newest: int

    @classmethod
    def of_microversion(cls, highest: tuple[int, int]) -> Releases:
        """Return the releases with this maximum microversion, or those next to it."""
        minor = highest[1]
        newest = max((key for key, most in _MICROVERSIONS.items() if most <= minor), default=24)
        alike = [key for key, most in _MICROVERSIONS.items() if most == _MICROVERSIONS[newest]]
        return cls(min(alike), newest)

    def unknown(self, name: str) -> str | None:
        """Return why Nova does not know a name of these tables; None if it may know it."""
        if SINCE.get(name, self.newest) > self.newest:
            return f'Nova {self.newest} does not know it, but Nova {SINCE[name]} does'
        if UNTIL.get(name, self.oldest) < self.oldest:
            return f'Nova {self.oldest} does not know it; Nova {UNTIL[name]} was the last one'
        return None
