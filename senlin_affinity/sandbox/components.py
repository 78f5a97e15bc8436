"""The services that a sandbox needs beside this package, and what to run when one is not there.

The sandbox installs nothing by itself.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

NOVA_CHILD = ('nova', 'openstack-placement')
SENLIN_CHILD = ('senlin',)

#: The environment variable that names another Python to run the children with.
PYTHON_VARIABLE = 'SENLIN_AFFINITY_SANDBOX_PYTHON'


def missing(distributions: Iterable[str]) -> tuple[str, ...]:
    """Give those of the distributions that this Python cannot import."""
    absent = []
    for name in distributions:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            absent.append(name)
    return tuple(absent)


def installed_file(distribution: str, name: str) -> Path:
    """Give the path of a file that a distribution has installed, wherever that is."""
    for file in importlib.metadata.files(distribution) or ():
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise FileNotFoundError(f'{distribution} has installed no {name}')


def advice(absent: Iterable[str], python: str) -> str:
    """Say what to run to get what is missing."""
    return (
        f'the sandbox needs {", ".join(absent)}, which {python} does not have. Run\n'
        f"    {python} -m pip install 'senlin-affinity[sandbox]' -c constraints.txt\n"
        f'(in a checkout, "make demo" does so in an environment of its own). {PYTHON_VARIABLE} '
        'may name another Python that has them.'
    )
