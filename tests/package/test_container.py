"""The Containerfile: its instructions, and its steps in an environment without a container.

No container engine runs here. The step that installs the wheel runs as it is written, with other
folders, and the command runs as in a container with a read-only root file system: an audit hook
rejects all that would write a file.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.test_package import PIP, ROOT, SETUP, VERSION, output_of

STEPS = re.sub(r'\\\n', ' ', (ROOT / 'Containerfile').read_text(encoding='utf-8'))
INSTRUCTIONS = [line.split(None, 1) for line in re.findall(r'^(?!#).+', STEPS, re.MULTILINE)]
NAMES = [name for name, _words in INSTRUCTIONS]
PREFIX = '/opt/senlin-affinity'
#: The command as a user of the container passes it, with a snapshot from standard input.
PLAN = shlex.split('plan --count 6 --flavor m1.small --server-group web --snapshot -')
SNAPSHOT = ROOT / 'etc/senlin-affinity/snapshots/two-hosts.json'
READ_ONLY = """
import errno, os, sys

def reject(event, arguments):
    writes = event == 'open' and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in ('os.mkdir', 'os.rename', 'os.remove', 'shutil.move'):
        print('writes', event, arguments[0], file=sys.stderr)
        raise OSError(errno.EROFS, 'Read-only file system', str(arguments[0]))

sys.addaudithook(reject)
"""


def words_of(name):
    (words,) = (words for each, words in INSTRUCTIONS if each == name)
    return words


def test_its_instructions_are_known_and_in_order():
    assert NAMES == ['FROM', 'COPY', 'RUN', 'ENV', 'WORKDIR', 'USER', 'ENTRYPOINT', 'CMD']


def test_its_python_is_supported():
    version = re.fullmatch(r'docker\.io/library/python:(3\.\d+)-slim', words_of('FROM'))[1]
    assert f'Programming Language :: Python :: {version}' in SETUP['metadata']['classifiers']


def test_it_installs_the_wheel_and_nothing_else_of_the_checkout():
    assert words_of('COPY').split() == ['constraints.txt', 'dist/*.whl', '/wheel/']
    admitted = (ROOT / '.containerignore').read_text(encoding='utf-8').split()
    assert admitted == ['*', '!constraints.txt', '!dist/*.whl']
    assert '-c /wheel/constraints.txt /wheel/*.whl' in words_of('RUN')
    assert 'rm -r /wheel' in words_of('RUN')


def test_it_runs_the_command_without_rights():
    """The user is a number, because Kubernetes cannot tell whether a name is that of root."""
    user, group = words_of('USER').split(':')
    assert (int(user) > 0, int(group) > 0) == (True, True)
    assert json.loads(words_of('ENTRYPOINT')) == ['senlin-affinity']
    assert json.loads(words_of('CMD')) == ['--help']
    assert words_of('ENV').startswith(f'PATH={PREFIX}/bin:')


@pytest.fixture(scope='module')
def container(tmp_path_factory):
    """Build the wheel, run the step that installs it, and return the folder of the environment."""
    top = tmp_path_factory.mktemp('container')
    (top / 'wheel').mkdir()
    (top / 'wheel/constraints.txt').write_bytes((ROOT / 'constraints.txt').read_bytes())
    build = ('pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--no-index')
    output_of(sys.executable, '-m', *build, '--wheel-dir', top / 'wheel', ROOT, cwd=top)
    step = words_of('RUN').replace('/wheel', f'{top}/wheel').replace(PREFIX, f'{top}/prefix')
    clean = {key: value for key, value in os.environ.items() if not key.startswith('PYTHON')}
    python = Path(sys.executable).parent
    subprocess.run(
        ['sh', '-ec', step], check=True, capture_output=True, timeout=600,
        env={**clean, **PIP, 'PATH': f'{python}:{clean["PATH"]}'},
    )  # fmt: skip
    assert not (top / 'wheel').exists()
    (top / 'hook').mkdir()
    (top / 'hook/sitecustomize.py').write_text(READ_ONLY, encoding='utf-8')
    return top


def run(container, *arguments, **environment):
    """Run the entry point with the container's environment only."""
    inside = dict(pair.split('=', 1) for pair in words_of('ENV').split())
    inside['PATH'] = inside['PATH'].replace(PREFIX, f'{container}/prefix')
    entry = f'{container}/prefix/bin/{json.loads(words_of("ENTRYPOINT"))[0]}'
    return subprocess.run(
        [entry, *arguments],
        env={**inside, 'PYTHONPATH': str(container / 'hook'), **environment},
        input=SNAPSHOT.read_text(encoding='utf-8'),
        capture_output=True, text=True, timeout=60, check=False, cwd=container / 'prefix',
    )  # fmt: skip


def test_the_command_runs_where_no_file_can_be_written(container):
    done = run(container, *PLAN)
    assert (done.returncode, done.stderr) == (3, '')
    assert done.stdout.startswith('Only 2 of 6 fit: ')
    done = run(container, '--version')
    assert done.stdout.startswith(f'senlin-affinity {VERSION}')


def test_a_cloud_is_tried_where_no_file_can_be_written(container):
    """The libraries of a cloud load as well; a cloud that does not respond is one line."""
    cloud = {'OS_AUTH_URL': 'http://127.0.0.1:9/v3', 'OS_USERNAME': 'u', 'OS_PASSWORD': 'p'}
    cloud |= {'OS_PROJECT_NAME': 'p', 'NO_PROXY': '127.0.0.1'}
    done = run(container, 'server', 'explain', 'web-4', **cloud)
    errors = [line for line in done.stderr.splitlines() if not line.startswith('writes ')]
    assert done.returncode == 1
    assert len(errors) == 1
    assert errors[0].startswith('error: ')


def test_the_hook_rejects_what_writes(container):
    """Otherwise, the tests above would pass without it."""
    done = run(container, 'snapshot', 'save', 'cloud.json', OS_CLOUD='x')
    assert (done.returncode, done.stdout) == (2, '')
    assert 'Read-only file system' in done.stderr
