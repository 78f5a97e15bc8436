"""Document 001: trees of providers, and sharing providers."""

import pytest

from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.provider_tree import Provider, admitted
from tests.support.letters import UUIDS, expand
from tests.support.picture import PICTURE, providers
from tests.support.tables import rows

A = UUIDS['aggA']


@pytest.mark.parametrize('row', rows('provider_tree'))
def test_admitted(row):
    forest = providers(row.get('providers', PICTURE))
    member_of = MemberOf.parse(expand(row['values']))
    names = {each.uuid for each in forest}
    for order in (forest, forest[::-1]):
        assert names - admitted(order, member_of) == set(row['out'])
        assert names - admitted(order, member_of, suffixed=True) == set(row['suffixed'])


@pytest.mark.parametrize('suffixed', [False, True])
@pytest.mark.parametrize(
    ('forest', 'words'),
    [
        ([Provider('a'), Provider('b'), Provider('a')], 'provider a occurs twice'),
        ([Provider('a', parent='z')], 'parent z of the provider a is missing'),
        ([Provider('a', parent='a')], 'a is its own ancestor'),
        ([Provider('a', 'b'), Provider('b', 'c'), Provider('c', 'b')], 'own ancestor'),
    ],
)
def test_providers_that_are_not_a_forest_are_rejected(forest, words, suffixed):
    with pytest.raises(InvalidSpec, match=words):
        admitted(forest, MemberOf(), suffixed=suffixed)


@pytest.mark.parametrize('suffixed', [False, True])
def test_aggregates_may_be_none(suffixed):
    forest = [Provider('cn1', aggregates=None), Provider('numa1', 'cn1', frozenset({A.upper()}))]
    assert admitted(forest, MemberOf.parse([f'!{A}']), suffixed=suffixed) == {'cn1'}
    assert admitted(forest, MemberOf.parse([A]), suffixed=suffixed) == {'numa1'}
    assert forest[1].aggregates == {A}


def test_a_tree_may_be_deep():
    chain = [Provider('0', aggregates=frozenset({A}))]
    chain += [Provider(str(number), parent=str(number - 1)) for number in range(1, 20_000)]
    assert admitted(chain[::-1], MemberOf.parse([f'!{A}'])) == frozenset()
