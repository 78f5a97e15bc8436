"""Special files are read or rejected with a one-line error, without an endless wait."""

import os
import pty
import stat
import threading

import pytest

from senlin_affinity.cloud import input_file
from senlin_affinity.model.errors import InvalidSpec


def test_a_named_pipe_without_a_writer_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, '_WAIT', 1)
    os.mkfifo(tmp_path / 'pipe')
    with pytest.raises(InvalidSpec, match='^is a named pipe without data$'):
        input_file.read(tmp_path / 'pipe')


def test_a_named_pipe_with_a_writer_is_read(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    writing = threading.Thread(target=(tmp_path / 'pipe').write_text, args=('x' * 100_000,))
    writing.start()
    assert input_file.read(tmp_path / 'pipe') == b'x' * 100_000
    writing.join()


def test_a_process_substitution_is_read(monkeypatch):
    """As in ``--policy <(command)``, whose command may take long."""
    monkeypatch.setattr(input_file, '_WAIT', 0)
    out, into = os.pipe()
    os.write(into, b'spec')
    os.close(into)
    assert input_file.read(f'/dev/fd/{out}') == b'spec'
    os.close(out)


def test_a_socket_a_folder_and_a_terminal_are_rejected(tmp_path):
    os.mknod(tmp_path / 'socket', stat.S_IFSOCK | 0o600)
    for path in (tmp_path / 'socket', tmp_path):
        with pytest.raises(OSError, match=r'No such device or address|Is a directory'):
            input_file.read(path)
    master, slave = pty.openpty()
    with pytest.raises(InvalidSpec, match='^is a terminal, not a file$'):
        input_file.read(os.ttyname(slave))
    os.close(master)
    os.close(slave)
    assert input_file.read('/dev/null') == b''


def test_a_file_up_to_the_limit_is_read(tmp_path):
    path = tmp_path / 'file'
    for check in (input_file.read, input_file.check):
        path.write_bytes(bytes(1 << 20))
        check(path, 1)
        path.write_bytes(bytes((1 << 20) + 1))
        with pytest.raises(InvalidSpec, match='is larger than 1 MiB, the limit$'):
            check(path, 1)


def test_a_file_to_check_may_be_missing_but_no_device(tmp_path):
    input_file.check(tmp_path)
    input_file.check(tmp_path / 'missing')
    with pytest.raises(InvalidSpec, match='^/dev/null: is not a regular file$'):
        input_file.check('/dev/null')
