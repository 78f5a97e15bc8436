"""Endless and large files end in a one-line error."""

import contextlib
import os
import subprocess
import threading

import pytest

from senlin_affinity.cloud import input_file
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.sandbox import blueprint_reader
from tests.support import command

PLAN = ('plan', '--count', '1', '--flavor', 'f')
EMPTY = '{"format": 1}'


@pytest.mark.parametrize('option', ['--snapshot', '--policy', '--profile'])
def test_an_endless_device_is_rejected_at_the_limit(run, write, option):
    other_options = ('--snapshot', write('cloud.json', EMPTY)) if option != '--snapshot' else ()
    limit = 1 if other_options else 2
    done = run(*PLAN, *other_options, option, '/dev/zero', '--max-file-size', '2')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'error: /dev/zero: is larger than {limit} MiB, the limit\n'


@pytest.mark.parametrize('option', ['--config-file', '--nova-conf'])
def test_configuration_files_must_be_regular_and_small(run, write, option):
    for path, words in (
        ('/dev/zero', 'is not a regular file'),
        (write('large.conf', '#' * (1 << 20) + '\n'), 'is larger than 1 MiB, the limit'),
    ):
        done = run(*PLAN, '--snapshot', write('cloud.json', EMPTY), option, path)
        assert (done.returncode, done.stderr) == (2, f'error: {path}: {words}\n')


def test_an_endless_pipe_is_rejected_at_the_limit(run, tmp_path):
    os.mkfifo(tmp_path / 'pipe')

    def write_endlessly():
        with contextlib.suppress(BrokenPipeError), open(tmp_path / 'pipe', 'wb') as pipe:
            while True:
                pipe.write(b'[' * 4096)

    writer = threading.Thread(target=write_endlessly)
    writer.start()
    done = run(*PLAN, '--snapshot', 'pipe', '--max-file-size', '1')
    writer.join()
    assert done.stderr == 'error: pipe: is larger than 1 MiB, the limit\n'


def test_endless_standard_input_is_rejected_at_the_limit():
    with subprocess.Popen(['yes'], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [*command.LINE, *PLAN, '--snapshot', '-', '--max-file-size', '1'],
            stdin=endless.stdout, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        endless.kill()
    assert done.stderr == 'error: standard input: is larger than 1 MiB, the limit\n'
    assert done.returncode == 2


def test_a_file_as_large_as_the_limit_is_read(run, write, tmp_path):
    text = EMPTY + ' ' * ((1 << 20) - len(EMPTY))
    write('cloud.json', text)
    assert len(input_file.read(tmp_path / 'cloud.json', 1)) == 1 << 20
    done = run(*PLAN, '--snapshot', 'cloud.json', '--max-file-size', '1')
    assert 'is larger' not in done.stderr
    write('cloud.json', text + ' ')
    done = run(*PLAN, '--snapshot', 'cloud.json', '--max-file-size', '1')
    assert 'is larger than 1 MiB' in done.stderr
    done = run(*PLAN, '--snapshot', 'cloud.json')
    assert 'is larger' not in done.stderr


def test_an_endless_sandbox_file_is_rejected_at_the_limit():
    with pytest.raises(InvalidSpec, match='^/dev/zero: is larger than 1 MiB, the limit$'):
        blueprint_reader.read_file('/dev/zero')
