"""Hostile input at each door: only our errors come out; make nightly brings much more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from senlin import conf as _senlin  # noqa: F401 - declares its limits

from tests.reliability.doors import DOORS


@pytest.mark.parametrize('door', DOORS, ids=str)
@given(st.data())
def test_only_our_errors_leave(door, data):
    door.takes(data.draw(door.brought))


@pytest.mark.parametrize('name', ['min_size', 'max_size', 'min_step'])
@pytest.mark.parametrize('value', [[], 'x', 1.5, True])
def test_the_limits_of_a_webhook_are_looked_at(name, value):
    (door,) = (each for each in DOORS if each.name == 'action inputs')
    inputs = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50.0, name: value}
    assert not door.takes({'inputs': inputs, 'data': {}})
