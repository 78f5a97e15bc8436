"""A connection is made from clouds.yaml, and authentication leaves a shared session unchanged."""

import json
import logging
import re
from types import SimpleNamespace

import openstack
import pytest

from senlin_affinity.cloud import clients, login
from senlin_affinity.cloud.connection import compute, connect
from senlin_affinity.cloud.login import impatient
from senlin_affinity.model.errors import CloudError
from tests.support.edge import NOVA

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


def test_authentication_does_not_change_a_shared_session(edge):
    """A program may use its session in other threads while this package authenticates with it."""
    session = edge.connection().session
    own, session_methods = dict(vars(session)), []
    edge.before(
        'POST', '/auth/tokens', lambda: session_methods.append(vars(session).get('request'))
    )
    first, second = impatient(session), impatient(session)
    assert first.get_token() == second.get_token() == session.get_token()
    assert (edge.tokens, session_methods) == (1, [None])
    assert {name: vars(session)[name] for name in own} == own
    assert 'request' not in vars(session)


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


def test_authentication_may_need_another_token_first(edge):
    """With federation, one Keystone authenticates a user for another."""
    session, other = edge.connection().session, edge.connection().session.auth
    own = impatient(session)
    assert own.get(NOVA, auth=other, authenticated=True).status_code == 200
