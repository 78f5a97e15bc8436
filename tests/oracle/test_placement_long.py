"""Document 001 against the real Placement, at length: other forests and values in every run."""

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.provider_tree import admitted
from tests.property.expressions import EXPRESSIONS, NEARLY_VALUES, forests
from tests.support.placement_forests import QUESTIONS, check_forest, check_values, outlives

LONG = settings(max_examples=200, derandomize=False)


@LONG
@given(forests(max_size=12), st.lists(QUESTIONS, min_size=20, max_size=20))
def test_any_forest_and_any_expression(judge, forest, questions):
    """R1-15, D1-01, D1-08, D1-11, Q1-1."""
    check_forest(judge, forest, questions)


@settings(LONG, max_examples=60)
@given(forests(min_size=2), EXPRESSIONS)
def test_a_provider_asked_for_what_only_it_has(judge, forest, values):
    """The definition, word for word; D1-11."""
    member_of = MemberOf.parse(values)
    judge.build(forest)
    odd = set(outlives(forest, member_of))
    for suffix in ('', '1'):
        expected = admitted(forest, member_of, suffixed=suffix != '')
        names = {each.uuid for each in forest} - (odd if not suffix else set())
        found = {name for name in names if judge.left(values, suffix, own=name)}
        assert found == expected


@settings(LONG, max_examples=10_000)
@given(st.lists(NEARLY_VALUES, min_size=1, max_size=3))
def test_what_is_refused_here_is_a_400_there_and_the_reverse(judge, values):
    """R1-07 to R1-14, R1-18."""
    check_values(judge, values)
