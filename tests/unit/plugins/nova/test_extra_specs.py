"""A definition for nova-api has exactly the attributes of Nova's class."""

import re

import pytest

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.plugins.nova.extra_specs import NovaValidator

PARAMETERS = [{'name': 'id', 'pattern': r'\d+', 'description': 'which'}]


@pytest.mark.parametrize(
    'value',
    [
        {'type': str, 'description': ''},
        {'type': int, 'description': 'how many', 'min': 0, 'max': 9},
        {'type': str, 'description': '', 'pattern': '[a-z]+'},
        {'type': str, 'description': '', 'enum': ('a', 'b')},
        {'type': bool, 'description': ''},
    ],
    ids=str,
)
def test_r4_13_a_definition_has_novas_attributes(value):
    definition = ExtraSpecValidator('acme:x.{id}', 'An x.', value, PARAMETERS, deprecated=True)
    attributes = vars(NovaValidator(definition))
    assert attributes == {
        'definition': definition,
        'name': 'acme:x.{id}',
        'description': 'An x.',
        'value': value,
        'parameters': PARAMETERS,
        'deprecated': True,
        'name_regex': r'acme:x\.(?:\d+)',
    }
    assert list(attributes['value']) == list(value)


@pytest.mark.parametrize(
    ('name', 'template', 'is_match'),
    [
        ('acme:x.12', 'acme:x.{id}', True),
        ('acme:x.', 'acme:x.{id}', False),
        ('acmeyx.12', 'acme:x.{id}', False),
        ('acme:xy12', 'acme:x.{id}', False),
        ('x.12', 'x.{id}', True),
    ],
)
def test_d4_10_the_name_is_literal_outside_its_placeholder(name, template, is_match):
    definition = ExtraSpecValidator(template, 'An x.', {'type': str}, PARAMETERS)
    assert bool(re.fullmatch(NovaValidator(definition).name_regex, name)) is is_match
