"""Laws of document 000: what both sides mean, and that nothing raises."""

from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.constraints.aggregate_metadata import agreement
from senlin_affinity.model.reason import sentence
from senlin_affinity.nova import instance_extra_specs
from senlin_affinity.nova.aggregate_metadata import Requirements, check, warnings
from senlin_affinity.nova.aggregate_reasons import NOVA_REASONS, REASONS
from senlin_affinity.nova.extra_spec_operators import match, parse
from senlin_affinity.nova.key_states import parse as parse_states
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
    """The states that an expression names, over the small world of VALUES and the absent key."""
    states = set()
    for word in expression.alternatives:
        states |= set(VALUES) if word == '*' else {ABSENT if word in SENTINELS else word}
    return states


def operated(expression):
    """The values that its operator accepts."""
    return set(OPERATORS[expression.operator]) if expression.operator else set()


def is_illegal(expressions):
    """! beside anything else, in one value or over several."""
    distinct = set(expressions)
    has = any('!' in each.alternatives for each in distinct)
    return has and distinct != {Expression(('!',))}


def agree(flavor, metadata):
    """Forced mode (Q0-6): None is the key that the flavor does not have."""
    if is_illegal(metadata) or (flavor is not None and is_illegal([flavor])):
        return False
    theirs = set().union(*map(explicit, metadata))
    theirs_operated = set().union(*map(operated, metadata))
    ours = {ABSENT} if flavor is None else explicit(flavor)
    ours_operated = set() if flavor is None else operated(flavor)
    every = {ABSENT, *VALUES}
    if every in (theirs, ours):
        return True
    return bool(ours & theirs or ours & theirs_operated or ours_operated & theirs)


def expected(extra_specs, aggregates):
    """Document 000 once more, by sets and without reading any text."""
    forced = {bare(name) for each in aggregates if each.is_forcing for name in each.says}
    if any(each.is_forcing for each in aggregates):
        for key in forced:
            metadata = [says for each in aggregates for says in each.of(key)]
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
            # The metadata are texts: of the small world, or expressions that mean nothing here.
            accepted = any(match(value, flavor.operator) for value in values)
        else:
            # An alternative of the metadata is no value of the small world: only * takes it.
            found = values or {ABSENT}
            anything = values if '*' in flavor.alternatives else set()
            accepted = bool(found & explicit(flavor) or anything)
        if not accepted:
            return False
    return True


@given(FLAVORS, AGGREGATES)
def test_the_host_passes_when_the_two_sets_meet(extra_specs, aggregates):
    """Q0-4 to Q0-10, R0-13, R0-20, R0-27, R0-31: for every key that counts."""
    verdict = check(written(extra_specs), [each.metadata() for each in aggregates])
    assert bool(verdict) is expected(extra_specs, aggregates)


@given(FLAVORS, AGGREGATES)
def test_what_is_told_to_agree_at_once_does_and_always_alike(extra_specs, aggregates):
    """And where no aggregate has the reserved key, all that agree are told."""
    asked = Requirements.parse(written(extra_specs))
    metadata = {str(number): each.metadata() for number, each in enumerate(aggregates)}
    agrees, rule = agreement(asked, metadata), asked.check([*metadata.values()])
    is_plain = not any(FORCE in each for each in metadata.values())
    assert agrees(frozenset(metadata)) == (is_plain and bool(rule))
    if is_plain and rule:
        code = 'matches' if asked.asked else 'nothing_asked'
        assert rule.code == f'aggregate_metadata.{code}'


@given(EXPRESSIONS, EXPRESSIONS)
def test_two_sides_meet_from_whichever_side_they_are_read(one, other):
    """Q0-6."""
    sides = parse_states(str(one)), parse_states(str(other))
    assert sides[0].meets(sides[1]) is sides[1].meets(sides[0]) is agree(one, [other])


@given(FLAVORS, AGGREGATES, st.randoms(use_true_random=False))
def test_the_order_of_keys_and_aggregates_changes_nothing(extra_specs, aggregates, draw):
    """R0-18: but the names that an aggregate without one gets."""
    metadata = [each.metadata() for each in aggregates]
    named = list(zip(['x', 'y', 'z'], metadata, strict=False))
    verdict = check(written(extra_specs), [each for _, each in named], [name for name, _ in named])
    draw.shuffle(named)
    items = list(written(extra_specs).items())
    draw.shuffle(items)
    shuffled = [dict(draw.sample(list(each.items()), len(each))) for _, each in named]
    assert check(dict(items), shuffled, [name for name, _ in named]) == verdict


@given(FLAVORS, AGGREGATES, EXPRESSIONS)
def test_what_means_the_same_is_answered_the_same(extra_specs, aggregates, says):
    """No force and False (R0-03, R0-04, Q0-3); no reserved key in a flavor and one (R0-05, D0-16);
    no scope and the escape scope, of a flavor (R0-30, D0-09) and of a forcing aggregate (Q0-12).
    """
    flavor, metadata = written(extra_specs), [each.metadata() for each in aggregates]
    unforced = [
        [AnAggregate(each.says, force).metadata() for each in aggregates]
        for force in (None, 'False')
    ]
    assert check(flavor, unforced[0]) == check(flavor, unforced[1])
    for name in (FORCE, SCOPE + FORCE):
        assert check({**flavor, name: '!'}, metadata) == check(flavor, metadata)
    plain, scoped = {'a': str(says)}, {f'{SCOPE}a': str(says)}
    assert check(plain, metadata) == check(scoped, metadata)
    forcing = [[{**each, FORCE: 'True'}, *metadata] for each in (plain, scoped)]
    assert check(flavor, forcing[0]) == check(flavor, forcing[1])


def test_the_small_world_has_every_operator_right():
    """So that the sets above are those of the real operators."""
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
def test_nothing_raises_and_everything_can_be_said(extra_specs, aggregates, common):
    """R0-32, D0-12."""
    # A key in common, so that values are compared.
    aggregates = [{**each, **dict.fromkeys(list(extra_specs)[:1], common)} for each in aggregates]
    verdict = check(extra_specs, aggregates)
    assert sentence(verdict, REASONS)
    assert all(isinstance(words, str) for words in warnings(verdict, aggregates))
    assert sentence(instance_extra_specs.check(extra_specs, aggregates), NOVA_REASONS)


@given(st.text(max_size=12) | REQUIREMENTS | JSON, st.text(max_size=12) | REQUIREMENTS | JSON)
def test_operators_are_total(value, requirement):
    """R0-32."""
    assert match(value, requirement) in (True, False)
    assert bool(parse(requirement).judge(value)) is match(value, requirement)


@given(REQUIREMENTS)
def test_what_is_satisfiable_accepts_something(requirement):
    """The witnesses are made from the requirement's own words."""
    condition = parse(requirement)
    words = requirement.split()
    witnesses = ['', requirement, *words, ''.join(words[1:]), *(f'{word}0' for word in words)]
    witnesses += ['0', '1e400', '-1e400', '\U0010ffff' * 8]
    if condition.literals or any(map(condition.judge, witnesses)):
        assert condition.is_satisfiable
    else:
        assert not condition.is_satisfiable
