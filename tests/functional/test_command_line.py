"""The command as people run it, in a process of its own: statuses, streams, and a quick start."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

COMMAND = [sys.executable, '-m', 'senlin_affinity.cli.main']


def run(*arguments, code=None):
    command = COMMAND if code is None else [sys.executable, '-c', code]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_lists_the_commands():
    done = run('--help')
    assert (done.returncode, done.stderr) == (0, '')
    for command in (
        'plan',
        'policy validate',
        'constraint list',
        'constraint show',
        'extra-spec validate',
        'extra-spec list',
        'extra-spec export',
        'snapshot save',
        'sandbox up',
        'sandbox down',
        'sandbox demo',
    ):
        assert command in done.stdout
    assert 'Could not load' not in done.stdout


def test_version():
    done = run('--version')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == f'senlin-affinity {metadata.version("senlin-affinity")}\n'


@pytest.mark.parametrize('heavy', ['openstack', 'senlin', 'nova', 'sqlalchemy', 'eventlet'])
def test_help_loads_nothing_heavy(heavy):
    done = run(
        '--help',
        code='import sys; from senlin_affinity.cli import main; status = main.main();'
        f'sys.exit(9 if {heavy!r} in sys.modules else status)',
    )
    assert done.returncode == 0, done.stderr


def test_every_command_explains_itself():
    for command in (
        'plan',
        'policy validate',
        'constraint list',
        'constraint show',
        'extra-spec validate',
        'extra-spec list',
        'extra-spec export',
        'snapshot save',
        'sandbox up',
        'sandbox down',
        'sandbox demo',
    ):
        done = run(*command.split(), '--help')
        assert done.returncode == 0, done.stderr
        assert f'usage: senlin-affinity {command}' in done.stdout


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ((), 'name a command; --help lists them'),
        (('polcy',), 'there is no command polcy; did you mean: policy validate'),
        (('policy', 'validate'), 'the following arguments are required: FILE'),
        (('constraint', 'list', '--format', 'morse'), "invalid choice: 'morse'"),
        (('--no-such-option', 'constraint', 'list'), 'no-such-option'),
    ],
)
def test_a_usage_error_is_status_2_on_stderr(arguments, said):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert said in done.stderr
    assert done.stderr.count('\n') == 1


def test_an_error_is_one_line_and_a_traceback_only_with_debug():
    missing = ('constraint', 'list', '--column', 'no-such-column')
    plain = run(*missing)
    assert plain.returncode == 2
    assert plain.stdout == ''
    assert plain.stderr.count('\n') == 1
    assert 'Traceback' in run('--debug', *missing).stderr


def test_a_reader_that_goes_away_is_no_traceback():
    done = subprocess.run(
        f'{" ".join(COMMAND)} constraint list -f json | true',
        shell=True, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize(
    'arguments',
    [
        ('constraint', 'list'),
        ('constraint', 'list', '-f', 'value', '-c', 'name'),
        ('constraint', 'list', '-f', 'json'),
        ('extra-spec', 'export', '--format', 'rst'),
    ],
    ids=' '.join,
)
@pytest.mark.parametrize('unbuffered', ['', '1'])
def test_a_disk_that_is_full_is_one_line(arguments, unbuffered):
    """Also where all of it is written as the process ends."""
    with Path('/dev/full').open('wb') as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            env={**os.environ, 'PYTHONUNBUFFERED': unbuffered}, check=False,
        )  # fmt: skip
    assert done.stderr == 'error: could not write the answer: No space left on device\n'
    assert done.returncode == 1


def test_ctrl_c_while_the_command_is_loaded_is_quiet():
    done = run(
        code='import sys\n'
        'class Interrupting:\n'
        '    def find_spec(self, name, *_more):\n'
        "        if name == 'senlin_affinity.cli.main':\n"
        '            raise KeyboardInterrupt\n'
        'sys.meta_path.insert(0, Interrupting())\n'
        'from importlib import metadata\n'
        "(door,) = metadata.entry_points(group='console_scripts', name='senlin-affinity')\n"
        'sys.exit(door.load()())\n'
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')
