"""Finds the files of ``etc/senlin-affinity`` again, wherever the package was installed.

A wheel puts them under the environment's prefix (or the user's, or the system's), an editable
install leaves them in the checkout.

Shapes::

    example('policies/anti-affinity.yaml') -> Path('<prefix>/etc/senlin-affinity/policies/...')

Errors: a file that is not there is a FileNotFoundError with the places that were looked at.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import senlin_affinity

FOLDER = 'etc/senlin-affinity'


def example(name: str) -> Path:
    """Return the path of a file or folder below ``etc/senlin-affinity``."""
    looked = []
    for folder in _folders():
        path = folder / name
        if path.exists():
            return path
        looked.append(str(path))
    raise FileNotFoundError(f'{name} is not installed; looked for {", ".join(looked)}')


def _folders() -> Iterator[Path]:
    yield Path(senlin_affinity.__file__).resolve().parents[1] / FOLDER
    recorded = _recorded_folder()
    if recorded is not None:
        yield recorded
    yield Path(sysconfig.get_path('data')) / FOLDER


def _recorded_folder() -> Path | None:
    """Where the installer says that it put the files: true for every install scheme."""
    try:
        files = metadata.distribution('senlin-affinity').files or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        before, found, _ = str(file.locate()).partition(f'/{FOLDER}/')
        if found:
            return Path(before).resolve() / FOLDER
    return None
