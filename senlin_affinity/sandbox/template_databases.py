"""Databases that are copied from a cache, since making one takes seconds and copying it does not.

A template is known by its name and the versions of what made it, so that a new release never gets
an old schema. It is put in place by renaming, so that two sandboxes may fill the cache at once.
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
from dataclasses import dataclass
from pathlib import Path

LOG = logging.getLogger(__name__)

#: To be raised when what is put into a template changes here.
FORMAT = 1


def cache_directory() -> Path:
    """Give the cache: SENLIN_AFFINITY_CACHE, or the user's cache directory."""
    given = os.environ.get('SENLIN_AFFINITY_CACHE')
    if given:
        return Path(given)
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return Path(base) / 'senlin-affinity'


def versions(distributions: Iterable[str]) -> str:
    """Give the key of templates that are made by these distributions."""
    parts = [f'{name}-{importlib.metadata.version(name)}' for name in distributions]
    return '_'.join([str(FORMAT), *parts])


@dataclass(frozen=True)
class Templates:
    """The templates of one key, and the work directory that the copies go to."""

    cache: Path
    key: str
    directory: Path

    def provide(self, name: str, make: Callable[[], None]) -> Path:
        """Put the database ``<name>.sqlite`` into the work directory.

        :param make: fills the database at that path; called only where there is no template.
        """
        path = self.directory / f'{name}.sqlite'
        template = self.cache / self.key / path.name
        if template.exists():
            shutil.copyfile(template, path)
            return path
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute('PRAGMA journal_mode=WAL')  # stays with the file
        make()
        flush(path)
        try:
            _keep(path, template)
        except OSError as error:
            LOG.warning('the cache %s cannot be written: %s', template, error)
        return path


def flush(path: Path) -> None:
    """Write everything into the database's one file, so that the file can be copied."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')


def _keep(path: Path, template: Path) -> None:
    template.parent.mkdir(parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=template.parent)
    os.close(handle)
    try:
        shutil.copyfile(path, new)
        os.replace(new, template)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
