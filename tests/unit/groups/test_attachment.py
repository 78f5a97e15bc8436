"""Which server group a cluster gets, and what a detach deletes."""

import contextlib
import itertools

import greenlet
import pytest

from senlin_affinity.groups import attachment
from senlin_affinity.groups.attachment import ClusterInfo
from senlin_affinity.model.errors import (
    AffinityError,
    CloudError,
    GroupMayExist,
    InvalidSpec,
    PolicyMismatch,
)
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.model.snapshot import Quota
from senlin_affinity.policy import binding
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.group_lookup import saying
from senlin_affinity.policy.properties import TYPE, Properties, load
from tests.support.fake_cloud import FakeCloud, Fault, cloud_of, group_of
from tests.support.tables import check_error, raises, rows

ID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'


def properties_of(row):
    version, given = row.get('version', '1.1'), row.get('properties', {})
    return load({'type': TYPE, 'version': version, 'properties': given})


@pytest.mark.parametrize('row', rows('policy_attach'))
def test_attach(row):
    cloud = cloud_of(row.get('cloud', {}))
    before = [group.id for group in cloud.groups]
    if 'meanwhile' in row:
        rival = group_of(row['meanwhile'])
        cloud.before_request = lambda what: what == 'create' and cloud.groups.append(rival)
    wanted, claimed = properties_of(row), []
    cluster = ClusterInfo(
        'c1',
        row.get('hint'),
        row.get('pending', ()),
        other_clusters=lambda _group_id: row.get('others', ()),
        is_policy_made=lambda group_id: group_id in row.get('made', ()),
        claim=claimed.append,
        kept=row.get('kept'),
        own_servers=row.get('own', ()),
        group_hints=lambda: row.get('hints', ()),
    )
    if raises(row):
        with pytest.raises(AffinityError) as caught:
            attachment.attach(wanted, cluster, cloud, cloud)
        check_error(row, caught.value)
    else:
        attached = attachment.attach(wanted, cluster, cloud, cloud)
        is_inherited, is_created = (row['outcome'] == how for how in ('inherits', 'created'))
        assert (attached.how, attached.binding.is_inherited) == (row['outcome'], is_inherited)
        assert attached.group.id == attached.binding.servergroup_id
        assert attached.group.id == 'made-1' or not is_created
        before += ['made-1'] * is_created
        assert attached.line().startswith(f'{row["outcome"]} server group {attached.group.name} (')
        assert attached.line() == row.get('line', attached.line())
        assert attached.missing == row.get('gone')
        if 'stored' in row:
            assert binding.write(attached.binding) == row['stored']
        assert claimed == row.get('claimed', ['made-1'] * is_created)
        for key, value in row.get('binding', {}).items():
            assert getattr(attached.binding, key) == value
        for key, value in row.get('group', {}).items():
            assert getattr(attached.group, key) == value
    if 'requests' in row:
        assert cloud.requests == row['requests']
    assert [group.id for group in cloud.groups] == row.get('left', before)


def test_what_was_tried_is_said_and_the_rest_is_kept():
    with pytest.raises(CloudError, match='^tried it, lost$') as caught, saying('tried it,'):
        raise CloudError('lost', 502, is_uncertain=True)
    assert (caught.value.status, caught.value.is_uncertain) == (502, True)


@pytest.mark.parametrize('row', rows('policy_detach'))
def test_detach(row):
    cloud, kept, left, connected = cloud_of(row.get('cloud', {})), [], [], []
    cluster = ClusterInfo(
        'c1',
        row.get('hint'),
        other_clusters=lambda _id: row.get('others', ()),
        own_servers=row.get('own', ()),
        former_servers=lambda _id: row.get('former', ()),
        is_policy_made=lambda group_id: group_id in row.get('made', ()),
        release=left.append,
    )

    def detach():
        return attachment.detach(
            binding.read(row.get('stored', binding.write(Binding('g1', False)))),
            cluster,
            lambda: connected.append(cloud) or cloud,
            is_kept=lambda: row.get('keep', False),
            keep=kept.append,
        )

    if raises(row):
        with pytest.raises(AffinityError) as caught:
            detach()
        check_error(row, caught.value)
    else:
        answer = detach()
        assert answer.message == row['outcome']
        assert answer.deleted == row.get('gone')
        assert (answer.released is None) == ('gone' in row or row.get('stored', ...) is None)
    assert kept == row.get('kept', [])
    assert left == row.get('noted', [])
    assert bool(connected) == bool(cloud.requests)
    if 'requests' in row:
        assert cloud.requests == row['requests']
    assert [group.id for group in cloud.groups] == row['left']


def test_a_group_that_goes_during_its_detach():
    cloud = FakeCloud(groups=[ServerGroup('g1', 'web', 'affinity')])

    def lose_it(what):
        if what == 'delete':
            cloud.groups.clear()

    cloud.before_request = lose_it
    answer = attachment.detach(Binding('g1', False), ClusterInfo('c1'), lambda: cloud)
    assert answer.message == 'server group web (g1) is gone already'
    assert answer.deleted == 'g1'


# --- no single failure leaks a group, or takes one that is another's

SPECS = {
    'a group of its own': Properties('1.1', rules={'max_server_per_host': 2}),
    'servergroup.name': Properties('1.1', 'web', rules={'max_server_per_host': 2}),
}
LOST = {'is_uncertain': True}
FAULTS = {'refused': {}, 'lost on the way': LOST, 'done, the answer lost': {'is_done': True}}


@pytest.mark.parametrize('kind', FAULTS)
@pytest.mark.parametrize('number', range(4))
@pytest.mark.parametrize('spec', SPECS)
def test_one_failure_leaks_nothing(spec, number, kind):
    """R3-16, R3-27: afterwards there is no group, or one that the next attach takes up.

    It inherits, and reports, a group with a user-chosen name whose creation was not answered.
    """
    strangers = [
        ServerGroup('x1', 'other', 'anti-affinity', {'max_server_per_host': 2}),
        ServerGroup('x2', 'senlin-affinity-c2', 'anti-affinity', {'max_server_per_host': 2}),
    ]
    cloud = FakeCloud(
        groups=list(strangers),
        limits={'server_groups': Quota(10, 2)},
        faults=(Fault(number, **FAULTS[kind]),),
    )

    def own():
        return [group.id for group in cloud.groups if group not in strangers]

    noted, made = [], []
    is_in_doubt = (spec, number, kind) == ('servergroup.name', 2, 'done, the answer lost')
    cluster = ClusterInfo('c1', record_intent=noted.append, claim=made.append)
    try:
        first = attachment.attach(SPECS[spec], cluster, cloud, cloud)
    except AffinityError:
        assert len(own()) <= 1
    else:
        assert own() == [first.binding.servergroup_id]
        assert first.binding.is_inherited is bool(first.report()) is is_in_doubt
    cloud.faults = ()
    pending = noted[-1:] if not made else ()
    cluster = ClusterInfo('c1', intents=pending, is_policy_made=made.__contains__)
    again = attachment.attach(SPECS[spec], cluster, cloud, cloud)
    assert own() == [again.binding.servergroup_id]
    assert again.binding.is_inherited is bool(again.report()) is is_in_doubt
    assert cloud.groups[:2] == strangers


# --- two attaches at once


def attach_both(order, specs):
    """Attach cluster a and cluster b to one cloud, request by request in this order."""
    main, groups, answers = greenlet.getcurrent(), [], {}

    def run(who):
        cloud = FakeCloud(groups=groups, before_request=lambda _what: main.switch())
        cloud.made = {'a': 0, 'b': 100}[who]
        try:
            answers[who] = attachment.attach(specs[who], ClusterInfo(who), cloud, cloud)
        except AffinityError as error:
            answers[who] = error

    attaches = {who: greenlet.greenlet(run) for who in 'ab'}
    for who, attach in attaches.items():
        attach.switch(who)  # up to its first request
    for who in (*order, *'a' * 9, *'b' * 9):
        if not attaches[who].dead:
            attaches[who].switch()
    return groups, answers


ORDERS = [
    ''.join('a' if i in places else 'b' for i in range(9))
    for places in itertools.combinations(range(9), 4)
]


def test_two_attaches_of_one_name_end_in_one_group():
    """Q3-1, Q3-8: in every order of their requests one creates it, the other inherits it."""
    wanted = SPECS['servergroup.name']
    for order in ORDERS:
        groups, answers = attach_both(order, {'a': wanted, 'b': wanted})
        bound = {answers[who].binding.servergroup_id for who in 'ab'}
        assert {group.id for group in groups} == bound, order
        assert len(bound) == 1, order
        assert sorted(answers[who].how for who in 'ab') == ['created', 'inherits'], order


def test_two_attaches_of_one_name_that_want_different_groups():
    """One has its group; the other is refused, and leaves none behind."""
    specs = {
        'a': Properties('1.1', 'web', rules={'max_server_per_host': 2}),
        'b': Properties('1.1', 'web', rules={'max_server_per_host': 3}),
    }
    for order in ORDERS:
        groups, answers = attach_both(order, specs)
        refused = [answers[who] for who in 'ab' if isinstance(answers[who], PolicyMismatch)]
        assert len(refused) == 1, order
        assert 'max_server_per_host specified' in str(refused[0])
        (winner,) = (answers[who] for who in 'ab' if answers[who] is not refused[0])
        assert [group.id for group in groups] == [winner.binding.servergroup_id], order


@pytest.mark.parametrize(
    ('faults', 'how', 'left'),
    [
        pytest.param([{'is_done': True}], 'inherits', ['rival'], id='done, the answer lost'),
        pytest.param([{'status': 409}], 'created', ['rival', 'made-1'], id='refused'),
        pytest.param([{}, {}], 'created', ['rival', 'made-1'], id='nor is it known to be there'),
    ],
)
def test_a_group_that_is_given_up_and_the_deletion_fails(faults, how, left):
    """The cluster is never bound to a group that is not there, and no group is left unbound."""
    wanted = SPECS['servergroup.name']
    rival = ServerGroup('rival', 'web', wanted.policy, wanted.rules)
    cloud = FakeCloud(faults=tuple(Fault(4 + i, **each) for i, each in enumerate(faults)))
    cloud.before_request = lambda what: what == 'create' and cloud.groups.append(rival)
    attached = attachment.attach(wanted, ClusterInfo('c1'), cloud, cloud)
    assert cloud.requests == ['named', 'quotas', 'create', 'named', 'delete', 'get']
    assert [group.id for group in cloud.groups] == left
    assert (attached.how, attached.binding.servergroup_id) == (how, left[-1])


NAMED = Properties('1.1', 'web')


@pytest.mark.parametrize(
    ('name', 'hint', 'held'),
    [('web', None, ['web']), (None, None, []), ('web', 'web', []), (ID, None, [])],
    ids=['a name', 'a group of its own', 'a hint', 'an id'],
)
def test_who_may_create_a_group_of_a_name_is_alone_with_it(name, hint, held):
    """From the first look until the group is there: see the races for what comes of it."""
    asked, cloud = [], FakeCloud(groups=[ServerGroup(ID, 'other', 'anti-affinity')])
    cloud.groups += [ServerGroup('g', 'web', 'anti-affinity')] if hint else []

    @contextlib.contextmanager
    def alone_with(name):
        assert cloud.requests == []
        yield
        asked.append((name, *cloud.requests))

    cluster = ClusterInfo('c1', hint, lock_name=alone_with)
    attachment.attach(Properties('1.1', name), cluster, cloud, cloud)
    assert asked == [(each, 'named', 'quotas', 'create', 'named') for each in held]


@pytest.mark.parametrize('is_answered', [True, False])
def test_an_engine_that_dies_before_it_stores_the_binding_leaks_no_group(is_answered):
    """The group is the policy's own if Nova answered, and else inherited and reported."""
    noted, made, cloud = [], [], FakeCloud()
    first = ClusterInfo('c1', record_intent=noted.append, claim=made.append)
    attachment.attach(NAMED, first, cloud, cloud)
    assert (noted, made) == (['web'], ['made-1'])
    known = {'is_policy_made': made.__contains__} if is_answered else {'intents': {'web'}}
    again = attachment.attach(NAMED, ClusterInfo('c1', **known), cloud, cloud)
    assert again.how == ('takes up again' if is_answered else 'inherits')
    assert (again.report() == '') is is_answered is not again.binding.is_inherited


def test_a_group_whose_id_can_not_be_noted_is_deleted():
    def fail(_group_id):
        raise RuntimeError('the database failed')

    cloud = FakeCloud()
    with pytest.raises(RuntimeError, match='the database failed'):
        attachment.attach(NAMED, ClusterInfo('c1', claim=fail), cloud, cloud)
    assert cloud.groups == []


@pytest.mark.parametrize(('fault', 'is_noted'), [({'status': 403}, False), (LOST, True)])
def test_a_group_that_appears_after_a_failed_create_is_inherited(fault, is_noted):
    """Nova may have finished the request late, or a user created the group: both are reported."""
    noted, cloud = [], FakeCloud(faults=(Fault(2, **fault),))
    with pytest.raises(GroupMayExist if is_noted else CloudError):
        attachment.attach(NAMED, ClusterInfo('c1', record_intent=noted.append), cloud, cloud)
    assert noted == ['web'] if is_noted else ['web', None]
    cloud.groups.append(ServerGroup('late', 'web', 'anti-affinity'))
    again = attachment.attach(NAMED, ClusterInfo('c1', intents=noted[-1:]), cloud, cloud)
    assert (again.group.id, again.binding.is_inherited) == ('late', True)
    said = (
        'server group web (late): it was created by another user or by an attach whose outcome is '
        'unknown, so it is inherited and stays when the policy is detached'
    )
    assert again.report() == said * is_noted
    assert (attachment.IN_DOUBT in again.line()) is is_noted


@pytest.mark.parametrize(
    ('hint', 'pending', 'made', 'is_reported'),
    [
        ('web', ['web'], [], True),
        (None, ['web'], [], True),
        (None, ['web'], ['g1'], False),
        ('web', ['web'], ['g1'], False),
        (None, ['other'], [], False),
        (None, [], [], False),
    ],
)
def test_a_name_never_makes_a_group_the_policys_own(hint, pending, made, is_reported):
    """The group is reported if an attach may have created it, and no note has its id."""
    cloud = FakeCloud([ServerGroup('g1', 'web', 'anti-affinity')])
    is_policy_made, others = made.__contains__, lambda _group_id: ['c2']
    cluster = ClusterInfo('c1', hint, pending, is_policy_made=is_policy_made, other_clusters=others)
    attached = attachment.attach(NAMED, cluster, cloud, cloud)
    assert (attached.how, attached.is_in_doubt) == ('inherits', is_reported)
    assert attached.binding.is_policy_made is (bool(made) and hint is None)


def test_a_lost_answer_beside_a_left_behind_group_with_members():
    """Both have the cluster's own name, so the one that is as asked for is the policy's own."""
    left = ServerGroup('left', 'senlin-affinity-c1', 'affinity', members=(Member('s1'),))
    cloud = FakeCloud([left], faults=(Fault(2, is_done=True, is_uncertain=True),))
    attached = attachment.attach(Properties('1.1'), ClusterInfo('c1'), cloud, cloud)
    assert (attached.group.id, attached.binding.is_inherited) == ('made-1', False)


@pytest.mark.parametrize(
    ('properties', 'words'),
    [
        ({'pin_hosts': True}, 'properties: pin_hosts needs the host of every node to be chosen, '),
        ({'member_of': ['a']}, 'properties: member_of needs'),
        ({'spread': [{'by': 'rack'}]}, 'properties: a spread by rack needs'),
        ({'member_of': ['a'], 'spread': [{'by': 'rack'}]}, 'member_of and a spread by rack need'),
        ({'spread': [{'by': 'availability_zone'}]}, None),
        (
            {'enable_drs_extension': True},
            'properties: enable_drs_extension needs the host of every ',
        ),
        ({}, None),
    ],
)
def test_a_spec_that_chooses_hosts_is_for_owners_who_may(properties, words):
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
