"""No operation waits forever for a cloud that does not respond, or not completely."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest

from senlin_affinity.cloud import clients
from senlin_affinity.cloud.connection import ports
from senlin_affinity.cloud.transport import TIMEOUTS
from senlin_affinity.model.errors import CloudError
from tests.functional.http_cloud import HttpCloud
from tests.support import fake_keystone
from tests.support.command import run
from tests.support.fake_nova import FakeHost, FakeNova
from tests.support.waiting import ended

COMMAND = [sys.executable, '-m', 'senlin_affinity.cli.main']
#: Seconds; short, because a test waits that long. All earlier requests must finish in this time.
TIMEOUT, LONGER = 0.3, 1.0


def deadline_message(timeout):
    """Return the message of a call that exceeds its deadline."""
    return f'no complete answer within {TIMEOUTS * timeout:g} seconds'


class SilentService:
    """A service that accepts connections and never responds."""

    def __init__(self, listener):
        self._listener = listener
        self.url = f'http://127.0.0.1:{listener.getsockname()[1]}'

    def connections(self):
        """Return the number of connections."""
        self._listener.setblocking(False)
        times = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                times += 1
        return times


@pytest.fixture
def silent():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        yield SilentService(listener)


# -- slow responses, and a Keystone that needs a token for its discovery

LOGIN_FAILED = 'could not log in at {url}/identity/v3: '
DRIPS = {
    'GET /identity/v3': (LOGIN_FAILED, TIMEOUT),
    'POST /identity/v3/auth/tokens': (LOGIN_FAILED, TIMEOUT),
    'GET /compute/v2.1/?': ('could not find Nova: ', LONGER),
    'GET /compute/v2.1/os-server-groups': ('could not list the server groups: ', LONGER),
}
LOCKED = 'the service requires a token to issue a token'


@pytest.mark.parametrize(('part', 'is_tls'), [('head', False), ('body', False), ('body', True)])
@pytest.mark.parametrize('drip', DRIPS)
def test_an_endless_response_is_given_up(drip, part, is_tls):
    """Each byte arrives within the timeout; the next call sends requests again."""
    action, timeout = DRIPS[drip]
    with HttpCloud(FakeNova(), drip=drip, part=part, is_tls=is_tls) as cloud:
        connection = cloud.connection()
        with pytest.raises(CloudError) as caught:
            ended(lambda: ports(clients.of(connection, timeout)).server_groups.named('web'))
        assert str(caught.value) == f'{action.format(url=cloud.url)}{deadline_message(timeout)}'
        assert cloud.dripped.is_set()
        cloud.drip = None
        assert ports(clients.of(connection, 600)).server_groups.named('web') == ()


def test_a_write_is_not_repeated_if_the_renewal_of_its_token_is_given_up():
    post = 'POST /compute/v2.1/os-server-groups'
    with HttpCloud(FakeNova()) as cloud:
        groups = ports(clients.of(cloud.connection(), LONGER)).server_groups
        groups.check('anti-affinity', {})
        cloud.refused = post
        cloud.drip = 'POST /identity/v3/auth/tokens'
        with pytest.raises(CloudError, match=deadline_message(LONGER)):
            ended(lambda: groups.create('web', 'anti-affinity', {}))
        assert cloud.asked.count(post) == 1
        assert cloud.nova.groups == []


def test_a_compressed_response_over_tls_is_read():
    with HttpCloud(FakeNova(), is_tls=True, is_packed=True) as cloud:
        groups = ports(clients.of(cloud.connection(), 600)).server_groups
        assert groups.named('web') == ()


# -- the command


def command(cloud, tmp_path, *arguments):
    clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        env={**clean, **cloud.environment, 'HOME': str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


ARGUMENTS = [
    ('snapshot', 'save', 'cloud.json'),
    ('plan', '--count', '1', '--flavor', 'm1.tiny'),
    ('policy', 'validate', 'spec.yaml'),
]
DISCOVERY = {'drip': 'GET /compute/v2.1/?', 'part': 'head'}
SPEC = '{type: senlin.policy.affinity, version: "1.1", properties: {availability_zone: nova}}'


@pytest.mark.parametrize(
    ('arguments', 'faults', 'timeout', 'message'),
    [
        *((each, {'is_locked': True}, 600, f'{LOGIN_FAILED}{LOCKED}') for each in ARGUMENTS),
        (
            ARGUMENTS[0],
            {'drip': 'GET /identity/v3'},
            LONGER,
            f'{LOGIN_FAILED}{deadline_message(LONGER)}\n',
        ),
        (ARGUMENTS[1], DISCOVERY, LONGER, f'could not find Nova: {deadline_message(LONGER)}\n'),
    ],
    ids=['snapshot: 401', 'plan: 401', 'policy: 401', 'slow authentication', 'slow discovery'],
)
def test_the_command_ends_with_a_one_line_error(tmp_path, arguments, faults, timeout, message):
    (tmp_path / 'spec.yaml').write_text(SPEC)
    with HttpCloud(FakeNova(), **faults) as cloud:
        process = command(cloud, tmp_path, *arguments, '--timeout', str(timeout))
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert err.startswith(f'error: {message.format(url=cloud.url)}')
    assert (process.returncode, out, err.count('\n')) == (1, '', 1)
    assert not (tmp_path / 'cloud.json').exists()


@pytest.mark.parametrize('drip', ['GET /identity/v3', 'POST /identity/v3/auth/tokens'])
def test_ctrl_c_ends_an_endless_authentication(tmp_path, drip):
    with HttpCloud(FakeNova(), drip=drip) as cloud:
        process = command(cloud, tmp_path, *ARGUMENTS[0], '--timeout', '600')
        try:
            assert cloud.dripped.wait(60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, '', 'error: interrupted\n')


@pytest.mark.parametrize(('largest', 'status'), [(1, 1), (8, 0)])
def test_max_answer_size_limits_a_response(tmp_path, largest, status):
    """The list of 1,500 hosts is larger than 1 MiB and smaller than 8 MiB."""
    nova = FakeNova(hosts=tuple(FakeHost(f'cmp-{n}-{"x" * 200}') for n in range(1500)))
    with HttpCloud(nova) as cloud:
        words = ('snapshot', 'save', 'cloud.json', '--max-answer-size', str(largest))
        done = run(*words, folder=tmp_path, HOME=str(tmp_path), **cloud.environment)
    message = 'the answer is larger than 1 MiB'
    assert (done.returncode, message in done.stderr) == (status, status == 1), done.stderr
    assert (tmp_path / 'cloud.json').exists() is (status == 0)


@pytest.mark.parametrize('path', ['/v3', '/identity/v3', '/'])
def test_a_silent_keystone_is_requested_once(silent, path):
    """No other URL is tried."""
    url = f'{silent.url}{path}'
    words = f'could not log in at {url}: Request to .* timed out'
    with pytest.raises(CloudError, match=words):
        ports(clients.of(fake_keystone.connect(url), TIMEOUT)).server_groups.named('web')
    assert silent.connections() == 1
