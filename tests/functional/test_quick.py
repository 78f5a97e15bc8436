"""``make quick`` opens no socket and starts no process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import os, socket, subprocess, threading

def test_thread():
    threading.Thread(target=print).start()

def test_process():
    subprocess.run(['true'])

def test_fork():
    os.fork() or os._exit(0)

def test_client():
    socket.create_connection(('127.0.0.1', 9))

def test_server():
    socket.socket().bind(('127.0.0.1', 0))
"""


def test_a_test_that_does_fails(tmp_path):
    (tmp_path / 'test_it.py').write_text(TESTS)
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'tests.support.alone', 'test_it.py'],
        cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert '4 failed, 1 passed' in done.stdout
    events = {'process': 'subprocess.Popen', 'fork': 'os.fork'}
    events |= {'client': 'socket.connect', 'server': 'socket.bind'}
    for name, event in events.items():
        assert f'test_it.py::test_{name}: {event}' in done.stdout
