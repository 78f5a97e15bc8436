"""The video memory of a guest."""

from __future__ import annotations

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace

NAMESPACE = Namespace(
    name='hw_video',
    title='Video',
    summary='The video card that the guest sees.',
    validators=(
        ExtraSpecValidator(
            name='hw_video:ram_max_mb',
            description='The most video memory that an image may ask for with ``hw_video_ram``.',
            value={'type': int, 'description': 'Memory in MB.', 'min': 0},
        ),
    ),
)
