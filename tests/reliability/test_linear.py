"""Eight times the input costs eight times the calls, and not sixty-four."""

import pytest

from tests.reliability import linear


@pytest.mark.parametrize('name', linear.MAKERS)
def test_long_input_is_read_in_proportion(name):
    assert linear.ratio(name, 40) <= linear.MOST


def test_a_square_is_seen(monkeypatch):
    square = (lambda n: n, lambda n: [abs(k) for k in range(n * n)])
    monkeypatch.setitem(linear.MAKERS, 'square', square)
    assert linear.ratio('square', 40) > linear.MOST
