"""Extra specs without a namespace."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace
from senlin_affinity.extra_specs.values import Value

NAMESPACES = (
    Namespace(
        '',
        'Without a namespace',
        'Names from before there were namespaces, and those that belong to no one part.',
        (
            ExtraSpecValidator(
                'force_metadata_check',
                'Reserved. As metadata of an aggregate, it makes the aggregate filter ask every '
                'flavor for the keys of that aggregate; in a flavor it has no effect.',
                Value(bool),
            ),
            ExtraSpecValidator(
                'group_policy',
                'Whether the groups of a granular request must come from different resource '
                'providers (``isolate``) or not (``none``).',
                Value(str, enum=('isolate', 'none')),
                depends_on=('resources{group}:CUSTOM_{resource}',),
            ),
            ExtraSpecValidator(
                'hide_hypervisor_id',
                'Hide from the guest which hypervisor it runs on.',
                Value(bool),
                deprecated=True,
                replaced_by='hw:hide_hypervisor_id',
                drivers=('libvirt',),
            ),
        ),
    ),
)
