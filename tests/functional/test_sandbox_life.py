"""However a sandbox ends, no process and no directory of it is left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
    """Directories that no sandbox of another worker takes for its own, and removes."""
    monkeypatch.setattr(work_directory, 'PREFIX', f'senlin-affinity-test-{os.getpid()}-')


@contextlib.contextmanager
def parent(body='time.sleep(600)', senlin=False):
    """Run a sandbox in a process of its own, with its own group, and tell what it says."""
    program = PARENT.replace('{prefix}', work_directory.PREFIX).replace('{senlin}', str(senlin))
    process = subprocess.Popen(
        [sys.executable, '-c', program.replace('{body}', body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        env={**os.environ, 'PYTHONPATH': str(Path(__file__).parents[2])},
    )
    said = {}
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said.update(json.loads(line))
        yield process, said
    finally:
        process.kill()
        process.communicate()


def assert_gone(said):
    until(
        lambda: not any(map(is_running, said['pids'])) and not Path(said['directory']).exists(),
        seconds=PATIENCE,
        what='everything is gone',
    )
    assert not Path(said['directory']).with_name(f'.{Path(said["directory"]).name}').exists()


def test_an_exception_in_the_block():
    with parent('raise ValueError') as (process, said):
        assert process.wait(PATIENCE) == 1
        assert_gone(said)


def test_the_parent_is_terminated():
    with parent(senlin=True) as (process, said):
        assert len(said['pids']) == 2
        assert all(map(is_running, said['pids']))
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert_gone(said)


def test_ctrl_c_reaches_the_whole_group():
    with parent(senlin=True) as (process, said):
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
        assert 'KeyboardInterrupt' in process.stderr.read()
        assert_gone(said)


def test_the_parent_is_killed_while_a_fork_of_it_holds_its_pipes():
    body = "print(__import__('os').fork() or time.sleep(600), flush=True); time.sleep(600)"
    with parent(body=body) as (process, said):
        fork = int(process.stdout.readline())
        try:
            process.kill()
            process.wait(PATIENCE)
            assert_gone(said)
        finally:
            os.kill(fork, signal.SIGKILL)


def test_everything_is_killed_at_once_and_the_next_sandbox_removes_the_directory():
    with parent() as (process, said):
        for pid in (*said['pids'], process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE)
    directory = Path(said['directory'])
    assert directory.exists()

    def view():
        work_directory.remove_abandoned()
        return not directory.exists()

    until(view, what='the locks of the dead are free and the directory is removed')
    assert_gone(said)


#: A process that is killed while a directory is hidden, and says before that which one.
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
        pytest.param('os.open = die; work_directory.create()', [], id='made without a lock file'),
        pytest.param('fcntl.flock = die; work_directory.create()', ['in-use'], id='made unlocked'),
        pytest.param('os.rename = die; work_directory.create()', ['in-use'], id='made and locked'),
        pytest.param(MAKE_AND_REMOVE.format('shutil.rmtree = die'), ['in-use'], id='removed'),
        pytest.param(MAKE_AND_REMOVE.format('os.rmdir = die'), [], id='removed but for itself'),
    ],
)
def test_a_hidden_directory_of_the_dead_is_removed_when_nobody_can_be_making_it(body, files):
    prefix = f'work_directory.PREFIX = {work_directory.PREFIX!r}\n'
    code = [sys.executable, '-c', DYING + prefix + body]
    ended = subprocess.run(code, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL
    directory = Path(ended.stdout.strip())
    assert directory.name.startswith(f'.{work_directory.PREFIX}')
    assert [file.name for file in directory.iterdir()] == files
    assert directory not in work_directory.remove_abandoned()
    assert directory.exists()
    make_old(directory)
    assert directory in work_directory.remove_abandoned()
    assert not directory.exists()
    assert not directory.with_name(f'.{directory.name}').exists()


def test_a_hidden_directory_that_is_held_is_not_taken_for_abandoned():
    place = work_directory.parent_directories()[0]
    directory = Path(tempfile.mkdtemp(prefix=f'.{work_directory.PREFIX}', dir=place))
    lock = work_directory.hold(directory)
    make_old(directory)
    assert directory not in work_directory.remove_abandoned()
    os.close(lock)
    assert directory in work_directory.remove_abandoned()
    assert not directory.exists()


def make_old(directory):
    long_ago = time.time() - 2 * work_directory.MAKING
    os.utime(directory, (long_ago, long_ago))


def test_a_child_that_dies_does_not_keep_the_rest():
    with parent(senlin=True) as (process, said):
        os.kill(said['pids'][0], signal.SIGKILL)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        assert_gone(said)


def test_a_sandbox_of_another_thread_without_a_cache(monkeypatch, tmp_path):
    """While it runs, nobody takes it for abandoned."""
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('SENLIN_AFFINITY_CACHE', str(tmp_path / 'file'))

    def use():
        with SandboxCloud(1) as cloud:
            assert cloud.log_dir not in work_directory.remove_abandoned()
            assert len(list(cloud.connection().compute.hypervisors())) == 1
            return cloud.log_dir

    assert not ended(use).exists()


def test_a_start_that_fails_says_why_and_leaves_nothing():
    seen = []
    cloud = SandboxCloud(
        1,
        nova_options={'filter_scheduler': {'weight_classes': 'no.such.weigher'}},
        progress=lambda _stage: seen.append(cloud.log_dir),
    )
    with pytest.raises(CloudError, match="No module named 'no'") as caught:
        cloud.start()
    assert '--- nova_process.out' in str(caught.value)
    assert seen
    assert not seen[0].exists()


def test_a_missing_component_is_named_with_what_to_run(monkeypatch, tmp_path):
    """A Python that has nothing but this package: what a plain "pip install" gives."""
    bare = tmp_path / 'bare'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', bare], check=True)
    monkeypatch.setenv('SENLIN_AFFINITY_SANDBOX_PYTHON', str(bare / 'bin' / 'python'))
    with pytest.raises(CloudError, match='nova, openstack-placement') as caught, SandboxCloud(1):
        pytest.fail('it started')
    assert f"{bare}/bin/python -m pip install 'senlin-affinity[sandbox]'" in str(caught.value)


@pytest.mark.long
def test_databases_are_made_without_a_template_and_with_one(monkeypatch, tmp_path):
    monkeypatch.setenv('SENLIN_AFFINITY_CACHE', str(tmp_path))
    for _ in range(2):
        with SandboxCloud(1, senlin=True) as cloud:
            assert len(list(cloud.connection().compute.hypervisors())) == 1
        names = sorted(path.name for path in tmp_path.rglob('*') if path.is_file())
        assert names == ['api.sqlite', 'cell1.sqlite', 'placement.sqlite', 'senlin.sqlite']
