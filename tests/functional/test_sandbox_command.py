"""``sandbox up`` and ``sandbox down`` in separate processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import openstack
import pytest

from senlin_affinity.sandbox.session import is_running
from tests.support.waiting import until


@pytest.fixture
def command(tmp_path):
    """Return a function that runs the command with a runtime directory of the test."""
    environment = {**os.environ, 'XDG_RUNTIME_DIR': str(tmp_path)}
    line = [sys.executable, '-m', 'senlin_affinity.cli.main', 'sandbox']

    def run(*arguments):
        return subprocess.run(
            [*line, *map(str, arguments)], env=environment, capture_output=True, text=True
        )

    pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
    run.start = lambda *words: subprocess.Popen([*line, *words], env=environment, **pipes)
    run.notes = tmp_path / 'senlin-affinity' / 'session.json'
    yield run
    run('down')


def is_removed(notes):
    running = any(map(is_running, [notes['pid'], *notes['children']]))
    return not running and not Path(notes['directory']).exists()


def test_a_started_sandbox_can_be_used_and_stopped(command):
    up = command('up', '--no-senlin')
    assert up.returncode == 0, up.stderr
    assert 'Placement runs' in up.stderr
    notes = json.loads(command.notes.read_text())
    assert f'export OS_CLIENT_CONFIG_FILE={notes["clouds_yaml"]} OS_CLOUD=sandbox' in up.stdout
    files = [notes['clouds_yaml']]
    config = openstack.config.OpenStackConfig(config_files=files, load_envvars=False)
    connection = openstack.connection.Connection(config=config.get_one('sandbox'))
    assert [item.name for item in connection.compute.hypervisors()] == ['cmp-1', 'cmp-2']

    second = command('up')
    assert second.returncode == 1
    assert 'running already' in second.stderr
    assert is_running(notes['pid'])

    down = command('down')
    assert (down.returncode, down.stdout) == (0, 'the sandbox is gone\n')
    assert is_removed(notes)
    remaining = sorted(path.name for path in command.notes.parent.iterdir())
    assert remaining == ['lock', 'supervisor.log']


def test_a_sandbox_in_the_foreground_runs_until_ctrl_c(command):
    process = command.start('up', '--foreground', '--no-senlin')
    assert 'the sandbox runs at' in process.stdout.readline()
    notes = json.loads(command.notes.read_text())
    assert notes['pid'] == process.pid
    process.send_signal(signal.SIGINT)
    output, _errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.endswith('the sandbox is gone\n')
    assert is_removed(notes)


def test_ctrl_c_during_the_start_removes_everything(command):
    process = command.start('up')
    assert process.stderr.readline()  # the first stage
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode not in (0, None)
    assert command('down').stdout == 'no sandbox is running\n'
    assert not command.notes.exists()


def test_a_killed_supervisor_leaves_nothing(command):
    assert command('up', '--no-senlin').returncode == 0
    notes = json.loads(command.notes.read_text())
    os.kill(notes['pid'], signal.SIGKILL)
    until(lambda: is_removed(notes), what='everything is gone')
    assert command('down').stdout == 'no sandbox is running\n'
    assert not command.notes.exists()


def test_an_invalid_file_is_a_usage_error(command, tmp_path):
    file = tmp_path / 'cloud.yaml'
    file.write_text('hosts: {a: {vcpu: 1}}')
    up = command('up', '--cloud', file)
    assert up.returncode == 2
    assert up.stderr == 'error: hosts.a.vcpu: unknown key; did you mean "vcpus"?\n'
