"""What is equal gets one number, and what a rule says of many hosts is kept once."""

from senlin_affinity.core.planning.column import Column
from senlin_affinity.core.planning.numbering import numbered, patched, renumbered
from senlin_affinity.core.verdict import Verdict

FEW, MANY, FULL = Verdict.passed('a.x', room=1), Verdict.passed('a.x'), Verdict.rejected('a.y')


def test_numbers_are_given_in_the_order_of_appearance():
    assert numbered('baab') == ([0, 1, 1, 0], [0, 1])
    assert numbered('') == ([], [])


def test_what_is_patched_may_go_on_after_the_end():
    assert patched('abc', (1, 3, 4), 'xyz') == ['a', 'x', 'c', 'y', 'z']
    assert renumbered([0, 1, 0], 2, (0, 3), [0, 1]) == [2, 1, 0, 3]


def test_a_column_is_the_answers_of_each_host():
    column = Column.of([FEW, FULL, FEW, MANY])
    assert [*column] == [FEW, FULL, FEW, MANY] == [column[place] for place in range(len(column))]
    assert column[1:3] == [FULL, FEW]
    assert column.rooms == [1, 0, 1, float('inf')]
    assert len(column.verdicts) == 3


def test_a_column_of_some_hosts_and_with_others_in_it():
    column = Column.of([FEW, FULL])
    assert [*column.at([1, 1])] == [FULL, FULL]
    assert [*column.patched([1, 2], Column.of([MANY, FEW]))] == [FEW, MANY, FEW]


def test_columns_that_say_the_same_are_equal():
    assert Column.of([FEW]) == Column.of([Verdict.passed('a.x', room=1)])
    assert Column.of([FEW]) != Column.of([FULL])
    assert Column.of([FEW]) != [FEW]
