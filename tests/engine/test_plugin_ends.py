"""If Keystone does not respond, or not completely, every operation of the policy ends.

The process is patched like senlin-engine, and its driver creates the connection: threads and locks
are eventlet's.
"""

import json
import subprocess
import sys

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeNova

LOCKED = 'the service requires a token to issue a token'
NOT_OVER = 'no complete answer within {:g} seconds'
#: Seconds that a server may be silent; a test waits for three of them. What comes before the drops
#: must be over in this time.
SHORT, LONGER, LONG = 0.3, 1.0, 60.0
ODD = {
    '401': ({'is_locked': True}, LONG, LOCKED),
    'the version drips': ({'drip': 'GET /identity/v3'}, SHORT, NOT_OVER),
    'the token drips': (
        {'drip': 'POST /identity/v3/auth/tokens', 'part': 'head'},
        LONGER,
        NOT_OVER,
    ),
    'the discovery drips': ({'drip': 'GET /compute/v2.1/?'}, LONGER, NOT_OVER),
    'Nova drips': ({'drip': 'GET /compute/v2.1/[a-z].*'}, LONGER, NOT_OVER),
}


@pytest.fixture(scope='module')
def engine():
    """The process of ``tests/engine/patched_engine.py``."""
    line = [sys.executable, '-m', 'tests.engine.patched_engine']
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        yield process


@pytest.fixture
def run(engine):
    """Run a step, and return its result: ``run(cloud, 'attach', 1.0)``."""

    def ask(cloud, step, timeout=LONG):
        engine.stdin.write(json.dumps([f'{cloud.url}/identity/v3', timeout, step]) + '\n')
        answer = json.loads(engine.stdout.readline())
        assert answer is not None, 'the step hangs or fails'
        return answer

    return ask


@pytest.mark.parametrize('name', ODD)
def test_attach_fails_with_the_reason(run, name):
    odd, timeout, words = ODD[name]
    with HttpCloud(FakeNova(), **odd) as cloud:
        (first, why), (second, again) = run(cloud, 'attach', timeout)
        assert (first, second) == (False, False)
        assert words.format(3 * timeout) in why
        assert words.format(3 * timeout) in again
        assert cloud.nova.groups == []


@pytest.mark.parametrize(
    ('step', 'names', 'begin'),
    [
        ('hook', ['401', 'the version drips', 'Nova drips'], ''),
        ('detach', ['401', 'the token drips'], 'Failed in deleting servergroup. could not '),
        ('validate', ['401'], 'the spec could not be checked: could not log in at http'),
    ],
)
def test_the_other_operations_fail_with_the_reason(run, step, names, begin):
    for name in names:
        odd, timeout, words = ODD[name]
        with HttpCloud(FakeNova(), **odd) as cloud:
            why = run(cloud, step, timeout)
        assert begin in why
        assert words.format(3 * timeout) in why


def test_senlins_driver_sends_no_request(run):
    """A request could hang, because the policy has no connection with a deadline yet."""
    with HttpCloud(FakeNova(), drip='.*') as cloud:
        assert run(cloud, 'connect') == 'None'
        assert cloud.asked == []


def test_without_a_fault_the_same_process_attaches(run):
    with HttpCloud(FakeNova()) as cloud:
        (is_attached, data), _again = run(cloud, 'attach')
        assert is_attached, data
        assert [group['id'] for group in cloud.nova.groups] == [
            data['AffinityPolicy']['data']['servergroup_id']
        ]
