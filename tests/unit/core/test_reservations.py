"""Which aggregates a request must and must not be in: by prefix, by traits, by project."""

import pytest

from senlin_affinity.core import isolation
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import Aggregate
from senlin_affinity.core.reservations import constrain
from senlin_affinity.core.verdict import Verdict
from tests.tables import check_error, raises, rows

PREFIX = 'reservation:'
RESERVED = {
    'P': {'reservation:rand1': ''},
    'R': {'reservation:resv-1': ''},
    'R2': {'reservation:resv-2': ''},
    'N': {'ssd': 'true'},
}
WIN, X = 'trait:CUSTOM_WIN', 'trait:CUSTOM_X'
ISOLATED = {
    'win': {WIN: 'required'},
    'both': {WIN: 'required', X: 'required'},
    'not': {WIN: 'forbidden'},
    'true': {WIN: 'true'},
    'Word': {WIN: 'Required'},
}


def aggregates_of(row, world):
    return [
        Aggregate(name, name, metadata=metadata)
        for name, metadata in row.get('aggregates', world).items()
    ]


@pytest.mark.parametrize('row', rows('reservations_flow'))
def test_constrain(row):
    def ask():
        return constrain(
            row['keys'],
            aggregates_of(row, RESERVED),
            required_prefix=row.get('required', PREFIX),
            forbidden_prefixes=row.get('forbidden', [PREFIX]),
        )

    if raises(row):
        with pytest.raises(InvalidSpec) as caught:
            ask()
        check_error(row, caught.value)
    else:
        assert ask().to_query() == row['query']


@pytest.mark.parametrize('row', rows('reservations_flow'))
def test_the_order_of_keys_and_aggregates_means_nothing(row):
    if raises(row):
        return
    options = {
        'required_prefix': row.get('required', PREFIX),
        'forbidden_prefixes': row.get('forbidden', [PREFIX]),
    }
    found = aggregates_of(row, RESERVED)
    there = constrain(iter(row['keys']), found, **options)
    back = constrain(reversed(row['keys']), found[::-1], **options)
    assert there == back
    assert there.to_query() == back.to_query()


@pytest.mark.parametrize('row', rows('isolated_aggregates'))
def test_isolate(row):
    traits = isolation.required_traits(row.get('flavor', {}), row.get('image'))
    asked = isolation.isolate(traits, aggregates_of(row, ISOLATED))
    assert asked.required == ()
    assert sorted(asked.forbidden) == row['forbidden']


@pytest.mark.parametrize('row', rows('tenant_aggregates'))
def test_limit_to_tenant(row):
    answer = isolation.limit_to_tenant(
        'p1', aggregates_of(row, {}), is_aggregate_required=row.get('required', False)
    )
    if row['query'] == 'none':
        assert answer == Verdict.rejected('reservations.no_tenant_aggregate', project='p1')
    else:
        assert answer.to_query() == row['query']
