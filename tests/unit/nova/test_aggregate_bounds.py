"""The aggregates in a query that keep every host that a constraint accepts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.candidate_query import covering, excluding

NAMES = {name: f'{number:08d}-0000-4000-8000-000000000000' for number, name in enumerate('abcdef')}
A, B = list(NAMES.values())[:2]
ANY = st.frozensets(st.sampled_from([*NAMES.values()]), max_size=3)


def sets(*words):
    return [frozenset(NAMES[name] for name in word) for word in words]


# the sets that there are, those that are let in, the expression (None: there is none)
ROWS = [
    ('those that others are in are forbidden', ['', 'a', 'b'], ['', 'a'], ['!B']),
    ('one of those that are let in', ['', 'a', 'b'], ['a'], ['A', '!B']),
    ('a zone, and what only some of its hosts are in', ['c', 'ca', 'cb', ''], ['ca'], ['A', '!B']),
    ('nothing is refused', ['', 'a'], ['', 'a'], []),
    ('nothing is let in', ['', 'a'], [], None),
    ('hosts in no aggregate, beside those of all', ['', 'ab', 'a', 'b'], ['ab'], None),
]


@pytest.mark.parametrize('row', ROWS, ids=[row[0] for row in ROWS])
def test_excluding(row):
    _name, every, good, expected = row
    found = excluding({each: each in sets(*good) for each in sets(*every)})
    words = {'A': A, 'B': B, '!B': f'!{B}'}
    if expected is None:
        assert found is None
    else:
        assert found == MemberOf.parse([words[word] for word in expected])


def test_more_aggregates_than_an_address_holds():
    """What is forbidden must be all of it; what is required need not be."""
    many = [f'{number:08d}-0000-4000-8000-000000000001' for number in range(300)]
    each = [frozenset((one,)) for one in many]
    assert excluding({one: not one for one in [*each, frozenset()]}) is None
    found = excluding({one: A in one for one in [*each, frozenset((A,))]})
    assert found == MemberOf.parse([A])
    found = excluding({one: bool(one) for one in [*each, frozenset()]})
    assert len(found.required[0]) == 100
    assert covering({one: bool(one) for one in [*each, frozenset()]}) == frozenset()
    assert covering({one: A in one for one in [*each, frozenset((A,))]}) == {A}
    most = [*each[:100], frozenset()]
    assert excluding({one: not one for one in most}) == MemberOf(forbidden=frozenset(many[:100]))
    assert covering({one: bool(one) for one in most}) == {*many[:100]}


# the sets that there are, those that are let in, the aggregates (None: no host is let in)
KEEPING = [
    ('hosts in none are let in', ['', 'a', 'b'], ['', 'a'], ''),
    ('one of those that are let in', ['', 'a', 'b'], ['a'], 'a'),
    ('one that no other is in', ['ab', 'b', ''], ['ab'], 'a'),
    ('others are in all of them', ['ab', 'a', 'b', ''], ['ab'], 'ab'),
    ('others are in the only one of some', ['ab', 'b', ''], ['ab', 'b'], 'ab'),
    ('nothing is let in', ['', 'a'], [], None),
]


@pytest.mark.parametrize('row', KEEPING, ids=[row[0] for row in KEEPING])
def test_covering(row):
    _name, every, good, expected = row
    found = covering({each: each in sets(*good) for each in sets(*every)})
    assert found == (None if expected is None else {NAMES[name] for name in expected})


@given(st.sets(ANY), st.sets(ANY))
def test_everybody_stays_who_is_let_in(every, good):
    found = covering({each: each in good for each in every})
    assert (found is None) == (not every & good)
    assert not found or not any(map(found.isdisjoint, every & good))


@given(st.sets(ANY), st.sets(ANY))
def test_nobody_is_left_who_is_not_let_in(every, good):
    found = excluding({each: each in good for each in every})
    if found is not None:
        left = {each for each in every if found.admits(each)}
        assert left
        assert left <= good
