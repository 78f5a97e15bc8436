"""Manage the directory of a sandbox: databases, configuration files and logs, preferably in memory.

Each user of the directory holds a shared lock on a file in it. If all processes of a sandbox were
killed, the next sandbox finds the lock free and removes the directory.

While the directory is created or removed, its name begins with a dot. A process that is killed at
that moment leaves it so, perhaps without the file; only its age shows that it is not in creation.
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
#: Seconds of a removal while another process still writes into the directory.
PATIENCE = 5.0
#: Seconds for which a hidden directory may be in creation.
MAKING = 60.0
#: Bytes.
ROOM_WANTED = 48 * 2**20


def parent_directories() -> list[Path]:
    """Return the possible parents: writable shared memory, and the temporary directory."""
    memory, temporary = Path('/dev/shm'), Path(tempfile.gettempdir())
    is_usable = os.access(memory, os.W_OK | os.X_OK)
    return [memory, temporary] if is_usable and memory != temporary else [temporary]


def create() -> tuple[Path, int]:
    """Create a directory; return it and the file descriptor of its lock.

    It is locked before it gets its final name, so that no process finds it unlocked.
    """
    *first, last = parent_directories()
    # A container's shared memory may be small.
    with_room = (each for each in first if shutil.disk_usage(each).free >= ROOM_WANTED)
    new = Path(tempfile.mkdtemp(prefix=f'.{PREFIX}', dir=next(with_room, last)))
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

    It is renamed first, so that a service which opens a file by its path does not create it again.
    """
    doomed = directory.with_name(f'.{directory.name.removeprefix(".")}')
    deadline = time.monotonic() + PATIENCE
    while (directory.exists() or doomed.exists()) and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            directory.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def remove_abandoned() -> list[Path]:
    """Remove this user's directories that no process holds; return what was removed."""
    removed = []
    for parent in parent_directories():
        for directory in (*parent.glob(f'{PREFIX}*'), *parent.glob(f'.{PREFIX}*')):
            with contextlib.suppress(OSError):
                # Do not follow symbolic links, which anyone can create here.
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
