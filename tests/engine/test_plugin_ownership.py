"""Who made a group, who uses it, and who deletes it, on the engine's own objects and database."""

import sqlite3
import threading

import pytest
from senlin import objects
from senlin.db.sqlalchemy import api as database
from senlin.engine import senlin_lock
from senlin.policies import base

from senlin_affinity.model.errors import AffinityError
from senlin_affinity.plugins.senlin import group_registry as registry
from tests.engine.support import (
    PROJECT,
    Desk,
    binding,
    done,
    plain,
    profile,
    record_events,
    refused,
    spec,
)
from tests.support.edge import FORBIDDEN, SERVER_ERROR, Edge

NAMED = plain(servergroup={'name': 'web'})
OUT = 'CLUSTER_SCALE_OUT'


class Party:
    """A cluster with a policy, and what the engine does around attach and detach."""

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

    def detach_only(self):
        """The detach of a policy that is not bound."""
        return done(self.policy.detach(self.cluster))

    def delete(self):
        """As the engine deletes a cluster that no policy is attached to."""
        objects.Cluster.delete(self.desk.context, self.id)

    @property
    def notes(self):
        return objects.Policy.get(self.desk.context, self.policy.id).data

    def grow(self):
        """What the hook writes, of a policy that is loaded as the engine loads it."""
        policy = base.Policy.load(self.desk.context, policy_id=self.policy.id)
        policy._novaclient = self.policy._novaclient
        action = self.desk.action(self.cluster, OUT, {'count': 1})
        policy.pre_op(self.id, action)
        return action.data


# -- row 1: the last one out


@pytest.mark.parametrize('version', ['1.1', '1.0'])
def test_q3_9_the_last_cluster_that_leaves_a_group_deletes_it(desk, version):
    """One creates, another inherits, the first leaves, then the other."""
    first = Party(desk, spec(version, servergroup={'name': 'web'}))
    second = Party(desk, spec(version, servergroup={'name': 'web'}))
    group = first.attach()['servergroup_id']
    inherits = second.attach()
    assert (inherits['servergroup_id'], inherits['inherited_group']) == (group, True)
    assert ('made_by_policy' in inherits) is (version == '1.1'), 'the shape of document 003'
    assert first.detach() == f'server group {group} stays: cluster cluster uses it'
    assert desk.groups() == [group]
    assert second.detach() == f'server group web ({group}) deleted'
    assert desk.groups() == []
    assert (first.notes, second.notes) == ({}, {})


def test_q3_9_also_where_the_binding_is_of_an_older_release(desk):
    """It does not say who made the group: the one that leaves notes it."""
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    desk.bind(second.cluster, second.policy, binding(group))
    first.detach()
    assert first.notes == {'senlin_affinity': {first.id: {'made': [group]}}}
    second.detach()
    assert (desk.groups(), first.notes) == ([], {})


def test_r3_15_a_group_that_no_policy_made_is_never_deleted(desk):
    group = desk.edge.nova.add_group('web')
    parties = [Party(desk) for _ in range(2)]
    for party in parties:
        assert party.attach()['inherited_group'] is True
    for party in parties:
        assert party.detach() == f'server group {group} was inherited: it stays'
    assert desk.groups() == [group]


def test_r3_15_a_group_that_the_profile_names_stays(desk):
    """The servers of the profile could not be created without it; a next attach owns it again."""
    first = Party(desk)
    group = first.attach()['servergroup_id']
    hint = {'scheduler_hints': {'group': group}}
    second = Party(desk, plain(), profile=profile(**hint))
    second.attach()
    first.detach()
    assert second.detach() == f'server group {group} was inherited: it stays'
    for party in (first, second):
        Party(desk, plain(), party.policy).detach_only()  # nor is it left behind
    assert first.attach()['inherited_group'] is False
    assert first.detach() == f'server group web ({group}) deleted'


def test_two_policies_of_one_cluster_that_share_a_group(desk):
    """Senlin's own 1.0 attaches beside ours; its group is not deleted under it."""
    party = Party(desk)
    group = party.attach()['servergroup_id']
    desk.bind(party.cluster, desk.policy(spec('1.0')), binding(group))
    assert party.detach() == f'server group {group} stays: cluster cluster uses it'
    assert desk.groups() == [group]


def test_of_two_detaches_at_once_the_second_deletes(desk):
    """The engine takes a binding away after the detach: it does not count until then."""
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    second.attach()
    assert 'stays' in done(first.policy.detach(first.cluster))
    assert done(second.policy.detach(second.cluster)) == f'server group web ({group}) deleted'
    assert desk.groups() == []


def test_while_another_policy_leaves_a_group_it_is_waited_for(desk, option):
    option('request_timeout', 1)
    party = Party(desk)
    group = party.attach()['servergroup_id']
    other = desk.action(desk.cluster(), 'CLUSTER_DETACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, group, other.id)
    assert f'leaves server group {group} is not done' in refused(party.policy.detach(party.cluster))
    assert desk.groups() == [group]
    objects.Action.mark_failed(desk.context, other.id, 1.0)  # its engine died
    party.detach()
    assert desk.groups() == []
    assert registry.lock_holders(group) == ()


def test_while_another_policy_attaches_to_a_group_of_that_name_it_is_waited_for(desk, option):
    """So that one of them creates it; a policy that names another one does not wait."""
    option('request_timeout', 1)
    party, other = Party(desk), Party(desk, plain(servergroup={'name': 'db'}))
    with registry.lock_name(desk.cluster(), 'web'):
        words = "another policy that attaches to server group 'web' is not done with it: try again"
        assert refused(party.policy.attach(party.cluster)) == words
        other.attach()
    assert [group['name'] for group in desk.edge.nova.groups] == ['db']
    assert party.attach()['inherited_group'] is False


def test_what_lost_a_race_before_its_engine_died_is_no_second_group_of_the_name(desk):
    """Somebody else's group was first; the one that was about to be given up is deleted."""
    dead, rival = Party(desk), []
    desk.edge.before(
        'POST', '/os-server-groups', lambda: rival.append(desk.edge.nova.add_group('web'))
    )
    desk.edge.fail('GET', '/os-server-groups', SERVER_ERROR, times=1, skip=1)
    done(dead.policy.attach(dead.cluster))  # and the engine dies
    assert len(desk.groups()) == 2
    assert dead.attach()['inherited_group'] is True
    assert desk.groups() == rival
    dead.detach()
    assert desk.groups() == rival


def test_a_group_that_is_deleted_while_another_cluster_attaches(desk):
    """The attach has found it by then; it waits, looks again, and creates one."""
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    desk.edge.before('GET', f'/os-server-groups/{group}', desk.edge.nova.groups.clear)
    data = second.attach()
    assert data['servergroup_id'] != group
    assert data['inherited_group'] is False


def test_a_cluster_that_is_being_attached_uses_the_group_already(desk):
    first, second = Party(desk), Party(desk)
    group = first.attach()['servergroup_id']
    action = desk.action(second.cluster, 'CLUSTER_ATTACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, second.id, action.id)
    done(second.policy.attach(second.cluster))
    assert first.detach() == f'server group {group} stays: cluster cluster uses it'
    assert desk.groups() == [group]


# -- row 2: nothing is left behind


@pytest.mark.parametrize('wanted', [NAMED, plain()], ids=['named', 'own'])
def test_the_engine_dies_before_the_binding_and_the_cluster_is_deleted(desk, wanted):
    """The policy's note outlives the cluster; its next attach cleans up."""
    dead = Party(desk, wanted)
    done(dead.policy.attach(dead.cluster))  # and the engine dies
    (group,) = desk.groups()
    assert group in str(dead.notes)
    dead.delete()
    other = Party(desk, policy=dead.policy)
    again = other.attach()
    assert desk.groups() == [again['servergroup_id']]
    other.detach()
    assert (desk.groups(), dead.notes) == ([], {})


@pytest.mark.parametrize('is_created', [False, True], ids=['before', 'after'])
def test_the_database_fails_before_the_group_is_created_and_after(desk, monkeypatch, is_created):
    """The reason has no statement, and a group whose id cannot be noted is deleted again."""

    def fail():
        monkeypatch.setattr(database.get_engine().dialect, 'do_commit', failing)

    def failing(_connection):
        monkeypatch.undo()
        raise sqlite3.OperationalError('it is gone')

    party = Party(desk)
    cluster = party.cluster
    if is_created:
        desk.edge.before('POST', '/os-server-groups', fail)
    else:
        desk.edge.before('GET', '/os-server-groups', fail)
    why = refused(party.policy.attach(cluster))
    assert why == "Senlin's database failed (OperationalError): try again"
    assert desk.groups() == []
    assert (str(party.notes) != '{}') is is_created
    party.attach()
    assert len(desk.groups()) == 1
    party.detach()
    assert desk.groups() == []


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


def test_the_answer_is_lost_and_the_cluster_is_deleted(desk):
    """Its own name, that a note holds, tells enough; a detach cleans up, too."""
    dead = Party(desk, plain())
    other = Party(desk, policy=dead.policy)
    other.attach()
    desk.edge.fail('POST', '/os-server-groups', SERVER_ERROR, times=1, is_applied=True)
    desk.edge.fail('GET', '/os-server-groups', SERVER_ERROR, times=1, skip=2)
    refused(dead.policy.attach(dead.cluster))
    assert len(desk.groups()) == 2
    dead.delete()
    other.detach()
    assert (desk.groups(), dead.notes) == ([], {})


def test_a_name_that_the_user_chose_is_not_deleted_by_a_note_of_the_name(desk):
    dead = Party(desk)
    desk.edge.fail('POST', '/os-server-groups', SERVER_ERROR, times=1)
    refused(dead.policy.attach(dead.cluster))
    dead.delete()
    group = desk.edge.nova.add_group('web')
    other = Party(desk, plain(), dead.policy)
    assert other.attach()['inherited_group'] is True
    other.detach()
    assert desk.groups() == [group]
    assert dead.notes == {'senlin_affinity': {dead.id: {'creating': ['web']}}}


def test_a_group_of_a_deleted_cluster_that_others_use_stays(desk):
    dead = Party(desk, plain())
    done(dead.policy.attach(dead.cluster))
    (group,) = desk.groups()
    server = desk.edge.nova.boot(group)
    dead.delete()
    other = Party(desk, policy=dead.policy)
    other.attach()
    assert group in desk.groups()
    desk.edge.nova.groups[0]['members'].remove(server)
    desk.edge.fail('DELETE', f'/os-server-groups/{group}', FORBIDDEN, times=1)
    third = Party(desk, policy=dead.policy)
    third.attach()  # which does not fail with it
    assert group in desk.groups()
    third.detach()
    assert group not in desk.groups()


def test_q3_12_a_kept_group_whose_cluster_is_deleted(desk):
    party = Party(desk, spec(servergroup={'on_detach': 'keep'}))
    group = party.attach()['servergroup_id']
    party.detach()
    assert party.notes == {'senlin_affinity': {party.id: {'kept': [group]}}}
    Party(desk, policy=party.policy).attach()
    assert group in desk.groups(), 'its cluster waits for its next policy'
    party.delete()
    Party(desk, policy=party.policy).attach()
    assert group not in desk.groups()


def test_q3_12_a_kept_group_is_another_ones_until_its_cluster_takes_it_up(desk):
    """Another cluster that shares it does not delete it; the note goes when it is bound again."""
    keeps = {'name': 'web', 'on_detach': 'keep'}
    first, second = Party(desk, plain(servergroup=keeps)), Party(desk)
    group = first.attach()['servergroup_id']
    second.attach()
    first.detach()
    assert second.detach() == f'server group {group} stays: cluster cluster uses it'
    again = Party(desk)
    again.id = first.id
    assert again.attach()['inherited_group'] is False
    assert again.detach() == f'server group web ({group}) deleted'
    assert (first.notes, second.notes, again.notes) == ({}, {}, {})


def test_what_a_binding_says_is_taken_out_of_the_notes_by_the_hook(desk):
    party = Party(desk)
    group = party.attach()['servergroup_id']
    assert party.notes == {'senlin_affinity': {party.id: {'made': [group]}}}
    assert party.grow()['status'] == 'NONE'
    assert party.notes == {}


def test_two_policies_that_note_at_once(desk):
    """The one that read before the other wrote reads again."""
    party, seen = Party(desk), []

    def edit(known):
        if not seen:
            registry.group_recorder('b', party.policy.id)('group-b')
        seen.append(known)
        return (*known, registry.Record('a', 'made', 'group-a'))

    registry.edit_records(party.policy.id, edit)
    assert len(seen) == 2
    assert party.notes == {
        'senlin_affinity': {'b': {'made': ['group-b']}, 'a': {'made': ['group-a']}}
    }


def test_of_two_that_wait_for_a_dead_holder_one_gets_the_lock(desk, option, monkeypatch):
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
    assert held == [
        'another policy that leaves server group the-group is not done with it: try again'
    ]
    assert registry.lock_holders('the-group') == ()


@pytest.mark.parametrize(('hint', 'is_kept'), [('id', True), ('name', False)])
def test_a_profile_of_another_project_refers_to_a_group_by_its_id(desk, hint, is_kept):
    """The same name means a group of that project."""
    group = desk.edge.nova.add_group('web')
    named = group if hint == 'id' else f'name of {group}'
    desk.cluster(profile=profile(scheduler_hints={'group': named}), project='elsewhere')
    assert (named in registry.hints(PROJECT)) is is_kept
    desk.cluster(profile=profile(scheduler_hints={'group': named}))
    assert named in registry.hints(PROJECT)


# -- row 3: nodes that left, and what is told


def test_a_server_that_left_the_cluster_is_no_stranger(desk):
    party = Party(desk)
    group = party.attach()['servergroup_id']
    placed = {'placement': {'servergroup': group}}
    inside = desk.node(party.cluster, placed, physical_id=desk.edge.nova.boot(group))
    left = desk.node(party.cluster, placed, physical_id=desk.edge.nova.boot(group))
    left.do_leave(desk.context)
    assert party.detach() == f'server group web ({group}) deleted'
    assert [desk.node_data(node.id) for node in (inside, left)] == [{'placement': {}}] * 2


@pytest.mark.parametrize('is_of_other_cluster', [True, False])
def test_q3_9_another_server_is_one(desk, is_of_other_cluster, monkeypatch):
    """One of another cluster, and a node by itself that was not placed by a policy."""
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
    assert said == f'server group web ({group}) stays: server {server} of others is a member'
    assert party.cluster.status_reason == said
    (told,) = objects.Event.get_all(desk.context, filters={'oid': party.id})
    assert (told.status_reason, told.action, told.otype) == (
        said, 'CLUSTER_DETACH_POLICY', 'CLUSTER',
    )  # fmt: skip
    assert desk.node_data(node.id) == data
    assert party.notes == {'senlin_affinity': {party.id: {'made': [group]}}}
    desk.edge.nova.groups[0]['members'].clear()
    Party(desk, plain(), party.policy).detach_only()
    assert desk.groups() == []


# -- row 4: two policies; row 7: a group that is gone


def test_another_enabled_affinity_policy_with_another_group_is_noticed(desk):
    party = Party(desk)
    party.attach()
    other = desk.policy(spec('1.0'))
    desk.bind(party.cluster, other, binding('another'))
    data = party.grow()
    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        'the cluster has another affinity policy, web (senlin.policy.affinity-1.0), with another '
        'server group, another: detach or disable one of them'
    )
    objects.ClusterPolicy.update(desk.context, party.id, other.id, {'enabled': False})
    assert party.grow()['status'] == 'NONE'


@pytest.mark.parametrize('mode', ['enforce', 'warn', 'off'])
def test_a_group_that_is_gone_is_refused_in_every_mode(desk, mode):
    """With what to do; and the nodes forget it, so that they can be created again."""
    party = Party(desk, spec(preflight=mode))
    group = party.attach()['servergroup_id']
    node = desk.node(party.cluster, {'placement': {'servergroup': group}})
    desk.edge.nova.groups.clear()
    data = party.grow()
    assert (data['status'], 'placement' in data) == ('ERROR', False)
    assert data['reason'] == (
        f'server group {group}, which the policy is bound to, does not exist any more: '
        'detach the policy and attach it again'
    )
    assert desk.node_data(node.id) == {'placement': {}}


def test_a_group_that_can_not_be_looked_at_refuses_nothing(_database, caplog):
    with Edge() as edge:
        desk = Desk(edge)
        party = Party(desk)
        party.attach()
        edge.fail('GET', '/os-server-groups/.*', SERVER_ERROR)
        assert party.grow()['status'] == 'NONE'
        assert 'could not get server group' in caplog.text
