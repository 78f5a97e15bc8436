"""The validators that nova-api loads: accepted values, rejected values, and messages."""

import types

import pytest
from nova import exception
from nova.api.validation.extra_specs import base
from nova.scheduler.filters import extra_specs_ops

from senlin_affinity.plugins.nova import extra_specs
from senlin_affinity.plugins.nova.extra_specs import AGGREGATE_VALUES, OWN
from tests.support.tables import read

NAME, RESERVED = 'aggregate_instance_extra_specs:ssd', 'force_metadata_check'


def ours(name=AGGREGATE_VALUES):
    (found,) = (each for each in extra_specs.register() if each.name == name)
    return found


@pytest.mark.parametrize(
    ('name', 'value', 'says'),
    [
        *((NAME, value, None) for value in ('*', '~', '!', '<or> 1 <or> ~', '', '>= four')),
        *((NAME, value, 'write "!" alone') for value in ('<or> ! <or> 1', '<or> * <or> !')),
        *((RESERVED, value, None) for value in ('True', 'False', 'yes', '0')),
        (RESERVED, 'banana', 'banana'),
    ],
)
def test_rx_04_rx_05_accepted_and_rejected_values(name, value, says):
    """Q0-5, R0-12: the message is a sentence."""
    validator = ours(RESERVED if name == RESERVED else AGGREGATE_VALUES)
    if says is None:
        validator.validate(name, value)
        return
    with pytest.raises(exception.ValidationError) as caught:
        validator.validate(name, value)
    assert str(caught.value).startswith(f'Validation failed; {name}: ')
    assert says in str(caught.value)


class TestNovasList:
    """The list of Nova's own module after ours is registered."""

    @pytest.fixture
    def in_tree(self, monkeypatch):
        """Return a module that replaces Nova's."""
        module = types.SimpleNamespace()
        monkeypatch.setattr(extra_specs.importlib, 'import_module', lambda _name: module)
        return module

    def validator(self, name):
        return base.ExtraSpecValidator(name=name, description='', value={'type': str})

    def test_only_the_validator_of_this_name_is_replaced(self, in_tree, caplog):
        other = self.validator('aggregate_instance_extra_specs:special')
        known = in_tree.EXTRA_SPEC_VALIDATORS = [other, self.validator(AGGREGATE_VALUES)]
        for _ in range(2):
            registered = extra_specs.register()
            assert {each.name for each in registered} == set(OWN)
            assert known == [other, ours()]
        assert not caplog.records

    @pytest.mark.parametrize('found', [None, (), [], 'nothing'])
    def test_an_unknown_nova_is_a_warning(self, in_tree, caplog, found):
        caplog.set_level('DEBUG', 'senlin_affinity')
        if found != 'nothing':
            in_tree.EXTRA_SPEC_VALIDATORS = found
        assert {each.name for each in extra_specs.register()} == set(OWN)
        (record,) = (record for record in caplog.records if record.levelname == 'WARNING')
        assert 'may use either validator' in record.getMessage()
        tracebacks = [bool(each.exc_info) for each in caplog.records if each.levelname == 'DEBUG']
        assert tracebacks == [True] * (found in (None, 'nothing'))


@pytest.mark.parametrize('row', [row for row in read('extra_spec_values') if 'note' in row])
def test_nova_compares_an_operator_without_a_space_literally(row):
    """So a value with the note matches only itself."""
    for value in row['noted']:
        assert extra_specs_ops.match(value, value)
        for other in ('4', 'a', 'b', 'x', 'a b'):
            assert not extra_specs_ops.match(other, value)
    for value in (each for each in row['accepted'] if ' ' in each and each != '> 4'):
        assert any(extra_specs_ops.match(other, value) for other in ('4', 'a', ' '))
