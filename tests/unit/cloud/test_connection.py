"""A connection from clouds.yaml, and the log-in of those who share one."""

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
def write(tmp_path, monkeypatch):
    """``write(text)``: clouds.yaml."""
    path = tmp_path / 'clouds.yaml'
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    return path.write_text


def test_a_timeout_that_is_given_wins(write):
    write(CLOUDS)
    assert connect('far').session.timeout == 600
    assert connect('far', 7).session.timeout == 7


def test_what_openstacksdk_warns_of_is_logged_once_and_its_logger_left_as_it_was(
    caplog, monkeypatch
):
    """What it warns of differs with its version: this is what it says, twice."""
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
    ('known', 'said'),
    [
        (
            '',
            ' No clouds.yaml of OS_CLIENT_CONFIG_FILE, ., ~/.config/openstack and /etc/openstack '
            'defines a cloud.',
        ),
        ('abcdefghijk', ' Known: a, b, c, d, e, f, g, h, i, j.'),
    ],
)
def test_a_cloud_that_is_not_known(write, monkeypatch, known, said):
    write(json.dumps({'clouds': {name: {} for name in known}}))
    if known:
        monkeypatch.setenv('OS_AUTH_URL', 'http://keystone.test/v3')
    with pytest.raises(CloudError) as caught:
        connect('far')
    assert str(caught.value) == (f'could not connect to the cloud: Cloud far was not found.{said}')


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
def test_a_value_of_the_wrong_kind(write, cloud):
    write(json.dumps({'clouds': {'far': cloud}}))
    said = 'could not connect to the cloud: clouds.yaml, or the environment, has a value of the'
    with pytest.raises(CloudError, match=f'^{said} wrong kind: .*'):
        connect('far')


def test_a_cloud_without_an_option_that_is_needed(write):
    write(json.dumps({'clouds': {'far': {'auth': {'username': 'u'}}}}))
    said = 'which were not given: auth_url (set them in clouds.yaml, or as variables'
    with pytest.raises(CloudError, match=re.escape(said)):
        connect('far')


def test_certificates_that_are_not_there(write):
    auth = {'auth_url': 'https://127.0.0.1:1', 'username': 'u', 'password': 'secret'}
    write(json.dumps({'clouds': {'far': {'cacert': '/nonexistent', 'auth': auth}}}))
    with pytest.raises(CloudError, match='invalid path: /nonexistent$'):
        login.log_in(connect('far'), 7)


def test_authentication_does_not_change_a_session_that_others_use(edge):
    """A program may use its session in other threads while this package authenticates with it."""
    session = edge.connection().session
    own, seen = dict(vars(session)), []
    edge.before('POST', '/auth/tokens', lambda: seen.append(vars(session).get('request')))
    first, second = impatient(session), impatient(session)
    assert first.get_token() == second.get_token() == session.get_token()
    assert (edge.tokens, seen) == (1, [None])
    assert {name: vars(session)[name] for name in own} == own
    assert 'request' not in vars(session)


def test_a_request_that_a_program_put_into_its_session_is_kept(edge):
    connection = edge.connection()
    session, asked = connection.session, []
    request = session.request

    def counted(url, *arguments, **more):
        asked.append(url)
        return request(url, *arguments, **more)

    session.request = counted
    found = compute(clients.OwnerClient(connection))
    assert session.request is counted
    assert sum(url.endswith('/auth/tokens') for url in asked) == 1
    asked.clear()
    assert found.get('/limits', 'read the limits', (2, 1))
    assert len(asked) == 1


def test_a_log_in_may_need_another_first(edge):
    """As if one Keystone vouches for a user to another."""
    session, other = edge.connection().session, edge.connection().session.auth
    own = impatient(session)
    assert own.get(NOVA, auth=other, authenticated=True).status_code == 200
