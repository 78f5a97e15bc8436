"""Properties of bounds: the guaranteed, the expected and the largest possible number of servers."""

from itertools import product

import pytest

from senlin_affinity.model.bounds import NONE, UNLIMITED, Bounds
from senlin_affinity.model.verdict import Outcome, Verdict

NUMBERS = (0, 1, 3, None)
EVERY = [Bounds(*each) for each in product(NUMBERS, repeat=3)]


@pytest.mark.parametrize('bounds', EVERY)
def test_unlimited_changes_nothing_and_none_leaves_nothing(bounds):
    assert bounds & UNLIMITED == bounds == UNLIMITED & bounds
    assert bounds & NONE == NONE
    assert bounds + NONE == bounds
    assert bounds + UNLIMITED == UNLIMITED
    assert bounds & bounds == bounds


def test_a_rejection_without_a_number_has_room_for_no_server():
    assert Verdict(Outcome.REJECT, 'says.no').bounds == NONE
    assert Verdict(Outcome.PASS, 'says.yes').bounds == UNLIMITED


def test_two_limits_on_the_same_servers():
    assert Bounds(2, 5, 5) & Bounds.exactly(4) == Bounds(2, 4, 4)
    assert Bounds.at_most(9) & Bounds.unknown(7) == Bounds(0, 0, 7)


def test_the_servers_of_two_sets_of_hosts():
    assert Bounds(2, 5, 5) + Bounds.exactly(4) == Bounds(6, 9, 9)
    assert Bounds(2, 5, None) + Bounds(0, 1, 1) == Bounds(2, 6, None)
    with pytest.raises(TypeError):
        NONE + 1


def test_nova_chooses_one_of_several():
    assert Bounds.any_of([Bounds.exactly(1), Bounds(2, 4, None)]) == Bounds(1, 4, None)
    assert Bounds.any_of([]) == NONE


@pytest.mark.parametrize(
    ('bounds', 'count', 'fits'),
    [
        (Bounds(1, 2, 3), 1, True),
        (Bounds(1, 2, 3), 2, True),
        (Bounds(1, 2, 3), 3, None),
        (Bounds(1, 2, 3), 4, False),
        (Bounds.unknown(), 4, None),
        (UNLIMITED, 4, True),
    ],
)
def test_whether_a_number_fits(bounds, count, fits):
    assert bounds.fits(count) is fits


@pytest.mark.parametrize(
    ('bounds', 'is_known', 'is_at_most', 'is_exact'),
    [
        (Bounds.exactly(3), True, False, True),
        (UNLIMITED, True, False, True),
        (Bounds.at_most(3), True, True, False),
        (Bounds.at_most(3, 5), True, False, True),
        (Bounds.unknown(3), False, False, False),
    ],
)
def test_the_properties_of_bounds(bounds, is_known, is_at_most, is_exact):
    assert (bounds.is_known, bounds.is_at_most, bounds.is_exact) == (
        is_known,
        is_at_most,
        is_exact,
    )
