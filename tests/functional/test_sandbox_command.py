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
from tests.support.cloud_fixtures import Tenant
from tests.support.command import run as run_command

CLOUDS = Path(__file__).parents[2] / 'etc/senlin-affinity/clouds'


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


@pytest.mark.long
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


def test_an_invalid_file_is_a_usage_error(command, tmp_path):
    file = tmp_path / 'cloud.yaml'
    file.write_text('hosts: {a: {vcpu: 1}}')
    up = command('up', '--cloud', file)
    assert up.returncode == 2
    assert up.stderr == 'error: hosts.a.vcpu: unknown key; did you mean "vcpus"?\n'


@pytest.mark.long
def test_a_cloud_file_runs_every_plugin_before_it_is_trusted(command, tmp_path):
    """The filter logs, the request filter reserves, nova-api validates, and Senlin places."""
    up = command('up', '--cloud', CLOUDS / 'log-only.yaml')
    assert up.returncode == 0, up.stderr
    notes = json.loads(command.notes.read_text())
    directory = Path(notes['directory'])
    config = openstack.config.OpenStackConfig(
        config_files=[notes['clouds_yaml']], load_envvars=False
    )
    connection = openstack.connection.Connection(config=config.get_one('sandbox'))
    compute, user = connection.compute, Tenant(connection)
    hosts = {'m1.tiny': {'cmp-1', 'ssd-1', 'hdd-1'}, 'm1.ssd': {'ssd-1'}, 'm1.mine': {'mine-1'}}
    for flavor, allowed in hosts.items():
        server = compute.create_server(
            name='s', flavor_id=compute.find_flavor(flavor).id, networks='none',
            image_id=next(iter(connection.image.images())).id,
        )  # fmt: skip
        assert compute.wait_for_server(server, wait=60).compute_host in allowed
    log = (directory / 'nova.log').read_text(encoding='utf-8')
    (line,) = [each for each in log.splitlines() if 'flavor m1.ssd: would reject' in each]
    assert 'would reject 1 host (hdd-1) of 3: ' in line
    assert line.endswith('AggregateInstanceExtraSpecsFilter rejects 1 host (cmp-1)')
    url = f'/flavors/{compute.find_flavor("m1.tiny").id}/os-extra_specs?validation=strict'
    body = {'extra_specs': {'hw:cpu_polcy': 'x'}}
    assert compute.post(url, json=body, microversion='2.86').status_code == 400

    cluster, policy, _group = user.bound(profile=user.profile(flavor='m1.ssd'))
    user.scale_out(cluster, 1).succeeded()
    files = ('--config-file', directory / 'senlin.conf', '--nova-conf', directory / 'nova.conf')
    environment = {'OS_CLIENT_CONFIG_FILE': notes['clouds_yaml'], 'COLUMNS': '200'}
    words = ('--os-cloud', 'sandbox', 'status', '-f', 'json', *map(str, files))
    done = run_command(*words, folder=tmp_path, **environment)
    found = [
        (row['Check'], row['Object'])
        for row in json.loads(done.stdout)
        if row['State'] not in ('ok', 'finding') or row['Fix']
    ]
    assert (done.returncode, found) == (3, [('filters', 'enabled_filters')]), done.stdout
