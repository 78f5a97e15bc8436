"""The smallest sufficient number is found by bisection."""

from itertools import combinations_with_replacement
from types import SimpleNamespace

import pytest

from senlin_affinity.engine.what_if import WhatIf, WhatIfResult

NOW, WANTED = 2, 5


def what_if(capacity=NOW):
    request = SimpleNamespace(count=WANTED)
    return WhatIf(SimpleNamespace(request=request, capacity=capacity, domains=None))


@pytest.mark.parametrize('high', [1, 2, 3, 5])
def test_the_smallest_number_that_is_enough_or_helps_most(high):
    """For every guess, and every capacity that grows with the number."""
    for capacities in combinations_with_replacement(range(NOW, WANTED + 2), high):
        best = min(WANTED, capacities[-1])
        enough = [number for number, each in enumerate(capacities, 1) if each >= best]
        expected = high if best <= NOW else enough[0]
        for guess in range(high + 2):
            tried = []

            def attempt(number, capacities=capacities, tried=tried):
                tried.append(number)
                return WhatIfResult({}, SimpleNamespace(capacity=capacities[number - 1]))

            for room in (None, lambda number, each=capacities: each[number - 1] - NOW):
                number, result = what_if().smallest(high, guess, attempt, room)
                assert (number, result.capacity) == (expected, capacities[expected - 1])
            if guess == expected and capacities[-1] >= WANTED:
                assert {*tried} <= {guess, guess - 1}


def test_numbers_that_cannot_add_enough_servers_are_not_evaluated():
    tried = []

    def attempt(number):
        tried.append(number)
        return WhatIfResult({}, SimpleNamespace(capacity=number))

    assert what_if(None).smallest(9, 9, attempt, lambda number: number)[0] == WANTED
    assert min(tried) == WANTED
