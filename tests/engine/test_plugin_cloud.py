"""Whose the cloud's eyes are in an engine: made once, kept; the owner's where they do not do."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from keystoneauth1 import loading
from oslo_config import cfg

from senlin_affinity import api
from senlin_affinity.cloud import deadline, service_user
from senlin_affinity.plugins import senlin_cloud, senlin_preflight
from tests.support import edge as at_edge
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost

GROUP = 'senlin_affinity_cloud'
SECRET = 'not for logs'
LOGIN = {
    'auth_type': 'password',
    'auth_url': at_edge.KEYSTONE,
    'username': 'admin',
    'password': SECRET,
    'project_name': 'service',
    'user_domain_id': 'default',
    'project_domain_id': 'default',
}
SENLINS = {
    'auth_url': at_edge.KEYSTONE,
    'service_username': 'admin',
    'service_password': SECRET,
}


@pytest.fixture
def edge():
    with Edge(user='demo', hosts=[FakeHost('cmp-1')], services=('compute', 'placement')) as edge:
        yield edge


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """An engine that has just been started."""
    monkeypatch.setattr(senlin_cloud, '_KEPT', senlin_cloud._Kept())
    senlin_cloud.say.cache_clear()
    yield
    senlin_cloud.say.cache_clear()


@pytest.fixture
def configured():
    """``configured(username='x')``: lines of senlin.conf."""
    given = []
    service_user.section(cfg.CONF)
    cfg.CONF.register_opts(loading.get_auth_plugin_conf_options('password'), group=GROUP)

    def configure(group=GROUP, **options):
        for name, value in options.items():
            cfg.CONF.set_override(name, value, group=group)
            given.append((name, group))

    yield configure
    for name, group in given:
        cfg.CONF.clear_override(name, group=group)


def look(edge, owner='demo'):
    return senlin_preflight.look(api.Needs(()), lambda: senlin_cloud.eyes(edge.connection(owner)))


def warnings(caplog):
    ours = (record for record in caplog.records if record.name.startswith('senlin_affinity'))
    return [record.getMessage() for record in ours if record.levelname == 'WARNING']


def test_without_a_log_in_they_are_the_owners_which_is_said_once(edge, caplog):
    senlin_cloud.say()
    senlin_cloud.say()
    owner = edge.connection()
    assert senlin_cloud.eyes(owner).are_one
    (said,) = warnings(caplog)
    assert f'[{GROUP}] names no log-in' in said
    seen = look(edge)
    assert seen.is_owners
    assert seen.snapshot.hosts is None
    assert warnings(caplog) == [said]


@pytest.mark.parametrize('section', [None, 'authentication', GROUP])
def test_one_log_in_does_for_all_owners(edge, configured, caplog, section):
    configured(valid_interfaces=['internal', 'public'])
    if section == 'authentication':
        configured(auth_section=section)
        configured(section, **SENLINS)
    else:
        configured(**LOGIN, **({'auth_section': section} if section else {}))
    with caplog.at_level('INFO', logger='senlin_affinity'):
        senlin_cloud.say()
    assert f'with the log-in of [{section or GROUP}]' in caplog.text
    for _time in range(2):
        seen = look(edge)
        assert [host.host for host in seen.snapshot.hosts] == ['cmp-1']
        assert not seen.is_owners
    assert edge.tokens == 3  # a connection of Senlin's driver each time, and this one
    assert {each.user for each in edge.nova.asked if each.path == '/os-services'} == {'admin'}
    assert not warnings(caplog)
    assert SECRET not in caplog.text


def test_hooks_at_once_share_one_log_in(edge, configured):
    """Each with a connection of its own for its owner."""
    configured(**LOGIN)
    number = 6
    at_once = threading.Barrier(number)

    def hook(_number):
        at_once.wait()
        return [host.host for host in look(edge).snapshot.hosts]

    with ThreadPoolExecutor(number) as pool:
        assert [*pool.map(hook, range(number))] == [['cmp-1']] * number
    assert edge.tokens == number + 1


def test_a_connection_that_was_given_up_is_made_again(edge, configured):
    configured(**LOGIN)
    first = senlin_cloud.eyes(edge.connection()).cloud.connection
    assert senlin_cloud.eyes(edge.connection()).cloud.connection is first
    end = threading.Event()
    with pytest.raises(deadline.GivenUp):
        deadline.within(0.001, lambda: end.wait(9), first.session)
    end.set()
    assert senlin_cloud.eyes(edge.connection()).cloud.connection is not first


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'auth_type': 'passwort'}, 'passwort'),
        ({**LOGIN, 'auth_url': None}, 'auth_url'),
        ({'auth_section': 'keystone_authtoken'}, 'its auth_section has no auth_type'),
        ({**LOGIN, 'cafile': '/no/such/file'}, None),
    ],
)
def test_options_that_make_no_log_in(edge, configured, caplog, options, words):
    configured(**options)
    assert senlin_cloud.eyes(edge.connection()).are_one is (words is not None)
    said = warnings(caplog)
    assert len(said) == (words is not None)
    assert not said or (f'[{GROUP}] makes no log-in: ' in said[0] and words in said[0])
    assert SECRET not in caplog.text


def test_a_log_in_that_is_refused_leaves_what_the_owner_sees(edge, configured, caplog):
    configured(**LOGIN)
    edge.fail('POST', '/auth/tokens', at_edge.UNAUTHORIZED, skip=1, times=1)
    seen = look(edge)
    assert seen.is_owners
    assert seen.snapshot.hosts is None
    assert seen.snapshot.quotas
    (said,) = warnings(caplog)
    assert f'could not log in at {at_edge.KEYSTONE}: ' in said
    assert SECRET not in caplog.text
    assert look(edge).snapshot.hosts  # the next time it does


def test_an_owner_who_can_not_be_asked_is_an_error(edge, configured):
    configured(**LOGIN)
    edge.fail('GET', '/limits', at_edge.SERVER_ERROR)
    assert 'DBConnectionError' in str(look(edge))


def test_the_engines_bounds_count_for_it(edge, configured, option):
    configured(**LOGIN, region_name='RegionTwo', valid_interfaces=['internal'])
    option('request_timeout', 7)
    made = senlin_cloud.eyes(edge.connection()).cloud.connection
    assert made.session.timeout == 7
    assert made.config.get_region_name('compute') == 'RegionTwo'
    assert made.config.get_interface('compute') == ['internal']
    with pytest.raises(deadline.GivenUp, match='DELETE is refused: this connection only reads'):
        requests.Session.get_adapter(made.session.session, 'http://nova').send(
            requests.Request('DELETE', 'http://nova/servers/1').prepare()
        )


PINNED = {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': {'pin_hosts': True}}


@pytest.mark.parametrize(
    'needs',
    [api.Needs((), question=api.Question(1, policy=PINNED)), api.Needs(drs_pattern='cmp')],
    ids=['pinned', 'DRS'],
)
def test_hosts_are_chosen_for_those_only_whom_nova_lets(edge, configured, needs):
    configured(**LOGIN)

    def look(owner):
        owns = edge.connection(owner)
        return senlin_preflight.look(needs, lambda: senlin_cloud.eyes(owns))

    assert 'Nova does not let the owner of the cluster choose the hosts' in str(look('demo'))
    asked = [(each.user, each.body) for each in edge.nova.asked if each.method == 'POST']
    assert [(user, body['server']['availability_zone'][:5]) for user, body in asked] == [
        ('demo', 'nova:')
    ]
    seen = look('admin')
    assert [host.host for host in seen.snapshot.hosts] == ['cmp-1']
    assert len(asked) == 1
