"""A child process of the sandbox: it ends with its parent, whatever ends that, and tells it news.

The parent holds one end of the child's stdin and never writes to it: when it goes, even by SIGKILL,
the other end reads as closed. The child then removes the work directory and leaves at once, without
waiting for the threads of the services.

Shapes: the child writes one JSON object a line to what was its stdout::

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

# Bound here, before Senlin's process has eventlet replace what the modules offer: the watch must
# stay a real thread that waits in the operating system.
from select import select as wait_readable
from typing import Any, NoReturn

from senlin_affinity.sandbox import work_directory
from senlin_affinity.sandbox.blueprint import Plan

#: Seconds between two looks at the parent's id, for a parent whose pipe a fork of it keeps open.
LOOK_EVERY = 1.0
#: The environment variable that names another Python to run the children with.
PYTHON_VARIABLE = 'SENLIN_AFFINITY_SANDBOX_PYTHON'


class Lifeline:
    """A child's side of the two pipes; ``parent`` is the process id of who started it."""

    def __init__(self, directory: Path, parent: int) -> None:
        self._directory = directory
        self._parent = parent
        self._report = os.dup(1)
        os.dup2(2, 1)  # what the services print is for the log

    def hold(self) -> None:
        """Begin to watch: the parent's end, SIGTERM and SIGINT all end this process."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.leave())
        threading.Thread(target=self._watch, daemon=True, name='sandbox-lifeline').start()

    def _watch(self) -> None:
        while os.getppid() == self._parent and not wait_readable([0], [], [], LOOK_EVERY)[0]:
            pass
        self.leave()

    def leave(self) -> NoReturn:
        """Remove the work directory and end the process, now."""
        work_directory.remove(self._directory)
        os._exit(0)

    def tell(self, **news: Any) -> None:
        """Tell the parent how far the start is, or that everything runs (``ready``)."""
        os.write(self._report, json.dumps(news).encode() + b'\n')

    def fail(self, message: str) -> NoReturn:
        """Tell the parent why it does not, and end; the directory stays, its logs say more."""
        self.tell(error=message)
        os._exit(1)


def run(needed: Iterable[str], body: Callable[[Plan, socket.socket, Lifeline], None]) -> None:
    """Be a child: watch the parent, check what is needed, run the services for ever.

    The arguments of the command line are the work directory, the file descriptor of the listening
    socket, and the process id of the parent.

    :param needed: the distributions without which there is nothing to run.
    :param body: starts the services, says that they are ready, and returns only to end.
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
        body(Plan.read(Path(directory)), socket.socket(fileno=int(listener)), lifeline)
    except BaseException as error:  # noqa: BLE001 - the outermost door of the process
        traceback.print_exc()
        sys.stderr.flush()
        lifeline.fail(f'{type(error).__name__}: {error}')
    lifeline.leave()


def _advice(absent: Iterable[str]) -> str:
    return (
        f'the sandbox needs {", ".join(absent)}, which {sys.executable} does not have. Run\n'
        f"    {sys.executable} -m pip install 'senlin-affinity[sandbox]' -c constraints.txt\n"
        f'(in a checkout, "make demo" does so in an environment of its own). {PYTHON_VARIABLE} '
        'may name another Python that has them.'
    )
