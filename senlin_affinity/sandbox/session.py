"""Record the sandbox that ``sandbox up`` leaves running, and find out whether it runs.

Each user has at most one. The process that runs it holds a lock on a file beside the record, so
that the record of a dead sandbox is recognized even if another process has its id.

Example: ``session.json`` in the runtime directory::

    {"pid": 4711, "base_url": "http://127.0.0.1:40001", "directory": "/dev/shm/...",
     "clouds_yaml": "/run/user/1000/senlin-affinity/clouds.yaml", "children": [4712, 4713]}
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from senlin_affinity.model.errors import CloudError

#: Seconds that "down" waits after SIGTERM, and then after SIGKILL.
PATIENCE = 15.0
_LOOK_EVERY = 0.05


@dataclass(frozen=True)
class Session:
    """The record of a running sandbox; ``pid`` is the process that holds the lock."""

    pid: int
    base_url: str
    directory: str
    clouds_yaml: str
    children: tuple[int, ...]


def path(name: str) -> Path:
    """Return the path of a file in this user's private runtime directory."""
    base = os.environ.get('XDG_RUNTIME_DIR')
    own = Path(tempfile.gettempdir(), f'senlin-affinity-{os.getuid()}')
    directory = Path(base, 'senlin-affinity') if base else own
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = f'{directory} cannot be made: {error.strerror}'
        raise CloudError(f'{why}: set XDG_RUNTIME_DIR to a directory that you own') from error
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise CloudError(f'{directory} belongs to another user: set XDG_RUNTIME_DIR')
    return directory / name


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold the lock of the sandbox in the block; raise CloudError if another process has it."""
    with open(path('lock'), 'a') as lock:
        for _time in range(5):
            if _take(lock, fcntl.LOCK_EX):
                break
            time.sleep(_LOOK_EVERY)  # another process may be checking the lock
        else:
            use = f'OS_CLIENT_CONFIG_FILE={path("clouds.yaml")} OS_CLOUD=sandbox'
            raise CloudError(
                f'a sandbox is running already: use it with {use}, or end it with "sandbox down"'
            )
        try:
            yield
        finally:
            forget()


def is_held() -> bool:
    """Check whether a process holds the lock of the sandbox."""
    with open(path('lock'), 'a') as lock:
        return not _take(lock, fcntl.LOCK_SH)


def write(session: Session) -> None:
    """Write the record atomically."""
    new = path('session.json.new')
    new.write_text(json.dumps(dataclasses.asdict(session)), encoding='utf-8')
    new.replace(path('session.json'))


def read() -> Session | None:
    """Return the record of the running sandbox; None if none runs, or if it is starting."""
    if not is_held():
        return None
    try:
        data = json.loads(path('session.json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return None
    return Session(**{**data, 'children': tuple(data['children'])})


def forget() -> None:
    """Remove the record and the clouds.yaml."""
    path('session.json').unlink(missing_ok=True)
    path('clouds.yaml').unlink(missing_ok=True)


def end(session: Session) -> None:
    """End a sandbox, and wait until its processes and its directory are gone.

    Raise CloudError if it does not end.
    """
    directory, pids = Path(session.directory), (session.pid, *session.children)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if is_held():
            with contextlib.suppress(ProcessLookupError):
                os.kill(session.pid, number)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not (is_held() or directory.exists() or any(map(is_running, pids))):
                forget()
                return
            time.sleep(_LOOK_EVERY)
    raise CloudError(
        f'the sandbox did not end: check process {session.pid}, its children '
        f'{", ".join(map(str, session.children))}, and {session.directory}'
    )


def _take(lock: IO[str], kind: int) -> bool:
    """Try to acquire the lock; checks share it for a moment."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Check whether a process of this user runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    except (ProcessLookupError, PermissionError):
        return False  # also if another user's process has the id now
    except OSError:
        return Path('/proc/self/stat').exists() is False  # it ended just now, or there is no /proc
    return stat.rpartition(')')[2].split()[0] != 'Z'
