"""Document 001 against the real Placement: what it answers is what ``provider_tree`` says.

Values that may be wrong are compared in every run, generated forests in ``make test-services``;
``make nightly`` has more of both.
"""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.provider_tree import admitted
from tests.property.expressions import NEARLY_VALUES, forests
from tests.support.letters import UUIDS, expand
from tests.support.picture import PICTURE, providers
from tests.support.placement_forests import QUESTIONS, check_forest, check_values, status
from tests.support.placement_judge import SHARED_CLASS, NoAnswer
from tests.support.tables import rows

QUESTIONS_PER_FOREST = 20
A_FOREST = (
    forests(min_size=4),
    st.lists(QUESTIONS, min_size=QUESTIONS_PER_FOREST, max_size=QUESTIONS_PER_FOREST),
)
A_VALUE = st.lists(NEARLY_VALUES, min_size=1, max_size=2)
#: Each step to a smaller example would build a forest in Placement.
AS_FOUND = (Phase.generate,)


@pytest.mark.long
@settings(max_examples=25, phases=AS_FOUND)
@given(*A_FOREST)
def test_any_forest_and_any_expression(judge, forest, questions):
    """R1-15, D1-01, D1-08, D1-11, Q1-1."""
    check_forest(judge, forest, questions)


@pytest.mark.parametrize('row', rows('provider_tree'))
def test_the_rows_about_providers(judge, row):
    """D1-10: the picture is the document's, not the one of Placement's own tests."""
    forest = providers(row.get('providers', PICTURE))
    names = {each.uuid for each in forest}
    judge.build(forest)
    values = MemberOf.parse(expand(row['values'])).to_query()
    fails = row.get('fails', ())
    for name in names:  # a class that only this provider has
        if name not in fails:
            assert judge.left(values, own=name) == {name} - set(row['out'])
            continue
        with pytest.raises(NoAnswer):
            judge.left(values, own=name)
    if not fails:
        assert judge.left(values) == names - set(row['out'])
    assert judge.left(values, '1') == judge.listed(values) == names - set(row['suffixed'])


@given(A_VALUE)
def test_what_is_refused_here_is_a_400_there_and_the_reverse(judge, values):
    """R1-07 to R1-14, R1-18. There is no exception: other spellings are taken there, too."""
    check_values(judge, values)


@pytest.mark.parametrize('row', rows('member_of'))
def test_the_rows_about_values(judge, row):
    """R1-01 to R1-18, as far as a query can hold them."""
    values = row['values']
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        assert status(judge, expand(values)) == (200 if 'query' in row else 400)


def test_a_uuid_in_upper_case_is_forbidden_in_vain_there(judge):
    """Q1-2, D1-05: Placement takes the spelling, and finds nothing by it."""
    forest = providers()
    judge.build(forest)
    as_written = [f'!{UUIDS["aggA"].upper()}']
    assert judge.left(as_written) == {each.uuid for each in forest}
    assert judge.left(MemberOf.parse(as_written).to_query()) == admitted(
        forest, MemberOf.parse(as_written)
    )
    assert 'cn1' not in judge.left(MemberOf.parse(as_written).to_query())


def test_an_expression_that_nothing_has_resources_for_is_refused(judge):
    """R1-19: a group of aggregates alone, forbidden ones or not."""
    for value in (UUIDS['aggA'], f'!{UUIDS["aggA"]}'):
        more = {'resources': f'{SHARED_CLASS}:1'}
        answer = judge.ask('/allocation_candidates', [value], 'member_of1', **more)
        assert answer.status_code == 400
