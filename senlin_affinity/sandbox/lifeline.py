"""End a child process of the sandbox with its parent, and send reports to the parent.

The parent holds one end of the child's stdin and never writes to it. When the parent ends, even by
SIGKILL, the other end reads as closed. The child then removes the work directory and exits at once.

Example: the child writes one JSON object per line to its original stdout::

    {"stage": "nova-api"}    {"ready": true}    {"error": "..."}
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

# Bound before eventlet replaces it in Senlin's process: the watch must be a real thread.
from select import select as wait_readable
from typing import Any, NoReturn

from senlin_affinity.sandbox import work_directory
from senlin_affinity.sandbox.blueprint import RunPlan

#: Seconds between two checks of the parent's id: a fork may keep its pipe open.
LOOK_EVERY = 1.0
#: Names another Python for the children.
PYTHON_VARIABLE = 'SENLIN_AFFINITY_SANDBOX_PYTHON'


class Lifeline:
    """The child's ends of the two pipes; ``parent`` is the process id of the parent."""

    def __init__(self, directory: Path, parent: int) -> None:
        self._directory = directory
        self._parent = parent
        self._report = os.dup(1)
        os.dup2(2, 1)  # output of the services goes to the log

    def hold(self) -> None:
        """Begin to watch the parent; its end, SIGTERM, SIGINT and SIGHUP end this process."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.leave())
        threading.Thread(target=self._watch, daemon=True, name='sandbox-lifeline').start()

    def _watch(self) -> None:
        while os.getppid() == self._parent and not wait_readable([0], [], [], LOOK_EVERY)[0]:
            pass
        self.leave()

    def leave(self) -> NoReturn:
        """Remove the work directory and exit at once."""
        work_directory.remove(self._directory)
        os._exit(0)

    def tell(self, **news: Any) -> None:
        """Send a report to the parent: a stage of the start, or ``ready``."""
        os.write(self._report, json.dumps(news).encode() + b'\n')

    def fail(self, message: str) -> NoReturn:
        """Send an error to the parent and exit; the directory stays, because of its logs."""
        self.tell(error=message)
        os._exit(1)


def run(needed: Iterable[str], body: Callable[[RunPlan, socket.socket, Lifeline], None]) -> None:
    """Run a child process: watch the parent, check the requirements, run the services.

    The arguments are the work directory, the file descriptor of the listening socket, and the
    process id of the parent.

    :param needed: the required distributions.
    :param body: starts the services, reports that they are ready, and returns only to end.
    """
    directory, listener, parent = sys.argv[1:]
    lifeline = Lifeline(Path(directory), int(parent))
    try:
        work_directory.hold(Path(directory))
        lifeline.hold()
        known = importlib.metadata.distributions
        absent = [name for name in needed if not any(known(name=name))]
        if absent:
            lifeline.fail(_advice(absent))
        body(RunPlan.read(Path(directory)), socket.socket(fileno=int(listener)), lifeline)
    except BaseException as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        sys.stderr.flush()
        lifeline.fail(f'{type(error).__name__}: {error}')
    lifeline.leave()


def _advice(absent: Iterable[str]) -> str:
    return (
        f'the sandbox needs {", ".join(absent)}, which {sys.executable} does not have. Run\n'
        f"    {sys.executable} -m pip install 'senlin-affinity[sandbox]' -c constraints.txt\n"
        '(in a checkout, "make demo" installs them into a separate environment), or set '
        f'{PYTHON_VARIABLE} to a Python that has them.'
    )
