"""Which of the cloud's scheduler filters may refuse a host though no constraint models them.

A capacity that was counted without them is "at most".

Source: nova-scheduler's own filters (nova 34), by what each of them reads. A filter that is not
listed here may read anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from senlin_affinity.core.objects import ResolvedRequest

#: Always modelled: by the constraints on host state and resources, and by Nova's late check.
_MODELLED = (
    'AllHostsFilter',
    'ComputeFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
    'AvailabilityZoneFilter',
)
#: They read scheduler hints or a forced host, which a request of ours never has.
_BY_HINT = ('SameHostFilter', 'DifferentHostFilter', 'JsonFilter', 'SimpleCIDRAffinityFilter')


def unmodelled(resolved: ResolvedRequest, modelled: Collection[str]) -> tuple[str, ...]:
    """Words for every enabled filter that may refuse more than the constraints know of."""
    return tuple(
        f'filter {name}'
        for name in dict.fromkeys(resolved.request.enabled_filters)
        if name not in _MODELLED
        and name not in _BY_HINT
        and name not in modelled
        and (name not in _READING or _READING[name](resolved))
    )


def _specs(resolved: ResolvedRequest) -> Mapping[str, str]:
    return resolved.flavor.extra_specs if resolved.flavor is not None else {}


def _reads_capabilities(resolved: ResolvedRequest) -> bool:
    """A key without a namespace counts only where a host has an attribute of that name."""
    return any(
        key.startswith(_CAPABILITIES) or key == 'hw:maxphysaddr_bits' or key in _HOST_ATTRIBUTES
        for key in _specs(resolved)
    )


def _reads_specs(prefixes: tuple[str, ...], resolved: ResolvedRequest) -> bool:
    return any(key.startswith(prefixes) for key in _specs(resolved))


def _reads_image(prefixes: tuple[str, ...], resolved: ResolvedRequest) -> bool:
    return any(key.startswith(prefixes) for key in resolved.image_properties or ())


#: Also what nova-compute counts (``num_vm_active``), and what is private.
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
#: What nova-scheduler knows of a host, by the names that an extra spec could have.
_HOST_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_READING: Mapping[str, Callable[[ResolvedRequest], bool]] = {
    'ComputeCapabilitiesFilter': _reads_capabilities,
    'ImagePropertiesFilter': partial(_reads_image, _IMAGE_KEYS),
    'AggregateImagePropertiesIsolation': partial(_reads_image, ('',)),
    'NUMATopologyFilter': partial(_reads_specs, ('hw:', 'pci_passthrough:', 'resources')),
    'PciPassthroughFilter': partial(_reads_specs, ('pci_passthrough:', 'resources')),
}

#: All that are listed here.
KNOWN = frozenset((*_MODELLED, *_BY_HINT, *_READING))
