"""Hostile input for each interface must raise no foreign exception; ``make nightly`` has more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from senlin import conf as _senlin  # noqa: F401 - registers its limits

from tests.reliability.interfaces import INTERFACES


@pytest.mark.parametrize('interface', INTERFACES, ids=str)
@given(st.data())
def test_only_our_errors_leave(interface, data):
    interface.accepts(data.draw(interface.generated))


@pytest.mark.parametrize('name', ['min_size', 'max_size', 'min_step'])
@pytest.mark.parametrize('value', [[], 'x', 1.5, True])
def test_the_limits_of_a_webhook_are_validated(name, value):
    (interface,) = (each for each in INTERFACES if each.name == 'action inputs')
    inputs = {'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 50.0, name: value}
    assert not interface.accepts({'inputs': inputs, 'data': {}})
