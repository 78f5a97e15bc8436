"""The policy logs one line for each decision, with the ids of the cluster, action and request."""

import pytest
from oslo_db.exception import DBConnectionError
from senlin.common import exception as senlin_exception
from senlin.objects import cluster_lock

from senlin_affinity.plugins.senlin import bound_group, clients, engine
from tests.engine.support import Desk, done, refused, spec
from tests.support.edge import Edge, Failure
from tests.support.fake_nova import FakeHost

ESC, CSI, RLO = '\x1b[31m', '\x9b', '\u202e'
HOSTILE = f'a{ESC}b{CSI}c{RLO}d'
CLEAN = r'a\x1b[31mb\x9bc\u202ed'
OUTAGE = DBConnectionError(Exception('Can not connect\n[SQL: SELECT secret]'))


@pytest.fixture
def lines(caplog):
    """Return a function that returns the log lines of the policy, with their levels."""
    clients.log_identity()  # logs once in a process
    caplog.set_level('INFO', logger='senlin_affinity')

    def read():
        ours = (each for each in caplog.records if each.name.startswith('senlin_affinity'))
        found = [f'{each.levelname} {each.getMessage()}' for each in ours]
        caplog.clear()
        return found

    return read


def test_the_line_of_each_decision_names_the_cluster_the_action_and_the_request(desk, lines):
    cluster, policy = desk.cluster(), desk.policy()
    for action in ('CLUSTER_ATTACH_POLICY', 'CLUSTER_SCALE_OUT', 'CLUSTER_DETACH_POLICY'):
        running = desk.action(cluster, action)
        cluster_lock.ClusterLock.acquire(cluster.id, running.id, -1)
        if action == 'CLUSTER_ATTACH_POLICY':
            desk.bind(cluster, policy, done(policy.attach(cluster)))
        elif action == 'CLUSTER_SCALE_OUT':
            policy.pre_op(cluster.id, running)
        else:
            done(policy.detach(cluster))
        request = running.context.request_id
        (line,) = lines()
        ids = f'cluster {cluster.id}, action {running.id}, request {request}, '
        what = action.removeprefix('CLUSTER_').removesuffix('_POLICY').lower()
        named = action if action == 'CLUSTER_SCALE_OUT' else what
        assert line.startswith(f'INFO affinity policy web, {ids}{named}: ')
        cluster_lock.ClusterLock.release(cluster.id, running.id, -1)


def test_the_line_of_the_preflight_names_them(_database, lines):
    services = ('compute', 'placement')
    with Edge(hosts=(FakeHost('cmp-1'),), services=services) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(spec(preflight='warn'))
        action = desk.action(made, 'CLUSTER_SCALE_OUT', {'count': 2})
        policy.pre_op(made.id, action)
        warning, decision = lines()
        begin = f'affinity policy web, cluster {made.id}, action {action.id}, request '
        assert warning.startswith(f'WARNING {begin}')
        assert ': preflight: does not fit' in warning
        assert decision.startswith(f'INFO {begin}')


@pytest.mark.parametrize('is_stored', [False, True], ids=['from the start', 'at the end'])
def test_an_outage_of_the_database_is_one_line(desk, lines, monkeypatch, is_stored):
    def fails(*_arguments, **_more):
        raise OUTAGE

    made, policy = desk.bound()
    action = desk.action(made, 'CLUSTER_SCALE_OUT')
    monkeypatch.setattr(engine.action_object.Action, 'update', fails)
    if not is_stored:
        monkeypatch.setattr(engine, 'read_binding', fails)
    policy.pre_op(made.id, action)
    assert action.data['status'] == 'ERROR'
    *before, line = lines()
    assert len(before) == is_stored  # the decision that could not be stored
    assert line.startswith('ERROR affinity policy web, ')
    assert ', CLUSTER_SCALE_OUT: rejects: ' in line
    assert line.endswith("Senlin's database failed (DBConnectionError): try again: "
                         'Can not connect')  # fmt: skip
    if not is_stored:
        assert 'try again' in refused(policy.detach(made))
        (line,) = lines()
        assert line.startswith('ERROR ')


def test_control_characters_of_novas_messages_are_escaped(desk, lines):
    body = {'forbidden': {'code': 403, 'message': HOSTILE}}
    desk.edge.fail('POST', '/os-server-groups', Failure('403', HOSTILE, 403, body))
    assert CLEAN in refused(desk.policy().attach(desk.cluster()))
    (line,) = lines()
    assert CLEAN in line


def test_control_characters_of_names_are_escaped(_database, lines):
    with Edge(hosts=(FakeHost('cmp-1'),), services=('compute', 'placement')) as edge:
        desk = Desk(edge)
        made, policy = desk.bound(spec(availability_zone=HOSTILE))
        action = desk.action(made, 'CLUSTER_SCALE_OUT')
        policy.pre_op(made.id, action)
        text = '\n'.join([*map(str, action.data.values()), *lines()])
        assert action.data['status'] == 'ERROR'
        assert CLEAN in action.data['reason']
        assert not {ESC[0], CSI, RLO} & {*text}


@pytest.mark.parametrize('name', [f'x{HOSTILE}', 'x\nERROR forged', 'x\rforged', 'x\udce9'])
def test_control_characters_of_a_spec_are_escaped(desk, name):
    """Senlin writes the message of the exception to its log, and its API returns it."""
    for key, value in ((name, 1), ('availability_zone', name), ('servergroup', {name: 'web'})):
        with pytest.raises(senlin_exception.InvalidSpec) as caught:
            desk.policy(spec(**{key: value})).validate(desk.context, validate_props=True)
        message = str(caught.value)
        assert message.isascii(), 'else a character would be unescaped'
        assert message.isprintable()


def test_control_characters_of_events_and_of_the_status_are_escaped(desk):
    made = desk.cluster()
    bound_group.report_to_owner(made, f'a\nb{HOSTILE}')
    assert made.status_reason == rf'a\nb{CLEAN}'
