"""Properties of document 001: expressions survive a round trip, and forbidding more never admits
more.
"""

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.cloud import Aggregate
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import MemberOf, canonical
from senlin_affinity.nova.aggregates import resolve
from senlin_affinity.nova.provider_tree import Provider, admitted
from tests.property.expressions import (
    AGGREGATES,
    EXPRESSIONS,
    NEARLY_VALUES,
    UNKNOWN,
    forests,
    spellings,
)
from tests.property.strategies import JSON, check_words

MEMBERSHIPS = st.frozensets(st.sampled_from(AGGREGATES))
NAMED = tuple(Aggregate(uuid, f'agg-{number}') for number, uuid in enumerate(AGGREGATES))


@given(EXPRESSIONS)
def test_an_expression_survives_a_round_trip(values):
    """R1-01 to R1-06, R1-12; the text is stable after one round trip."""
    member_of = MemberOf.parse(values)
    query = member_of.to_query()
    assert MemberOf.parse(query) == member_of
    assert MemberOf.parse(query).to_query() == query
    assert query[: len(member_of.required)] == sorted(query[: len(member_of.required)])
    assert sum(value.startswith('!') for value in query) == bool(member_of.forbidden)


@given(EXPRESSIONS, st.randoms(use_true_random=False))
def test_the_order_of_the_values_is_irrelevant(values, random):
    """R1-15."""
    shuffled = random.sample(values, len(values))
    assert MemberOf.parse(shuffled) == MemberOf.parse(values)
    assert hash(MemberOf.parse(shuffled)) == hash(MemberOf.parse(values))
    assert MemberOf.parse(shuffled).to_query() == MemberOf.parse(values).to_query()


@given(EXPRESSIONS, EXPRESSIONS, MEMBERSHIPS)
def test_combined_expressions_admit_what_both_admit(one, other, aggregates):
    """R1-15."""
    both = MemberOf.parse([*one, *other])
    expected = MemberOf.parse(one).admits(aggregates) and MemberOf.parse(other).admits(aggregates)
    assert both.admits(aggregates) is expected


@given(st.sampled_from(AGGREGATES).flatmap(spellings), st.sampled_from(['', 'in:', '!', '!in:']))
def test_all_spellings_of_a_uuid_mean_the_same(spelt, prefix):
    """R1-18, Q1-2."""
    uuid = canonical(spelt)
    assert uuid in AGGREGATES
    assert MemberOf.parse([prefix + spelt]) == MemberOf.parse([prefix + uuid])


@given(st.lists(NEARLY_VALUES, max_size=3) | JSON)
def test_a_value_is_parsed_or_raises_invalid_spec(values):
    """R1-07 to R1-14."""
    try:
        member_of = MemberOf.parse(values)
    except InvalidSpec as error:
        check_words(error)
        return
    assert MemberOf.parse(member_of.to_query()) == member_of


@given(EXPRESSIONS)
def test_a_name_equals_its_uuid(values):
    """An unknown name is rejected, as its UUID is (R1-17)."""
    written = list(values)
    for aggregate in NAMED:
        written = [value.replace(aggregate.uuid, aggregate.name) for value in written]
    for each in (values, written):
        try:
            assert resolve(each, NAMED) == MemberOf.parse(values)
        except InvalidSpec as error:
            assert UNKNOWN in str(error)
        else:
            assert not any(UNKNOWN in value for value in values)


@given(forests(), EXPRESSIONS, st.sampled_from(AGGREGATES), st.booleans())
def test_another_forbidden_aggregate_never_adds_a_provider(forest, values, uuid, suffixed):
    before = admitted(forest, MemberOf.parse(values), suffixed=suffixed)
    after = admitted(forest, MemberOf.parse([*values, f'!{uuid}']), suffixed=suffixed)
    assert after <= before


@given(forests(), EXPRESSIONS, st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_the_providers_is_irrelevant(forest, values, random, suffixed):
    member_of = MemberOf.parse(values)
    shuffled = random.sample(forest, len(forest))
    assert admitted(shuffled, member_of, suffixed=suffixed) == admitted(
        forest, member_of, suffixed=suffixed
    )


@given(forests(), EXPRESSIONS)
def test_without_nesting_and_sharing_a_suffix_is_irrelevant(forest, values):
    """D1-01."""
    flat = [Provider(each.uuid, None, each.aggregates) for each in forest]
    member_of = MemberOf.parse(values)
    assert admitted(flat, member_of) == admitted(flat, member_of, suffixed=True)
