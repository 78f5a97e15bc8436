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

    def is_gone(self) -> bool:
        """Tell whether nothing of it is left: no work directory, no process."""
        return not Path(self.directory).exists() and not any(
            map(is_running, (self.pid, *self.children))
        )


def runtime_directory() -> Path:
    """Give this user's directory for what runs; it is nobody else's."""
    base = os.environ.get('XDG_RUNTIME_DIR')
    if base:
        directory = Path(base, 'senlin-affinity')
    else:
        directory = Path(tempfile.gettempdir(), f'senlin-affinity-{os.getuid()}')
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        raise CloudError(f'{directory} belongs to somebody else: set XDG_RUNTIME_DIR')
    return directory


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Be the one who runs the sandbox; a CloudError if somebody is already."""
    with _lock_file() as lock:
        deadline = time.monotonic() + 5 * _LOOK_EVERY  # somebody may be looking at this moment
        while not _take(lock, fcntl.LOCK_EX) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        if not _take(lock, fcntl.LOCK_EX):
            raise CloudError('a sandbox is running already: use it, or end it with "sandbox down"')
        try:
            yield
        finally:
            forget()


def is_held() -> bool:
    """Tell whether somebody runs a sandbox."""
    with _lock_file() as lock:
        return not _take(lock, fcntl.LOCK_SH)


def write(pid: int, base_url: str, directory: Path, children: tuple[int, ...], clouds: str) -> Path:
    """Write the notes and the clouds.yaml; give the path of the latter."""
    clouds_yaml = runtime_directory() / 'clouds.yaml'
    _write(clouds_yaml, clouds)
    session = Session(pid, base_url, str(directory), str(clouds_yaml), children)
    _write(runtime_directory() / 'session.json', json.dumps(dataclasses.asdict(session)))
    return clouds_yaml


def read() -> Session | None:
    """Read the notes of the sandbox that runs; None when there is none, or it is starting."""
    if not is_held():
        return None
    try:
        data = json.loads((runtime_directory() / 'session.json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return None
    return Session(**{**data, 'children': tuple(data['children'])})


def forget() -> None:
    """Remove the notes."""
    for name in ('session.json', 'clouds.yaml'):
        with contextlib.suppress(FileNotFoundError):
            (runtime_directory() / name).unlink()


def end(session: Session) -> None:
    """End a sandbox, by the id of who holds it, and see that all of it is gone.

    The lock says that the id is still the right one.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        if is_held():
            with contextlib.suppress(ProcessLookupError):
                os.kill(session.pid, number)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not is_held() and session.is_gone():
                forget()
                return
            time.sleep(_LOOK_EVERY)
    raise CloudError(
        f'the sandbox did not end: look at process {session.pid}, its children '
        f'{", ".join(map(str, session.children))}, and {session.directory}'
    )


def _take(lock: int, kind: int) -> bool:
    """Try to get the lock; those who only look share it, for a moment."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _lock_file() -> Iterator[int]:
    path = runtime_directory() / 'lock'
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)


def _write(path: Path, text: str) -> None:
    """Write a file that only this user may read, whole or not at all."""
    new = path.with_name(f'{path.name}.new')
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as stream:
        stream.write(text)
    new.replace(path)


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
