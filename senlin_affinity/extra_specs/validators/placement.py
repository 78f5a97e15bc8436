"""Declare the extra specs that become Placement requests: resources and traits."""

from __future__ import annotations

import os_resource_classes
import os_traits

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.values import Value

_GROUP = Parameter(
    'group',
    r'(?:[a-zA-Z0-9_-]{1,64})?',
    'The suffix of a request group; empty for the request group without a suffix.',
)
_AMOUNT = Value(int, 'The amount, in the unit of the resource class.')
_WANTED = Value(str, enum=('required', 'forbidden'))


def _custom(what: str, kind: str) -> Parameter:
    return Parameter(what, r'[A-Z0-9_]+', f'The name of the {kind}, without ``CUSTOM_``.')


VALIDATORS = (
    ExtraSpecValidator(
        'group_policy',
        'Whether the groups of a granular request must come from different resource providers '
        '(``isolate``) or not (``none``).',
        Value(str, enum=('isolate', 'none')),
        depends_on=('resources{group}:CUSTOM_{resource}',),
    ),
    *(
        ExtraSpecValidator(
            f'resources{{group}}:{resource}',
            f'The amount of ``{resource}`` that a server requests; 0: nothing.',
            _AMOUNT,
            [_GROUP],
        )
        for resource in os_resource_classes.STANDARDS
    ),
    ExtraSpecValidator(
        'resources{group}:CUSTOM_{resource}',
        'The amount of a custom resource class that a server requests.',
        _AMOUNT,
        [_GROUP, _custom('resource', 'class')],
    ),
    *(
        ExtraSpecValidator(
            f'trait{{group}}:{trait}',
            f'Whether the resource provider must or must not have ``{trait}``.',
            _WANTED,
            [_GROUP],
        )
        for trait in sorted(os_traits.get_traits())
    ),
    ExtraSpecValidator(
        'trait{group}:CUSTOM_{trait}',
        'Whether the resource provider must or must not have a custom trait.',
        _WANTED,
        [_GROUP, _custom('trait', 'trait')],
        image_property='trait:{trait}',
    ),
)
