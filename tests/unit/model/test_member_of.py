"""Document 001: member_of with UUIDs and with names."""

from uuid import UUID

import pytest

from senlin_affinity.model import member_of
from senlin_affinity.model.cloud import Aggregate
from senlin_affinity.model.errors import InvalidSpec, quoted
from senlin_affinity.model.host import Host
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.aggregates import resolve
from tests.support.letters import UUIDS, contract, expand
from tests.support.tables import check_error, rows

U, V, W, X = (UUIDS[letter] for letter in 'UVWX')
AGGREGATES = (
    Aggregate(U, 'agg-a'),
    Aggregate(V, 'agg-b'),
    Aggregate(W, 'licensed hosts'),
    Aggregate(X, 'twin'),
    Aggregate(UUIDS['Y'], 'twin'),
)


def check_refused(row, path, read):
    """Check the row's error, with letters in its text."""
    with pytest.raises(InvalidSpec) as caught:
        read()
    error = InvalidSpec(contract(caught.value.message), caught.value.path)
    check_error({'outcome': 'InvalidSpec', 'path': path, **row}, error)


@pytest.mark.parametrize('row', rows('member_of'))
def test_parse(row):
    values = expand(row['values'])
    if 'query' not in row:
        check_refused(row, 'member_of[0]', lambda: MemberOf.parse(values))
        return
    asked = MemberOf.parse(values)
    assert list(map(contract, asked.to_query())) == row['query']
    sets = [
        frozenset(expand(value.lstrip('!').removeprefix('in:')).split(','))
        for value in row['query']
    ]
    forbidden = [sets.pop()] if row['query'] and row['query'][-1].startswith('!') else []
    assert sorted(asked.required, key=sorted) == sorted(sets, key=sorted)
    assert asked.forbidden == frozenset().union(*forbidden)
    assert MemberOf.parse(asked.to_query()) == asked


def test_the_values_after_20_mistakes_are_not_read():
    values = iter(['!'] * 30)
    with pytest.raises(InvalidSpec) as caught:
        MemberOf.parse(values)
    assert len(caught.value.mistakes) == 20
    assert len([*values]) == 10


@pytest.mark.parametrize('row', rows('member_of_admits'))
def test_admits(row):
    asked = MemberOf.parse(expand(row['values']))
    for kind in (list, tuple, set, frozenset):
        assert asked.admits(kind(expand(row['aggregates']))) is row['admits']


@pytest.mark.parametrize('row', rows('aggregate_names'))
def test_resolve(row):
    more = [Aggregate(expand(uuid), name) for name, uuid in row.get('more', {}).items()]
    arguments = (expand(row['values']), (*AGGREGATES, *more), 'properties.member_of')
    nameless = row.get('nameless', ())
    if 'query' in row:
        found = resolve(*arguments, nameless=nameless)
        assert list(map(contract, found.to_query())) == row['query']
    else:
        path = 'properties.member_of[0]'
        check_refused(row, path, lambda: resolve(*arguments, nameless=nameless))


@pytest.mark.parametrize(
    'spell',
    [
        pytest.param(str.upper, id='upper case'),
        pytest.param(lambda uuid: uuid.replace('-', ''), id='no hyphens'),
        pytest.param(lambda uuid: f'urn:uuid:{uuid}', id='a URN'),
        pytest.param(lambda uuid: f'{{{uuid}}}', id='braces'),
        pytest.param(UUID, id='an object'),
    ],
)
def test_all_spellings_of_a_uuid_are_equal(spell):
    """Q1-2, R1-18: all spellings are normalized, so a forbidden aggregate has an effect."""
    for written in ('!U', '!in:U,V', 'V'):
        asked = MemberOf.parse([expand(written)])
        for kind in (list, tuple, set, frozenset):
            for _again in range(2):
                assert asked.admits(kind([spell(U)])) is False
                assert asked.admits(kind([spell(V)])) is (written != '!in:U,V')
                assert asked.admits(kind([W, spell(U)])) is False
    made = MemberOf((frozenset({spell(U)}), frozenset({U})), frozenset({spell(V)}))
    assert made == MemberOf.parse([U, f'!{V}'])
    assert made.to_query() == [U, f'!{V}']
    assert (made.admits({U}), made.admits({U, V})) == (True, False)
    assert Aggregate(spell(U), 'agg-a') == Aggregate(U, 'agg-a')
    assert Host('h', 'h', aggregates=frozenset({spell(U), V})).aggregates == {U, V}
    for expression in ('!agg-a', f'!{U}'):
        found = resolve([expression], [Aggregate(spell(U), 'agg-a')])
        assert found == MemberOf(forbidden=frozenset({U}))


def test_other_values_are_not_normalized():
    made = MemberOf((frozenset({'Agg'}),), frozenset({'{x}'}))
    assert made.to_query() == ['Agg', '!{x}']
    assert made.admits(['Agg'])
    assert not made.admits(['agg'])


@pytest.mark.parametrize(
    ('value', 'says'),
    [('in:b,IN:a', 'in lower case'), ('NOT:a', 'as !U'), ('in:a,not:b', 'as !U')],
)
def test_a_misspelled_prefix_is_reported_before_names_are_resolved(value, says):
    """R1-14: like at the load of a policy, for any cloud."""
    with pytest.raises(InvalidSpec) as caught:
        member_of.read([value], 'properties.member_of', lambda part: part)
    assert caught.value.path == 'properties.member_of[0]'
    assert says in caught.value.message


def test_a_long_value_is_truncated_in_a_message():
    with pytest.raises(InvalidSpec) as caught:
        MemberOf.parse(['in:' + 'x' * 100_000])
    assert len(str(caught.value)) < 200
    assert quoted('x' * 78) == repr('x' * 78)


def test_equivalent_expressions_are_equal():
    """R1-15: in any order, from any iterable; an empty expression is false."""
    one = MemberOf.parse([U, f'in:{V},{W}', f'!{X}'])
    other = MemberOf.parse(iter((f'!{X}', f'in:{W},{V}', U)))
    assert one == other != MemberOf()
    assert hash(one) == hash(other)
    assert (one == 'in') is False
    assert not MemberOf.parse([])
    assert MemberOf.parse([U])
    assert MemberOf.parse([f'!{U}'])


def test_an_empty_requirement_is_rejected():
    """R1-10: it has no syntax, and would exclude all providers."""
    with pytest.raises(InvalidSpec):
        MemberOf((frozenset(),))
