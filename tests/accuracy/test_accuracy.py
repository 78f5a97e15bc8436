"""What the preflight says, against what the real scheduler does; make accuracy has more of it."""

import dataclasses
import functools
from concurrent.futures import Future

import pytest
import yaml

from tests.accuracy import comparison, kept, run, table
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


@pytest.mark.parametrize(
    ('what', 'body'),
    [
        ('hosts', {'cmp-99': {}}),
        ('hosts', {'cmp-1': {'cores': 4}}),
        ('options', {'DEFAULT': {'no_such_option': 1}}),
        ('flavors', {}),
    ],
)
def test_a_stage_does_not_become_what_it_can_not_be(stage, what, body):
    with pytest.raises(AssertionError, match='error'):
        stage.put(what, body)


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


def test_a_cloud_that_differs_is_kept_whole_and_once(tmp_path):
    cases = [KINDS[kind](7) for kind in KINDS]
    kept, done = tmp_path / 'found.yaml', Future()
    done.set_exception(TimeoutError('server 1 waits\nand its logs'))
    for case, result in 2 * run.outcome(cases, done):
        tables.keep(kept, run.row(case, result))
    rows = tables.load(kept.read_text())
    assert [read(row['case']) for row in rows] == cases
    assert rows[0]['name'] == 'plain 7'
    assert rows[0]['differed'].endswith('said None, placed 0 (TimeoutError: server 1 waits')


def test_kinds_and_generators_can_be_chosen():
    words = ['--clouds', '2', '--first', '5']
    chosen = list(run.drawn(run.parse([*words, '--kinds', 'images,ratios'])))
    assert list(map(str, chosen)) == ['images 5', 'images 6', 'ratios 5', 'ratios 6']
    own = run.drawn(run.parse([*words, '--generator', 'tests.accuracy.kinds.plain:case']))
    assert list(own) == [plain.case(5), plain.case(6)]


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


def test_the_table_has_a_row_for_each_kind_and_their_sum():
    results = [
        comparison.Result(
            kind, number, 0, capacity, is_at_most, placed, '', assumed, at_most=most.get(number, ())
        )
        for kind, most in (('plain', {}), ('images', {4: ('affinity without members',)}))
        for number, (capacity, is_at_most, placed, assumed, _outcome) in enumerate(OUTCOMES)
    ]
    lines = [line.strip(' *-') for line in table.text(results).splitlines()]
    assert lines[0].startswith('.. list-table:: 22 questions about 22 random clouds (nova ')
    assert lines[14:] == [
        *('images', '11', '3', '1', '1', '1', '1', '4', '10', '40 %'),
        *('plain', '11', '3', '1', '1', '1', '1', '4', '11', '36 %'),
        *('all', '22', '6', '2', '2', '2', '2', '8', '21', '38 %'),
    ]


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


def test_the_words_for_what_is_left_open_are_those_of_a_plan():
    known = ' '.join(
        path.read_text()
        for path in (tables.CASES / 'plan.yaml', tables.CASES / 'flavor_demand.yaml')
    )
    of_rules = {f'constraint {name}' for name in ('image_hypervisor',)}
    assert [words for words in comparison.UNDETERMINED if words not in known] == sorted(of_rules)


def test_a_run_goes_on_and_several_are_added_up(tmp_path, monkeypatch, capsys):
    made = comparison.Result('plain', 1, 0, 3, True, 3, 'fits', ('a',), at_most=('b', 'c'))
    played = []

    def compare(cases, _jobs, _until):
        played.append([case.seed for case in cases])
        return [(case, dataclasses.replace(made, seed=case.seed)) for case in cases]

    monkeypatch.setattr(run, 'compare', compare)
    first, second = tmp_path / 'first', tmp_path / 'second'
    for out, clouds in ((first, '2'), (first, '3'), (second, '1')):
        assert not run.main(['--kinds', 'plain', '--clouds', clouds, '--out', str(out)])
    assert played == [[1, 2], [3], [1]]
    assert kept.read(first)[0] == made
    assert not run.main(['--sum', str(first), str(second), '--write', str(tmp_path / 'table')])
    assert played[3:] == [[]]
    assert '4 questions about 3 random clouds' in (tmp_path / 'table').read_text()
