"""A sandbox leaves no process and no directory, however it ends."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import pytest

from senlin_affinity.model.errors import CloudError
from senlin_affinity.sandbox import work_directory
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.session import is_running
from tests.support.waiting import ended, until

PARENT = """
import json, sys, time
from senlin_affinity.sandbox import work_directory
from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.session import is_running
work_directory.PREFIX = '{prefix}'
with SandboxCloud(1, senlin={senlin}) as cloud:
    print(json.dumps({'pids': cloud.pids, 'directory': str(cloud.log_dir)}), flush=True)
    {body}
"""
#: Seconds, on a machine that is busy with other tests.
PATIENCE = 60


@pytest.fixture(autouse=True)
def _own_directories(monkeypatch):
    """Use directories that a sandbox of another worker does not remove."""
    monkeypatch.setattr(work_directory, 'PREFIX', f'senlin-affinity-test-{os.getpid()}-')


@contextlib.contextmanager
def parent(body='time.sleep(600)', senlin=False):
    """Run a sandbox in a separate process group, and yield the process with its output."""
    program = PARENT.replace('{prefix}', work_directory.PREFIX).replace('{senlin}', str(senlin))
    process = subprocess.Popen(
        [sys.executable, '-c', program.replace('{body}', body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        env={**os.environ, 'PYTHONPATH': str(Path(__file__).parents[2])},
    )
    details = {}
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        details.update(json.loads(line))
        yield process, details
    finally:
        process.kill()
        process.communicate()


def assert_removed(details):
    until(
        lambda: (
            not any(map(is_running, details['pids'])) and not Path(details['directory']).exists()
        ),
        seconds=PATIENCE,
        what='everything is gone',
    )
    assert not Path(details['directory']).with_name(f'.{Path(details["directory"]).name}').exists()


def test_a_terminated_parent_leaves_nothing():
    with parent(senlin=True) as (process, details):
        assert len(details['pids']) == 2
        assert all(map(is_running, details['pids']))
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert_removed(details)


def test_ctrl_c_in_the_process_group_leaves_nothing():
    with parent(senlin=True) as (process, details):
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
        assert 'KeyboardInterrupt' in process.stderr.read()
        assert_removed(details)


def test_a_parent_killed_while_a_fork_holds_its_pipes_leaves_nothing():
    body = "print(__import__('os').fork() or time.sleep(600), flush=True); time.sleep(600)"
    with parent(body=body) as (process, details):
        fork = int(process.stdout.readline())
        try:
            process.kill()
            process.wait(PATIENCE)
            assert_removed(details)
        finally:
            os.kill(fork, signal.SIGKILL)


def test_the_next_sandbox_removes_the_directory_of_a_killed_one():
    with parent() as (process, details):
        for pid in (*details['pids'], process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE)
    directory = Path(details['directory'])
    assert directory.exists()

    def view():
        work_directory.remove_abandoned()
        return not directory.exists()

    until(view, what='the locks of the dead are free and the directory is removed')
    assert_removed(details)


#: A process that prints the name of a hidden directory and is then killed.
DYING = """
import fcntl, os, shutil, signal, tempfile
from senlin_affinity.sandbox import work_directory

make = tempfile.mkdtemp

def make_and_say(**where):
    print(path := make(**where), flush=True)
    return path

def die(*_arguments, **_named):
    os.kill(os.getpid(), signal.SIGKILL)

work_directory.parent_directories()  # opens a file once
tempfile.mkdtemp = make_and_say
"""
MAKE_AND_REMOVE = 'directory, lock = work_directory.create(); {}; work_directory.remove(directory)'


@pytest.mark.parametrize(
    ('body', 'files'),
    [
        pytest.param(
            'os.open = die; work_directory.create()', [], id='created without a lock file'
        ),
        pytest.param(
            'fcntl.flock = die; work_directory.create()', ['in-use'], id='created without a lock'
        ),
        pytest.param(
            'os.rename = die; work_directory.create()', ['in-use'], id='created and locked'
        ),
        pytest.param(
            MAKE_AND_REMOVE.format('shutil.rmtree = die'), ['in-use'], id='partly removed'
        ),
        pytest.param(
            MAKE_AND_REMOVE.format('os.rmdir = die'), [], id='removed except for the directory'
        ),
    ],
)
def test_an_abandoned_hidden_directory_is_removed_once_it_is_old(body, files):
    prefix = f'work_directory.PREFIX = {work_directory.PREFIX!r}\n'
    code = [sys.executable, '-c', DYING + prefix + body]
    ended = subprocess.run(code, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL
    directory = Path(ended.stdout.strip())
    assert directory.name.startswith(f'.{work_directory.PREFIX}')
    assert [file.name for file in directory.iterdir()] == files
    assert directory not in work_directory.remove_abandoned()
    assert directory.exists()
    make_directory_old(directory)
    assert directory in work_directory.remove_abandoned()
    assert not directory.exists()
    assert not directory.with_name(f'.{directory.name}').exists()


def test_a_locked_hidden_directory_is_not_removed():
    place = work_directory.parent_directories()[0]
    directory = Path(tempfile.mkdtemp(prefix=f'.{work_directory.PREFIX}', dir=place))
    lock = work_directory.hold(directory)
    make_directory_old(directory)
    assert directory not in work_directory.remove_abandoned()
    os.close(lock)
    assert directory in work_directory.remove_abandoned()
    assert not directory.exists()


def make_directory_old(directory):
    long_ago = time.time() - 2 * work_directory.MAKING
    os.utime(directory, (long_ago, long_ago))


@pytest.mark.long
def test_a_sandbox_starts_in_another_thread_without_a_cache(monkeypatch, tmp_path):
    """A running sandbox is not considered abandoned."""
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('SENLIN_AFFINITY_CACHE', str(tmp_path / 'file'))

    def use():
        with SandboxCloud(1) as cloud:
            assert cloud.log_dir not in work_directory.remove_abandoned()
            assert len(list(cloud.connection().compute.hypervisors())) == 1
            return cloud.log_dir

    assert not ended(use).exists()


def test_a_failed_start_reports_the_reason_and_leaves_nothing():
    log_dirs = []
    cloud = SandboxCloud(
        1,
        nova_options={'filter_scheduler': {'weight_classes': 'no.such.weigher'}},
        progress=lambda _stage: log_dirs.append(cloud.log_dir),
    )
    with pytest.raises(CloudError, match="No module named 'no'") as caught:
        cloud.start()
    assert '--- nova_process.out' in str(caught.value)
    assert log_dirs
    assert not log_dirs[0].exists()


def test_a_missing_component_is_reported_with_the_command_to_install_it(monkeypatch, tmp_path):
    """A Python with only this package and its values is like that of a plain "pip install"."""
    bare = tmp_path / 'bare'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', bare], check=True)
    (packages,) = bare.glob('lib/python*/site-packages')
    (packages / 'msgspec').symlink_to(Path(msgspec.__file__).parent)
    monkeypatch.setenv('SENLIN_AFFINITY_SANDBOX_PYTHON', str(bare / 'bin' / 'python'))
    with pytest.raises(CloudError, match='nova, openstack-placement') as caught, SandboxCloud(1):
        pytest.fail('it started')
    assert f"{bare}/bin/python -m pip install 'senlin-affinity[sandbox]'" in str(caught.value)


@pytest.mark.long
def test_databases_are_created_with_and_without_a_template(monkeypatch, tmp_path):
    monkeypatch.setenv('SENLIN_AFFINITY_CACHE', str(tmp_path))
    for _ in range(2):
        with SandboxCloud(1, senlin=True) as cloud:
            assert len(list(cloud.connection().compute.hypervisors())) == 1
        names = sorted(path.name for path in tmp_path.rglob('*') if path.is_file())
        assert names == ['api.sqlite', 'cell1.sqlite', 'placement.sqlite', 'senlin.sqlite']
