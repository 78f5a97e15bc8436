"""The parent's side of a child process: start it, wait until it is ready, end it.

Errors: :class:`CloudError` with the child's own words and the end of its log.
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

from senlin_affinity.core.errors import CloudError
from senlin_affinity.sandbox.lifeline import PYTHON_VARIABLE

#: Seconds that the start may take; without templates it takes about 20 on a small machine.
START_TIMEOUT = 180.0
#: Seconds between SIGTERM and SIGKILL.
STOP_TIMEOUT = 5.0

Progress = Callable[[str], None]


class Child:
    """``python -m module`` with a listening socket handed to it.

    It is in a session of its own: Ctrl-C in the terminal does not reach it.
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
                    stdin=subprocess.PIPE,  # see the lifeline
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
        """Give the news that have come, one dict a line; a closed pipe is an error."""
        data = self.report.read(65536)
        if not data:
            code = self.process.wait(STOP_TIMEOUT)
            raise CloudError(f'{self.name} ended with status {code} before it was ready')
        *lines, self._heard = (self._heard + data).split(b'\n')
        yield from map(json.loads, lines)

    def terminate(self) -> None:
        """Ask the child to end."""
        if self.process.returncode is None:  # not reaped, so the id is still its own
            os.kill(self.process.pid, signal.SIGTERM)

    def stop(self, deadline: float) -> None:
        """Wait for the end of the child; end it and its process group by force after that."""
        while select.select([self.report], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not self.report.read(65536):
                break  # closed by all who had it
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()  # closes the pipes


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Put Ctrl-C off until the end of the block, which must end by its own deadlines.

    Only the main thread gets signals; elsewhere there is nothing to do.
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
    """Wait for the ready line of every child."""
    deadline = time.monotonic() + START_TIMEOUT
    waiting = {child.report: child for child in children}
    while waiting:
        readable, _, _ = select.select(list(waiting), [], [], deadline - time.monotonic())
        if not readable:
            names = ', '.join(child.name for child in waiting.values())
            raise CloudError(f'{names}: not ready after {START_TIMEOUT:.0f} seconds')
        for report in readable:
            for news in waiting[report].listen():
                if 'error' in news:
                    raise CloudError(news['error'])
                if 'stage' in news:
                    progress(news['stage'])
                if 'ready' in news:
                    del waiting[report]


def wait_for_an_end(children: Iterable[Child]) -> None:
    """Wait until one of the children, all of them ready, has ended."""
    reports = [child.report for child in children]
    while all(report.read(65536) for report in select.select(reports, [], [])[0]):
        pass


def stop(children: Iterable[Child]) -> None:
    """End all children, at the same time."""
    children = list(children)
    for child in children:
        child.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT
    for child in children:
        child.stop(deadline)


def environment() -> dict[str, str]:
    """Give the environment of a process of the sandbox.

    No OS_ variables: oslo.config and openstacksdk read them, and they are about other clouds.
    No proxy between this machine and itself. This very package, where it is not installed.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith('OS_')}
    environment |= dict.fromkeys(('no_proxy', 'NO_PROXY'), '127.0.0.1,localhost')
    root = Path(__file__).parents[2]
    if root.name not in ('site-packages', 'dist-packages'):
        known = [os.environ['PYTHONPATH']] if os.environ.get('PYTHONPATH') else []
        environment['PYTHONPATH'] = os.pathsep.join([str(root), *known])
    return environment
