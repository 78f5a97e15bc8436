"""Ends a child of the sandbox with its parent, whatever ends the parent, and tells the parent news.

The parent holds one end of a pipe that nobody writes to: when it goes, even by SIGKILL, the other
end reads as closed. The child then removes the work directory and leaves at once, without waiting
for the threads of the services.

Shapes: the child writes one JSON object a line::

    {"stage": "nova-api"}    {"ready": {}}    {"error": "...", "missing": ["nova"]}
"""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

# Bound here, before Senlin's process has eventlet replace what the modules offer: the watch must
# stay a real thread that waits in the operating system.
from select import select as wait_readable
from typing import Any, NoReturn

from senlin_affinity.sandbox import work_directory

#: Seconds between two looks at the parent's id, for a parent whose pipe a fork of it keeps open.
LOOK_EVERY = 1.0


class Lifeline:
    """A child's side of the two pipes; ``parent`` is the process id of who started it."""

    def __init__(self, lifeline_fd: int, report_fd: int, directory: Path, parent: int) -> None:
        self._lifeline_fd = lifeline_fd
        self._report_fd = report_fd
        self._directory = directory
        self._parent = parent

    def hold(self) -> None:
        """Begin to watch: the parent's end, SIGTERM and SIGINT all end this process."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.leave())
        threading.Thread(target=self._watch, daemon=True, name='sandbox-lifeline').start()

    def _watch(self) -> None:
        while os.getppid() == self._parent:
            readable, _, _ = wait_readable([self._lifeline_fd], [], [], LOOK_EVERY)
            if readable:
                break
        self.leave()

    def leave(self) -> NoReturn:
        """Remove the work directory and end the process, now."""
        work_directory.remove(self._directory)
        os._exit(0)

    def stage(self, name: str) -> None:
        """Tell the parent how far the start is."""
        self._tell({'stage': name})

    def ready(self) -> None:
        """Tell the parent that everything runs."""
        self._tell({'ready': {}})

    def fail(self, message: str, missing: tuple[str, ...] = ()) -> NoReturn:
        """Tell the parent why it does not, and end; the directory stays, its logs say more."""
        self._tell({'error': message, 'missing': list(missing)})
        os._exit(1)

    def _tell(self, news: dict[str, Any]) -> None:
        os.write(self._report_fd, json.dumps(news).encode() + b'\n')
