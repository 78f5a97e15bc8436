"""A cloud that takes connections and never answers: nothing waits for ever."""

import contextlib
import socket

import pytest

from senlin_affinity.cloud.connection import REQUEST_TIMEOUT, compute, ports
from senlin_affinity.core.errors import CloudError
from tests import fake_keystone
from tests.fake_nova import FakeNova
from tests.functional.http_cloud import HttpCloud

#: Seconds; short, since a test waits for it to pass.
TIMEOUT = 0.3


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
        ports(fake_keystone.connect(url), TIMEOUT).server_groups.named('web')
    assert silent.asked() == 1


@pytest.mark.parametrize('path', ['', '/v2.1', '/v2.1/project'])
def test_a_silent_nova(silent, path):
    with HttpCloud(FakeNova()) as cloud:
        made = fake_keystone.connect(
            f'{cloud.url}/identity/v3', compute_endpoint_override=silent.url + path
        )
        with pytest.raises(CloudError, match='could not find Nova: Request to .* timed out'):
            ports(made, TIMEOUT).server_groups.named('web')
    assert silent.asked() == 1


def test_a_timeout_that_the_connection_brings_is_kept(silent):
    made = fake_keystone.connect(f'{silent.url}/identity/v3', api_timeout=TIMEOUT)
    with pytest.raises(CloudError, match='timed out'):
        ports(made, 600).server_groups.named('web')


def test_where_none_is_given_that_of_the_connection_counts_for_every_request():
    with HttpCloud(FakeNova()) as cloud:
        made = fake_keystone.connect(f'{cloud.url}/identity/v3', api_timeout=7)
        assert compute(made)._timeout == 7
        assert compute(made, 5)._timeout == 5
        assert compute(cloud.connection())._timeout == REQUEST_TIMEOUT
