"""Extra specs without a namespace."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

NAMESPACE = Namespace(
    name='',
    title='Without a namespace',
    summary='Names from before there were namespaces, and those that belong to no one part.',
    validators=(
        ExtraSpecValidator(
            name='force_metadata_check',
            description=(
                'Reserved. As metadata of an aggregate, it makes the aggregate filter ask every '
                'flavor for the keys of that aggregate; in a flavor it has no effect.'
            ),
            value={'type': bool},
        ),
        ExtraSpecValidator(
            name='group_policy',
            description=(
                'Whether the groups of a granular request must come from different resource '
                'providers (``isolate``) or not (``none``).'
            ),
            value={'type': str, 'enum': ['isolate', 'none']},
            depends_on=('resources{group}:CUSTOM_{resource}',),
        ),
        ExtraSpecValidator(
            name='hide_hypervisor_id',
            description='Hide from the guest which hypervisor it runs on.',
            value={'type': bool},
            deprecated=True,
            replaced_by='hw:hide_hypervisor_id',
            drivers=('libvirt',),
        ),
    ),
)
