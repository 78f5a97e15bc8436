"""The hook on the engine's own objects: what it reads, what it writes, and what it leaves alone."""

import json

import pytest
import requests
from senlin import objects
from senlin.common import consts
from senlin.common import exception as senlin_exception
from senlin.db.sqlalchemy import api as database

from tests.engine.support import SERVER_PROFILE, Desk, binding, plain
from tests.support.edge import FAILURES, NOT_FOUND, Edge
from tests.support.fake_nova import FakeHost

GROUP = 'XYZ-ABCD'
OUT, RESIZE, CREATE = consts.CLUSTER_SCALE_OUT, consts.CLUSTER_RESIZE, consts.NODE_CREATE
DRS = plain(enable_drs_extension=True)
NO_DRS_HOST = 'No suitable vSphere host is available.'


def resize(kind=None, number=None, **more):
    """The inputs of a CLUSTER_RESIZE, as the conductor fills them in."""
    limits = {'min_size': None, 'max_size': None, 'min_step': None, 'strict': True}
    return {'adjustment_type': kind, 'number': number, **limits, **more}


EXACT, MORE, PERCENT = 'EXACT_CAPACITY', 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'
# name, action, cluster, inputs, data, number of placements (None: no placement at all)
VECTORS = [
    ('count_2', OUT, {}, {'count': 2}, {}, 2),
    ('count_none', OUT, {}, {}, {}, 1),
    ('count_text', OUT, {}, {'count': '2'}, {}, 2),
    ('creation_wins', OUT, {}, {'count': 2}, {'creation': {'count': 3}}, 3),
    ('creation_0', OUT, {}, {'count': 2}, {'creation': {'count': 0}}, 0),
    ('creation_empty', OUT, {}, {'count': 2}, {'creation': {}}, 2),
    ('exact_4_of_2', RESIZE, {'size': 2}, resize(EXACT, 4), {}, 2),
    ('exact_1_of_2', RESIZE, {'size': 2}, resize(EXACT, 1), {}, None),
    ('exact_2_of_2', RESIZE, {'size': 2}, resize(EXACT, 2), {}, 0),
    ('percent_50_of_4', RESIZE, {'size': 4}, resize(PERCENT, 50.0), {}, 2),
    (
        'more_than_max_not_strict',
        RESIZE,
        {'size': 2, 'max_size': 3},
        resize(MORE, 2, strict=False),
        {},
        1,
    ),
    ('more_than_max_strict', RESIZE, {'size': 2, 'max_size': 3}, resize(MORE, 2), {}, None),
    (
        'not_strict_unless_it_says_so',
        RESIZE,
        {'size': 2, 'max_size': 3},
        {'adjustment_type': MORE, 'number': 2},
        {},
        1,
    ),
    ('number_as_text', RESIZE, {'size': 2}, resize(EXACT, '4'), {}, 2),
    ('number_0_as_text', RESIZE, {'size': 2}, resize(MORE, '0'), {}, 0),
    ('only_min_size', RESIZE, {'size': 2}, resize(min_size=4, strict=False), {}, 2),
    ('empty_with_desired_3', RESIZE, {'desired': 3}, resize(EXACT, 5), {}, 5),
    ('creation_in_resize', RESIZE, {'size': 2}, resize(EXACT, 9), {'creation': {'count': 1}}, 1),
    (
        'deletion_is_respected',
        RESIZE,
        {'size': 2},
        resize(EXACT, 4),
        {'deletion': {'count': 1}},
        None,
    ),
]


@pytest.mark.parametrize(
    ('name', 'cluster', 'inputs', 'data', 'expected'),
    [row[1:] for row in VECTORS],
    ids=[row[0] for row in VECTORS],
)
def test_r3_07_r3_09_number_of_placements(desk, name, cluster, inputs, data, expected):
    """D3-15 among them: a size that the engine's arithmetic refuses is never written as one."""
    made, policy = desk.bound(**cluster)
    action = desk.action(made, name, inputs, data)
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'NONE', action.data
    for seen in (action.data, desk.row(action).data):
        if expected is None:
            assert 'placement' not in seen
        else:
            wanted = [{'servergroup': GROUP}] * expected
            assert seen['placement'] == {'count': expected, 'placements': wanted}
            # What the engine would count by itself is left alone.
            is_written = name == RESIZE or 'creation' in data
            assert ('creation' in seen) == is_written
            assert not is_written or seen['creation']['count'] == expected
    assert desk.edge.nova.requests() == []
    assert desk.edge.tokens == 0


def test_rx_03_no_growth_asks_nobody_not_even_with_drs(desk):
    made, policy = desk.bound(DRS, size=2)
    for number in (2, 1):
        action = desk.action(made, RESIZE, resize(EXACT, number))
        policy.pre_op(made.id, action)
        assert action.data['status'] == 'NONE'
    assert desk.edge.nova.requests() == []
    assert desk.edge.tokens == 0


def test_r3_10_shrink_stores_nothing(desk):
    made, policy = desk.bound(size=2)
    action = desk.action(made, RESIZE, resize(EXACT, 1))
    before, row = dict(action.data), desk.row(action).to_dict()
    policy.pre_op(made.id, action)
    assert action.data == before
    assert desk.row(action).to_dict() == row


def test_r3_11_other_data_are_untouched(desk):
    made, policy = desk.bound()
    others = {'creation': {'count': 1, 'zones': {'az1': 1}}, 'health': {'detect': True}}
    action = desk.action(made, OUT, {'count': 7}, others)
    policy.pre_op(made.id, action)
    stored = desk.row(action).data
    assert stored == action.data
    assert {key: stored[key] for key in others} == others
    assert stored['placement']['count'] == 1


def test_r3_11_r3_30_exactly_the_documents_data(desk):
    made, policy = desk.bound(plain('1.0'))
    action = desk.action(made, OUT, {'count': 2})
    policy.pre_op(made.id, action)
    assert desk.row(action).data['placement'] == json.loads(
        '{"count": 2, "placements": [{"servergroup": "XYZ-ABCD"}, {"servergroup": "XYZ-ABCD"}]}'
    )


def test_r3_21_r3_30_exactly_the_documents_data_with_drs(_database):
    with Edge(hosts=(FakeHost('cmp-1'), FakeHost('vsphere_drs_1'))) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(plain('1.0', enable_drs_extension=True))
        action = desk.action(made, OUT, {'count': 2})
        policy.pre_op(made.id, action)
        assert desk.row(action).data['placement'] == json.loads(
            '{"count": 2, "placements": ['
            '{"zone": "nova:vsphere_drs_1", "servergroup": "XYZ-ABCD"},'
            '{"zone": "nova:vsphere_drs_1", "servergroup": "XYZ-ABCD"}]}'
        )
        assert sorted(edge.nova.requests()) == ['GET /os-hypervisors/detail', 'GET /os-services']


@pytest.mark.parametrize('version', ['1.0', '1.1'])
def test_r3_23_zone_in_each_placement(desk, version):
    made, policy = desk.bound(plain(version, availability_zone='nova_1'))
    action = desk.action(made, OUT, {'count': 2})
    policy.pre_op(made.id, action)
    assert action.data['placement']['placements'] == [
        {'zone': 'nova_1', 'servergroup': GROUP},
        {'zone': 'nova_1', 'servergroup': GROUP},
    ]
    assert desk.edge.nova.requests() == []


def test_d3_12_every_placement_is_a_dict_of_its_own(desk):
    made, policy = desk.bound()
    action = desk.action(made, OUT, {'count': 3})
    policy.pre_op(made.id, action)
    placements = action.data['placement']['placements']
    placements[0]['zone'] = 'elsewhere'
    assert placements[1:] == [{'servergroup': GROUP}] * 2


def test_rx_09_hook_twice_leaves_one_placement_list(desk):
    made, policy = desk.bound(size=1)
    for name, inputs in ((OUT, {'count': 2}), (RESIZE, resize(EXACT, 3))):
        action = desk.action(made, name, inputs)
        policy.pre_op(made.id, action)
        once = json.loads(json.dumps(action.data))
        policy.pre_op(made.id, action)
        assert action.data == once == desk.row(action).data
        assert once['placement'] == {'count': 2, 'placements': [{'servergroup': GROUP}] * 2}


def test_rx_09_second_run_that_fails_leaves_no_placement(_database):
    with Edge(hosts=(FakeHost('vsphere_drs_1'),)) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = desk.action(made, OUT, {'count': 2})
        policy.pre_op(made.id, action)
        assert action.data['placement']['count'] == 2
        edge.nova.hosts = ()
        policy.pre_op(made.id, action)
        assert 'placement' not in action.data
        assert desk.row(action).data['status'] == 'ERROR'


def test_r3_20_d3_09_no_drs_host_is_told_to_both_readers(_database):
    with Edge(hosts=(FakeHost('cmp-1'),)) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = desk.action(made, OUT, {'count': 2})
        policy.pre_op(made.id, action)
        for data in (action.data, desk.row(action).data):
            assert 'placement' not in data
            assert data['status'] == 'ERROR'
            assert data['status_reason'] == NO_DRS_HOST
            assert data['reason'].startswith(f'{NO_DRS_HOST} (')


def test_q3_11_reason_counts_the_hosts_that_matched(_database):
    hosts = (FakeHost('a-drs', state='down'), FakeHost('b-drs', status='disabled'))
    with Edge(hosts=hosts) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = desk.action(made, OUT, {'count': 1})
        policy.pre_op(made.id, action)
        assert action.data['status_reason'] == NO_DRS_HOST
        assert '2 matched "drs"' in action.data['reason']
        assert 'drs.disabled on 1: b-drs' in action.data['reason']
        assert 'drs.down on 1: a-drs' in action.data['reason']


@pytest.mark.parametrize('count', [-1, 1.5, True, 'two', '-1', [1], '9' * 5000])
def test_r3_22_d3_13_bad_count_is_refused_before_hypervisors_are_asked(desk, count):
    made, policy = desk.bound(DRS)
    action = desk.action(made, OUT, {'count': count})
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'ERROR'
    assert action.data['reason'].startswith('inputs.count: must be an integer of 0 or more')
    assert action.data['reason'] == action.data['status_reason']
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize('inputs', [{'count': 10**9}, {'count': '9' * 600}, {'count': 1001}])
def test_a_size_that_no_cluster_may_have_is_refused_before_it_is_written_out(desk, inputs):
    """A webhook's count comes as it is: a placement for each of a billion nodes would be made."""
    made, policy = desk.bound()
    action = desk.action(made, OUT, inputs)
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'ERROR'
    assert 'maximum number of nodes allowed per cluster' in action.data['reason']
    assert 'placement' not in desk.row(action).data


@pytest.mark.parametrize(
    ('name', 'inputs', 'size', 'path'),
    [(OUT, {'count': 2}, 2, 'count'), (RESIZE, resize(EXACT, 4), 0, 'inputs')],
)
def test_a_size_beyond_the_clusters_own_is_refused_in_the_engines_words(
    desk, name, inputs, size, path
):
    made, policy = desk.bound(max_size=3, size=size)
    action = desk.action(made, name, inputs)
    policy.pre_op(made.id, action)
    assert action.data['reason'] == (
        f"{path}: The target capacity (4) is greater than the cluster's max_size (3)."
    )


def test_a_decided_resize_beyond_all_limits_is_refused(desk):
    made, policy = desk.bound()
    action = desk.action(made, RESIZE, resize(EXACT, 1), {'creation': {'count': 10**9}})
    policy.pre_op(made.id, action)
    assert 'maximum number of nodes allowed per cluster' in action.data['reason']


@pytest.mark.parametrize('count', [0, '0'])
def test_rx_03_a_scale_out_by_none_is_left_to_the_engine(desk, count):
    """It has words for it; a creation of 0 in the data would make it a success."""
    made, policy = desk.bound()
    action = desk.action(made, OUT, {'count': count})
    before = dict(action.data)
    policy.pre_op(made.id, action)
    assert action.data == before == desk.row(action).data


def test_rx_03_no_growth_is_not_blocked_without_a_binding_either(desk):
    made, policy = desk.cluster(size=2), desk.policy()
    desk.bind(made, policy, {'AffinityPolicy': 'odd'})
    action = desk.action(made, RESIZE, resize(EXACT, 2))
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'NONE'
    assert action.data['placement'] == {'count': 0, 'placements': []}


@pytest.mark.parametrize(
    ('number', 'why'),
    [
        (2.5, 'leads to 2.5 nodes: must be an integer'),
        (float('nan'), 'leads to nan nodes: must be an integer'),
        (float('inf'), 'leads to inf nodes: must be an integer'),
        (True, 'must be a number, not True'),
        ([1], 'must be a number, not [1]'),
        ('-1', 'must be an integer of 0 or more, not '),
    ],
)
def test_a_size_that_is_no_whole_number_is_refused_in_words(desk, number, why):
    made, policy = desk.bound(size=1)
    action = desk.action(made, RESIZE, resize(EXACT, number))
    policy.pre_op(made.id, action)
    assert action.data['reason'].startswith(f'inputs.number: {why}')


def test_a_good_run_leaves_nothing_of_a_refused_one(desk):
    made, policy = desk.bound()
    action = desk.action(made, OUT, {'count': 'many'})
    policy.pre_op(made.id, action)
    assert action.data['status_reason']
    action.inputs['count'] = 1
    action.data.update(status='NONE', reason='')
    policy.pre_op(made.id, action)
    assert 'status_reason' not in desk.row(action).data


@pytest.mark.parametrize('data', [None, {}, {'Other': {}}, binding('')])
def test_r3_22_d3_14_without_binding_refused_before_hypervisors_are_asked(desk, data):
    made, policy = desk.cluster(), desk.policy(DRS)
    desk.bind(made, policy, data)
    action = desk.action(made, OUT, {'count': 1})
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'ERROR'
    assert 'servergroup_id' in action.data['reason'] or 'server group' in action.data['reason']
    assert 'placement' not in action.data
    assert desk.edge.nova.requests() == []


@pytest.mark.parametrize('version', [1.0, '1.0', '1.1', '2.7'])
def test_d3_08_every_version_of_a_binding_is_read(desk, version):
    made, policy = desk.cluster(), desk.policy()
    desk.bind(made, policy, binding('some-group', version=version))
    action = desk.action(made, OUT, {'count': 1})
    policy.pre_op(made.id, action)
    assert action.data['placement']['placements'] == [{'servergroup': 'some-group'}]


def test_r3_25_plain_user_may_not_list_hosts(_database):
    with Edge(user='demo') as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        action = desk.action(made, OUT, {'count': 1})
        policy.pre_op(made.id, action)
        assert action.data['status'] == 'ERROR'
        assert 'Nova answered 403: Policy doesn' in action.data['reason']
        assert action.data['status_reason'] == action.data['reason']


# -- it never raises


HOSTS = '/os-hypervisors/detail'
# Nova's own 404 of the hypervisors says that no name matches.
NOVA_FAILS = [
    (url, failure)
    for url in ('/os-services', HOSTS)
    for failure in FAILURES
    if (url, failure) != (HOSTS, NOT_FOUND)
]


@pytest.mark.parametrize(('url', 'failure'), NOVA_FAILS, ids=str)
@pytest.mark.parametrize('name', [OUT, CREATE])
def test_no_failure_of_nova_gets_out_of_the_hook(desk, name, failure, url):
    made, policy = desk.bound(DRS)
    target = desk.node(made) if name == CREATE else made
    desk.edge.fail('GET', url, failure)
    action = desk.action(target, name)
    policy.pre_op(made.id, action)
    for data in (action.data, desk.row(action).data):
        assert data['status'] == 'ERROR'
        assert 'placement' not in data
        assert 'could not list the' in data['reason']
        assert failure.words in data['reason']


class Odd(Exception):
    """An exception that nobody knows."""


@pytest.mark.parametrize(
    'error',
    [
        Odd('odd'),
        KeyError('odd'),
        AttributeError('odd'),
        RecursionError('odd'),
        requests.ConnectionError('odd'),
        senlin_exception.TrustNotFound(trustor='odd'),
        senlin_exception.InternalError(code=500, message='odd'),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_exception_of_senlins_driver_gets_out_of_the_hook(desk, monkeypatch, error):
    made, policy = desk.bound(DRS)

    def driver(*_arguments):
        raise error

    monkeypatch.setattr(policy, 'nova', driver)
    action = desk.action(made, OUT)
    policy.pre_op(made.id, action)
    assert action.data['status'] == desk.row(action).data['status'] == 'ERROR'
    assert 'odd' in action.data['reason']


def test_entity_that_is_gone_is_a_refusal(desk):
    """The engine gives None where it can not load a node or a cluster."""
    made, policy = desk.bound(DRS)
    for name in (OUT, RESIZE):
        action = desk.action(made, name, resize(EXACT, 1))
        action.entity = None
        policy.pre_op(made.id, action)
        assert action.data['status'] == 'ERROR'


@pytest.mark.parametrize('name', [OUT, CREATE])
def test_database_that_fails_is_a_refusal_in_memory(desk, name):
    """The engine looks at the data that it holds, so they must not say "go on"."""
    made, policy = desk.bound()
    node = desk.node(made)
    action = desk.action(node if name == CREATE else made, name)
    database.action_mark_cancelled(desk.context, action.id, 1.0)
    database.action_delete(desk.context, action.id)
    if name == CREATE:
        database.node_delete(desk.context, node.id)
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'ERROR'
    assert 'ResourceNotFound' in action.data['reason']
    assert 'placement' not in action.data


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
    # what the engine goes on with
    assert action.entity.data == kept
    assert desk.row(action).data == action.data


def test_node_create_refused_leaves_the_node_alone(_database):
    with Edge(hosts=()) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS)
        node = desk.node(made)
        action = desk.action(node, CREATE)
        policy.pre_op(made.id, action)
        assert action.data['status'] == 'ERROR'
        assert desk.node_data(node.id) == {}


@pytest.mark.parametrize('name', [OUT, RESIZE, CREATE])
@pytest.mark.parametrize('refuses', [False, True])
def test_hook_writes_the_data_alone_so_a_cancel_survives(_database, name, refuses):
    with Edge(hosts=()) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(DRS if refuses else plain())
        target = desk.node(made) if name == CREATE else made
        action = desk.action(target, name, resize(EXACT, 1))
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


@pytest.mark.parametrize('name', ['CLUSTER_SCALE_OUT', 'NODE_CREATE'])
def test_servers_outside_of_the_group_are_a_warning(desk, caplog, name):
    """Those of nodes that came while the policy was disabled; a node without a server is none."""
    made, policy = desk.bound(plain())
    desk.node(made, {'placement': {'servergroup': 'XYZ-ABCD'}}, physical_id='inside')
    desk.node(made, physical_id='outside')
    desk.node(made, {'placement': {'servergroup': 'another'}}, physical_id='elsewhere')
    new = desk.node(made)
    made = desk.load_cluster(made.id)
    with caplog.at_level('WARNING'):
        policy.pre_op(made.id, desk.action(new if name == 'NODE_CREATE' else made, name))
    (line,) = caplog.messages
    assert f'cluster {made.id}: 2 server(s) of the cluster are not in server group XYZ' in line


def test_servers_outside_are_told_once(desk, caplog):
    made, policy = desk.bound(plain())
    desk.node(made, physical_id='outside')
    made = desk.load_cluster(made.id)
    with caplog.at_level('WARNING'):
        for _ in range(2):
            policy.pre_op(made.id, desk.action(made, 'CLUSTER_SCALE_OUT'))
    assert len(caplog.messages) == 1


@pytest.mark.parametrize('group', [['a', 'b'], 7])
def test_a_warning_that_fails_refuses_nothing(desk, caplog, group):
    """A hint that nobody can read, in a profile that the cluster got after the attach."""
    properties = {**SERVER_PROFILE['properties'], 'scheduler_hints': {'group': group}}
    made, policy = desk.bound(plain(), profile={**SERVER_PROFILE, 'properties': properties})
    action = desk.action(made, 'CLUSTER_SCALE_OUT')
    policy.pre_op(made.id, action)
    assert action.data['placement']['count'] == 1
    assert 'the nodes could not be looked at' in caplog.text


@pytest.mark.parametrize('where', ['group', 'hint'])
def test_servers_in_the_group_are_no_warning(desk, caplog, where):
    data = {'placement': {'servergroup': 'XYZ-ABCD'}} if where == 'group' else {}
    hints = {'scheduler_hints': {'group': 'XYZ-ABCD'}} if where == 'hint' else {}
    properties = {**SERVER_PROFILE['properties'], **hints}
    made, policy = desk.bound(plain(), profile={**SERVER_PROFILE, 'properties': properties})
    desk.node(made, data, physical_id='inside')
    with caplog.at_level('WARNING'):
        policy.pre_op(made.id, desk.action(desk.load_cluster(made.id), 'CLUSTER_SCALE_OUT'))
    assert caplog.messages == []
