"""The aggregates that a request requires and forbids: by prefix, by traits, by project."""

import pytest

from senlin_affinity.model.cloud import Aggregate
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.request import Settings
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import queried_aggregates
from senlin_affinity.nova.provider_tree import Provider, admitted
from senlin_affinity.nova.queried_aggregates import reads_images
from senlin_affinity.nova.reservations import constrain
from tests.support.tables import check_error, rows

PREFIX = 'reservation:'
POOL = 'a0b1c2d3-e4f5-4061-8283-94a5b6c7d8e9'
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
    """In any order of the keys and of the aggregates."""
    found = aggregates_of(row, RESERVED)
    options = {
        'required_prefix': row.get('required', PREFIX),
        'forbidden_prefixes': row.get('forbidden', [PREFIX]),
    }
    if 'query' in row:
        asked = constrain(iter(row['keys']), found, **options)
        assert asked.to_query() == row['query']
        assert constrain(row['keys'][::-1], found[::-1], **options) == asked
        return
    with pytest.raises(InvalidSpec) as caught:
        constrain(row['keys'], found, **options)
    check_error(row, caught.value)


def query(keys, metadata, required=PREFIX, forbidden=(PREFIX,)):
    world = [Aggregate(name, name, metadata=each) for name, each in metadata.items()]
    asked = constrain(keys, world, required_prefix=required, forbidden_prefixes=forbidden)
    return asked.to_query()


def test_a_reserved_aggregate_is_forbidden_in_any_spelling_of_its_uuid():
    """Q1-2: the query has an effect."""
    pool = Aggregate(POOL.upper(), 'pool', metadata=RESERVED['P'])
    asked = constrain([], [pool], required_prefix=PREFIX, forbidden_prefixes=[PREFIX])
    forest = [Provider('cn1', aggregates=frozenset({POOL})), Provider('cn2')]
    assert admitted(forest, asked) == {'cn2'}
    assert asked.to_query() == [f'!{POOL}']


def test_one_prefix_may_be_a_string():
    """R1-40: its letters are not prefixes."""
    assert query([], RESERVED, forbidden=PREFIX) == ['!in:P,R,R2']
    assert query([], {'R': {'reason': ''}}, forbidden=PREFIX) == []
    for nothing in ('', None, [], [None, '']):
        assert query([], RESERVED, forbidden=nothing) == []


@pytest.mark.parametrize('keys', ['reservation:resv-1', b'ssd', None, 5])
def test_keys_must_be_a_list(keys):
    for options in ({}, {'required': None}, {'forbidden': []}):
        with pytest.raises(InvalidSpec, match='keys: must be a list of metadata keys'):
            query(keys, RESERVED, **options)


@pytest.mark.parametrize('options', [{'required': 5}, {'forbidden': [5]}, {'forbidden': [b'r']}])
def test_a_prefix_must_be_a_string(options):
    with pytest.raises(InvalidSpec, match='a prefix must be a string'):
        query(['ssd'], RESERVED, **options)


def test_a_key_must_be_a_string():
    """R1-34."""
    odd = {None: '', 5: '', ('a',): ''}
    assert query([None, 5, ('a',)], {'P': {**odd, **RESERVED['P']}, 'N': odd}) == ['!P']
    assert query([5, 'reservation:resv-1'], RESERVED) == ['R']
    world = [Aggregate('win', 'win', metadata={**odd, WIN: 'required'})]
    assert queried_aggregates.required_traits({**odd, WIN: 'required'}, odd) == {'CUSTOM_WIN'}
    assert queried_aggregates.isolate([], world).to_query() == ['!win']
    limited = queried_aggregates.limit_to_tenant('', world, is_aggregate_required=False)
    assert limited.to_query() == []


@pytest.mark.parametrize('row', rows('isolated_aggregates'))
def test_isolate(row):
    traits = queried_aggregates.required_traits(row.get('flavor', {}), row.get('image'))
    asked = queried_aggregates.isolate(traits, aggregates_of(row, ISOLATED))
    assert asked.required == ()
    assert sorted(asked.forbidden) == row['forbidden']


@pytest.mark.parametrize('row', rows('tenant_aggregates'))
def test_limit_to_tenant(row):
    answer = queried_aggregates.limit_to_tenant(
        'p1', aggregates_of(row, {}), is_aggregate_required=row.get('required', False)
    )
    if row['query'] == 'none':
        assert answer == Verdict.rejected('reservations.no_tenant_aggregate', project='p1')
    else:
        assert answer.to_query() == row['query']


@pytest.mark.parametrize(
    ('given', 'are_read'),
    [
        ({}, False),
        ({'required_member_prefix': PREFIX}, True),
        ({'forbidden_member_prefixes': (PREFIX,)}, True),
        ({'is_isolation_enforced': True}, True),
    ],
)
def test_whether_properties_of_images_count(given, are_read):
    assert reads_images(Settings(options=given)) is are_read
