"""A little hostile input at each door; make soak brings much more."""

import pytest

from tests.reliability import fuzz
from tests.reliability.doors import DOORS, Door


@pytest.mark.parametrize('door', DOORS, ids=str)
def test_only_our_errors_leave(door):
    ended, why = fuzz.knock(door, 20)
    assert why == ''
    assert ended.total() >= 20


@pytest.mark.parametrize('name', ['min_size', 'max_size', 'min_step'])
@pytest.mark.parametrize('value', [[], 'x', 1.5, True])
def test_the_limits_of_a_webhook_are_looked_at(name, value):
    (door,) = (each for each in DOORS if each.name == 'action inputs')
    inputs = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50.0, name: value}
    assert not door.takes({'inputs': inputs, 'data': {}})


def test_another_error_is_seen():
    door = Door('int', DOORS[0].brought, lambda value: value['type'])
    ended, why = fuzz.knock(door, 20)
    assert 'Error: ' in why
    assert 'value=' in why
