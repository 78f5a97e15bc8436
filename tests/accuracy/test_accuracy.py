"""What the preflight says, against what the real scheduler does; make accuracy has more of it."""

import dataclasses
import functools

import pytest
import yaml

from tests.accuracy import comparison
from tests.accuracy.case import read
from tests.accuracy.kinds import KINDS, plain
from tests.accuracy.stage import Stage
from tests.support import tables

#: Kinds whose questions always give the image and nova.conf.
FULLY_SPECIFIED = ('remedies', 'reserved', 'spread')
#: Of each kind one, of the plain ones more, and the cases that "make nightly" has found.
CASES = {
    str(case): case
    for case in (
        *(plain.case(seed) for seed in (1, 3, 4, 5)),
        *(generator(302) for kind, generator in KINDS.items() if kind != 'plain'),
        KINDS['user quotas'](301),  # the project has no limit where the user has one
        *(read(row['case']) for row in tables.read('found_clouds')),
    )
}


@pytest.fixture(scope='module')
def stage():
    """The sandbox that is all of their clouds."""
    with Stage() as stage:
        yield stage


@pytest.fixture(scope='module')
def results(stage):
    """``results('plain 3')``, made when it is asked for, and once."""
    return functools.cache(lambda name: list(comparison.compare(stage, CASES[name])))


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_rx_01_the_answer_is_what_nova_does(results, name):
    """Not one false refusal, and equality unless something was assumed, or it was "at most"."""
    assert not [str(result) for result in results(name) if not result.is_right]


@pytest.mark.long
def test_most_answers_are_exact(results):
    told = [result for name in CASES for result in results(name) if result.is_told]
    outcomes = [result.outcome for result in told]
    assert outcomes.count(comparison.EXACT) >= 0.7 * len(outcomes)


@pytest.mark.long
def test_the_cases_are_about_something(results):
    """A generator that only made hopeless clouds would prove nothing."""
    placed = [result.placed for name in CASES for result in results(name)]
    assert sum(map(bool, placed)) >= len(placed) / 2
    assert sum(placed) >= 1.5 * len(placed)


@pytest.mark.parametrize('kind', KINDS)
def test_a_seed_is_always_the_same_cloud_also_out_of_a_table(kind):
    cases = [KINDS[kind](seed) for seed in range(40)]
    assert cases == [KINDS[kind](seed) for seed in range(40)]
    assert len(set(map(repr, cases))) == 40
    assert {case.kind for case in cases} == {kind}
    written = yaml.safe_dump([dataclasses.asdict(case) for case in cases])
    assert list(map(read, tables.load(written))) == cases


@pytest.mark.parametrize('kind', [kind for kind in KINDS if kind not in FULLY_SPECIFIED])
def test_at_least_half_of_the_questions_are_fully_specified(kind):
    asked = [ask.is_told for seed in range(40) for ask in KINDS[kind](seed).asks]
    assert asked.count(True) >= asked.count(False) > 0


OUTCOMES = [
    (0, False, 0, (), 'exact'),
    (3, False, 3, (), 'exact'),
    (3, False, 3, ('nova.filters',), 'held'),
    (99, False, comparison.MOST_TRIED, (), 'exact'),
    (3, True, 3, (), 'most'),
    (3, True, 2, ('nova.filters',), 'fewer'),
    (3, False, 2, ('nova.filters',), 'assumed'),
    (3, False, 2, (), 'wrong'),
    (3, False, 4, ('nova.filters',), 'wrong'),
    (3, True, 4, (), 'wrong'),
    (None, False, 0, (), 'wrong'),
]


@pytest.mark.parametrize(('capacity', 'is_at_most', 'placed', 'assumed', 'outcome'), OUTCOMES)
def test_what_counts_as_right(capacity, is_at_most, placed, assumed, outcome):
    result = comparison.Result('plain', 1, 0, capacity, is_at_most, placed, '', assumed)
    assert result.outcome == outcome
    assert result.is_right == (outcome != 'wrong')


def test_what_was_said_to_be_sure_has_to_come():
    result = comparison.Result('plain', 1, 0, 5, True, 3, '', firm=3)
    assert result.outcome == 'fewer'
    assert dataclasses.replace(result, firm=4).outcome == 'wrong'


def test_the_manual_says_what_each_kind_is():
    page = (tables.CASES.parents[1] / 'doc/source/trust/accuracy.rst').read_text()
    rows = [line[7:] for line in page.splitlines() if '* -' in line]
    assert rows == ['Clouds', *KINDS]


UNTOLD = {'assumed': ('nova.filters',), 'is_told': False}


@pytest.mark.parametrize(
    ('more', 'is_determined'),
    [
        ({}, True),
        ({'at_most': ('filter MyFilter',)}, True),
        ({'at_most': ('filter MyFilter', 'affinity without members (Nova chooses)')}, False),
        ({'assumed': ('nova.filters',)}, True),
        (UNTOLD, False),
        ({**UNTOLD, 'assumed': ()}, True),
    ],
)
def test_what_the_answers_of_nova_and_placement_determine(more, is_determined):
    result = comparison.Result('plain', 1, 0, 3, True, 3, '', **more)
    assert result.is_determined is is_determined
