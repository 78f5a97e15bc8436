"""Definitions are valid or rejected, as in the rows of the rule table."""

import dataclasses

import pytest

from senlin_affinity.extra_specs.base import ExtraSpecValidator, Parameter
from senlin_affinity.extra_specs.values import Value
from senlin_affinity.model.errors import InvalidSpec, PluginError
from tests.support.tables import check_error, rows

TYPES = {'int': int, 'bool': bool, 'str': str, 'float': float}


def typed(value):
    """Return the row's definition, with types instead of their names."""
    if isinstance(value, list):
        return [typed(each) for each in value]
    if isinstance(value, dict):
        return {
            key: TYPES.get(each, each) if key == 'type' else typed(each)
            for key, each in value.items()
        }
    return value


def definition(name='foo:bar', **changes):
    return ExtraSpecValidator(
        **{'name': name, 'description': 'd', 'value': {'type': str}, **changes}
    )


@pytest.mark.parametrize('row', rows('extra_spec_definitions'))
def test_definition(row):
    given = typed(row['define'])
    if 'path' in row:
        with pytest.raises(InvalidSpec) as caught:
            definition(**given)
        check_error({'outcome': 'InvalidSpec', **row}, caught.value)
        return
    validator = definition(**given)
    for name in row.get('matches', ()):
        assert validator.matches(name), name
    for name in row.get('others', ()):
        assert not validator.matches(name), name
    assert validator.status == ('deprecated' if given.get('deprecated') else 'supported')


def test_a_definition_is_immutable():
    parameters = [{'name': 'x', 'pattern': 'a'}]
    read = definition(name='foo:{x}', value=Value(str), parameters=[Parameter('x', 'a')])
    assert read == definition(name='foo:{x}', parameters=parameters)
    validator = definition()
    with pytest.raises(dataclasses.FrozenInstanceError):
        validator.name = 'foo:baz'
    assert validator == definition()
    assert hash(validator) == hash(definition())
    assert hash(definition(value={'type': str, 'enum': ['a']}))
    assert validator != definition(deprecated=True)


@pytest.mark.parametrize(
    ('value', 'given', 'got'),
    [({'type': int}, ' 7', 7), ({'type': bool}, 'Yes', True), ({'type': str}, 'a', 'a')],
)
def test_a_check_of_its_own_gets_what_was_read(value, given, got):
    """R4-20."""
    seen = []
    assert definition(value=value, check=seen.append).complaint(given) is None
    assert seen == [got]


def check(number):
    if number == 1:
        raise InvalidSpec('not today', 'anywhere')
    if number % 2:
        raise ValueError(*['is odd'] * (number == 3))
    if number == 4:
        raise KeyError('missing')


def test_an_own_check_reports_an_error():
    """R4-20: after type and limits; any other exception is an error of its package."""
    checked = definition(value={'type': int, 'max': 6}, check=check)
    says = [checked.complaint(number) for number in '12356']
    assert says == ['not today', None, 'is odd', "must not be '5'", None]
    assert 'or less' in checked.complaint('7')
    with pytest.raises(PluginError, match=r'foo:bar.*missing'):
        checked.complaint('4')


@pytest.mark.parametrize('check', ['even', 5])
def test_a_check_must_be_callable(check):
    with pytest.raises(InvalidSpec) as caught:
        definition(check=check)
    assert caught.value.path == 'foo:bar.check'


@pytest.mark.parametrize('value', [None, 5, 1.0, True, ['a'], b'a'])
def test_a_value_is_a_string(value):
    assert 'must be a string' in definition().complaint(value)


def test_a_long_value_is_truncated():
    assert len(definition(value={'type': int}).complaint('x' * 255)) < 150


def test_the_description_of_every_kind_of_value():
    kinds = [
        Value(int), Value(int, min=1), Value(int, max=1), Value(int, min=1, max=2),
        Value(bool), Value(str), Value(str, pattern='a'), Value(str, enum=('a', 'b')),
    ]  # fmt: skip
    assert len({kind.wanted() for kind in kinds}) == len(kinds)
