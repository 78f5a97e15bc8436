"""Find the scheduler filters that may reject a host although no constraint models them.

Source: nova-scheduler's own filters (nova 34). One that is not listed may read anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from senlin_affinity.model.request import Request
from senlin_affinity.nova.demand import is_placed
from senlin_affinity.nova.flavor_features import DEDICATED, MIXED
from senlin_affinity.nova.instance_extra_specs import NOVAS, is_compared

#: Always modelled.
_MODELLED = (
    'AllHostsFilter',
    'ComputeFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
    'AvailabilityZoneFilter',
)
#: Architectures, hypervisors and modes of most hosts.
_USUAL = ('x86_64', 'hvm', 'kvm', 'qemu')
#: Nova's own extra specs without a namespace, which aggregates usually lack.
_OWN = ('group_policy', 'hide_hypervisor_id')
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
    found = zip(('flavor', 'image'), map(', '.join, _settings_read(request, name)), strict=True)
    return ' and '.join(f'the {what} requires {keys}' for what, keys in found if keys)


def _settings_read(request: Request, name: str) -> Iterator[list[str]]:
    """Yield the extra specs, then the image properties, that a filter reads: "key=value"."""
    parts = request.extra_specs, request.image_properties or {}
    for is_read, each in zip(_READING.get(name, (_nothing, _nothing)), parts, strict=True):
        yield [f'{key}={each[key]}' for key in sorted(each) if is_read(key, each[key])]


def compared(request: Request) -> tuple[str, ...]:
    """Return the extra specs and image properties that filters probably compare: "key=value".

    Those that aggregates must have come first. Not values that most hosts have, nor what only
    filters read that are not enabled; without specified filters, any of Nova may be enabled, but
    AggregateImagePropertiesIsolation, which reads every property.
    """
    may_run = request.settings.are_filters_unspecified
    found: list[str] = []
    if may_run or request.is_enforced(NOVAS):
        specs = request.extra_specs
        names = sorted(key for key in specs if is_compared(key) and key not in _OWN)
        found += [f'{key}={specs[key]}' for key in names]
    for name, (_spec, is_property) in _READING.items():
        if request.is_enforced(name) or (may_run and is_property is not _anything):
            found += (each for part in _settings_read(request, name) for each in part)
    return tuple(dict.fromkeys(each for each in found if not is_usual(each.partition('=')[2])))


def is_usual(value: str) -> bool:
    """Check whether most hosts have this value of an image property."""
    return value.lower() in _USUAL


def properties_read(request: Request) -> frozenset[str]:
    """Return the keys of the image's properties that Placement or enabled filters read."""
    image = request.image_properties or {}
    filters = [is_read for name, (_spec, is_read) in _READING.items() if request.is_enforced(name)]
    return frozenset(
        key
        for key, value in image.items()
        if is_placed(key) or any(is_read(key, value) for is_read in filters)
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


def _needs_numa(key: str, value: str) -> bool:
    """Check whether an extra spec gives the server a NUMA topology.

    Source: ``numa_get_constraints`` of Nova; the other keys only shape the topology.
    """
    if key == 'hw:cpu_policy':
        return value in (DEDICATED, MIXED)
    is_pinned = key.startswith('resources') and key.endswith(':PCPU') and value != '0'
    return is_pinned or key in ('hw:numa_nodes', 'hw:mem_page_size', 'hw:pmem')


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
    'ImagePropertiesFilter': (_nothing, lambda key, _value: key.startswith(_IMAGE_KEYS)),
    'AggregateImagePropertiesIsolation': (_nothing, _anything),
    'NUMATopologyFilter': (
        _needs_numa,
        lambda key, value: _needs_numa(key.replace('_', ':', 1), value),
    ),
    'PciPassthroughFilter': (lambda key, _value: key.startswith('pci_passthrough:'), _nothing),
}

#: The filters whose inputs this module knows.
KNOWN = frozenset((*_MODELLED, *_BY_HINT, *_READING))
