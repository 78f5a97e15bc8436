"""The resources that a server takes from Placement: standard classes, and a cloud's own."""

from __future__ import annotations

import os_resource_classes

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Namespace, Parameter
from senlin_affinity.extra_specs.validators.patterns import GROUP
from senlin_affinity.extra_specs.values import Value

_GROUP = Parameter.read(GROUP)
_AMOUNT = Value(int, description='The amount, in the unit of the resource class.')

NAMESPACE = Namespace(
    name='resources',
    title='Resources',
    summary='Amounts of resource classes, in place of or beside what the flavor itself says.',
    validators=(
        *(
            ExtraSpecValidator(
                name=f'resources{{group}}:{resource}',
                description=f'How much ``{resource}`` a server takes; 0: none.',
                parameters=[_GROUP],
                value=_AMOUNT,
            )
            for resource in os_resource_classes.STANDARDS
        ),
        ExtraSpecValidator(
            name='resources{group}:CUSTOM_{resource}',
            description='How much of a resource class of the cloud a server takes.',
            parameters=[
                _GROUP,
                {
                    'name': 'resource',
                    'pattern': r'[A-Z0-9_]+',
                    'description': 'The name of the class, without ``CUSTOM_``.',
                },
            ],
            value=_AMOUNT,
        ),
    ),
)
