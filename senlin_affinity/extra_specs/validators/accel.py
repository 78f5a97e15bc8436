"""Accelerators that Cyborg gives to a server."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

NAMESPACE = Namespace(
    name='accel',
    title='Accelerators',
    summary='Accelerators (such as GPUs and FPGAs) that Cyborg manages.',
    validators=(
        ExtraSpecValidator(
            name='accel:device_profile',
            description='The device profile of Cyborg that says which accelerators a server gets.',
            value={'type': str, 'description': 'The name of a device profile.'},
        ),
    ),
)
