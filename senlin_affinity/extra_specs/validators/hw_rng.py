"""The random numbers that a guest gets from its host."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

_LIBVIRT = ('libvirt',)

NAMESPACE = Namespace(
    name='hw_rng',
    title='Random numbers',
    summary='The device that gives random numbers of the host to the guest.',
    validators=(
        ExtraSpecValidator(
            name='hw_rng:allowed',
            description='Whether the guest may have the device. Images that want it get it then.',
            value={'type': bool},
            drivers=_LIBVIRT,
        ),
        ExtraSpecValidator(
            name='hw_rng:rate_bytes',
            description='How much the guest may read in one period.',
            value={'type': int, 'description': 'Bytes.', 'min': 0},
            drivers=_LIBVIRT,
        ),
        ExtraSpecValidator(
            name='hw_rng:rate_period',
            description='How long a period is.',
            value={'type': int, 'description': 'Milliseconds.', 'min': 0},
            drivers=_LIBVIRT,
            depends_on=('hw_rng:rate_bytes',),
        ),
    ),
)
