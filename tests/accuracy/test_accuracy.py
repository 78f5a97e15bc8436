"""What the preflight says, against what the real scheduler does; make accuracy has more of it."""

import functools
from concurrent.futures import Future

import pytest

from tests.accuracy import clouds, comparison, run
from tests.support import tables

#: These have groups of all policies, quotas, zones, both filters, isolated aggregates and traits.
SEEDS = range(1, 13)
#: Of these, the four that "make test" has: a quota, zones, each filter, three policies and none.
FEW = (3, 5, 6, 8)
#: By seed; and those that "make nightly" has found, by the name of the row.
CASES = {
    **{seed: clouds.case(seed) for seed in SEEDS},
    **{row['name']: clouds.read(row['case']) for row in tables.read('found_clouds')},
}


@pytest.fixture(scope='module')
def results():
    """``results(3)``, made when it is asked for, and once."""
    return functools.cache(lambda name: comparison.compare(CASES[name]))


@pytest.mark.parametrize(
    'name',
    [*FEW, *(pytest.param(name, marks=pytest.mark.long) for name in CASES if name not in FEW)],
)
def test_rx_01_the_answer_is_what_nova_does(results, name):
    """Not one false refusal, and equality unless it is marked "at most"."""
    assert results(name).is_right, results(name)


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


def test_a_cloud_that_differs_is_kept_whole_and_once(tmp_path):
    table, done = tmp_path / 'found.yaml', Future()
    done.set_exception(TimeoutError('server 1 waits\nand its logs'))
    for seed in (*SEEDS, *SEEDS):
        tables.keep(table, run.row(run.outcome(seed, done)))
    rows = tables.load(table.read_text())
    assert [clouds.read(row['case']) for row in rows] == [clouds.case(seed) for seed in SEEDS]
    assert rows[0]['differed'] == 'cloud 1: said None, placed 0 (TimeoutError: server 1 waits'


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
