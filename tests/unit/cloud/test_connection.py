"""A connection is made from clouds.yaml, and authentication leaves a shared session unchanged."""

import json
import logging
import re
from dataclasses import replace
from types import SimpleNamespace

import openstack
import pytest
import requests

from senlin_affinity.cloud import clients, login
from senlin_affinity.cloud.connection import clustering, compute, connect, has_clustering
from senlin_affinity.model.errors import CloudError
from tests.support.edge import NOVA, Edge

CLOUDS = """\
clouds:
  far: {api_timeout: 600, auth: {auth_url: 'http://keystone.test/v3', username: u, password: p}}
"""


@pytest.fixture
def write_clouds_yaml(tmp_path, monkeypatch):
    """Return a function that writes clouds.yaml."""
    path = tmp_path / 'clouds.yaml'
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    return path.write_text


def test_the_timeout_argument_takes_precedence(write_clouds_yaml):
    write_clouds_yaml(CLOUDS)
    assert connect('far').session.timeout == 600
    assert connect('far', 7).session.timeout == 7


def test_a_warning_of_openstacksdk_is_logged_once(caplog, monkeypatch):
    """The warnings of openstacksdk differ between its versions, so a fake emits them."""
    logger = logging.getLogger('openstack.config')
    monkeypatch.setattr(logger, 'level', logging.ERROR)
    before = logger.handlers[:], logger.propagate, logging.ERROR

    def warns(**_options):
        logger.warning('Skipping\nclouds.yaml')
        logger.warning('Skipping\nclouds.yaml')
        return SimpleNamespace(session='session')

    monkeypatch.setattr(openstack, 'connect', warns)
    assert connect().session == 'session'
    assert caplog.messages == ['Skipping clouds.yaml']
    assert (logger.handlers, logger.propagate, logger.level) == before


@pytest.mark.parametrize(
    ('cloud_names', 'message'),
    [
        (
            '',
            ' No clouds.yaml defines a cloud (searched: OS_CLIENT_CONFIG_FILE, ., '
            '~/.config/openstack, /etc/openstack).',
        ),
        ('abcdefghijk', ' Known: a, b, c, d, e, f, g, h, i, j.'),
    ],
)
def test_an_error_about_an_unknown_cloud_names_the_known_ones(
    write_clouds_yaml, monkeypatch, cloud_names, message
):
    write_clouds_yaml(json.dumps({'clouds': {name: {} for name in cloud_names}}))
    if cloud_names:
        monkeypatch.setenv('OS_AUTH_URL', 'http://keystone.test/v3')
    with pytest.raises(CloudError) as caught:
        connect('far')
    assert str(caught.value) == (
        f'could not connect to the cloud: Cloud far was not found.{message}'
    )


@pytest.mark.parametrize(
    'cloud',
    [
        None,
        3,
        {'auth': 3},
        {'auth': {'auth_url': 3}},
        {'auth': {'auth_url': 'http://keystone.test/v3'}, 'api_timeout': 'x'},
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(write_clouds_yaml, cloud):
    write_clouds_yaml(json.dumps({'clouds': {'far': cloud}}))
    message = 'could not connect to the cloud: clouds.yaml, or the environment, has a value of the'
    with pytest.raises(CloudError, match=f'^{message} wrong type: .*'):
        connect('far')


def test_a_missing_option_is_an_error(write_clouds_yaml):
    write_clouds_yaml(json.dumps({'clouds': {'far': {'auth': {'username': 'u'}}}}))
    message = 'which were not given: auth_url (set them in clouds.yaml, or as variables'
    with pytest.raises(CloudError, match=re.escape(message)):
        connect('far')


def test_a_missing_certificate_file_is_an_error(write_clouds_yaml, tmp_path):
    missing = str(tmp_path / 'missing.pem')
    auth = {'auth_url': 'https://127.0.0.1:1', 'username': 'u', 'password': 'secret'}
    write_clouds_yaml(json.dumps({'clouds': {'far': {'cacert': missing, 'auth': auth}}}))
    with pytest.raises(CloudError, match=f'invalid path: {missing}$'):
        login.log_in(connect('far'), 7)


def test_a_replaced_request_method_of_a_session_is_kept(edge):
    connection = edge.connection()
    session, urls = connection.session, []
    request = session.request

    def counted(url, *arguments, **more):
        urls.append(url)
        return request(url, *arguments, **more)

    session.request = counted
    found = compute(clients.OwnerClient(connection))
    assert session.request is counted
    assert sum(url.endswith('/auth/tokens') for url in urls) == 1
    urls.clear()
    assert found.get('/limits', 'read the limits', (2, 1))
    assert len(urls) == 1


@pytest.mark.parametrize(
    ('of_client', 'options', 'seconds'),
    [(7.0, {'api_timeout': 8.0}, 7.0), (None, {'api_timeout': 8.0}, 8.0), (None, {}, 60)],
    ids=['client', 'connection', 'neither'],
)
def test_a_request_has_the_timeout_of_its_client_or_else_of_the_connection(
    edge, monkeypatch, of_client, options, seconds
):
    timeouts, original = {}, requests.Session.request

    def request(self, method, url, **more):
        timeouts[url] = more.get('timeout')
        return original(self, method, url, **more)

    monkeypatch.setattr(requests.Session, 'request', request)
    both = clients.of(edge.connection(**options), of_client)
    assert both.remembering().owner.timeout == both.operator.timeout == of_client
    compute(both.owner).get('/limits', 'read the limits', (2, 1))
    assert timeouts[f'{NOVA}/limits'] == seconds


def test_authentication_may_need_another_token_first(edge):
    """With federation, one Keystone authenticates a user for another."""
    session, other = edge.connection().session, edge.connection().session.auth
    assert session.get(NOVA, auth=other, authenticated=True).status_code == 200


@pytest.mark.parametrize(
    ('services', 'options', 'has'),
    [
        (('compute',), {}, False),
        (('compute', 'clustering'), {}, True),
        (('compute',), {'clustering_endpoint_override': 'http://senlin.test'}, True),
    ],
)
def test_senlin_is_in_the_catalog_or_in_clouds_yaml(services, options, has):
    with Edge(services=services) as edge:
        owner = clients.OwnerClient(edge.connection(**options))
        assert has_clustering(owner) is has
        if not has:
            with pytest.raises(CloudError, match='^could not find Senlin: .*clustering'):
                clustering(owner)


def test_senlin_may_be_anywhere_without_a_catalog():
    session = SimpleNamespace(
        auth=None, timeout=None, session=requests.Session(), get_token=lambda: None
    )
    owner = clients.OwnerClient(SimpleNamespace(session=session), 7.0)
    assert has_clustering(owner)
    assert session.timeout == 7.0
    assert has_clustering(replace(owner, timeout=8.0))
    assert session.timeout == 7.0
    session.session.mount('http://', Unbounded())
    login.log_in(owner.connection, 7.0)
    assert not isinstance(session.session.get_adapter('http://nova'), Unbounded)


class Unbounded(requests.adapters.HTTPAdapter):
    """An adapter whose responses have any size."""


PASSWORD = 'password is a required attribute'


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (Exception(PASSWORD), 'the password is missing: set OS_PASSWORD, or password in clouds'),
        (Exception('other'), None),
        (RuntimeError(PASSWORD), None),
    ],
    ids=repr,
)
def test_only_a_missing_password_is_an_error_of_the_cloud(error, words):
    def get_token():
        raise error

    session = SimpleNamespace(
        auth=None, timeout=1.0, session=requests.Session(), get_token=get_token
    )
    config = SimpleNamespace(get_auth_args=lambda: {'auth_url': 'http://keystone.test'})
    with pytest.raises(Exception, match='password|other') as caught:
        login.log_in(SimpleNamespace(session=session, config=config), 7.0)
    if words is None:
        assert caught.value is error
    else:
        assert str(caught.value).startswith(f'could not log in at http://keystone.test: {words}')
