"""The command in a separate process: exit statuses, streams, and a quick start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from senlin_affinity.conf import files
from tests.support import command as in_process

COMMAND = [sys.executable, '-m', 'senlin_affinity.cli.main']
COMMANDS = (
    *('plan', 'policy validate', 'constraint list', 'constraint show', 'snapshot save'),
    *('extra-spec validate', 'extra-spec list', 'extra-spec export'),
    *('image-property validate', 'image-property list', 'image-property export'),
    *('group list', 'group delete', 'group audit', 'status'),
    *('sandbox up', 'sandbox down', 'sandbox demo'),
)


def run(*arguments, code=None, **more):
    command = [*COMMAND, *arguments] if code is None else [sys.executable, '-c', code, *arguments]
    pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
    return subprocess.run(command, text=True, timeout=60, check=False, **{**pipes, **more})


HEAVY = set('openstack osc_lib oslo_utils requests rich senlin nova sqlalchemy eventlet'.split())
OF_CLOUDS = HEAVY - {'oslo_utils'}
CLOUD = str(files.example('snapshots/two-hosts.json'))
ON_A_FILE = ('plan', '--count', '1', '--flavor', 'm1.small', '--snapshot', CLOUD)


@pytest.mark.parametrize(
    ('arguments', 'heavy'),
    [
        (('--help',), HEAVY | {'numpy', 'yaml', 'senlin_affinity.model.cloud'}),
        (('plan', '--help'), HEAVY),
        (ON_A_FILE, HEAVY),
        ((*ON_A_FILE, '-f', 'json'), HEAVY | {'yaml'}),
        (('constraint', 'list'), HEAVY),
        (('policy', 'validate', str(files.example('policies/anti-affinity.yaml'))), OF_CLOUDS),
        (('extra-spec', 'validate', 'hw:cpu_policy=shared'), OF_CLOUDS | {'numpy'}),
    ],
    ids=['--help', 'plan --help', 'a table', 'JSON', 'constraint', 'policy', 'extra-spec'],
)
def test_heavy_modules_are_not_loaded_without_need(arguments, heavy):
    done = run(
        *arguments,
        code='import atexit, sys; from senlin_affinity.cli import main;'
        'atexit.register(lambda: print(*sys.modules, file=sys.stderr)); sys.exit(main.main())',
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert 'cliff.app' in loaded
    assert loaded & heavy == set()


@pytest.mark.parametrize(
    ('help_arguments', 'first'),
    [('--help', 'usage: '), ('help', 'usage: '), ('group --help', 'Commands:')],
)
def test_commands_are_listed_within_80_columns(help_arguments, first):
    """There are two columns, for names and descriptions of any length."""
    done = run(*help_arguments.split(), env={**os.environ, 'COLUMNS': '80'})
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith(first)
    lines = done.stdout.partition('Commands:\n')[2].splitlines()
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert {len(line) - len(line[26:].lstrip()) for line in lines if line[26:]} == {27}
    named = {line[2:25].rstrip() for line in lines if line[2] != ' '}
    groups = {name for name in COMMANDS if name.startswith('group ')}
    assert named == groups if help_arguments == 'group --help' else named > {*COMMANDS}


def test_help_may_follow_the_options_of_a_command():
    done = in_process.run('constraint', 'show', '--column', 'name', '--help')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('usage: senlin-affinity constraint show ')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'specify a command; --help lists the commands'),
        (('polcy',), 'there is no command polcy; did you mean: policy validate'),
        (('policy', 'validate'), 'the following arguments are required: FILE'),
        (('constraint', 'list', '--format', 'morse'), "invalid choice: 'morse'"),
        (('--no-such-option', 'constraint', 'list'), 'no-such-option'),
        (('--os-clod', 'x', 'plan'), 'arguments: --os-clod (did you mean --os-cloud?)'),
        (('plan', '--count', '1', '--flavour', 'x'), '--flavour (did you mean --flavor?)'),
        (('group', 'lst', '--orphans'), 'no command group lst; did you mean: group list?'),
        (('sandbox',), 'did you mean: sandbox demo, sandbox down, sandbox up?'),
        (('audit',), 'there is no command audit; did you mean: group audit?'),
        (('nothing',), 'there is no command nothing; --help lists them'),
        (('plann', '--help'), 'there is no command plann; did you mean: plan?'),
        (('help', 'group', 'lst'), 'no command group lst; did you mean: group list?'),
    ],
)
def test_a_usage_error_is_status_2_on_stderr(arguments, message):
    done = in_process.run(*arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert message in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize(
    'arguments', [('-q', 'plan'), ('plan', '-q'), ('plan', '-q', '-f', 'json')]
)
def test_a_quiet_command_answers_by_its_exit_status(arguments, tmp_path):
    file = tmp_path / 'cloud.json'
    flavor = '{"id": "1", "name": "m1", "vcpus": 1, "ram": 1, "disk": 1}'
    file.write_text(f'{{"format": 1, "hosts": [], "flavors": [{flavor}]}}', encoding='utf-8')
    one = ('--snapshot', str(file), '--flavor', 'm1')
    done = in_process.run(*arguments, *one)
    assert (done.returncode, done.stdout, done.stderr) == (3, '', '')
    assert in_process.run('plan', *one).stdout.startswith('The server does not fit')
    done = in_process.run(*arguments, '--snapshot', str(file), '--flavor', 'none')
    assert (done.returncode, done.stdout, done.stderr.count('\n')) == (2, '', 1)


def test_an_error_has_a_traceback_only_with_debug():
    missing = ('constraint', 'list', '--column', 'no-such-column')
    plain = run(*missing)
    assert plain.returncode == 2
    assert plain.stdout == ''
    assert plain.stderr.count('\n') == 1
    assert 'Traceback' in run('--debug', *missing).stderr


def test_a_snapshot_is_not_saved_to_a_dash(tmp_path):
    done = run('--os-cloud', 'any', 'snapshot', 'save', '-', cwd=tmp_path)
    message = 'error: specify a file, not "-": a snapshot cannot be written to stdout\n'
    assert (done.returncode, done.stderr, [*tmp_path.iterdir()]) == (2, message, [])


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--log-file', '/dev/null/log', *ON_A_FILE), '/dev/null/log cannot be written: Not a dir'),
        ((*ON_A_FILE, '--config-file', '/dev'), '/dev cannot be read: Is a directory'),
    ],
)
def test_a_directory_instead_of_a_file_is_an_error(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count('\n')) == (2, '', 1)
    assert message in done.stderr


def test_an_impossible_runtime_directory_is_an_error():
    done = run('sandbox', 'down', env={**os.environ, 'XDG_RUNTIME_DIR': '/dev/null'})
    message = 'error: /dev/null/senlin-affinity cannot be made: Not a directory: set XDG_RUNTIME'
    assert (done.returncode, done.stderr.startswith(message)) == (1, True)
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize('arguments', ['constraint list -f json', '--help', 'plan --help'])
def test_a_closed_pipe_causes_no_traceback(arguments):
    line = f'{" ".join(COMMAND)} {arguments} | true'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize(
    'arguments',
    [
        'constraint list',
        'constraint list -f json',
        'extra-spec export --format rst',
        'plan --help',
    ],
)
@pytest.mark.parametrize('unbuffered', ['', '1'])
def test_a_full_disk_is_a_one_line_error(arguments, unbuffered):
    """This includes output that is written at the end of the process."""
    with Path('/dev/full').open('wb') as full:
        done = run(
            *arguments.split(), stdout=full, env={**os.environ, 'PYTHONUNBUFFERED': unbuffered}
        )
    assert done.stderr == 'error: could not write the answer: No space left on device\n'
    assert done.returncode == 1


@pytest.mark.parametrize(
    ('arguments', 'status'), [('plan --count x', 2), ('snapshot', 1), ('plan --help', 0)]
)
@pytest.mark.parametrize('unbuffered', ['', '1'])
def test_an_error_on_a_full_stderr_keeps_its_exit_status(arguments, status, unbuffered):
    with Path('/dev/full').open('wb') as full:
        done = run(
            *arguments.split(), stderr=full, env={**os.environ, 'PYTHONUNBUFFERED': unbuffered}
        )
    assert done.returncode == status


@pytest.mark.parametrize(
    ('closed', 'message'),
    [
        ('>&-', 'error: could not write the answer: standard output is closed\n'),
        ('>&- 2>&-', ''),
        ('<&-', 'error: standard input is closed\n'),
    ],
)
def test_a_closed_stream_is_a_one_line_error(closed, message):
    line = f'{" ".join(COMMAND)} plan --count 1 --flavor a --snapshot - {closed}'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2 if closed == '<&-' else 1, message)


INTERRUPTED = """
import sys
class Interrupting:
    def find_spec(self, name, *_more):
        if name == 'senlin_affinity.cli.main':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from importlib import metadata
(door,) = metadata.entry_points(group='console_scripts', name='senlin-affinity')
sys.exit(door.load()())
"""


def test_ctrl_c_during_the_import_is_silent():
    done = run(code=INTERRUPTED)
    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')
