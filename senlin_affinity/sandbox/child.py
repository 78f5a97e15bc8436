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
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from senlin_affinity.core.errors import CloudError
from senlin_affinity.sandbox import child_process, components

#: Seconds that the start may take; without templates it takes about 20 on a small machine.
START_TIMEOUT = 180.0
#: Seconds between SIGTERM and SIGKILL.
STOP_TIMEOUT = 5.0

Progress = Callable[[str], None]


@dataclass
class Child:
    """One child process, in a session of its own: Ctrl-C in the terminal does not reach it."""

    name: str
    process: subprocess.Popen[bytes]
    lifeline: int
    report: int
    is_ready: bool = False
    _heard: bytes = field(default=b'', repr=False)

    @classmethod
    def start(cls, module: str, directory: Path, listener: socket.socket) -> Child:
        """Start ``python -m module`` with the listening socket handed to it."""
        name = module.rpartition('.')[2]
        theirs, lifeline = os.pipe()
        report, news = os.pipe()
        given = (listener.fileno(), theirs, news)
        try:
            with open(directory / f'{name}.out', 'wb') as output:
                process = subprocess.Popen(
                    [_python(), '-m', module, *child_process.arguments(directory, *given)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=given,
                    env=environment(),
                    start_new_session=True,
                )
        except OSError as error:
            os.close(lifeline)
            os.close(report)
            raise CloudError(f'{_python()} cannot be run: {error}') from error
        finally:
            os.close(theirs)
            os.close(news)
        return cls(name, process, lifeline, report)

    def listen(self) -> Iterator[dict[str, Any]]:
        """Give the news that have come, one dict a line; a closed pipe is an error."""
        data = os.read(self.report, 65536)
        if not data:
            code = self.process.wait(STOP_TIMEOUT)
            raise CloudError(f'{self.name} ended with status {code} before it was ready')
        *lines, self._heard = (self._heard + data).split(b'\n')
        for line in lines:
            yield json.loads(line)

    def terminate(self) -> None:
        """Ask the child to end."""
        if self.process.returncode is None:  # not reaped, so the id is still its own
            os.kill(self.process.pid, signal.SIGTERM)

    def stop(self, deadline: float) -> None:
        """Wait for the end of the child; end it and its process group by force after that."""
        while select.select([self.report], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not os.read(self.report, 65536):
                break  # closed by all who had it
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.lifeline)
        os.close(self.report)


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
            child = waiting[report]
            for news in child.listen():
                if 'error' in news:
                    raise CloudError(news['error'])
                if 'stage' in news:
                    progress(news['stage'])
                if 'ready' in news:
                    child.is_ready = True
                    del waiting[report]


def wait_for_an_end(children: Iterable[Child]) -> None:
    """Wait until one of the children, all of them ready, has ended."""
    reports = [child.report for child in children]
    while True:
        for report in select.select(reports, [], [])[0]:
            if not os.read(report, 65536):
                return


def stop(children: Iterable[Child]) -> None:
    """End all children, at the same time."""
    children = list(children)
    for child in children:
        child.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT
    for child in children:
        child.stop(deadline)


def _python() -> str:
    return os.environ.get(components.PYTHON_VARIABLE) or sys.executable


def environment() -> dict[str, str]:
    """Give the environment of a process of the sandbox.

    No OS_ variables: oslo.config and openstacksdk read them, and they are about other clouds.
    No proxy between this machine and itself. This very package, where it is not installed.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith('OS_')}
    for name in ('no_proxy', 'NO_PROXY'):
        environment[name] = '127.0.0.1,localhost'
    root = Path(__file__).parents[2]
    if root.name not in ('site-packages', 'dist-packages'):
        known = environment.get('PYTHONPATH')
        environment['PYTHONPATH'] = os.pathsep.join([str(root), known] if known else [str(root)])
    return environment
