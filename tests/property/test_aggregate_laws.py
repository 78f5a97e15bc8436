"""Properties of document 000: the meaning of both sides, and that nothing raises."""

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.verdict import sentence
from senlin_affinity.nova import instance_extra_specs
from senlin_affinity.nova.aggregate_metadata import NOVA_REASONS, REASONS, check, warnings
from senlin_affinity.nova.extra_spec_operators import match, parse
from senlin_affinity.nova.extra_spec_operators import parse_states as parse_states
from tests.property.aggregate_strategies import (
    AGGREGATES,
    EXPRESSIONS,
    FLAVORS,
    FORCE,
    OPERATORS,
    REQUIREMENTS,
    SCOPE,
    SENTINELS,
    VALUES,
    AnAggregate,
    Expression,
    bare,
    written,
)
from tests.property.strategies import JSON

ABSENT = None


def explicit(expression):
    """Return the states that an expression names, among VALUES and the absent key."""
    states = set()
    for word in expression.alternatives:
        states |= set(VALUES) if word == '*' else {ABSENT if word in SENTINELS else word}
    return states


def operated(expression):
    """Return the values that the operator accepts."""
    return set(OPERATORS[expression.operator]) if expression.operator else set()


def is_illegal(expressions):
    """Return whether ! is combined with anything else, in one value or over several."""
    distinct = set(expressions)
    has = any('!' in each.alternatives for each in distinct)
    return has and distinct != {Expression(('!',))}


def agree(flavor, metadata):
    """Return the result of forced mode (Q0-6); None means that the flavor lacks the key."""
    if is_illegal(metadata) or (flavor is not None and is_illegal([flavor])):
        return False
    metadata_states = set().union(*map(explicit, metadata))
    metadata_operated = set().union(*map(operated, metadata))
    flavor_states = {ABSENT} if flavor is None else explicit(flavor)
    flavor_operated = set() if flavor is None else operated(flavor)
    all_states = {ABSENT, *VALUES}
    if all_states in (metadata_states, flavor_states):
        return True
    return bool(
        flavor_states & metadata_states
        or flavor_states & metadata_operated
        or flavor_operated & metadata_states
    )


def expected(extra_specs, aggregates):
    """Return the result of document 000, from sets and without parsing any text."""
    forced = {bare(name) for each in aggregates if each.is_forcing for name in each.says}
    if any(each.is_forcing for each in aggregates):
        for key in forced:
            metadata = [expression for each in aggregates for expression in each.of(key)]
            names = [name for name in (key, SCOPE + key) if name in extra_specs]
            flavors = [extra_specs[name] for name in names] or [None]
            if not all(agree(flavor, metadata) for flavor in flavors):
                return False
        return True
    for name, flavor in extra_specs.items():
        key = name.removeprefix(SCOPE)
        values = {str(each.says[key]) for each in aggregates if key in each.says}
        if is_illegal([flavor]):
            return False
        if not values and ':' in name and key == name:
            continue
        if flavor.operator:
            # The metadata are plain text here, also where they look like expressions.
            accepted = any(match(value, flavor.operator) for value in values)
        else:
            # An <or> in the metadata is not in VALUES: only * accepts it.
            found = values or {ABSENT}
            anything = values if '*' in flavor.alternatives else set()
            accepted = bool(found & explicit(flavor) or anything)
        if not accepted:
            return False
    return True


@given(FLAVORS, AGGREGATES)
def test_a_host_passes_if_the_two_sets_intersect(extra_specs, aggregates):
    """Q0-4 to Q0-10, R0-13, R0-20, R0-27, R0-31: for every key that counts."""
    verdict = check(written(extra_specs), [each.metadata() for each in aggregates])
    assert bool(verdict) is expected(extra_specs, aggregates)


@given(EXPRESSIONS, EXPRESSIONS)
def test_the_intersection_is_symmetric(one, other):
    """Q0-6."""
    sides = parse_states(str(one)), parse_states(str(other))
    assert sides[0].meets(sides[1]) is sides[1].meets(sides[0]) is agree(one, [other])


@given(FLAVORS, AGGREGATES, st.randoms(use_true_random=False))
def test_the_order_of_keys_and_aggregates_is_irrelevant(extra_specs, aggregates, draw):
    """R0-18: except for the generated names of unnamed aggregates."""
    metadata = [each.metadata() for each in aggregates]
    named = list(zip(['x', 'y', 'z'], metadata, strict=False))
    verdict = check(written(extra_specs), [each for _, each in named], [name for name, _ in named])
    draw.shuffle(named)
    items = list(written(extra_specs).items())
    draw.shuffle(items)
    shuffled = [dict(draw.sample(list(each.items()), len(each))) for _, each in named]
    assert check(dict(items), shuffled, [name for name, _ in named]) == verdict


@given(FLAVORS, AGGREGATES, EXPRESSIONS)
def test_equivalent_spellings_have_equal_verdicts(extra_specs, aggregates, expression):
    """Equivalent are: no reserved key and the value False (R0-03, R0-04, Q0-3); a flavor with and
    without the reserved key (R0-05, D0-16); a key with and without the escape scope, in a flavor
    (R0-30, D0-09) and in a forcing aggregate (Q0-12).
    """
    flavor, metadata = written(extra_specs), [each.metadata() for each in aggregates]
    unforced = [
        [AnAggregate(each.says, force).metadata() for each in aggregates]
        for force in (None, 'False')
    ]
    assert check(flavor, unforced[0]) == check(flavor, unforced[1])
    for name in (FORCE, SCOPE + FORCE):
        assert check({**flavor, name: '!'}, metadata) == check(flavor, metadata)
    plain, scoped = {'a': str(expression)}, {f'{SCOPE}a': str(expression)}
    assert check(plain, metadata) == check(scoped, metadata)
    forcing = [[{**each, FORCE: 'True'}, *metadata] for each in (plain, scoped)]
    assert check(flavor, forcing[0]) == check(flavor, forcing[1])


def test_the_listed_operators_accept_the_listed_values():
    """Otherwise, the sets above would differ from the real operators."""
    for requirement, accepted in OPERATORS.items():
        assert tuple(value for value in VALUES if match(value, requirement)) == accepted


@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=12) | REQUIREMENTS | JSON, max_size=4),
    st.lists(
        st.dictionaries(
            st.text(max_size=8) | st.just(FORCE),
            st.text(max_size=12) | st.sampled_from(['True', '!', '~']) | REQUIREMENTS | JSON,
            max_size=4,
        ),
        max_size=3,
    ),
    REQUIREMENTS | JSON,
)
def test_no_input_raises_and_every_verdict_has_a_sentence(extra_specs, aggregates, common):
    """R0-32, D0-12."""
    # A key in common, so that values are compared.
    aggregates = [{**each, **dict.fromkeys(list(extra_specs)[:1], common)} for each in aggregates]
    verdict = check(extra_specs, aggregates)
    assert sentence(verdict, REASONS)
    assert all(isinstance(words, str) for words in warnings(verdict, aggregates))
    assert sentence(instance_extra_specs.check(extra_specs, aggregates), NOVA_REASONS)


@given(st.text(max_size=12) | REQUIREMENTS | JSON, st.text(max_size=12) | REQUIREMENTS | JSON)
def test_no_operator_raises(value, requirement):
    """R0-32."""
    assert match(value, requirement) in (True, False)
    assert bool(parse(requirement).judge(value)) is match(value, requirement)


@given(REQUIREMENTS)
def test_a_requirement_is_satisfiable_if_it_accepts_some_value(requirement):
    """The tried values are derived from the words of the requirement."""
    condition = parse(requirement)
    words = requirement.split()
    witnesses = ['', requirement, *words, ''.join(words[1:]), *(f'{word}0' for word in words)]
    witnesses += ['0', '1e400', '-1e400', '\U0010ffff' * 8]
    if condition.literals or any(map(condition.judge, witnesses)):
        assert condition.is_satisfiable
    else:
        assert not condition.is_satisfiable
