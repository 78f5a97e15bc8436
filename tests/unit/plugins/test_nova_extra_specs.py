"""What nova-api is given of a definition: exactly the attributes of its own class."""

import re

import pytest

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.plugins.nova_extra_specs import NovaValidator


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ({'type': str}, {'type': str, 'description': ''}),
        (
            {'type': int, 'min': 0, 'max': 9, 'description': 'how many'},
            {'type': int, 'description': 'how many', 'min': 0, 'max': 9},
        ),
        (
            {'type': str, 'pattern': r'[a-z]+'},
            {'type': str, 'description': '', 'pattern': '[a-z]+'},
        ),
        ({'type': str, 'enum': ['a', 'b']}, {'type': str, 'description': '', 'enum': ('a', 'b')}),
        ({'type': bool}, {'type': bool, 'description': ''}),
    ],
)
def test_r4_13_a_value_has_novas_keys(value, expected):
    made = NovaValidator(ExtraSpecValidator('acme:x', 'An x.', value))
    assert made.value == expected


def test_r4_13_a_definition_has_novas_attributes():
    made = NovaValidator(
        ExtraSpecValidator(
            'acme:x.{id}',
            'An x.',
            {'type': str},
            parameters=[{'name': 'id', 'pattern': r'\d+', 'description': 'which'}],
            deprecated=True,
        )
    )
    assert (made.name, made.description, made.deprecated) == ('acme:x.{id}', 'An x.', True)
    assert made.parameters == [{'name': 'id', 'pattern': r'\d+', 'description': 'which'}]


@pytest.mark.parametrize(
    ('name', 'template', 'is_one'),
    [
        ('acme:x.12', 'acme:x.{id}', True),
        ('acme:x.', 'acme:x.{id}', False),
        ('acmeyx.12', 'acme:x.{id}', False),
        ('acme:xy12', 'acme:x.{id}', False),
        ('x.12', 'x.{id}', True),
    ],
)
def test_d4_10_the_name_is_literal_outside_its_placeholder(name, template, is_one):
    definition = ExtraSpecValidator(
        template, 'An x.', {'type': str}, parameters=[{'name': 'id', 'pattern': r'\d+'}]
    )
    assert bool(re.fullmatch(NovaValidator(definition).name_regex, name)) is is_one
