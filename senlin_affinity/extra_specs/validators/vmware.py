"""What only VMware knows."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

_VMWARE = ('vmwareapi',)

NAMESPACE = Namespace(
    name='vmware',
    title='VMware',
    summary='What only VMware knows.',
    validators=(
        ExtraSpecValidator(
            name='vmware:hw_version',
            description='The version of the virtual hardware, which decides where it can run.',
            value={'type': str, 'description': 'Such as ``vmx-13``.'},
            drivers=_VMWARE,
        ),
        ExtraSpecValidator(
            name='vmware:storage_policy',
            description=(
                'The storage policy of the server. It has no effect where Nova is not configured '
                'to place storage by policies.'
            ),
            value={'type': str, 'description': 'The name of a storage policy.'},
            drivers=_VMWARE,
        ),
    ),
)
