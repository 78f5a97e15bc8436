"""What the compute capabilities filter compares with the state of a host."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.validators.operators import EXPRESSION

#: What the filter finds under one name, by what it is about.
_PLAIN = {
    'The identity of the host': 'id uuid service_id host cell_uuid mapped host_ip updated',
    'The hypervisor of the host': 'hypervisor_type hypervisor_version hypervisor_hostname',
    'The resources of the host': (
        'vcpus vcpus_total vcpus_used memory_mb memory_mb_used total_usable_ram_mb free_ram_mb '
        'local_gb local_gb_used disk_mb_used total_usable_disk_gb free_disk_gb free_disk_mb '
        'disk_available_least'
    ),
    'The allocation ratios of the host': (
        'cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio'
    ),
    'The load of the host': (
        'current_workload running_vms num_instances num_io_ops failed_builds aggregates'
    ),
}

#: What has parts, whose names follow behind colons.
_NESTED = (
    'cpu_info metrics stats numa_topology supported_hv_specs pci_device_pools nodename pci_stats '
    'supported_instances limits instances'
)

_PARTS = {
    'name': 'filter',
    'pattern': r'(?::\w+)*',
    'description': 'The parts down to the value, each behind a colon: ``:topology:cores``.',
}

NAMESPACE = Namespace(
    name='capabilities',
    title='Capabilities',
    summary=(
        'What the state of a host must be, for the scheduler filter ``ComputeCapabilitiesFilter``.'
    ),
    validators=(
        *(
            ExtraSpecValidator(
                name=f'capabilities:{capability}',
                description=f'{what}: what ``{capability}`` must be.',
                value=EXPRESSION,
            )
            for what, capabilities in _PLAIN.items()
            for capability in capabilities.split()
        ),
        *(
            ExtraSpecValidator(
                name=f'capabilities:{capability}{{filter}}',
                description=f'What ``{capability}``, or a part of it, must be.',
                parameters=[_PARTS],
                value=EXPRESSION,
            )
            for capability in _NESTED.split()
        ),
    ),
)
