"""What the driver adds to the steps of a group: locks, nodes, events, messages.

The explorer and its replay on Senlin's engine prove who owns and deletes a group.
"""

import threading

import pytest
from senlin import objects
from senlin.engine import senlin_lock
from senlin.policies import base

from senlin_affinity.model.errors import AffinityError
from senlin_affinity.plugins.senlin import group_registry as registry
from tests.engine.support import (
    PROJECT,
    USER,
    Desk,
    done,
    plain,
    record_events,
    refused,
    spec,
)
from tests.support.edge import SERVER_ERROR, Edge

NAMED = plain(servergroup={'name': 'web'})
OUT = 'CLUSTER_SCALE_OUT'


class Party:
    """A cluster with a policy, with the engine's steps before and after attach and detach."""

    def __init__(self, desk, wanted=NAMED):
        self.desk, self.policy = desk, desk.policy(wanted)
        self.id = desk.cluster().id

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

    def grow(self):
        """Run the hook with a newly loaded policy, and return the data."""
        policy = base.Policy.load(self.desk.context, policy_id=self.policy.id)
        policy._novaclient = self.policy._novaclient
        action = self.desk.action(self.cluster, OUT, {'count': 1})
        policy.pre_op(self.id, action)
        return action.data


# -- nothing is left behind


def test_an_engine_dies_before_the_binding_is_stored(desk, monkeypatch):
    """The next attach inherits the group with the given name, and both are reported."""
    party = Party(desk)
    action = desk.action(party.cluster, 'CLUSTER_ATTACH_POLICY')
    assert senlin_lock.cluster_lock_acquire(desk.context, party.id, action.id)
    record_events(monkeypatch)
    done(party.policy.attach(party.cluster))  # and the engine dies
    rows = objects.Event.get_all(desk.context, filters={'oid': party.id})
    assert any("creates server group 'web'" in each.status_reason for each in rows)
    assert party.attach()['inherited_group'] is True
    assert 'stays when the policy is detached' in party.cluster.status_reason


def test_a_policy_that_is_deleted_during_its_attach_leaves_no_group(desk):
    """Senlin deletes a policy without a binding, and the binding of an attach is stored last."""
    party = Party(desk)
    cluster = party.cluster
    desk.edge.before(
        'POST', '/os-server-groups', lambda: objects.Policy.delete(desk.context, party.policy.id)
    )
    assert refused(party.policy.attach(cluster)) == 'the policy was deleted meanwhile'
    assert desk.groups() == []


def test_if_an_attach_fails_after_the_creation_the_group_is_deleted(desk, monkeypatch):
    def fail(*_arguments):
        raise AffinityError('no more')

    monkeypatch.setattr('senlin_affinity.plugins.senlin.preflight.warn_if_limited', fail)
    assert refused(desk.policy(NAMED).attach(desk.cluster())) == 'no more'
    assert desk.groups() == []


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


# -- nodes that left, and the messages


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


# -- a group that is gone


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
