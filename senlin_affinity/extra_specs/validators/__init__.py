"""The extra specs of Nova, and of this project: declarations only.

The way of the data: each module declares ``NAMESPACES``, with a summary for the reader and the
definitions; :func:`namespaces` reads all of them, once, when they are asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from senlin_affinity.extra_specs.base import Namespace

_MODULES = ('devices', 'hw', 'no_namespace', 'placement', 'quota', 'scheduling')


@cache
def namespaces() -> tuple[Namespace, ...]:
    """Every namespace that this project defines, in the order of their names."""
    modules = (import_module(f'{__name__}.{module}') for module in _MODULES)
    found: list[Namespace] = [each for module in modules for each in module.NAMESPACES]
    return tuple(sorted(found, key=lambda namespace: namespace.name))
