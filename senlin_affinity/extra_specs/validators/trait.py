"""The traits that a host must or must not have: those of os-traits, and a cloud's own."""

from __future__ import annotations

import os_traits

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace, Parameter
from senlin_affinity.extra_specs.validators.patterns import GROUP
from senlin_affinity.extra_specs.values import Value

_GROUP = Parameter.read(GROUP)
_VALUE = Value(str, enum=('required', 'forbidden'))

NAMESPACE = Namespace(
    name='trait',
    title='Traits',
    summary='Traits that the resource provider of a server must or must not have.',
    validators=(
        *(
            ExtraSpecValidator(
                name=f'trait{{group}}:{trait}',
                description=f'Whether the resource provider must or must not have ``{trait}``.',
                parameters=[_GROUP],
                value=_VALUE,
            )
            for trait in sorted(os_traits.get_traits())
        ),
        ExtraSpecValidator(
            name='trait{group}:CUSTOM_{trait}',
            description='Whether the resource provider must or must not have a trait of the cloud.',
            parameters=[
                _GROUP,
                {
                    'name': 'trait',
                    'pattern': r'[A-Z0-9_]+',
                    'description': 'The name of the trait, without ``CUSTOM_``.',
                },
            ],
            value=_VALUE,
        ),
    ),
)
