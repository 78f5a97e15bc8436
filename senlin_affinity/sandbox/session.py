"""The sandbox that ``sandbox up`` leaves running: where it is written down, and whether it runs.

There is at most one for a user. Whoever holds it keeps a lock on a file beside the notes, so that
notes of a sandbox that has died are known as such, whoever has its process id by now.

Shapes: ``session.json`` in the runtime directory::

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

from senlin_affinity.core.errors import CloudError

#: Seconds that "down" waits for the end, before it uses force and waits again.
PATIENCE = 15.0
_LOOK_EVERY = 0.05


@dataclass(frozen=True)
class Session:
    """What others need to know of a running sandbox; ``pid`` is who holds it."""

    pid: int
    base_url: str
    directory: str
    clouds_yaml: str
    children: tuple[int, ...]


def path(name: str) -> Path:
    """Give the path of a file in this user's directory for what runs; it is nobody else's."""
    base = os.environ.get('XDG_RUNTIME_DIR')
    own = Path(tempfile.gettempdir(), f'senlin-affinity-{os.getuid()}')
    directory = Path(base, 'senlin-affinity') if base else own
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = f'{directory} cannot be made: {error.strerror}'
        raise CloudError(f'{why}; XDG_RUNTIME_DIR must name a directory of yours') from error
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise CloudError(f'{directory} belongs to somebody else: set XDG_RUNTIME_DIR')
    return directory / name


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Be the one who runs the sandbox; a CloudError if somebody is already."""
    with open(path('lock'), 'a') as lock:
        for _time in range(5):
            if _take(lock, fcntl.LOCK_EX):
                break
            time.sleep(_LOOK_EVERY)  # somebody may be looking at this moment
        else:
            raise CloudError('a sandbox is running already: use it, or end it with "sandbox down"')
        try:
            yield
        finally:
            forget()


def is_held() -> bool:
    """Tell whether somebody runs a sandbox."""
    with open(path('lock'), 'a') as lock:
        return not _take(lock, fcntl.LOCK_SH)


def write(session: Session) -> None:
    """Write the notes, whole or not at all."""
    new = path('session.json.new')
    new.write_text(json.dumps(dataclasses.asdict(session)), encoding='utf-8')
    new.replace(path('session.json'))


def read() -> Session | None:
    """Read the notes of the sandbox that runs; None when there is none, or it is starting."""
    if not is_held():
        return None
    try:
        data = json.loads(path('session.json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return None
    return Session(**{**data, 'children': tuple(data['children'])})


def forget() -> None:
    """Remove the notes."""
    path('session.json').unlink(missing_ok=True)
    path('clouds.yaml').unlink(missing_ok=True)


def end(session: Session) -> None:
    """End a sandbox, by the id of who holds it, and see that all of it is gone.

    The lock says that the id is still the right one.
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
        f'the sandbox did not end: look at process {session.pid}, its children '
        f'{", ".join(map(str, session.children))}, and {session.directory}'
    )


def _take(lock: IO[str], kind: int) -> bool:
    """Try to get the lock; those who only look share it, for a moment."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Tell whether a process of this user runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    except (ProcessLookupError, PermissionError):
        return False  # also: the id has gone to another user
    except OSError:
        return Path('/proc/self/stat').exists() is False  # it went just now, or there is no /proc
    return stat.rpartition(')')[2].split()[0] != 'Z'
