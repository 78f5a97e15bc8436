"""Start a child process, wait until it is ready, and end it.

Raises: CloudError with the child's own message.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from senlin_affinity.model.errors import CloudError
from senlin_affinity.sandbox.lifeline import PYTHON_VARIABLE

#: Seconds between two reports; without templates, a whole start takes about 20 on a small machine.
START_TIMEOUT = 180.0
#: Seconds between SIGTERM and SIGKILL.
STOP_TIMEOUT = 5.0

Progress = Callable[[str], None]


class Child:
    """A process ``python -m module`` that inherits a listening socket.

    It has its own session, so Ctrl-C in the terminal does not reach it.
    """

    def __init__(self, module: str, directory: Path, listener: socket.socket) -> None:
        self.name = module.rpartition('.')[2]
        self._heard = b''
        python = os.environ.get(PYTHON_VARIABLE) or sys.executable
        words = (directory, listener.fileno(), os.getpid())
        try:
            with open(directory / f'{self.name}.out', 'wb') as output:
                self.process = subprocess.Popen(
                    [python, '-m', module, *map(str, words)],
                    bufsize=0,
                    stdin=subprocess.PIPE,  # see lifeline.py
                    stdout=subprocess.PIPE,
                    stderr=output,
                    pass_fds=[listener.fileno()],
                    env=environment(),
                    start_new_session=True,
                )
        except OSError as error:
            raise CloudError(f'{python} cannot be run: {error}') from error
        self.report: Any = self.process.stdout

    def listen(self) -> Iterator[dict[str, Any]]:
        """Yield the new reports, one dict a line; raise CloudError for a closed pipe."""
        data = self.report.read(65536)
        if not data:
            code = self.process.wait(STOP_TIMEOUT)
            raise CloudError(f'{self.name} ended with status {code} before it was ready')
        *lines, self._heard = (self._heard + data).split(b'\n')
        yield from map(json.loads, lines)

    def terminate(self) -> None:
        """Send SIGTERM to the child."""
        if self.process.returncode is None:  # not reaped, so the process id is still valid
            os.kill(self.process.pid, signal.SIGTERM)

    def stop(self, deadline: float) -> None:
        """Wait until the child ends; kill its process group at the deadline."""
        while select.select([self.report], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not self.report.read(65536):
                break  # all holders have closed it
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()  # closes the pipes


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Hold back Ctrl-C until the end of the block, which must end by its own deadlines.

    Only the main thread receives signals; do nothing in another.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGINT)


def wait_until_ready(children: Iterable[Child], progress: Progress) -> None:
    """Wait until every child reports that it is ready.

    Raise CloudError if none reports a stage within the start timeout.
    """
    waiting = {child.report: child for child in children}
    while waiting:
        readable, _, _ = select.select(list(waiting), [], [], START_TIMEOUT)
        if not readable:
            names = ', '.join(child.name for child in waiting.values())
            raise CloudError(f'{names}: no progress for {START_TIMEOUT:.0f} seconds')
        for report in readable:
            for news in waiting[report].listen():
                if 'error' in news:
                    raise CloudError(news['error'])
                if 'stage' in news:
                    progress(news['stage'])
                if 'ready' in news:
                    del waiting[report]


def wait_for_an_end(children: Iterable[Child]) -> None:
    """Wait until one of the children has ended."""
    reports = [child.report for child in children]
    while all(report.read(65536) for report in select.select(reports, [], [])[0]):
        pass


def stop(children: Iterable[Child]) -> None:
    """End all children at the same time."""
    children = list(children)
    for child in children:
        child.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT
    for child in children:
        child.stop(deadline)


def environment() -> dict[str, str]:
    """Return the environment of a process of the sandbox.

    It has no OS_ variables, which oslo.config and openstacksdk would read; no proxy for this
    machine; and the path of this package if it is not installed.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith('OS_')}
    environment |= dict.fromkeys(('no_proxy', 'NO_PROXY'), '127.0.0.1,localhost')
    root = Path(__file__).parents[2]
    if root.name not in ('site-packages', 'dist-packages'):
        known = [os.environ['PYTHONPATH']] if os.environ.get('PYTHONPATH') else []
        environment['PYTHONPATH'] = os.pathsep.join([str(root), *known])
    return environment
