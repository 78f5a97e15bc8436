"""``provider_tree`` implements document 001 like the real Placement.

Possibly invalid values are compared in every run, generated forests in ``make test-services``, and
more of both in ``make nightly``.
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
#: Examples are not minimized, because each step would build a forest in Placement.
NOT_MINIMIZED = (Phase.generate,)


@pytest.mark.nightly
@settings(max_examples=25, phases=NOT_MINIMIZED)
@given(*A_FOREST)
def test_generated_forests_agree_with_placement(judge, forest, questions):
    """R1-15, D1-01, D1-08, D1-11, Q1-1."""
    check_forest(judge, forest, questions)


@pytest.mark.parametrize('row', rows('provider_tree'))
def test_the_rows_about_providers_agree_with_placement(judge, row):
    """D1-10: the forest of the document differs from that of Placement's own tests."""
    forest = providers(row.get('providers', PICTURE))
    names = {each.uuid for each in forest}
    judge.build(forest)
    values = MemberOf.parse(expand(row['values'])).to_query()
    fails = row.get('fails', ())
    for name in names:  # a resource class that only this provider has
        if name not in fails:
            assert judge.left(values, own=name) == {name} - set(row['out'])
            continue
        with pytest.raises(NoAnswer):
            judge.left(values, own=name)
    if not fails:
        assert judge.left(values) == names - set(row['out'])
    assert judge.left(values, '1') == judge.listed(values) == names - set(row['suffixed'])


@given(A_VALUE)
def test_a_value_is_rejected_if_and_only_if_placement_returns_400(judge, values):
    """R1-07 to R1-14, R1-18, without exceptions: Placement accepts other spellings, too."""
    check_values(judge, values)


@pytest.mark.parametrize('row', rows('member_of'))
def test_the_rows_about_values_agree_with_placement(judge, row):
    """R1-01 to R1-18, for values that a query can contain."""
    values = row['values']
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        assert status(judge, expand(values)) == (200 if 'query' in row else 400)


def test_placement_ignores_a_forbidden_uuid_in_upper_case(judge):
    """Q1-2, D1-05: Placement accepts the spelling, but finds no aggregate with it."""
    forest = providers()
    judge.build(forest)
    as_written = [f'!{UUIDS["aggA"].upper()}']
    assert judge.left(as_written) == {each.uuid for each in forest}
    assert judge.left(MemberOf.parse(as_written).to_query()) == admitted(
        forest, MemberOf.parse(as_written)
    )
    assert 'cn1' not in judge.left(MemberOf.parse(as_written).to_query())


def test_placement_rejects_member_of_without_resources(judge):
    """R1-19: a request group with only member_of."""
    for value in (UUIDS['aggA'], f'!{UUIDS["aggA"]}'):
        more = {'resources': f'{SHARED_CLASS}:1'}
        answer = judge.ask('/allocation_candidates', [value], 'member_of1', **more)
        assert answer.status_code == 400
