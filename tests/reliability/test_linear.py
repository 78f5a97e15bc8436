"""Eight times the input must cost eight times the calls, not sixty-four."""

import pytest

from tests.reliability import linear


@pytest.mark.parametrize('name', linear.MAKERS)
def test_the_cost_of_long_input_is_linear(name):
    assert linear.ratio(name, 40) <= linear.MOST


def test_a_quadratic_cost_is_detected(monkeypatch):
    square = (lambda n: n, lambda n: [abs(k) for k in range(n * n)])
    monkeypatch.setitem(linear.MAKERS, 'square', square)
    assert linear.ratio('square', 40) > linear.MOST
