"""A cloud that never answers, or not to the end, or not without a token: nothing waits for ever."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from senlin_affinity.cloud import clients
from senlin_affinity.cloud.connection import REQUEST_TIMEOUT, compute, connect, ports
from senlin_affinity.cloud.deadline import TIMEOUTS
from senlin_affinity.model.errors import CloudError
from tests.functional.http_cloud import HttpCloud
from tests.support import fake_keystone
from tests.support.command import run
from tests.support.fake_nova import FakeHost, FakeNova
from tests.support.waiting import ended, until

COMMAND = [sys.executable, '-m', 'senlin_affinity.cli.main']
#: Seconds; short, since a test waits for it to pass. What comes before must be over in this time.
TIMEOUT, LONGER = 0.3, 1.0


def not_over(timeout):
    """What is said of what is not over in time."""
    return f'no complete answer within {TIMEOUTS * timeout:g} seconds'


class Silent:
    """A service that takes connections and never answers; it counts them."""

    def __init__(self, listener):
        self._listener = listener
        self.url = f'http://127.0.0.1:{listener.getsockname()[1]}'

    def asked(self):
        """How often it was asked."""
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
        yield Silent(listener)


@pytest.mark.parametrize('path', ['/v3', '/identity/v3', '/'])
def test_a_silent_keystone(silent, path):
    """It is waited for once, and no other URL is guessed."""
    url = f'{silent.url}{path}'
    words = f'could not log in at {url}: Request to .* timed out'
    with pytest.raises(CloudError, match=words):
        ports(clients.of(fake_keystone.connect(url)), TIMEOUT).server_groups.named('web')
    assert silent.asked() == 1


@pytest.mark.parametrize('path', ['', '/v2.1', '/v2.1/project'])
def test_a_silent_nova(silent, path):
    with HttpCloud(FakeNova()) as cloud:
        made = fake_keystone.connect(
            f'{cloud.url}/identity/v3', compute_endpoint_override=silent.url + path
        )
        with pytest.raises(
            CloudError, match='could not find Nova: .*(does not answer|no complete)'
        ):
            ended(lambda: ports(clients.of(made), LONGER).server_groups.named('web'))


def test_where_none_is_given_that_of_the_connection_counts_for_every_request():
    with HttpCloud(FakeNova()) as cloud:
        made = fake_keystone.connect(f'{cloud.url}/identity/v3', api_timeout=7)
        assert compute(clients.OwnerClient(made))._timeout == 7
        assert compute(clients.OwnerClient(made), 5)._timeout == 5
        assert compute(clients.OwnerClient(cloud.connection()))._timeout == REQUEST_TIMEOUT


# -- drops, and a Keystone that wants a token for its version

LOG_IN = 'could not log in at {url}/identity/v3: '
DRIPS = {
    'GET /identity/v3': (LOG_IN, TIMEOUT),
    'POST /identity/v3/auth/tokens': (LOG_IN, TIMEOUT),
    'GET /compute/v2.1/?': ('could not find Nova: ', LONGER),
    'GET /compute/v2.1/os-server-groups': ('could not list the server groups: ', LONGER),
}
LOCKED = 'it wants a token before it gives one (The request you have made requires authentication.'


@pytest.mark.parametrize('part', ['head', 'body'])
@pytest.mark.parametrize('drip', DRIPS)
def test_an_answer_that_drips(drip, part):
    """Never silent for as long as the timeout; and the connection hangs nobody afterwards."""
    tried, timeout = DRIPS[drip]
    with HttpCloud(FakeNova(), drip=drip, part=part) as cloud:
        made = cloud.connection()
        with pytest.raises(CloudError) as caught:
            ended(lambda: ports(clients.of(made), timeout).server_groups.named('web'))
        assert str(caught.value) == f'{tried.format(url=cloud.url)}{not_over(timeout)}'
        asked = list(cloud.asked)
        with pytest.raises(CloudError, match='the connection was given up: a request before had'):
            ended(lambda: ports(clients.of(made), 600).server_groups.named('web'))
        assert cloud.asked == asked
        assert cloud.dripped.is_set()


def test_what_is_left_behind_does_not_write_later():
    """The token is refused, its renewal drips, and comes in the end: the POST is not repeated."""
    post = 'POST /compute/v2.1/os-server-groups'
    with HttpCloud(FakeNova()) as cloud:
        groups = ports(clients.of(cloud.connection()), LONGER).server_groups
        groups.check('anti-affinity', {})
        cloud.refused = post
        cloud.drip = 'POST /identity/v3/auth/tokens'
        with pytest.raises(CloudError, match=not_over(LONGER)):
            ended(lambda: groups.create('web', 'anti-affinity', {}))
        cloud.refused = None
        cloud.flow.set()
        until(lambda: not left_behind(), what='the thread that was left behind ends')
        assert cloud.asked.count(post) == 1
        assert cloud.nova.groups == []


def left_behind():
    return [each for each in threading.enumerate() if each.name == 'senlin-affinity request']


def test_a_profile_at_a_url_that_drips(tmp_path, monkeypatch):
    """openstacksdk reads it while the connection is made."""
    with HttpCloud(FakeNova(), drip='GET /.well-known/openstack/api') as cloud:
        path = tmp_path / 'clouds.yaml'
        path.write_text(f'clouds: {{far: {{profile: "{cloud.url}"}}}}')
        monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
        with pytest.raises(CloudError, match=f'could not connect to the cloud: {not_over(LONGER)}'):
            ended(lambda: connect('far', LONGER))


# -- the command


def command(cloud, tmp_path, *arguments):
    """Start it; whatever becomes of it, it is killed after the test."""
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
    ('arguments', 'odd', 'timeout', 'said'),
    [
        *((each, {'is_locked': True}, 600, f'{LOG_IN}{LOCKED}') for each in ARGUMENTS),
        (ARGUMENTS[0], {'drip': 'GET /identity/v3'}, LONGER, f'{LOG_IN}{not_over(LONGER)}\n'),
        (ARGUMENTS[1], DISCOVERY, LONGER, f'could not find Nova: {not_over(LONGER)}\n'),
    ],
    ids=['snapshot: 401', 'plan: 401', 'policy: 401', 'the log-in drips', 'the discovery drips'],
)
def test_the_command_ends_with_the_reason(tmp_path, arguments, odd, timeout, said):
    (tmp_path / 'spec.yaml').write_text(SPEC)
    with HttpCloud(FakeNova(), **odd) as cloud:
        process = command(cloud, tmp_path, *arguments, '--timeout', str(timeout))
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert err.startswith(f'error: {said.format(url=cloud.url)}')
    assert (process.returncode, out, err.count('\n')) == (1, '', 1)
    assert not (tmp_path / 'cloud.json').exists()


@pytest.mark.parametrize('drip', ['GET /identity/v3', 'POST /identity/v3/auth/tokens'])
def test_ctrl_c_ends_a_log_in_that_drips(tmp_path, drip):
    with HttpCloud(FakeNova(), drip=drip) as cloud:
        process = command(cloud, tmp_path, *ARGUMENTS[0], '--timeout', '600')
        try:
            assert cloud.dripped.wait(60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, '')
    assert 'Traceback' not in err


@pytest.mark.parametrize(('largest', 'status'), [(1, 1), (8, 0)])
def test_a_command_takes_no_larger_answer_than_it_is_told(tmp_path, largest, status):
    """A cloud of 1,500 hosts, whose list is larger than 1 MiB, and smaller than 8."""
    nova = FakeNova(hosts=tuple(FakeHost(f'cmp-{n}-{"x" * 200}') for n in range(1500)))
    with HttpCloud(nova) as cloud:
        words = ('snapshot', 'save', 'cloud.json', '--max-answer-size', str(largest))
        done = run(*words, folder=tmp_path, HOME=str(tmp_path), **cloud.environment)
    said = 'the answer is larger than 1 MiB'
    assert (done.returncode, said in done.stderr) == (status, status == 1), done.stderr
    assert (tmp_path / 'cloud.json').exists() is (status == 0)
