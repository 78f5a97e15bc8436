"""Declare the extra specs that scheduler filters compare with a host or with aggregate metadata."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.values import Value
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.nova import key_states

#: A value without an operator is compared literally, so every string is valid.
_EXPRESSION = Value(
    str,
    'A value to be equal to; or an operator and what it takes. Numbers: ``=`` (at least), '
    '``==``, ``!=``, ``>=``, ``<=``. Strings: ``s==``, ``s!=``, ``s<``, ``s<=``, ``s>``, '
    '``s>=``, ``<in>`` (holds this), ``<all-in>`` (holds all of these), ``<or>`` (is one of '
    'these): ``<or> a <or> b``.',
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
    'filter', r'(?::\w+)*', 'The parts down to the value, each behind a colon: ``:topology:cores``.'
)


def _check(value: str) -> None:
    """Reject ``!`` beside another state: the filter of this project would reject every host."""
    if key_states.parse(value).fault == key_states.ILLEGAL:
        raise InvalidSpec(
            '"!" says that the key must be absent, so no other value is allowed with it: write '
            '"!" alone; "~" permits an absent key beside other values'
        )


VALIDATORS = (
    ExtraSpecValidator(
        'force_metadata_check',
        'Reserved. As metadata of an aggregate, it makes the aggregate filter ask every flavor for '
        'the keys of that aggregate; in a flavor it has no effect.',
        Value(bool),
    ),
    ExtraSpecValidator(
        'aggregate_instance_extra_specs:{key}',
        'What the metadata ``{key}`` of an aggregate of the host must be. The filter of '
        'this project also knows ``*`` (any value), ``!`` (the key must be absent), and '
        '``~`` within ``<or>`` (or the key is absent).',
        _EXPRESSION,
        [Parameter('key', r'.+', 'A key of the metadata.')],
        check=_check,
    ),
    *(
        ExtraSpecValidator(f'capabilities:{key}', f'{what}: what ``{key}`` must be.', _EXPRESSION)
        for what, keys in _PLAIN.items()
        for key in keys.split()
    ),
    *(
        ExtraSpecValidator(
            f'capabilities:{key}{{filter}}',
            f'What ``{key}``, or a part of it, must be.',
            _EXPRESSION,
            [_PARTS],
        )
        for key in _NESTED.split()
    ),
    ExtraSpecValidator(
        'reservation:{id}',
        'Servers go to the aggregates that carry the same key in their metadata, and to no '
        'other. Only the key counts.',
        Value(str),
        [Parameter('id', r'.+', 'The name of the reservation.')],
    ),
)
