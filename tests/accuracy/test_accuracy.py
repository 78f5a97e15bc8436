"""What the preflight says, against what the real scheduler does; make accuracy has more of it."""

import functools

import pytest

from tests.accuracy import clouds, comparison, run

#: These have groups of all policies, quotas, zones, both filters, isolated aggregates and traits.
SEEDS = range(1, 13)
#: Of these, the four that "make test" has: a quota, zones, each filter, three policies and none.
FEW = (3, 5, 6, 8)


@pytest.fixture(scope='module')
def results():
    """``results(3)``, made when it is asked for, and once."""
    return functools.cache(comparison.compare)


@pytest.mark.parametrize(
    'seed',
    [*FEW, *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS if seed not in FEW)],
)
def test_rx_01_the_answer_is_what_nova_does(results, seed):
    """Not one false refusal, and equality unless it is marked "at most"."""
    assert results(seed).is_right, results(seed)


@pytest.mark.long
def test_most_answers_are_exact(results):
    kinds = [run.kind_of(results(seed)) for seed in SEEDS]
    assert kinds.count('none') + kinds.count('exact') >= 0.8 * len(kinds)


@pytest.mark.long
def test_the_cases_are_about_something(results):
    """A generator that only made hopeless clouds would prove nothing."""
    placed = [results(seed).placed for seed in SEEDS]
    assert sum(map(bool, placed)) >= len(placed) / 2
    assert sum(placed) >= 2 * len(placed)


def test_a_number_is_always_the_same_cloud():
    assert clouds.case(5) == clouds.case(5)
    assert clouds.case(5) != clouds.case(6)


@pytest.mark.parametrize(
    ('capacity', 'is_at_most', 'placed', 'kind'),
    [
        (0, False, 0, 'none'),
        (3, False, 3, 'exact'),
        (3, False, 2, 'wrong'),
        (3, False, 4, 'wrong'),
        (3, True, 3, 'most'),
        (3, True, 2, 'fewer'),
        (3, True, 4, 'wrong'),
        (None, False, 0, 'wrong'),
    ],
)
def test_what_counts_as_right(capacity, is_at_most, placed, kind):
    assert run.kind_of(comparison.Result(1, capacity, is_at_most, placed, '')) == kind


def test_the_table_counts_every_cloud():
    results = [
        comparison.Result(number, number % 3, number % 4 == 0, number % 3, '')
        for number in range(20)
    ]
    text = run.table(results)
    counts = [int(line[7:]) for line in text.splitlines() if line[7:].isdigit()]
    assert counts[0] == 20 == sum(counts[1:6])
    assert '20 random clouds' in text
