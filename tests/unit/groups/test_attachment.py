"""The server group that a cluster gets."""

import pytest

from senlin_affinity.groups import attachment
from senlin_affinity.groups.attachment import Attach
from senlin_affinity.groups.steps import (
    Announce,
    CreateGroup,
    GetGroup,
    LockGroup,
    LockName,
    SearchGroups,
    checked,
)
from senlin_affinity.model.errors import AffinityError, CloudError, InvalidSpec
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.policy.group_lookup import is_keystone_id, saying
from senlin_affinity.policy.properties import TYPE, PolicySpec, load
from tests.support.fake_cloud import FakeCloud, cloud_of, group_of
from tests.support.tables import check_error, raises, rows
from tests.unit.groups.senlin_fake import FakeSenlin, use_of

ID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'


def properties_of(row):
    version, given = row.get('version', '1.1'), row.get('properties', {})
    return load({'type': TYPE, 'version': version, 'properties': given})


@pytest.mark.parametrize('row', rows('policy_attach'))
def test_attach(row):
    cloud = cloud_of(row.get('cloud', {}))
    before = [group.id for group in cloud.groups]

    def interfere(what):
        if what == 'create' and 'meanwhile' in row:
            cloud.groups.append(group_of(row['meanwhile']))
        if what == row.get('lost') and what not in cloud.requests:
            cloud.groups.pop(0)

    cloud.before_request = interfere
    wanted, senlin = properties_of(row), FakeSenlin(cloud, use=use_of(row))
    operation = Attach('c1', wanted, row.get('hint'), row.get('kept'), 'p1', 'u1')

    def attach():
        cloud.check(wanted.policy, wanted.rules or {})
        return senlin.run(operation)

    if raises(row):
        with pytest.raises(AffinityError) as caught:
            attach()
        check_error(row, caught.value)
    else:
        attached = attach()
        is_inherited, is_created = (row['outcome'] == how for how in ('inherits', 'created'))
        assert (attached.how, attached.binding.is_inherited) == (row['outcome'], is_inherited)
        assert attached.group.id == attached.binding.servergroup_id
        assert attached.group.id == 'made-1' or not is_created
        before += ['made-1'] * is_created
        assert attached.line().startswith(f'{row["outcome"]} server group {attached.group.name} (')
        assert attached.line() == row.get('line', attached.line())
        assert attached.missing == row.get('gone')
        if 'stored' in row:
            assert attached.binding.data() == row['stored']
        for key, value in row.get('binding', {}).items():
            assert getattr(attached.binding, key) == value
        for key, value in row.get('group', {}).items():
            assert getattr(attached.group, key) == value
    if 'requests' in row:
        assert cloud.requests == row['requests']
    heirs = [each.heir.cluster for each in senlin.left if each.heir]
    assert heirs == [row['heir']] if 'heir' in row else not heirs
    assert [group.id for group in cloud.groups] == row.get('left', before)


def test_an_error_names_the_action_and_keeps_its_attributes():
    with pytest.raises(CloudError, match='^tried it, lost$') as caught, saying('tried it,'):
        raise CloudError('lost', 502, is_uncertain=True)
    assert (caught.value.status, caught.value.is_uncertain) == (502, True)


@pytest.mark.parametrize(
    ('name', 'hint', 'effects'),
    [
        ('new', None, [LockName('new'), Announce('new')]),
        ('web', None, [LockName('web'), LockGroup('g')]),
        (None, None, [LockName('senlin-affinity-c1')]),
        (None, 'web', [LockGroup('g')]),
        (ID, None, [LockGroup(ID)]),
    ],
    ids=['a new name', 'a name', 'a group of its own', 'a hint', 'an id'],
)
def test_the_locks_of_an_attach(name, hint, effects):
    """The name, from the first search until the group exists, and an inherited group."""
    cloud = FakeCloud(
        [ServerGroup(ID, 'x', 'anti-affinity'), ServerGroup('g', 'web', 'anti-affinity')]
    )
    senlin = FakeSenlin(cloud)
    senlin.run(Attach('c1', PolicySpec('1.1', name), hint))
    assert senlin.effects == effects


@pytest.mark.parametrize(
    ('effect', 'answer'),
    [
        (GetGroup('g'), ServerGroup('other', 'web', 'affinity')),
        (CreateGroup('web', 'affinity'), ServerGroup('g', 'other', 'affinity')),
        (CreateGroup('web', 'affinity'), ServerGroup('g', 'web', 'anti-affinity')),
        (CreateGroup('web', 'affinity'), ServerGroup('g', 'web', 'affinity', {}, (Member('s'),))),
        (SearchGroups('web'), [ServerGroup('g', 'other', 'affinity')]),
        (SearchGroups('web'), [ServerGroup('g', 'web', 'affinity')] * 2),
        (SearchGroups(), [ServerGroup('g', 'web', 'affinity')] * 2),
    ],
)
def test_an_answer_about_another_group_is_an_error(effect, answer):
    """It is unknown whether a group was created, so the next attach searches for it."""
    with pytest.raises(CloudError, match='the answer is about another server group') as caught:
        checked(effect, answer)
    assert caught.value.is_uncertain is isinstance(effect, CreateGroup)


def test_an_unused_inherited_group_is_reported():
    """An attach whose outcome is unknown may have created it."""
    cloud = FakeCloud([ServerGroup('g1', 'web', 'anti-affinity')])
    attached = FakeSenlin(cloud).run(Attach('c1', PolicySpec('1.1', 'web')))
    assert attached.report() == (
        'server group web (g1): it was created by another user or by an attach whose outcome is '
        'unknown, so it is inherited and stays when the policy is detached'
    )
    assert attached.line().endswith(attachment.IN_DOUBT)
    hinted = FakeSenlin(cloud).run(Attach('c1', PolicySpec('1.1'), 'web'))
    assert hinted.report() == ''


@pytest.mark.parametrize(
    ('name', 'cluster'),
    [
        (f'senlin-affinity-{ID}', ID),
        ('senlin-affinity-web', None),
        (f'web-{ID}', None),
        (ID, None),
    ],
)
def test_the_cluster_after_which_a_group_is_named(name, cluster):
    assert attachment.cluster_of(name) == cluster


@pytest.mark.parametrize(
    ('properties', 'words'),
    [
        (
            {'pin_hosts': True},
            'properties: for pin_hosts, the policy must choose the host of every',
        ),
        ({'member_of': ['a']}, 'properties: for member_of, the'),
        ({'spread': [{'by': 'rack'}]}, 'properties: for a spread by rack, the'),
        ({'member_of': ['a'], 'spread': [{'by': 'rack'}]}, 'member_of and a spread by rack, the'),
        (
            {'spread': [{'by': 'availability_zone'}, {'by': 'rack'}]},
            'properties: for a spread by rack, the',
        ),
        ({'spread': [{'by': 'availability_zone'}]}, None),
        (
            {'enable_drs_extension': True},
            'properties: for enable_drs_extension, the policy must choose',
        ),
        ({}, None),
    ],
)
def test_a_spec_that_chooses_hosts_requires_the_right(properties, words):
    wanted, cloud = properties_of({'properties': properties}), cloud_of({})
    attachment.check_choice(wanted, cloud)
    assert cloud.requests == ['choice'] * (words is not None)
    cloud.is_choice = False
    if words is None:
        attachment.check_choice(wanted, cloud)
    else:
        with pytest.raises(InvalidSpec, match='os_compute_api:servers:create:forced_host') as it:
            attachment.check_choice(wanted, cloud)
        assert words in str(it.value)


@pytest.mark.parametrize(
    ('text', 'is_id'),
    [
        *((ID, True), (ID.replace('-', '').upper(), True), (2 * ID.replace('-', ''), True)),
        *((f'{ID}0', False), ('web', False)),
    ],
)
def test_an_id_of_keystone_may_lack_hyphens(text, is_id):
    assert is_keystone_id(text) is is_id
