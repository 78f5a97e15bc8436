"""The preflight's answers, compared with the real scheduler; ``make accuracy`` has more clouds."""

import dataclasses
import functools

import pytest
import yaml

from tests.accuracy import comparison
from tests.accuracy.case import read
from tests.accuracy.kinds import KINDS, plain
from tests.accuracy.stage import Stage
from tests.support import tables
from tests.support.values import replace

#: Kinds whose questions always give the image and nova.conf.
FULLY_SPECIFIED = ('remedies', 'reserved', 'spread', 'services')
#: Several cases of the plain kind, and the cases that ``make nightly`` found.
FEW = {
    str(case): case
    for case in (
        *(plain.case(seed) for seed in (1, 4)),
        *(read(row['case']) for row in tables.read('found_clouds')),
    )
}
#: These, and one case of most kinds.
CASES = FEW | {
    str(case): case
    for case in (
        *(plain.case(seed) for seed in (3, 5)),
        *(generator(302) for kind, generator in KINDS.items() if kind != 'plain'),
        KINDS['user quotas'](301),  # the project has no limit where the user has one
        KINDS['users of members'](310),  # only the other user has a member, and more is allowed
    )
}


@pytest.fixture(scope='module')
def stage():
    """The sandbox that becomes all clouds."""
    with Stage() as stage:
        yield stage


@pytest.fixture(scope='module')
def results(stage):
    """A cached function from the name of a case, such as ``plain 3``, to its results."""
    return functools.cache(lambda name: list(comparison.compare(stage, CASES[name])))


@pytest.mark.parametrize(
    'name',
    [
        pytest.param(name, marks=pytest.mark.long if name in FEW else pytest.mark.nightly)
        for name in CASES
    ],
)
def test_rx_01_the_answer_is_what_nova_does(results, name):
    """Numbers are equal unless there is an assumption or an "at most"."""
    assert not [str(result) for result in results(name) if not result.is_right]


@pytest.mark.nightly
def test_most_answers_are_exact(results):
    complete = [result for name in CASES for result in results(name) if result.is_complete]
    outcomes = [result.outcome for result in complete]
    assert outcomes.count(comparison.EXACT) >= 0.7 * len(outcomes)


@pytest.mark.nightly
def test_most_cases_place_servers(results):
    """Without placed servers, the cases would show nothing."""
    placed = [result.placed for name in CASES for result in results(name)]
    assert sum(map(bool, placed)) >= len(placed) / 2
    assert sum(placed) >= 1.5 * len(placed)


@pytest.mark.parametrize('kind', KINDS)
def test_the_case_of_a_seed_is_stable_also_through_yaml(kind):
    cases = [KINDS[kind](seed) for seed in range(40)]
    assert cases == [KINDS[kind](seed) for seed in range(40)]
    assert len(set(map(repr, cases))) == 40
    assert {case.kind for case in cases} == {kind}
    written = yaml.safe_dump([dataclasses.asdict(case) for case in cases])
    assert list(map(read, tables.load(written))) == cases


@pytest.mark.parametrize('kind', [kind for kind in KINDS if kind not in FULLY_SPECIFIED])
def test_at_least_half_of_the_questions_are_fully_specified(kind):
    asked = [ask.is_complete for seed in range(40) for ask in KINDS[kind](seed).asks]
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
def test_outcomes(capacity, is_at_most, placed, assumed, outcome):
    result = comparison.Result('plain', 1, 0, capacity, is_at_most, placed, '', assumed)
    assert result.outcome == outcome
    assert result.is_right == (outcome != 'wrong')


def test_fewer_servers_than_the_lower_bound_are_wrong():
    result = comparison.Result('plain', 1, 0, 5, True, 3, '', firm=3)
    assert result.outcome == 'fewer'
    assert replace(result, firm=4).outcome == 'wrong'


def test_the_manual_describes_each_kind():
    page = (tables.CASES.parents[1] / 'doc/source/trust/accuracy.rst').read_text()
    rows = [line[7:] for line in page.splitlines() if '* -' in line]
    assert rows == ['Clouds', *KINDS]


INCOMPLETE = {'assumed': ('nova.filters',), 'is_complete': False}


@pytest.mark.parametrize(
    ('more', 'is_determined'),
    [
        ({}, True),
        ({'at_most': ('filter MyFilter',)}, True),
        ({'at_most': ('filter MyFilter', 'affinity without members (Nova chooses)')}, False),
        ({'assumed': ('nova.filters',)}, True),
        (INCOMPLETE, False),
        ({**INCOMPLETE, 'assumed': ()}, True),
    ],
)
def test_is_determined(more, is_determined):
    result = comparison.Result('plain', 1, 0, 3, True, 3, '', **more)
    assert result.is_determined is is_determined
