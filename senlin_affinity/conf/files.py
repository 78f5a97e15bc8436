"""Find the installed files of ``etc/senlin-affinity``.

A wheel installs them under the prefix of the environment, the user or the system; an editable
install leaves them in the checkout.

Raises: FileNotFoundError with the searched paths.
"""

from __future__ import annotations

import contextlib
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import senlin_affinity

FOLDER = 'etc/senlin-affinity'


def example(name: str) -> Path:
    """Return the path of a file or folder below ``etc/senlin-affinity``."""
    places = [folder / name for folder in _folders()]
    for path in places:
        if path.exists():
            return path
    looked = ', '.join(map(str, places))
    raise FileNotFoundError(f'{name} is not installed; looked for {looked}')


def _folders() -> Iterator[Path]:
    yield Path(senlin_affinity.__file__).resolve().parents[1] / FOLDER
    # The installer recorded the paths.
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.distribution('senlin-affinity').files or ():
            before, found, _ = str(file.locate()).partition(f'/{FOLDER}/')
            if found:
                yield Path(before).resolve() / FOLDER
                break
    yield Path(sysconfig.get_path('data')) / FOLDER
