"""The credentials with which an engine reads the cloud: the operator's, or the owner's."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import pytest
import requests
from keystoneauth1 import loading
from oslo_config import cfg

from senlin_affinity import api
from senlin_affinity.answers import disclosure
from senlin_affinity.cloud import service_user, transport
from senlin_affinity.cloud.transport import AnswerTooLarge
from senlin_affinity.plugins.senlin import clients, preflight
from senlin_affinity.policy.properties import TYPE, load
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
    """Return an engine that has just started."""
    monkeypatch.setattr(clients, '_KEPT', clients._Kept())
    clients.log_identity.cache_clear()
    yield
    clients.log_identity.cache_clear()


@pytest.fixture
def configured():
    """Set options of senlin.conf: ``configured(username='x')``."""
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


def request_of(**properties):
    """Return a request that needs the whole cloud."""
    policy = {'type': TYPE, 'version': '1.1', 'properties': properties}
    options = {'drs_pattern': 'cmp'}
    return api.Question(1, server_group='7d1d4b4c', policy=load(policy), options=options)


def fetched(request, connection):
    constraints = preflight.constraints_for(request.count, request.policy)
    return preflight.fetch(request, constraints, lambda: clients.clients_of(connection))


def view(edge, owner='demo'):
    request = request_of(spread=[{'by': 'availability_zone'}])
    return fetched(request, edge.connection(owner))


def warnings(caplog):
    ours = (record for record in caplog.records if record.name.startswith('senlin_affinity'))
    return [record.getMessage() for record in ours if record.levelname == 'WARNING']


def test_without_operator_credentials_the_owners_are_used_and_logged_once(edge, caplog):
    clients.log_identity()
    clients.log_identity()
    owner = edge.connection()
    assert not clients.clients_of(owner).has_operator
    (said,) = warnings(caplog)
    assert f'[{GROUP}] has no credentials' in said
    seen = view(edge)
    assert seen.owner_sees_hosts
    assert seen.hosts is None
    assert warnings(caplog) == [said]


def test_senlins_service_user_logs_in_to_its_own_project_and_domains(configured):
    scope = {'service_project_name': 'service', 'service_project_domain': 'Projects'}
    configured(auth_section='authentication')
    configured('authentication', **SENLINS, **scope, service_user_domain='Users')
    auth = service_user.connect(cfg.CONF, timeout=60, largest=128).session.auth
    (user,) = auth.auth_methods
    assert (user.username, user.user_domain_name) == ('admin', 'Users')
    assert (auth.project_name, auth.project_domain_name) == ('service', 'Projects')


@pytest.mark.parametrize('section', [None, 'authentication', GROUP])
def test_one_login_serves_all_owners(edge, configured, caplog, section):
    configured(valid_interfaces=['internal', 'public'])
    if section == 'authentication':
        configured(auth_section=section)
        configured(section, **SENLINS)
    else:
        configured(**LOGIN, **({'auth_section': section} if section else {}))
    with caplog.at_level('INFO', logger='senlin_affinity'):
        clients.log_identity()
    assert f'with the credentials of [{section or GROUP}]' in caplog.text
    for _time in range(2):
        seen = view(edge)
        assert [host.host for host in seen.hosts] == ['cmp-1']
        assert not seen.owner_sees_hosts
    assert edge.tokens == 3  # a connection of Senlin's driver each time, and this one
    assert {each.user for each in edge.nova.asked if each.path == '/os-services'} == {'admin'}
    assert not warnings(caplog)
    assert SECRET not in caplog.text


def test_the_line_at_the_start_has_the_version_and_a_hash_of_the_options(configured, caplog):
    def line():
        clients.log_identity.cache_clear()
        caplog.clear()
        clients.log_identity()
        (said,) = warnings(caplog)
        return said

    lines = [line()]
    release = re.escape(metadata.version('senlin-affinity'))
    assert re.search(rf'senlin-affinity {release}, hash of options [0-9a-f]{{12}}: ', lines[0])
    assert line() == lines[0]
    for group, name, value in (
        ('affinity', 'request_timeout', 7),
        ('scheduler', 'placement_req_required_member_prefix', 'licence:'),
        (GROUP, 'region_name', 'RegionTwo'),
    ):
        configured(group, **{name: value})
        lines.append(line())
    assert len({*lines}) == len(lines)


def test_concurrent_hooks_share_one_login(edge, configured):
    configured(**LOGIN)
    number = 6
    at_once = threading.Barrier(number)

    def hook(_number):
        at_once.wait()
        return [host.host for host in view(edge).hosts]

    with ThreadPoolExecutor(number) as pool:
        assert [*pool.map(hook, range(number))] == [['cmp-1']] * number
    assert edge.tokens == number + 1


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'auth_type': 'passwort'}, 'passwort'),
        ({**LOGIN, 'auth_url': None}, 'auth_url'),
        ({'auth_section': 'keystone_authtoken'}, 'its auth_section has no auth_type'),
        ({**LOGIN, 'cafile': '/no/such/file'}, None),
    ],
)
def test_incomplete_or_invalid_credentials(edge, configured, caplog, options, words):
    configured(**options)
    assert clients.clients_of(edge.connection()).has_operator is (words is None)
    said = warnings(caplog)
    assert len(said) == (words is not None)
    assert not said or (f'[{GROUP}] defines no valid credentials: ' in said[0] and words in said[0])
    assert SECRET not in caplog.text


def test_after_a_rejected_login_the_owners_credentials_are_used(edge, configured, caplog):
    configured(**LOGIN)
    edge.fail('POST', '/auth/tokens', at_edge.UNAUTHORIZED, skip=1, times=1)
    seen = view(edge)
    assert seen.owner_sees_hosts
    assert seen.hosts is None
    assert seen.quotas
    (said,) = warnings(caplog)
    assert f'could not log in at {at_edge.KEYSTONE}: ' in said
    assert SECRET not in caplog.text
    assert view(edge).hosts  # the next time it does


@pytest.mark.parametrize('owner', ['demo', 'admin'])
def test_a_response_that_is_too_large_is_read_once_and_does_not_disable_the_credentials(
    edge, configured, caplog, owner
):
    configured(**LOGIN)
    words = 'the answer is larger than 128 MiB: raise max_answer_size in [affinity]'
    error = AnswerTooLarge(words, 200, is_uncertain=True)
    edge.fail('GET', '/allocation_candidates', at_edge.Failure('large', words, exception=error))
    assert str(view(edge, owner)) == disclosure.NOT_KNOWN
    assert [each.path for each in edge.nova.asked].count('/os-services') == 1
    (said,) = warnings(caplog)
    assert said.endswith(f'could not list the allocation candidates: {words}')
    assert GROUP not in said


def test_a_failure_of_the_owners_connection_is_an_error(edge, configured):
    configured(**LOGIN)
    edge.fail('GET', '/limits', at_edge.SERVER_ERROR)
    assert 'DBConnectionError' in str(view(edge))


def test_the_engines_limits_apply_to_the_connection(edge, configured, option):
    configured(**LOGIN, region_name='RegionTwo', valid_interfaces=['internal'])
    option('request_timeout', 7)
    made = clients.clients_of(edge.connection()).operator.connection
    assert made.session.timeout == 7
    assert made.config.get_region_name('compute') == 'RegionTwo'
    assert made.config.get_interface('compute') == ['internal']
    with pytest.raises(transport.GivenUp, match='DELETE is rejected: this connection is read-only'):
        requests.Session.get_adapter(made.session.session, 'http://nova').send(
            requests.Request('DELETE', 'http://nova/servers/1').prepare()
        )


@pytest.mark.parametrize(('own', 'operators'), [(3, 3), (None, 7)], ids=['own', 'default'])
def test_a_timeout_of_the_operator_applies_to_all_of_its_requests(
    edge, configured, option, monkeypatch, own, operators
):
    seen, original = {}, requests.Session.request

    def request(self, method, url, **more):
        seen.setdefault(url.partition('?')[0].rpartition('/')[2], set()).add(more['timeout'])
        return original(self, method, url, **more)

    configured(**LOGIN, timeout=own)
    option('request_timeout', 7)
    monkeypatch.setattr(requests.Session, 'request', request)
    assert view(edge).hosts
    assert seen['os-services'] == seen['allocation_candidates'] == {operators}
    assert seen['limits'] == {7}


@pytest.mark.parametrize(
    'wanted',
    [{'pin_hosts': True}, {'enable_drs_extension': True, 'preflight': 'off'}],
    ids=['pinned', 'DRS'],
)
def test_hosts_are_chosen_only_for_permitted_owners(edge, configured, wanted):
    configured(**LOGIN)

    def view(owner):
        owns = edge.connection(owner)
        return fetched(request_of(**wanted), owns)

    assert 'Nova does not let the owner of the cluster choose the hosts' in str(view('demo'))
    asked = [(each.user, each.body) for each in edge.nova.asked if each.method == 'POST']
    assert [(user, body['server']['availability_zone'][:5]) for user, body in asked] == [
        ('demo', 'nova:')
    ]
    seen = view('admin')
    assert [host.host for host in seen.hosts] == ['cmp-1']
    assert len(asked) == 1
