"""What was found broken once is no more, and a row repeats its case."""

import pytest

from tests.reliability import doors, found, promises, report, soak
from tests.reliability.doors import DOORS, Door
from tests.support import tables

ODD = Door('int', DOORS[0].brought, lambda value: value['type'])


@pytest.mark.long
def test_what_was_kept_holds_now():
    ends = {row['name']: found.again(row) for row in tables.read('found_cases')}
    assert {name: said for name, said in ends.items() if said} == {}


def test_a_broken_case_is_kept_and_repeated(tmp_path, monkeypatch):
    """With the seed and the number of examples by which it was found."""
    for module in (doors, found, soak.fuzz):
        monkeypatch.setattr(module, 'DOORS', [ODD])
    table = tmp_path / 'found.yaml'
    arguments = ['--parts', 'fuzz', '--examples', '30', '--seed', '5', '--keep', str(table)]
    assert soak.main(arguments) == 1
    (row,) = tables.load(table.read_text())
    assert (row['part'], row['case'], row['seed'], row['examples']) == ('fuzz', 'int', 5, 30)
    assert row['said'].startswith(f'{promises.EXCEPTION}: ')
    assert found.again(row) == row['said'].removeprefix(f'{promises.EXCEPTION}: ')
    assert soak.main([*arguments, '--until', '0']) == 0, 'nothing begins when the time is up'


@pytest.mark.parametrize('part', ['matrix', 'kills', 'races'])
def test_each_part_repeats_a_case_by_its_name(monkeypatch, part):
    asked = []

    def run(*words, **named):
        asked.append((words, named))
        made = report.Part(part, 1, {}, (('a', 'b', 'c'),))
        return (made, []) if part == 'matrix' else made

    monkeypatch.setattr(getattr(found, part), 'run', run)
    assert found.again({'part': part, 'case': 'round 7'}) == (('a', 'b', 'c'),)
    only = {'only': 'round 7'}
    assert asked == ([((1, 1), {'first': 7})] if part == 'races' else [((1,), only)])
