"""Start the process of a sandbox's Nova as a fork of one that has loaded Nova already.

To import Nova takes three seconds of CPU time, more than the rest of the start. A test process
keeps a process that has imported it (multiprocessing's fork server), of which each sandbox is a
fork. Tests of the start itself use the package's own :class:`Child`, in processes of their own.
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import reduction
from pathlib import Path
from typing import Any

from senlin_affinity.sandbox import child
from senlin_affinity.sandbox.lifeline import PYTHON_VARIABLE

_CONTEXT: Any = multiprocessing.get_context('forkserver')
_CONTEXT.set_forkserver_preload(['tests.support.loaded_nova'])
#: The variables that determine what the first process has loaded.
_VARIABLES = (PYTHON_VARIABLE, 'PYTHONPATH')
_LOADED_FOR = [os.environ.get(name) for name in _VARIABLES]


def may_fork() -> bool:
    """Return whether a fork has the modules of a new process, and this process may start one."""
    is_same = [os.environ.get(name) for name in _VARIABLES] == _LOADED_FOR
    # A fork imports the main module of this process, unless it is pytest's or a worker's. Another
    # one may import Senlin, whose options collide with Nova's.
    main = sys.modules['__main__']
    name = main.__spec__.name if main.__spec__ else getattr(main, '__file__', None)
    is_own = name is not None and not name.endswith('__main__')
    may_start = not multiprocessing.current_process().daemon
    return is_same and not _LOADED_FOR[0] and not is_own and may_start


class Forked(child.Child):
    """A child as its base class starts it, but a fork."""

    def __init__(self, module: str, directory: Path, listener: socket.socket) -> None:
        self.name = module.rpartition('.')[2]
        self._heard = b''
        held, stdin = os.pipe()[::-1]
        report, stdout = os.pipe()
        with open(directory / f'{self.name}.out', 'wb') as output:
            given = [_Descriptor(fd) for fd in (stdin, stdout, output.fileno(), listener.fileno())]
            arguments = (module, str(directory), os.getcwd(), child.environment(), given)
            self.process: Any = _Process(held, arguments)
        for fd in (stdin, stdout):
            os.close(fd)
        self.report = open(report, 'rb', buffering=0)  # noqa: SIM115 - stop() closes it

    def stop(self, deadline: float) -> None:
        """Wait until the child ends; kill its process group at the deadline."""
        super().stop(deadline)
        self.report.close()


class _Process:
    """The part of ``subprocess.Popen`` that a child uses."""

    def __init__(self, held: int, arguments: tuple[Any, ...]) -> None:
        self._held = held  # its end is the child's end, see lifeline.py
        self._process = _CONTEXT.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.pid = int(self._process.pid)

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired('fork', timeout or 0)
        return self.returncode

    def communicate(self) -> None:
        os.close(self._held)
        self._process.join()


class _Descriptor:
    """A file descriptor that is duplicated for the fork; there, it is a number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.methodcaller('detach'), (reduction.DupFd(self._number),)


def _run(
    module: str, directory: str, place: str, environment: Mapping[str, str], given: list[int]
) -> None:
    """Become ``python -m module directory listener parent``."""
    os.setsid()
    os.chdir(place)
    for number, fd in enumerate(given[:3]):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, directory, str(given[3]), str(os.getppid())]
    runpy.run_module(module, run_name='__main__', alter_sys=True)
