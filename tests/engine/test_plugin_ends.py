"""A Keystone that does not answer, or not to the end, ends every operation of the policy.

In a process that is patched like senlin-engine's, whose driver makes the connection: there threads
and locks are eventlet's.
"""

import json
import subprocess
import sys

import pytest

from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeNova

LOCKED = 'it wants a token before it gives one (The request you have made requires authentication.'
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


def run(cloud, step, timeout=LONG):
    """What the step comes to; the process is killed where it hangs."""
    done = subprocess.run(
        [sys.executable, '-m', 'tests.engine.patched_engine',
         f'{cloud.url}/identity/v3', str(timeout), step],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize('name', ODD)
def test_attach_answers_why(name):
    odd, timeout, words = ODD[name]
    with HttpCloud(FakeNova(), **odd) as cloud:
        (first, why), (second, again) = run(cloud, 'attach', timeout)
        assert (first, second) == (False, False)
        assert words.format(3 * timeout) in why
        assert ('the connection was given up' if words is NOT_OVER else LOCKED) in again
        assert cloud.nova.groups == []


@pytest.mark.parametrize(
    ('step', 'names', 'begin'),
    [
        ('hook', ['401', 'the version drips', 'Nova drips'], ''),
        ('detach', ['401', 'the token drips'], 'Failed in deleting servergroup. could not '),
        ('validate', ['401'], 'the spec could not be checked: could not log in at http'),
    ],
)
def test_the_others_say_why(step, names, begin):
    for name in names:
        odd, timeout, words = ODD[name]
        with HttpCloud(FakeNova(), **odd) as cloud:
            why = run(cloud, step, timeout)
        assert begin in why
        assert words.format(3 * timeout) in why


def test_senlins_driver_asks_nobody():
    """Else it could hang before the policy has a connection to put a deadline on."""
    with HttpCloud(FakeNova(), drip='.*') as cloud:
        assert run(cloud, 'connect') == 'None'
        assert cloud.asked == []


def test_without_a_fault_the_same_process_attaches():
    with HttpCloud(FakeNova()) as cloud:
        (is_attached, data), _again = run(cloud, 'attach')
        assert is_attached, data
        assert [group['id'] for group in cloud.nova.groups] == [
            data['AffinityPolicy']['data']['servergroup_id']
        ]
