"""The search for the smallest sufficient change finds it with few plans."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.engine.what_if import WhatIf
from senlin_affinity.model.request import Request


def search(capacities, wanted, now, guess, room=None, found=None):
    """Return the number that is found from 1 on, and the numbers that were planned."""
    planned = []

    def attempt(number):
        planned.append(number)
        return SimpleNamespace(capacity=capacities[number - 1])

    replanner = WhatIf(SimpleNamespace(request=Request(wanted), capacity=now, domains=found))
    number, decision = replanner.smallest(len(capacities), guess, attempt, room)
    assert decision.capacity == capacities[number - 1]
    assert len(planned) == len(set(planned))
    return number, planned


def smallest_by_hand(capacities, wanted):
    enough = min(wanted, max(capacities))
    return next(at for at, capacity in enumerate(capacities, 1) if capacity >= enough)


growing_capacities = st.lists(st.integers(0, 20), min_size=1, max_size=40).filter(any).map(sorted)


@given(growing_capacities, st.integers(1, 25), st.integers(-3, 45))
def test_the_smallest_number_is_found_from_any_guess(capacities, wanted, guess):
    """RX-01."""
    number, _planned = search(capacities, wanted, 0, guess)
    assert number == smallest_by_hand(capacities, wanted)


@given(growing_capacities, st.integers(1, 25))
def test_a_correct_guess_needs_at_most_three_plans(capacities, wanted):
    smallest = smallest_by_hand(capacities, wanted)
    _number, planned = search(capacities, wanted, 0, smallest)
    assert set(planned) <= {smallest, smallest - 1, len(capacities)}


@given(growing_capacities, st.integers(1, 25))
def test_numbers_with_too_little_free_capacity_are_not_planned(capacities, wanted):
    smallest, room = smallest_by_hand(capacities, wanted), (0, *capacities).__getitem__
    number, planned = search(capacities, wanted, 0, smallest, room)
    assert number == smallest
    assert set(planned) <= {smallest, len(capacities)}


def test_with_domains_numbers_with_little_capacity_are_planned():
    """A domain may accept more servers once another one has some."""
    capacities, room = [9, 9], (0, 1, 2).__getitem__
    assert search(capacities, 9, 0, 2, room, found=object()) == (1, [2, 1])
    assert search(capacities, 9, 0, 2, room)[0] == 2


@given(growing_capacities, st.integers(1, 25))
def test_a_change_without_effect_is_not_searched(capacities, wanted):
    _number, planned = search(capacities, wanted, capacities[-1], 1)
    assert set(planned) <= {1, len(capacities)}
