"""A command's deadline is five times --timeout, or api_timeout in clouds.yaml, or 60 seconds."""

import contextlib
from types import SimpleNamespace

import pytest

from senlin_affinity.cli.base import Command
from senlin_affinity.cloud.transport import OPERATION, left

CLOUDS = """\
clouds:
  far: {auth: {auth_url: 'http://keystone.test/v3', username: u, password: p}API_TIMEOUT}
"""


class Quiet(Command):
    """A command that does nothing."""

    def take_action(self, _parsed_args):
        """Do nothing."""


@pytest.mark.parametrize(
    ('of_cloud', 'of_command', 'seconds'),
    [('', None, 60), (', api_timeout: 600', None, 600), (', api_timeout: 600', 7.0, 7)],
    ids=['neither', 'clouds.yaml', 'both'],
)
def test_the_deadline_of_a_command(tmp_path, monkeypatch, of_cloud, of_command, seconds):
    path = tmp_path / 'clouds.yaml'
    path.write_text(CLOUDS.replace('API_TIMEOUT', of_cloud))
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    command = Quiet(SimpleNamespace(), SimpleNamespace(os_cloud='far'))
    command._largest = None
    with contextlib.ExitStack() as command._open:
        command.connection(of_command)
        assert OPERATION * seconds - 5 < left(10_000) <= OPERATION * seconds
        command.end_operation()
        assert left(10) == 30
        command.connection(of_command)
        assert left(10_000) > OPERATION * seconds - 5


def test_a_connection_of_the_openstack_command_has_the_timeout_until_the_deadline_ends():
    session = SimpleNamespace(timeout=600)
    manager = SimpleNamespace(affinity=SimpleNamespace(session=session))
    command = Quiet(SimpleNamespace(client_manager=manager), SimpleNamespace())
    command._largest = None
    with contextlib.ExitStack() as command._open:
        command.connection(7.0)
        command.connection(7.0)
        assert session.timeout == 7.0
        assert left(10_000) <= OPERATION * 7
        command.end_operation()
        assert session.timeout == 600
        command.connection()
        assert session.timeout == 600
