"""The owner, the users and the deletion of a group, on the engine's own objects and database."""

import datetime
import threading
import uuid

import pytest
from oslo_utils import timeutils
from senlin import objects
from senlin.engine import senlin_lock
from senlin.policies import base

from senlin_affinity.model.errors import AffinityError
from senlin_affinity.plugins.senlin import group_registry as registry
from tests.engine.support import (
    PROJECT,
    USER,
    Desk,
    binding,
    done,
    plain,
    profile,
    record_events,
    refused,
    spec,
)
from tests.support.edge import SERVER_ERROR, Edge

NAMED = plain(servergroup={'name': 'web'})
OUT = 'CLUSTER_SCALE_OUT'


class Party:
    """A cluster with a policy, with the engine's steps before and after attach and detach."""

    def __init__(self, desk, wanted=NAMED, policy=None, **cluster):
        self.desk, self.policy = desk, policy or desk.policy(wanted)
        self.id = desk.cluster(**cluster).id

    @property
    def cluster(self):
        return self.desk.load_cluster(self.id)

    def attach(self):
        cluster = self.cluster
        data = done(self.policy.attach(cluster))
        self.desk.bind(cluster, self.policy, data)
        cluster.store(self.desk.context)
        return data['AffinityPolicy']['data']

    def detach(self):
        cluster = self.cluster
        said = done(self.policy.detach(cluster))
        objects.ClusterPolicy.delete(self.desk.context, self.id, self.policy.id)
        cluster.store(self.desk.context)
        return said

    @property
    def bound(self):
        row = objects.ClusterPolicy.get(self.desk.context, self.id, self.policy.id)
        return row.data['AffinityPolicy']['data']

    def grow(self):
        """Run the hook with a newly loaded policy, and return the data."""
        policy = base.Policy.load(self.desk.context, policy_id=self.policy.id)
        policy._novaclient = self.policy._novaclient
        action = self.desk.action(self.cluster, OUT, {'count': 1})
        policy.pre_op(self.id, action)
        return action.data


# -- row 1: the last one out


@pytest.mark.parametrize('version', ['1.1', '1.0'])
def test_q3_9_the_last_cluster_deletes_the_group(desk, version, option):
    """One creates the group, another inherits it; the first detaches, then the other."""
    option('serve_version_1_0', version == '1.0')
    first = Party(desk, spec(version, servergroup={'name': 'web'}))
    second = Party(desk, spec(version, servergroup={'name': 'web'}))
    group = first.attach()['servergroup_id']
    inherits = second.attach()
    assert (inherits['servergroup_id'], inherits['inherited_group']) == (group, True)
    assert first.detach() == f'server group {group} stays: cluster cluster uses it'
    assert second.bound == {**inherits, 'inherited_group': False}
    assert desk.groups() == [group]
    assert second.detach() == f'server group web ({group}) deleted'
    assert desk.groups() == []


def test_q3_9_the_oldest_cluster_inherits_the_ownership(desk):
    first, *others = parties = [Party(desk) for _ in range(3)]
    for number, party in enumerate(parties):
        created = timeutils.utcnow(True) + datetime.timedelta(number)
        objects.Cluster.update(desk.context, party.id, {'created_at': created})
    for party in reversed(parties):
        party.attach()
    assert [each.bound['inherited_group'] for each in parties] == [True, True, False]
    parties[2].detach()
    assert [each.bound['inherited_group'] for each in parties[:2]] == [False, True]
    first.detach()
    assert others[0].bound['inherited_group'] is False


def test_r3_15_a_group_of_a_user_is_never_deleted(desk):
    group = desk.edge.nova.add_group('web')
    parties = [Party(desk) for _ in range(2)]
    for party in parties:
        assert party.attach()['inherited_group'] is True
    for party in parties:
        assert party.detach() == f'server group {group} was inherited: it stays'
    assert desk.groups() == [group]


def test_r3_15_a_group_in_a_profile_remains(desk):
    """Without the group, Nova would reject the servers of the profile."""
    first = Party(desk)
    group = first.attach()['servergroup_id']
    hint = {'scheduler_hints': {'group': group}}
    second = Party(desk, plain(), profile=profile(**hint))
    second.attach()
    first.detach()
    words = f'server group web ({group}) stays: profile profile names it'
    assert second.detach() == words
    assert second.cluster.status_reason == words
    assert desk.groups() == [group]


def test_two_policies_of_one_cluster_that_share_a_group(desk):
    """Senlin's own policy 1.0 is attached as well; it would delete the group of others."""
    party = Party(desk)
    group = party.attach()['servergroup_id']
    old = desk.policy(spec('1.0'))
    desk.bind(party.cluster, old, binding(group))
    assert party.detach() == f'server group web ({group}) stays: cluster cluster uses it'
    assert objects.ClusterPolicy.get(desk.context, party.id, old.id).data == binding(group)
    assert desk.groups() == [group]


def test_the_second_of_two_concurrent_detaches_deletes(desk):
    """The engine deletes a binding after the detach; until then, it must not count."""
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    second.attach()
    assert 'stays' in done(first.policy.detach(first.cluster))
    assert done(second.policy.detach(second.cluster)) == f'server group web ({group}) deleted'
    assert desk.groups() == []


def test_an_attach_waits_for_a_detach_of_the_group(desk, option):
    option('request_timeout', 1)
    party = Party(desk)
    group = party.attach()['servergroup_id']
    other = desk.action(desk.cluster(), 'CLUSTER_DETACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, group, other.id)
    assert f'still leaving server group {group}: try' in refused(party.policy.detach(party.cluster))
    assert desk.groups() == [group]
    objects.Action.mark_failed(desk.context, other.id, 1.0)  # its engine died
    party.detach()
    assert desk.groups() == []
    assert registry.lock_holders(group) == ()


def test_an_attach_waits_for_an_attach_with_the_same_name(desk, option):
    """Only one of them creates the group; a policy with another name does not wait."""
    option('request_timeout', 1)
    party, other = Party(desk), Party(desk, plain(servergroup={'name': 'db'}))
    with registry.lock_name(desk.cluster(), 'web'):
        words = "another policy is still attaching to server group 'web': try again"
        assert refused(party.policy.attach(party.cluster)) == words
        other.attach()
    assert [group['name'] for group in desk.edge.nova.groups] == ['db']
    assert party.attach()['inherited_group'] is False


def test_a_group_that_is_deleted_while_another_cluster_attaches(desk):
    """The attach has found it already; it waits, searches again, and creates a group."""
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    desk.edge.before('GET', f'/os-server-groups/{group}', desk.edge.nova.groups.clear)
    data = second.attach()
    assert data['servergroup_id'] != group
    assert data['inherited_group'] is False


def test_a_cluster_that_is_being_attached_may_use_the_group(desk, option):
    """Its binding is stored after the attach: the detach waits, and hands over the ownership."""
    option('request_timeout', 0.5)
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    inputs = {'policy_id': second.policy.id}
    action = desk.action(second.cluster, 'CLUSTER_ATTACH_POLICY', inputs)
    data = done(second.policy.attach(second.cluster))
    words = 'a policy that may use it is being attached to cluster cluster; try again'
    assert words in refused(first.policy.detach(first.cluster))
    desk.bind(second.cluster, second.policy, data)
    objects.Action.mark_succeeded(desk.context, action.id, 1.0)
    assert first.detach() == f'server group {group} stays: cluster cluster uses it'
    assert second.bound['inherited_group'] is False


def test_nothing_waits_for_the_attach_of_a_dead_engine(desk):
    first, second = Party(desk), Party(desk)
    first.attach()
    inputs = {'policy_id': second.policy.id}
    action = desk.action(second.cluster, 'CLUSTER_ATTACH_POLICY', inputs)
    objects.Action.update(desk.context, action.id, {'owner': str(uuid.uuid4())})
    first.detach()
    assert desk.groups() == []


# -- row 2: nothing is left behind


@pytest.mark.parametrize(('wanted', 'is_ours'), [(NAMED, False), (plain(), True)])
def test_an_engine_dies_before_the_binding_is_stored(desk, wanted, is_ours, monkeypatch):
    """The next attach adopts the cluster's own group; any other group is inherited and reported."""
    party = Party(desk, wanted)
    action = desk.action(party.cluster, 'CLUSTER_ATTACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, party.id, action.id)
    record_events(monkeypatch)
    done(party.policy.attach(party.cluster))  # and the engine dies
    rows = objects.Event.get_all(desk.context, filters={'oid': party.id})
    told = [each.status_reason for each in rows]
    assert any("creates server group 'web'" in each for each in told) is not is_ours
    (group,) = desk.groups()
    assert party.attach() | {'rules': {}} == {
        'servergroup_id': group,
        'inherited_group': not is_ours,
        'policy': 'anti-affinity',
        'rules': {},
    }
    assert ('stays when the policy is detached' in party.cluster.status_reason) is not is_ours
    party.detach()
    assert desk.groups() == [group] * (not is_ours)


@pytest.mark.parametrize('wanted', [NAMED, plain()], ids=['named', 'own'])
@pytest.mark.parametrize(
    ('method', 'path'),
    [
        ('GET', '/os-server-groups'),
        ('POST', '/os-server-groups'),
        ('GET', '/os-hypervisors/detail'),
    ],
)
def test_a_policy_that_is_deleted_during_its_attach_leaves_no_group(desk, wanted, method, path):
    """Senlin deletes a policy without a binding, and the binding of an attach is stored last."""
    wanted = {**wanted, 'properties': {**wanted['properties'], 'preflight': 'enforce'}}
    party = Party(desk, wanted, max_size=3)
    cluster, deleted = party.cluster, []

    def delete():
        deleted.append(path)
        objects.Policy.delete(desk.context, party.policy.id)

    desk.edge.before(method, path, delete)
    assert refused(party.policy.attach(cluster)) == 'the policy was deleted meanwhile'
    assert (deleted, desk.groups()) == ([path], [])


def test_if_an_attach_fails_after_the_creation_the_group_is_deleted(desk, monkeypatch):
    def fail(*_arguments):
        raise AffinityError('no more')

    monkeypatch.setattr('senlin_affinity.plugins.senlin.preflight.warn_if_limited', fail)
    assert refused(desk.policy(NAMED).attach(desk.cluster())) == 'no more'
    assert desk.groups() == []


def test_q3_12_a_kept_group_is_not_deleted_by_another_cluster(desk):
    """Another cluster that uses it does not delete it."""
    keeps = {'name': 'web', 'on_detach': 'keep'}
    first, second = Party(desk, plain(servergroup=keeps)), Party(desk)
    group = first.attach()['servergroup_id']
    second.attach()
    first.detach()
    assert second.detach() == f'server group {group} was inherited: it stays'
    again = Party(desk)
    again.id = first.id
    assert again.attach()['inherited_group'] is False
    assert again.detach() == f'server group web ({group}) deleted'


def test_one_of_two_waiting_actions_gets_the_lock_of_a_dead_one(desk, option, monkeypatch):
    """Both find that its action is over; the second must not take the lock from the first."""
    option('request_timeout', 0.3)
    dead = desk.action(desk.cluster(), 'CLUSTER_DETACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, 'the-group', dead.id)
    objects.Action.mark_failed(desk.context, dead.id, 1.0)
    is_read, is_held, ended = (threading.Event() for _ in range(3))
    read = objects.Action.get.__func__

    def get(cls, context, action_id, **more):
        found = read(cls, context, action_id, **more)
        if action_id == dead.id and threading.current_thread() is slow:
            is_read.set()
            is_held.wait(10)
        return found

    def wait():
        try:
            with registry.lock_group('slow', 'the-group'):
                held.append('slow')
        except AffinityError as error:
            held.append(str(error))
        ended.set()

    monkeypatch.setattr(objects.Action, 'get', classmethod(get))
    held, slow = [], threading.Thread(target=wait)
    slow.start()
    assert is_read.wait(10)
    with registry.lock_group('fast', 'the-group'):
        is_held.set()
        assert ended.wait(10)
        assert registry.lock_holders('the-group') == ('fast',)
    slow.join()
    assert held == ['another policy is still leaving server group the-group: try again']
    assert registry.lock_holders('the-group') == ()


@pytest.mark.parametrize(('hint', 'is_kept'), [('id', True), ('name', False)])
def test_a_profile_of_another_project_refers_to_a_group_by_its_id(desk, hint, is_kept):
    """The same name means a group of that project."""
    party = Party(desk)
    group = party.attach()['servergroup_id']
    named = {'id': group, 'name': 'web'}[hint]
    made = desk.cluster(profile=profile(scheduler_hints={'group': named}))
    row = objects.Profile.get(desk.context, made.profile_id)
    objects.Profile.update(desk.context, row.id, {'project': 'elsewhere'})
    assert ('profile of another project names it' in party.detach()) is is_kept


# -- row 3: nodes that left, and the messages


def test_a_server_that_left_the_cluster_is_not_foreign(desk):
    party = Party(desk)
    group = party.attach()['servergroup_id']
    placed = {'placement': {'servergroup': group}}
    inside = desk.node(party.cluster, placed, physical_id=desk.edge.nova.boot(group))
    left = desk.node(party.cluster, placed, physical_id=desk.edge.nova.boot(group))
    left.do_leave(desk.context)
    assert party.detach() == f'server group web ({group}) deleted'
    assert [desk.node_data(node.id) for node in (inside, left)] == [{'placement': {}}] * 2


@pytest.mark.parametrize('is_of_other_cluster', [True, False])
def test_q3_9_other_servers_are_foreign(desk, is_of_other_cluster, monkeypatch):
    """A server of another cluster, and a node without a cluster that no policy placed."""
    party = Party(desk)
    group = party.attach()['servergroup_id']
    server = desk.edge.nova.boot(group)
    other = desk.cluster()
    data = {'placement': {'servergroup': group}} if is_of_other_cluster else {}
    node = desk.node(other, data, physical_id=server)
    if not is_of_other_cluster:
        node.do_leave(desk.context)
    action = desk.action(party.cluster, 'CLUSTER_DETACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, party.id, action.id)
    record_events(monkeypatch)
    said = party.detach()
    assert (
        said == f'server group web ({group}) stays: server {server} outside the cluster is a member'
    )
    assert party.cluster.status_reason == said
    (told,) = objects.Event.get_all(desk.context, filters={'oid': party.id})
    facts = (told.action, told.otype, told.oname, told.user, told.project, told.status)
    assert facts == ('CLUSTER_DETACH_POLICY', 'CLUSTER', 'cluster', USER, PROJECT, 'end')
    assert told.status_reason == said
    assert desk.node_data(node.id) == data
    assert desk.groups() == [group]


# -- row 4: two policies; row 7: a group that is gone


def test_another_enabled_affinity_policy_with_another_group_is_reported(desk):
    party = Party(desk)
    party.attach()
    other = desk.policy(spec('1.0'))
    desk.bind(party.cluster, other, binding('another'))
    data = party.grow()
    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        'the cluster has another affinity policy, web (senlin.policy.affinity-1.0), with another '
        'server group, another: detach or disable one of the policies'
    )
    objects.ClusterPolicy.update(desk.context, party.id, other.id, {'enabled': False})
    assert party.grow()['status'] == 'NONE'


@pytest.mark.parametrize('mode', ['enforce', 'warn', 'off'])
def test_a_deleted_group_is_rejected_in_every_mode(desk, mode):
    """The message has a remedy; the nodes' data are cleaned, so that RECREATE works."""
    party = Party(desk, spec(preflight=mode))
    group = party.attach()['servergroup_id']
    node = desk.node(party.cluster, {'placement': {'servergroup': group}})
    desk.edge.nova.groups.clear()
    desk.edge.nova.asked.clear()
    data = party.grow()
    paths = {each.path for each in desk.edge.nova.asked}
    assert paths == {f'/os-server-groups/{group}', '/os-server-groups'}  # and not the whole cloud
    assert (data['status'], 'placement' in data) == ('ERROR', False)
    assert data['reason'] == (
        f'server group {group}, which the policy is bound to, no longer exists: '
        'detach the policy and attach it again'
    )
    assert desk.node_data(node.id) == {'placement': {}}


def test_an_unreadable_group_rejects_nothing(_database, caplog):
    with Edge() as edge:
        desk = Desk(edge)
        party = Party(desk)
        party.attach()
        edge.fail('GET', '/os-server-groups/.*', SERVER_ERROR)
        assert party.grow()['status'] == 'NONE'
        assert 'could not get server group' in caplog.text
