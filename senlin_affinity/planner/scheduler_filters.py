"""Find the scheduler filters that may reject a host although no constraint models them.

Source: nova-scheduler's own filters (nova 34). One that is not listed may read anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from senlin_affinity.model.request import ResolvedRequest

#: Always modelled.
_MODELLED = (
    'AllHostsFilter',
    'ComputeFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
    'AvailabilityZoneFilter',
)
#: They read scheduler hints.
_BY_HINT = ('SameHostFilter', 'DifferentHostFilter', 'JsonFilter', 'SimpleCIDRAffinityFilter')


def unmodelled(resolved: ResolvedRequest, modelled: Collection[str]) -> tuple[str, ...]:
    """Return "filter NAME" for each enabled filter that may reject more than the constraints.

    All but ``modelled``, ``_MODELLED``, ``_BY_HINT``, and those in ``_READING`` that read no part
    of this request.
    """
    return tuple(
        f'filter {name}'
        for name in dict.fromkeys(resolved.request.enabled_filters)
        if name not in _MODELLED
        and name not in _BY_HINT
        and name not in modelled
        and (name not in _READING or _READING[name](resolved))
    )


def _reads_capabilities(resolved: ResolvedRequest) -> bool:
    """Check whether ComputeCapabilitiesFilter reads an extra spec."""
    return any(
        key.startswith(_CAPABILITIES) or key == 'hw:maxphysaddr_bits' or key in _HOST_ATTRIBUTES
        for key in resolved.extra_specs
    )


def _reads_specs(prefixes: tuple[str, ...], resolved: ResolvedRequest) -> bool:
    """Check whether an extra spec has one of the prefixes."""
    return any(key.startswith(prefixes) for key in resolved.extra_specs)


def _reads_image(prefixes: tuple[str, ...], resolved: ResolvedRequest) -> bool:
    """Check whether an image property has one of the prefixes; False if unknown."""
    return any(key.startswith(prefixes) for key in resolved.image_properties or ())


#: Prefixes that ComputeCapabilitiesFilter reads; ``num_`` begins counters (``num_vm_active``).
_CAPABILITIES = ('capabilities:', 'num_', '_')
_IMAGE_KEYS = ('architecture', 'hw_architecture', 'hypervisor_', 'img_hv_', 'vm_mode', 'hw_vm_mode')
_ATTRIBUTES = """
    aggregates allocation_candidates cell_uuid consume_from_request cpu_allocation_ratio cpu_info
    disk_allocation_ratio disk_mb_used failed_builds free_disk_mb free_ram_mb host host_ip
    hypervisor_hostname hypervisor_type hypervisor_version instances io_workload limits metrics
    nodename num_instances num_io_ops numa_topology pci_stats ram_allocation_ratio service stats
    supported_instances total_usable_disk_gb total_usable_ram_mb update updated uuid vcpus_total
    vcpus_used
"""
#: The attributes of nova-scheduler's HostState.
_HOST_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_READING: Mapping[str, Callable[[ResolvedRequest], bool]] = {
    'ComputeCapabilitiesFilter': _reads_capabilities,
    'ImagePropertiesFilter': partial(_reads_image, _IMAGE_KEYS),
    'AggregateImagePropertiesIsolation': partial(_reads_image, ('',)),
    'NUMATopologyFilter': partial(_reads_specs, ('hw:', 'pci_passthrough:', 'resources')),
    'PciPassthroughFilter': partial(_reads_specs, ('pci_passthrough:', 'resources')),
}

#: The filters whose inputs this module knows.
KNOWN = frozenset((*_MODELLED, *_BY_HINT, *_READING))
