"""The spec of the policy is validated strictly."""

import pytest

from senlin_affinity.groups import attachment
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.policy import properties
from tests.support.fake_cloud import FakeCloud, cloud_of
from tests.support.tables import as_tuples, check_error, raises, rows
from tests.support.values import replace


@pytest.mark.parametrize('row', rows('policy_spec'))
def test_load_spec(row):
    version = row.get('version', '1.1')
    spec = {'type': properties.TYPE, 'version': version, 'properties': row.get('given')}
    spec = row.get('spec', spec)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            properties.load(spec)
        check_error(row, caught.value)
        paths = [mistake.path for mistake in caught.value.mistakes]
        assert paths == row.get('mistakes', [row['path']])
        assert str(caught.value) == '; '.join(map(str, caught.value.mistakes))
        return
    added = {'extra_specs': 'permissive', 'preflight': 'enforce'}
    wanted = {'version': str(version), **({} if str(version) == '1.0' else added)}
    wanted |= as_tuples(row.get('properties', {}))
    assert properties.load(spec) == properties.PolicySpec(**wanted)


def test_at_most_20_mistakes_are_reported():
    wanted = {'servergroup': dict.fromkeys(map(str, range(15)), 1), 'member_of': ['!'] * 1000}
    spec = {'type': properties.TYPE, 'version': '1.1', 'properties': wanted}
    with pytest.raises(InvalidSpec) as caught:
        properties.load(spec)
    paths = [f'properties.servergroup.{number}' for number in range(15)]
    paths += [f'properties.member_of[{number}]' for number in range(5)]
    assert [mistake.path for mistake in caught.value.mistakes] == paths


def test_a_1_1_spec_without_new_features_equals_a_1_0_spec():
    """Q3-7: such a spec acts exactly as the document specifies."""
    wanted = {'servergroup': {'name': 'web'}, 'availability_zone': 'nova'}
    switched_off = ({}, {'extra_specs': 'off', 'preflight': 'off'})
    both = [
        properties.load({'type': properties.TYPE, 'version': version, 'properties': wanted | more})
        for version, more in zip(properties.VERSIONS, switched_off, strict=True)
    ]
    assert both[1] == replace(both[0], version='1.1')


def test_a_spec_is_normalized_as_by_the_policy_of_senlin():
    given = {'name': '', 'policies': 7.5, 'other': 7}
    known = {'availability_zone': 7, 'servergroup': given, 'enable_drs_extension': 1, 'extra': ''}
    assert properties.as_in_tree({'properties': known, 'version': 1.0}) == {
        'properties': {
            'availability_zone': '7',
            'servergroup': {'policies': '7.5', 'other': 7},
            'enable_drs_extension': 1,
            'extra': '',
        },
        'version': 1.0,
    }


@pytest.mark.parametrize('given', properties.PREFLIGHTS)
@pytest.mark.parametrize('limit', properties.PREFLIGHTS)
def test_the_weaker_mode_of_the_preflight_is_used(given, limit):
    order = ('enforce', 'warn', 'off')
    weaker = order[max(order.index(given), order.index(limit))]
    wanted = properties.PolicySpec('1.1', preflight=given)
    assert wanted.limited(limit) == properties.PolicySpec('1.1', preflight=weaker)


def test_the_name_of_the_group_of_a_spec():
    spec = {'type': properties.TYPE, 'version': '1.1'}
    named = {**spec, 'properties': {'servergroup': {'name': 'web'}}}
    assert properties.group_name(named) == 'web'
    assert properties.group_name({**spec, 'properties': {}}) is None
    assert properties.group_name({**named, 'version': '9'}) is None


def test_a_malformed_spec_is_returned_unchanged():
    malformed = {'properties': {'servergroup': 'web', 'availability_zone': [7]}}
    assert properties.as_in_tree(malformed) == malformed
    assert properties.as_in_tree({'type': 'odd'}) == {'type': 'odd'}


def test_an_existing_zone_is_accepted_with_one_request():
    cloud = FakeCloud(zones=frozenset({'nova', 'nova_1'}))
    attachment.validate(properties.PolicySpec('1.1'), cloud)
    assert cloud.requests == []
    attachment.validate(properties.PolicySpec('1.1', availability_zone='nova_1'), cloud)
    assert cloud.requests == ['zones']


def test_an_unknown_zone_is_rejected():
    """R3-26: the message of Senlin's own policy."""
    with pytest.raises(InvalidSpec) as caught:
        attachment.validate(properties.PolicySpec('1.1', availability_zone='X'), FakeCloud())
    assert caught.value.message == "The specified availability_zone 'X' could not be found."
    assert caught.value.path == 'properties.availability_zone'


@pytest.mark.parametrize('row', rows('policy_member_of'))
def test_member_of(row):
    cloud = cloud_of(row.get('cloud', {}))
    wanted = properties.PolicySpec('1.1', member_of=tuple(row['member_of']), pins_hosts=True)
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            attachment.member_of(wanted, cloud, cloud)
        check_error(row, caught.value)
    else:
        assert attachment.member_of(wanted, cloud, cloud).to_query() == row['query']
    if 'requests' in row:
        assert cloud.requests == row['requests']
