"""Find the scheduler filters that may reject a host although no constraint models them.

Source: nova-scheduler's own filters (nova 34). One that is not listed may read anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from senlin_affinity.model.request import Request
from senlin_affinity.nova.flavor_features import DEDICATED, MIXED

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


class Suspect(NamedTuple):
    """A filter that may reject hosts for a request, and what it reads ('': not known)."""

    name: str
    reads: str
    is_enabled: bool = True


def unmodelled(request: Request, modelled: Collection[str]) -> tuple[str, ...]:
    """Return "filter NAME" for each enabled filter that may reject more than the constraints.

    All but ``modelled``, ``_MODELLED``, ``_BY_HINT``, and those in ``_READING`` that read no part
    of this request.
    """
    found = suspects(request, modelled)
    return tuple(f'filter {each.name}' for each in found if each.is_enabled)


def suspects(request: Request, modelled: Collection[str]) -> Iterator[Suspect]:
    """Yield the filters of :func:`unmodelled`, then those that may be enabled.

    The latter, if nothing specifies the filters, are those of Nova that read a part of the request.
    """
    enabled = dict.fromkeys(request.settings.enabled_filters)
    for name in enabled:
        if name not in (*_MODELLED, *_BY_HINT, *modelled):
            what = reads(request, name)
            if what or name not in _READING:
                yield Suspect(name, what)
    if request.settings.are_filters_unspecified:
        for name in _READING:
            what = reads(request, name)
            if what and name not in enabled and name not in modelled:
                yield Suspect(name, what, is_enabled=False)


def reads(request: Request, name: str) -> str:
    """Return the parts of the request that a filter reads; '' for none, and if that is not known.

    "the flavor requires hw:numa_nodes=2 and the image requires hw_mem_page_size=large".
    """
    is_spec, is_property = _READING.get(name, (_nothing, _nothing))
    parts = (
        ('flavor', is_spec, request.extra_specs),
        ('image', is_property, request.image_properties or {}),
    )
    found = (
        (what, ', '.join(f'{key}={each[key]}' for key in sorted(each) if is_read(key, each[key])))
        for what, is_read, each in parts
    )
    return ' and '.join(f'the {what} requires {keys}' for what, keys in found if keys)


def properties_read(request: Request) -> frozenset[str]:
    """Return the keys of the image's properties that enabled filters read, or that name traits."""
    image = request.image_properties or {}
    filters = [is_read for name, (_spec, is_read) in _READING.items() if request.is_enforced(name)]
    return frozenset(
        key
        for key, value in image.items()
        if key.startswith('trait:') or any(is_read(key, value) for is_read in filters)
    )


def _nothing(_key: str, _value: str) -> bool:
    """Return False: the filter reads no extra spec, or no property."""
    return False


def _anything(_key: str, _value: str) -> bool:
    """Return True: the filter reads every property."""
    return True


def _is_capability(key: str, _value: str) -> bool:
    """Check whether ComputeCapabilitiesFilter reads an extra spec."""
    is_attribute = key in _HOST_ATTRIBUTES or key == 'hw:maxphysaddr_bits'
    return is_attribute or key.startswith(_CAPABILITIES)


def _is_of_hypervisor(key: str, _value: str) -> bool:
    """Check whether ImagePropertiesFilter reads an image property."""
    return key.startswith(_IMAGE_KEYS)


def _needs_numa(key: str, value: str) -> bool:
    """Check whether an extra spec gives the server a NUMA topology.

    Source: ``numa_get_constraints`` of Nova; the other keys only shape the topology.
    """
    if key == 'hw:cpu_policy':
        return value in (DEDICATED, MIXED)
    is_pinned = key.startswith('resources') and key.endswith(':PCPU') and value != '0'
    return is_pinned or key in ('hw:numa_nodes', 'hw:mem_page_size', 'hw:pmem')


def _property_needs_numa(key: str, value: str) -> bool:
    """Check :func:`_needs_numa` for an image property."""
    return _needs_numa(key.replace('_', ':', 1), value)


def _needs_device(key: str, _value: str) -> bool:
    """Check whether an extra spec requests a PCI device."""
    return key.startswith('pci_passthrough:')


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
_Reads = Callable[[str, str], bool]
#: Which extra specs and which image properties a filter reads.
_READING: Mapping[str, tuple[_Reads, _Reads]] = {
    'ComputeCapabilitiesFilter': (_is_capability, _nothing),
    'ImagePropertiesFilter': (_nothing, _is_of_hypervisor),
    'AggregateImagePropertiesIsolation': (_nothing, _anything),
    'NUMATopologyFilter': (_needs_numa, _property_needs_numa),
    'PciPassthroughFilter': (_needs_device, _nothing),
}

#: The filters whose inputs this module knows.
KNOWN = frozenset((*_MODELLED, *_BY_HINT, *_READING))
