"""A cloud that takes connections and never answers: nothing waits for ever."""

import socket

import pytest

from senlin_affinity.cloud.connection import ports
from senlin_affinity.core.errors import CloudError
from tests import fake_keystone
from tests.fake_nova import FakeNova
from tests.functional.http_cloud import HttpCloud

#: Seconds; short, since a test waits for it to pass.
TIMEOUT = 0.3


@pytest.fixture
def silent():
    """The URL of a service that never answers."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        yield f'http://127.0.0.1:{listener.getsockname()[1]}'


def test_a_silent_keystone(silent):
    with pytest.raises(CloudError, match='could not find Nova: .*timed out'):
        ports(fake_keystone.connect(f'{silent}/identity/v3'), TIMEOUT).server_groups.named('web')


def test_a_silent_nova(silent):
    with HttpCloud(FakeNova()) as cloud:
        made = fake_keystone.connect(f'{cloud.url}/identity/v3', compute_endpoint_override=silent)
        with pytest.raises(CloudError, match='could not find Nova: .* or it does not answer'):
            ports(made, TIMEOUT).server_groups.named('web')


def test_a_timeout_that_the_connection_brings_is_kept(silent):
    made = fake_keystone.connect(f'{silent}/identity/v3', api_timeout=TIMEOUT)
    with pytest.raises(CloudError, match='timed out'):
        ports(made, 600).server_groups.named('web')
