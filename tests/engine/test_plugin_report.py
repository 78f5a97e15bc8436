"""An engine records its release and the hash of its options in the data of a policy."""

import datetime
import uuid

import pytest
from oslo_config import cfg
from oslo_utils import timeutils
from senlin import objects

from senlin_affinity.plugins.senlin import clients, log
from senlin_affinity.policy.senlin_data import reports


def stored(desk, policy):
    return dict(objects.Policy.get(desk.context, policy.id).data)


@pytest.fixture
def identity(monkeypatch):
    """Return an engine that was started with this release: ``identity('0.10.0')``."""

    def start(release):
        monkeypatch.setattr(clients, 'log_identity', lambda: (release, 'a420'))

    return start


@pytest.fixture
def start(desk):
    """Register an engine on this host like Senlin; return its id."""
    started = []

    def register(host=None, binary='senlin-engine'):
        started.append(str(uuid.uuid4()))
        objects.Service.create(
            desk.context, started[-1], host=host or cfg.CONF.host, binary=binary, topic='t'
        )
        return started[-1]

    yield register
    for each in started:
        objects.Service.delete(each)


def test_an_entry_is_written_once_and_again_after_an_upgrade(desk, identity, start, monkeypatch):
    policy, service = desk.policy(), start()
    start('another-host')
    start(binary='senlin-api')
    policy.data = {}
    identity('0.9.1')
    log.record(policy)
    first = reports(stored(desk, policy))[cfg.CONF.host]
    assert {**first, 'at': ''} == {
        'release': '0.9.1',
        'options': 'a420',
        'services': service,
        'at': '',
    }
    written = datetime.datetime.strptime(first['at'], '%Y-%m-%dT%H:%M:%SZ')
    assert abs((timeutils.utcnow() - written).total_seconds()) < 600
    assert reports(policy.data) == {cfg.CONF.host: first}
    with monkeypatch.context() as context:
        context.setattr(log, '_write', lambda *_facts: pytest.fail('it is written again'))
        log.record(policy)
    identity('0.10.0')
    log.record(policy)
    assert reports(stored(desk, policy))[cfg.CONF.host]['release'] == '0.10.0'


def test_an_entry_is_written_again_after_a_restart(desk, identity, start):
    policy, before = desk.policy(), start()
    policy.data = {}
    identity('0.10.0')
    log.record(policy)
    objects.Service.delete(before)
    after = start()
    log.record(policy)
    assert reports(stored(desk, policy))[cfg.CONF.host]['services'] == after


def test_entries_of_other_engines_and_other_data_are_preserved(desk, identity):
    policy = desk.policy()
    policy.data = {}
    other = {'other': 1, 'affinity_engines': {'engine-2': {'release': '0.9.1'}, 'odd': 'text'}}
    objects.Policy.update(desk.context, policy.id, {'data': other})
    identity('0.10.0')
    log.record(policy)
    assert stored(desk, policy)['other'] == 1
    assert reports(stored(desk, policy)).keys() == {'engine-2', cfg.CONF.host}


def test_the_data_of_a_deleted_policy_are_unchanged(desk, identity):
    policy = desk.policy()
    policy.data = {'other': 1}
    objects.Policy.delete(desk.context, policy.id)
    identity('0.10.0')
    log.record(policy)
    assert policy.data == {'other': 1}


def test_a_failing_database_only_logs_a_warning(desk, identity, monkeypatch, caplog):
    policy = desk.policy()
    policy.data = {}
    identity('0.10.0')

    def fail():
        raise RuntimeError('the database is gone')

    monkeypatch.setattr(log.database, 'session_for_write', fail)
    log.record(policy)
    assert 'the release of this engine is not recorded: the database is gone' in caplog.text


@pytest.mark.parametrize('is_attach', [True, False], ids=['attach', 'hook'])
def test_an_action_records_the_engine(desk, is_attach):
    policy, cluster = desk.policy(), desk.cluster()
    if is_attach:
        assert policy.attach(cluster)[0]
    else:
        policy.pre_op(cluster.id, desk.action(cluster, 'CLUSTER_SCALE_OUT'))
    assert reports(stored(desk, policy)).keys() == {cfg.CONF.host}
