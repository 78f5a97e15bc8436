"""Document 001: the expression, with UUIDs and with names."""

import pytest

from senlin_affinity.core.aggregate_names import resolve
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import MemberOf
from senlin_affinity.core.objects import Aggregate
from tests.letters import UUIDS, contract, expand
from tests.tables import check_error, raises, rows

U, V, W, X = (UUIDS[letter] for letter in 'UVWX')
AGGREGATES = (
    Aggregate(U, 'agg-a'),
    Aggregate(V, 'agg-b'),
    Aggregate(W, 'licensed hosts'),
    Aggregate(X, 'twin'),
    Aggregate(UUIDS['Y'], 'twin'),
)


def sets(member_of):
    required = [sorted(map(contract, any_of)) for any_of in member_of.required]
    return required, sorted(map(contract, member_of.forbidden))


def check_refused(row, read):
    """The row's error, with letters in its text."""
    with pytest.raises(InvalidSpec) as caught:
        read()
    check_error(row, InvalidSpec(contract(caught.value.message), caught.value.path))


@pytest.mark.parametrize('row', rows('member_of'))
def test_parse(row):
    values = expand(row['values'])
    if raises(row):
        check_refused(row, lambda: MemberOf.parse(values))
        return
    member_of = MemberOf.parse(values)
    assert sets(member_of) == (row['required'], row['forbidden'])
    assert list(map(contract, member_of.to_query())) == row['query']
    assert MemberOf.parse(member_of.to_query()) == member_of


@pytest.mark.parametrize('row', rows('member_of_admits'))
def test_admits(row):
    member_of = MemberOf.parse(expand(row['values']))
    for kind in (list, tuple, set, frozenset):
        assert member_of.admits(kind(expand(row['aggregates']))) is row['admits']


@pytest.mark.parametrize('row', rows('aggregate_names'))
def test_resolve(row):
    more = [Aggregate(expand(uuid), name) for name, uuid in row.get('more', {}).items()]
    arguments = (expand(row['values']), (*AGGREGATES, *more), 'properties.member_of')
    nameless = row.get('nameless', ())
    if raises(row):
        check_refused(row, lambda: resolve(*arguments, nameless=nameless))
        return
    assert list(map(contract, resolve(*arguments, nameless=nameless).to_query())) == row['query']


def test_an_aggregate_is_found_whatever_the_spelling_of_its_uuid():
    """Q1-2: an older cloud, or a file, may hold another spelling."""
    found = resolve(['!agg'], [Aggregate(U.upper(), 'agg')])
    assert found == MemberOf(forbidden=frozenset({U}))
    assert resolve([f'!{U}'], [Aggregate(U.upper(), 'agg')]) == found


def test_a_value_is_read_from_any_iterable():
    assert MemberOf.parse(iter((U, f'!{V}'))).to_query() == [U, f'!{V}']


def test_the_path_of_an_error_is_that_of_the_property():
    with pytest.raises(InvalidSpec) as caught:
        MemberOf.parse([U, 'foo'], 'properties.member_of')
    assert str(caught.value).startswith('properties.member_of[1]: ')


def test_a_long_value_is_cut_in_a_message():
    with pytest.raises(InvalidSpec) as caught:
        MemberOf.parse(['in:' + 'x' * 100_000])
    assert len(str(caught.value)) < 200


def test_nothing_asked_is_false():
    assert not MemberOf()
    assert not MemberOf.parse([])
    assert MemberOf.parse([U])
    assert MemberOf.parse([f'!{U}'])


def test_two_expressions_hold_together():
    """R1-15: combining is the same as giving all values at once."""
    joined = MemberOf.parse([U]) & MemberOf.parse([f'in:{V},{W}', f'!{X}'])
    assert joined == MemberOf.parse([f'!{X}', f'in:{W},{V}', U])
    assert joined & joined == joined
    assert hash(joined & joined) == hash(joined)
    assert joined & MemberOf() == joined != MemberOf()
    assert joined != 'in'


def test_no_aggregate_at_all_can_not_be_required():
    """R1-10: it could not be written, and would say that no provider is left."""
    with pytest.raises(InvalidSpec):
        MemberOf((frozenset(),))
