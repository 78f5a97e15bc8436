"""What the operating system of a guest needs."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

NAMESPACE = Namespace(
    name='os',
    title='Operating system',
    summary='What the operating system of the guest needs.',
    validators=(
        ExtraSpecValidator(
            name='os:secure_boot',
            description='Whether the firmware of the guest starts signed software only.',
            value={'type': str, 'enum': ['disabled', 'required']},
            image_property='os_secure_boot',
            drivers=('libvirt',),
        ),
    ),
)
