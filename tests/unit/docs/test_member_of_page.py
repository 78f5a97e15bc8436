"""The tables on the page of member_of are correct, and its policy is valid."""

import textwrap

import pytest
import yaml

from senlin_affinity.model.cloud import Aggregate
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.member_of import MemberOf
from senlin_affinity.nova.aggregates import resolve
from senlin_affinity.nova.provider_tree import admitted
from senlin_affinity.policy import properties
from tests.support.letters import UUIDS, contract, expand
from tests.support.picture import PICTURE, providers
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('reference/member-of.rst')


def by_values(name):
    return [pytest.param(row, id=row[0]) for row in table(PAGE, name)]


def parsed(cell):
    return MemberOf.parse(expand(cell.split()))


@pytest.mark.parametrize('row', by_values('member-of-grammar'))
def test_grammar(row):
    """R1-01 to R1-06, R1-15, R1-16."""
    values, _, sent = row
    assert list(map(contract, parsed(values).to_query())) == sent.split()


@pytest.mark.parametrize('row', by_values('member-of-mistakes'))
def test_mistakes(row):
    """R1-07 to R1-14."""
    value, said = row
    with pytest.raises(InvalidSpec) as caught:
        MemberOf.parse([expand(value)])
    assert contract(caught.value.message) == said


@pytest.mark.parametrize('row', by_values('member-of-picture'))
def test_picture(row):
    """D1-01, D1-08."""
    names = set(PICTURE)
    for cell, suffixed in zip(row[1:], (False, True), strict=True):
        out = names - admitted(providers(), parsed(row[0]), suffixed=suffixed)
        if cell == 'all':
            assert out == names
        elif cell.startswith('all but '):
            assert out == names - set(cell.removeprefix('all but ').split())
        else:
            assert out == set(cell.split())


def test_the_policy_is_valid():
    block = PAGE.partition('.. code-block:: yaml\n')[2].partition('\nThe nodes')[0]
    loaded = properties.load(yaml.safe_load(textwrap.dedent(block)))
    names = {'agg-a': 'U', 'agg-b': 'V', 'agg-licensed': 'W'}
    aggregates = [Aggregate(UUIDS[letter], name) for name, letter in names.items()]
    assert resolve(loaded.member_of, aggregates) == parsed('in:U,V !W')
