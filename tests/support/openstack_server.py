"""Run the ``openstack`` commands of a script as forks of a process that has loaded the client.

The client takes two seconds of CPU time to load, and a script runs dozens of commands. ``serve``
writes an executable ``openstack`` into a folder, for PATH, which sends its arguments, environment
and standard files to this process.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CLIENT = """#!{python} -ISs
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({path!r})
    socket.send_fds(connection, [b'.'], [0, 1, 2])
    connection.sendall(json.dumps([sys.argv[1:], dict(os.environ)]).encode() + b'\\n')
    os._exit(int(connection.makefile().readline() or 70))
"""
_NOWHERE = ('--os-auth-type', 'none', '--os-endpoint', 'http://127.0.0.1:1')


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Path]:
    """Serve commands; yield the folder of the executable."""
    path = folder / 'openstack.socket'
    command = [sys.executable, '-W', 'ignore', '-m', __name__, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b'ready\n'
        script = folder / 'bin' / 'openstack'
        script.parent.mkdir()
        script.write_text(_CLIENT.format(python=sys.executable, path=str(path)), encoding='utf-8')
        script.chmod(0o755)
        yield script.parent
    finally:
        process.terminate()
        process.wait()


def _main(path: str) -> None:
    import openstackclient.compute.v2.server
    import openstackclient.compute.v2.server_migration
    import openstackclient.compute.v2.service  # noqa: F401 - load what the commands need
    from openstackclient import shell

    # A command that ends at the first request loads the rest of the client.
    with contextlib.redirect_stderr(io.StringIO()):
        shell.main([*_NOWHERE, 'server', 'list'])
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write('ready\n')
        sys.stdout.flush()
        while True:
            connection, _address = listener.accept()
            if os.fork() == 0:
                os._exit(_run(shell, connection))
            connection.close()


def _run(shell: Any, connection: socket.socket) -> int:
    """Run one command; send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _data, files, _flags, _address = socket.recv_fds(connection, 1, 3)
    arguments, environment = json.loads(connection.makefile().readline())
    for target, file in enumerate(files):
        os.dup2(file, target)
    os.environ.clear()
    os.environ.update(environment)
    try:
        status = int(shell.main(arguments) or 0)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    connection.sendall(f'{status}\n'.encode())
    return 0


if __name__ == '__main__':
    _main(sys.argv[1])
