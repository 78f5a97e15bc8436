"""The directory of one sandbox: databases, configuration files and logs, in memory where it can be.

Everyone who uses it holds a shared lock on a file in it, so that a directory which nobody uses any
more (all of its processes were killed at once) is known as such, and removed by the next sandbox.

While it is made, and while it is removed, its name begins with a dot. A process that is killed at
that moment leaves it so, perhaps without the file; whether it is still being made only its age
tells.

Units: seconds, bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = 'senlin-affinity-sandbox-'
_LOCK = 'in-use'
#: Seconds that removing may take while another process still writes into the directory.
PATIENCE = 5.0
#: A hidden directory that is younger may be one that somebody is just making.
MAKING = 60.0
#: A sandbox begins with 5 MB of databases, and they and the logs grow.
ROOM_WANTED = 48 * 2**20


def parent_directories() -> list[Path]:
    """Give where the directories may be: shared memory if there is any, and the temporary place."""
    memory, temporary = Path('/dev/shm'), Path(tempfile.gettempdir())
    is_usable = os.access(memory, os.W_OK | os.X_OK)
    return [memory, temporary] if is_usable and memory != temporary else [temporary]


def _with_room() -> Path:
    """Give the first of them that has room; a container's shared memory may be small."""
    *first, last = parent_directories()
    with_room = (each for each in first if shutil.disk_usage(each).free >= ROOM_WANTED)
    return next(with_room, last)


def create() -> tuple[Path, int]:
    """Make a directory and the lock on it.

    The lock is taken under another name, so that the directory is never seen without one.
    """
    new = Path(tempfile.mkdtemp(prefix=f'.{PREFIX}', dir=_with_room()))
    lock = hold(new)
    directory = new.with_name(new.name.removeprefix('.'))
    new.rename(directory)
    return directory, lock


def hold(directory: Path) -> int:
    """Take a shared lock on the directory until the file descriptor is closed."""
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def remove(directory: Path) -> None:
    """Remove the directory; several processes may do so at the same time.

    It gets another name first: what a service opens by its path from then on fails, instead of
    making new files in it.
    """
    doomed = directory.with_name(f'.{directory.name.removeprefix(".")}')
    deadline = time.monotonic() + PATIENCE
    while (directory.exists() or doomed.exists()) and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            directory.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def remove_abandoned() -> list[Path]:
    """Remove the directories of this user that no process holds; give what was removed."""
    removed = []
    for parent in parent_directories():
        for directory in (*parent.glob(f'{PREFIX}*'), *parent.glob(f'.{PREFIX}*')):
            with contextlib.suppress(OSError):
                # Not of what a symbolic link leads to: anybody may make one in a shared place.
                if directory.lstat().st_uid == os.getuid() and _is_abandoned(directory):
                    remove(directory)
                    removed.append(directory)
    return removed


def _is_abandoned(directory: Path) -> bool:
    is_hidden = directory.name.startswith('.')
    if is_hidden and time.time() - directory.stat().st_mtime < MAKING:
        return False
    try:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return is_hidden
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
