"""Declare the extra specs that scheduler filters compare with a host or with aggregate metadata."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.values import Value
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.nova import extra_spec_operators

_EXPRESSION = Value(
    str,
    'A value, compared literally; or an operator and its operands. Numbers: ``=`` (at least), '
    '``==``, ``!=``, ``>=``, ``<=``. Strings: ``s==``, ``s!=``, ``s<``, ``s<=``, ``s>``, '
    '``s>=``, ``<in>`` (contains it), ``<all-in>`` (contains all), '
    '``<or>`` (equals any): '
    '``<or> a <or> b``.',
)

#: The attributes of a host that the capabilities filter compares, by subject.
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

#: Attributes with nested parts, whose names follow after colons.
_NESTED = (
    'cpu_info metrics stats numa_topology supported_hv_specs pci_device_pools nodename pci_stats '
    'supported_instances limits instances'
)
_PARTS = Parameter(
    'filter', r'(?::\w+)*', 'The path to the value, a colon before each part: ``:topology:cores``.'
)


def _check(value: str) -> None:
    """Reject ``!`` beside another state: the filter of this project would reject every host."""
    if extra_spec_operators.parse_states(value).fault == extra_spec_operators.ILLEGAL:
        raise InvalidSpec(
            '"!" says that the key must be absent, so no other value is allowed with it: write '
            '"!" alone; "~" permits an absent key beside other values'
        )


VALIDATORS = (
    ExtraSpecValidator(
        'force_metadata_check',
        'Reserved. If it is true in the metadata of an aggregate, every flavor must match the keys '
        'of this aggregate. In a flavor, it has no effect.',
        Value(bool),
    ),
    ExtraSpecValidator(
        'aggregate_instance_extra_specs:{key}',
        'The required metadata ``{key}`` of an aggregate of the host. The filter of '
        'senlin-affinity also supports ``*`` (any value), ``!`` (the key must be absent), and '
        '``~`` within ``<or>`` (or the key is absent).',
        _EXPRESSION,
        [Parameter('key', r'.+', 'A key of the metadata.')],
        check=_check,
    ),
    *(
        ExtraSpecValidator(f'capabilities:{key}', f'{what}: the required ``{key}``.', _EXPRESSION)
        for what, keys in _PLAIN.items()
        for key in keys.split()
    ),
    *(
        ExtraSpecValidator(
            f'capabilities:{key}{{filter}}',
            f'The required value of ``{key}``, or of a part of it.',
            _EXPRESSION,
            [_PARTS],
        )
        for key in _NESTED.split()
    ),
    ExtraSpecValidator(
        'reservation:{id}',
        'Servers are placed only in aggregates with the same key in their metadata. The value '
        'does not matter.',
        Value(str),
        [Parameter('id', r'.+', 'The name of the reservation.')],
    ),
)
