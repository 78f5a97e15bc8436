"""Benchmarks fail where a goal is missed, unless somebody said why."""

import json

import pytest

from benchmarks.goals import FILE, Goal, measured, report
from benchmarks.run import table


@pytest.mark.parametrize(
    ('goal', 'status'),
    [
        pytest.param(Goal('a', 1, 1), 0, id='met to the point'),
        pytest.param(Goal('a', 1.01, 1), 1, id='above the most'),
        pytest.param(Goal('a', 1.01, 1, 'the machine'), 0, id='missed with a reason'),
        pytest.param(Goal('a', 20, 20, is_least=True), 0, id='a least that is met'),
        pytest.param(Goal('a', 19.9, 20, is_least=True), 1, id='below the least'),
    ],
)
def test_a_goal_that_is_missed_without_a_reason_fails(goal, status, capsys):
    assert report([Goal('b', 0, 1), goal]) == status
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ['b', '0', 'at', 'most', '1']
    assert ('missed' in second) is not goal.is_met
    assert (goal.reason or '') in second


def test_the_figures_are_kept_where_somebody_wants_them(tmp_path, monkeypatch):
    monkeypatch.setenv(FILE, str(tmp_path / 'figures'))
    report([Goal('a', 1, 2)])
    report([Goal('b', 3, 2, 'why')])
    lines = (tmp_path / 'figures').read_text().splitlines()
    assert [Goal(**json.loads(line)) for line in lines] == [Goal('a', 1, 2), Goal('b', 3, 2, 'why')]


def test_what_is_compared_takes_turns():
    turns = []
    ways = {name: lambda name=name: turns.append(name) for name in 'ab'}
    assert measured(ways, 3).keys() == {'a', 'b'}
    assert turns == ['a', 'b'] * 3


def test_the_table_of_the_manual_says_why_a_goal_is_missed():
    written = table([Goal('a', 1, 1), Goal('b', 30, 2, 'why')], 'a machine')
    assert 'Measured on a machine.' in written
    assert '   * - a\n     - 1\n     - at most 1\n' in written
    assert '   * - b\n     - 30\n     - at most 2; missed: why\n' in written
