"""The hook on the engine's own objects: what it reads, writes and preserves."""

import json
import sqlite3
import uuid
from unittest import mock

import pytest
import requests
from oslo_utils import timeutils
from senlin import objects
from senlin.common import consts
from senlin.common import exception as senlin_exception
from senlin.db.sqlalchemy import api as database
from senlin.engine import event

from tests.engine.support import Desk, binding, plain, profile, record_events, spec
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost
from tests.support.tables import rows

GROUP = 'XYZ-ABCD'
OUT, RESIZE, CREATE = consts.CLUSTER_SCALE_OUT, consts.CLUSTER_RESIZE, consts.NODE_CREATE
DRS = plain(enable_drs_extension=True)
NO_DRS_HOST = 'No suitable vSphere host is available.'


def exactly(number):
    """Return the inputs of a CLUSTER_RESIZE."""
    return {'adjustment_type': 'EXACT_CAPACITY', 'number': number, 'strict': True}


def hook(desk, wanted=None, name=OUT, inputs=None, data=None, **cluster):
    """Return the action after the hook, on a new cluster; its data must be the stored data."""
    made, policy = desk.bound(wanted, **cluster)
    return run(desk, made, policy, name, inputs, data)


def run(desk, made, policy, name=OUT, inputs=None, data=None):
    action = desk.action(desk.node(made) if name == CREATE else made, name, inputs, data)
    policy.pre_op(made.id, action)
    assert desk.row(action).data == action.data
    return action


def refusal(action):
    assert action.data['status'] == 'ERROR'
    assert 'placement' not in action.data
    return action.data['reason']


#: The requests of a hook that needs no host: whether the group exists.
LOOK = [f'GET /os-server-groups/{GROUP}']
KINDS = {'exact': 'EXACT_CAPACITY', 'more': 'CHANGE_IN_CAPACITY', 'percent': 'CHANGE_IN_PERCENTAGE'}


@pytest.mark.parametrize('row', rows('policy_sizes'))
def test_r3_07_r3_09_number_of_placements(desk, row):
    if 'out' in row:
        name, inputs = OUT, {'count': row['out']} if row['out'] is not None else {}
    else:
        name, (kind,) = RESIZE, KINDS.keys() & row.keys()
        limits = {'min_size': None, 'max_size': None, 'min_step': None, 'strict': True}
        inputs = {'adjustment_type': KINDS[kind], 'number': row[kind], **limits}
        inputs |= row.get('inputs', {})
    data = {'status': 'NONE', 'reason': '', **row.get('data', {})}
    action = hook(desk, None, name, inputs, data, **row.get('cluster', {}))
    if row['outcome'] == 'refused':
        assert row['says'] in refusal(action) == action.data['status_reason']
    elif row['outcome'] == 'left':
        assert action.data == data
    else:
        count = row['count']
        placements = {'count': count, 'placements': [{'servergroup': GROUP}] * count}
        # What the engine would count by itself is left alone.
        is_counted = name == RESIZE or 'creation' in data
        creation = {'creation': {'count': count}} if is_counted else {}
        assert action.data == {**data, 'placement': placements, **creation}
    is_asked = bool(action.data.get('placement', {}).get('count'))
    assert (desk.edge.nova.requests(), desk.edge.tokens) == (LOOK * is_asked, int(is_asked))


def test_r3_22_rx_03_without_new_nodes_no_request_is_sent(desk):
    """No or fewer nodes, or an invalid count or binding: no request is sent, even with DRS."""
    made, policy = desk.bound(DRS, size=2)
    for inputs in (exactly(2), exactly(1)):
        assert run(desk, made, policy, RESIZE, inputs).data['status'] == 'NONE'
    for count in (1.5, True, 'two', '9' * 5000):
        said = refusal(run(desk, made, policy, OUT, {'count': count}))
        assert said.startswith('inputs.count: must be an integer of 0 or more')
    assert (desk.edge.nova.requests(), desk.edge.tokens) == ([], 0)


def test_r3_11_other_data_are_preserved(desk):
    others = {'creation': {'count': 1, 'zones': {'az1': 1}}, 'health': {'detect': True}}
    data = hook(desk, None, OUT, {'count': 7}, others).data
    assert {key: data[key] for key in others} == others
    assert data['placement']['count'] == 1


def test_r3_21_r3_30_exactly_the_documents_data_with_drs(_database):
    with Edge(hosts=(FakeHost('cmp-1'), FakeHost('vsphere_drs_1'))) as edge:
        action = hook(Desk(edge), plain('1.0', enable_drs_extension=True), OUT, {'count': 2})
        assert action.data['placement'] == json.loads(
            '{"count": 2, "placements": ['
            '{"zone": "nova:vsphere_drs_1", "servergroup": "XYZ-ABCD"},'
            '{"zone": "nova:vsphere_drs_1", "servergroup": "XYZ-ABCD"}]}'
        )
        of_hosts = ['GET /os-hypervisors/detail', 'GET /os-services']
        assert sorted(edge.nova.requests()) == sorted([*of_hosts, *LOOK])


@pytest.mark.parametrize('version', ['1.0', '1.1'])
def test_r3_23_zone_in_each_placement(desk, version):
    action = hook(desk, plain(version, availability_zone='nova_1'), OUT, {'count': 2})
    placements = action.data['placement']['placements']
    assert placements == [{'zone': 'nova_1', 'servergroup': GROUP}] * 2
    assert placements[0] is not placements[1], 'D3-12'
    assert desk.edge.nova.requests() == LOOK


def test_rx_09_hook_twice_leaves_one_placement_list(desk):
    made, policy = desk.bound(size=1)
    for name, inputs in ((OUT, {'count': 2}), (RESIZE, exactly(3))):
        action = run(desk, made, policy, name, inputs)
        once = json.loads(json.dumps(action.data))
        policy.pre_op(made.id, action)
        assert action.data == once == desk.row(action).data
        assert once['placement'] == {'count': 2, 'placements': [{'servergroup': GROUP}] * 2}


def test_rx_09_a_second_run_leaves_nothing_of_the_first(_database):
    with Edge(hosts=(FakeHost('vsphere_drs_1'),)) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = run(desk, made, policy, OUT, {'count': 2})
        assert action.data['placement']['count'] == 2
        hosts, edge.nova.hosts = edge.nova.hosts, ()
        policy.pre_op(made.id, action)
        assert desk.row(action).data == action.data
        assert refusal(action).startswith(f'{NO_DRS_HOST} (')
        assert action.data['status_reason'] == NO_DRS_HOST, 'R3-20, D3-09'
        edge.nova.hosts = hosts
        action.data.update(status='NONE', reason='')
        policy.pre_op(made.id, action)
        assert 'status_reason' not in desk.row(action).data


def test_a_rejected_node_has_the_reason_in_its_status(_database):
    with Edge(hosts=()) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = run(desk, made, policy, CREATE)
        assert refusal(action).startswith(NO_DRS_HOST)
        node = objects.Node.get(desk.context, action.target)
        assert node.status_reason == action.data['reason']


@pytest.mark.parametrize('data', [None, {}, {'Other': {}}, binding('')])
def test_r3_22_d3_14_without_a_binding_the_hypervisors_are_not_read(desk, data):
    made, policy = desk.cluster(size=1), desk.policy(DRS)
    desk.bind(made, policy, data)
    reason = refusal(run(desk, made, policy))
    assert 'servergroup_id' in reason or 'server group' in reason
    assert run(desk, made, policy, RESIZE, exactly(1)).data['placement']['count'] == 0, 'RX-03'
    assert desk.edge.nova.requests() == []


# -- it never raises


@pytest.mark.parametrize(
    'error',
    [
        KeyError('odd'),
        RecursionError('odd'),
        requests.ConnectionError('odd'),
        senlin_exception.TrustNotFound(trustor='odd'),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_exception_of_senlins_driver_is_a_refusal(desk, monkeypatch, error):
    made, policy = desk.bound(DRS)

    def driver(*_arguments):
        raise error

    monkeypatch.setattr(policy, 'nova', driver)
    assert 'odd' in refusal(run(desk, made, policy))


def test_a_missing_entity_is_a_refusal(desk):
    """The engine passes None if it cannot load a node or a cluster."""
    made, policy = desk.bound(DRS)
    for name in (OUT, RESIZE):
        action = desk.action(made, name, exactly(1))
        action.entity = None
        policy.pre_op(made.id, action)
        refusal(action)


@pytest.mark.parametrize('name', [OUT, CREATE])
def test_a_database_failure_is_a_refusal_in_memory(desk, name):
    """The engine reads the data in memory, so they must contain the refusal."""
    made, policy = desk.bound()
    node = desk.node(made)
    action = desk.action(node if name == CREATE else made, name)
    database.action_mark_cancelled(desk.context, action.id, 1.0)
    database.action_delete(desk.context, action.id)
    if name == CREATE:
        database.node_delete(desk.context, node.id)
    policy.pre_op(made.id, action)
    assert 'ResourceNotFound' in refusal(action)


@pytest.mark.parametrize(('name', 'number'), [(OUT, 1), (CREATE, 1), (CREATE, 2)])
def test_a_failed_transaction_rejects_the_action(desk, monkeypatch, name, number):
    """SQLAlchemy expires the rows of a failed transaction, and their data cannot change then."""
    made, policy = desk.bound()
    action = desk.action(desk.node(made) if name == CREATE else made, name, data={'placement': 1})
    dialect, commits = database.get_engine().dialect, []
    commit = dialect.do_commit

    def fail(connection):
        commits.append(connection)
        if len(commits) >= number:
            raise sqlite3.OperationalError('the database fails')
        commit(connection)

    monkeypatch.setattr(dialect, 'do_commit', fail)
    policy.pre_op(made.id, action)
    monkeypatch.undo()
    assert "Senlin's database failed (OperationalError)" in refusal(action)


# -- what it writes


def test_r3_08_node_create_puts_the_placement_into_the_nodes_data(desk):
    made, policy = desk.bound(plain(availability_zone='az1'))
    node = desk.node(made, {'internal_ports': ['p'], 'placement': {'region': 'r', 'zone': 'old'}})
    action = desk.action(node, CREATE)
    policy.pre_op(made.id, action)
    entry = {'zone': 'az1', 'servergroup': GROUP}
    assert action.data['placement'] == {'count': 1, 'placements': [entry]}
    kept = {'internal_ports': ['p'], 'placement': {'region': 'r', **entry}}
    assert desk.node_data(node.id) == kept
    # the engine continues with these data
    assert action.entity.data == kept
    assert desk.row(action).data == action.data


def test_a_rejected_node_create_does_not_change_the_node(_database):
    with Edge(hosts=()) as edge:
        action = hook(Desk(edge), DRS, CREATE)
        refusal(action)
        assert Desk(edge).node_data(action.entity.id) == {}


@pytest.mark.parametrize('name', [OUT, RESIZE, CREATE])
@pytest.mark.parametrize('refuses', [False, True])
def test_hook_writes_only_the_data_so_that_a_cancel_survives(_database, name, refuses):
    with Edge(hosts=()) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS if refuses else plain())
        target = desk.node(made) if name == CREATE else made
        action = desk.action(target, name, exactly(1))
        # a cancel, by signal and by force, after the engine has loaded the action
        objects.Action.signal(desk.context, action.id, 'CANCEL')
        database.action_mark_cancelled(desk.context, action.id, 1.0)
        before = desk.row(action).to_dict()
        control = objects.Action.signal_query(desk.context, action.id)
        policy.pre_op(made.id, action)
        after = desk.row(action).to_dict()
        assert after['status'] == 'CANCELLED'
        words = 'the action was cancelled before its nodes were placed'
        assert refuses or after['data']['reason'] == words
        assert objects.Action.signal_query(desk.context, action.id) == control == 'CANCEL'
        assert after.pop('data') != before.pop('data')
        assert {**after, 'updated_at': None} == {**before, 'updated_at': None}


@pytest.mark.parametrize('name', [OUT, CREATE])
def test_servers_outside_the_group_are_reported_once(desk, caplog, name):
    """Nodes may have been created while the policy was disabled; a node without a server does not
    count.
    """
    made, policy = desk.bound(plain())
    desk.node(made, {'placement': {'servergroup': GROUP}}, physical_id='inside')
    desk.node(made, physical_id='outside')
    desk.node(made, {'placement': {'servergroup': 'another'}}, physical_id='elsewhere')
    with caplog.at_level('WARNING'):
        for _ in range(2):
            run(desk, desk.load_cluster(made.id), policy, name)
    (line,) = caplog.messages
    assert f'cluster {made.id}: 2 server(s) of the cluster are not in server group XYZ' in line


@pytest.mark.parametrize('group', [['a', 'b'], 7])
def test_a_failing_warning_rejects_nothing(desk, caplog, group):
    """The cluster got a profile with an invalid hint after the attach."""
    action = hook(desk, profile=profile(scheduler_hints={'group': group}))
    assert action.data['placement']['count'] == 1
    assert 'must be the name or the id of one server group' in caplog.text


@pytest.mark.parametrize('where', ['group', 'hint'])
def test_servers_in_the_group_cause_no_warning(desk, caplog, where):
    hints = {'scheduler_hints': {'group': GROUP}} if where == 'hint' else {}
    made, policy = desk.bound(plain(), profile=profile(**hints))
    data = {'placement': {'servergroup': GROUP}} if where == 'group' else {}
    desk.node(made, data, physical_id='inside')
    with caplog.at_level('WARNING'):
        run(desk, desk.load_cluster(made.id), policy)
    assert caplog.messages == []


def with_hint(group):
    return profile(scheduler_hints={'group': group})


@pytest.mark.parametrize(
    ('name', 'hint'), [(OUT, 'other'), (CREATE, 'other'), (OUT, str(uuid.UUID(int=7)))]
)
def test_a_profile_that_names_another_group_is_reported_for_each_action(
    desk, caplog, monkeypatch, name, hint
):
    """Senlin's server profile sends the group of the placement instead of the profile's."""
    record_events(monkeypatch)
    made, policy = desk.bound(plain(), profile=with_hint(hint))
    for number in (1, 2):
        caplog.clear()
        action = run(desk, made, policy, name)
        placed = desk.node_data(action.target) if name == CREATE else action.data
        assert GROUP in json.dumps(placed['placement'])
        (line,) = [each for each in caplog.messages if 'scheduler_hints' in each]
        assert f'cluster {made.id}, action {action.id}' in line
        events = objects.Event.get_all(desk.context, filters={'cluster_id': made.id})
        assert [each.status_reason for each in events] == number * [
            f"the profile's scheduler_hints name server group '{hint}', but the affinity policy "
            'is bound to server group XYZ-ABCD, which the new nodes join: remove the hint from the '
            'profile, or detach the policy and attach it again'
        ]


def test_an_event_that_cannot_be_written_is_logged(desk, caplog, monkeypatch):
    record_events(monkeypatch)
    monkeypatch.setattr(event, 'info', mock.Mock(side_effect=OSError))
    made, policy = desk.bound(plain(), profile=with_hint('other'))
    assert 'placement' in run(desk, made, policy).data
    assert 'affinity policy: no event could be written: the profile' in caplog.text


@pytest.mark.parametrize('hint', [GROUP, 'the-name', None])
@pytest.mark.parametrize('wanted', [plain(), spec(preflight='warn')])
def test_a_profile_with_the_bound_group_causes_no_warning(desk, caplog, hint, wanted):
    """By its id or by its name, whether or not the preflight reads the group."""
    desk.edge.nova.add_group('the-name', id=GROUP)
    hook(desk, wanted, profile=profile() if hint is None else with_hint(hint))
    assert 'scheduler_hints' not in caplog.text


@pytest.mark.parametrize(('own', 'is_outside'), [(GROUP, False), ('other', True)])
def test_a_node_without_placement_has_the_group_of_its_profile(desk, caplog, own, is_outside):
    """The profile of the cluster may have changed since the node was created."""
    made, policy = desk.bound(plain(), profile=with_hint('other' if own == GROUP else GROUP))
    node = desk.node(desk.cluster(profile=with_hint(own)), physical_id='one')
    objects.Node.migrate(desk.context, node.id, made.id, timeutils.utcnow(True))
    run(desk, desk.load_cluster(made.id), policy)
    assert ('1 server(s) of the cluster are not in server group' in caplog.text) == is_outside
