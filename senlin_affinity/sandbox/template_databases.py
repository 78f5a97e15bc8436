"""Copy databases from a cache, because creating one takes seconds.

The key of a template is its name and the versions of the packages that created it. Templates are
added by renaming, so that two sandboxes may fill the cache at once.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from senlin_affinity.sandbox.blueprint import RunPlan

LOG = logging.getLogger(__name__)

#: Increase this when the content of templates changes.
FORMAT = 1


def cache_directory() -> Path:
    """Return SENLIN_AFFINITY_CACHE, or a directory in the user's cache directory."""
    given = os.environ.get('SENLIN_AFFINITY_CACHE')
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return Path(given) if given else Path(base, 'senlin-affinity')


def provide(plan: RunPlan, name: str, makers: Iterable[str], make: Callable[[], object]) -> Path:
    """Put the database ``<name>.sqlite`` into the work directory, and return its path.

    :param makers: the distributions whose versions are part of the key.
    :param make: fills the database at that path; called only without a template.
    """
    versions = [f'{maker}-{importlib.metadata.version(maker)}' for maker in makers]
    template = plan.cache / '_'.join([str(FORMAT), *versions]) / f'{name}.sqlite'
    path = plan.directory / template.name
    if template.exists():
        return shutil.copyfile(template, path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute('PRAGMA journal_mode=WAL')  # persists in the file
    make()
    flush(path)
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=template.parent) as new:
            shutil.copyfile(path, Path(new, path.name)).replace(template)
    except OSError as error:
        LOG.warning('the cache %s cannot be written: %s', template, error)
    return path


def flush(path: Path) -> None:
    """Write all data into the database's main file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
