"""The extra specs of Nova, and of this project: one namespace per file, declarations only.

The way of the data: each file declares ``NAMESPACE``, with a summary for the reader and the
definitions; :func:`namespaces` reads all of them, once, when they are asked for.

Source: R4-12, RX-05.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from senlin_affinity.extra_specs.base import Namespace

MODULES = (
    'accel',
    'aggregate_instance_extra_specs',
    'capabilities',
    'hw',
    'hw_rng',
    'hw_video',
    'no_namespace',
    'os',
    'pci_passthrough',
    'quota',
    'reservation',
    'resources',
    'trait',
    'vmware',
)


@cache
def namespaces() -> tuple[Namespace, ...]:
    """Every namespace that this project defines, in the order of their names."""
    found = [import_module(f'{__name__}.{module}').NAMESPACE for module in MODULES]
    return tuple(sorted(found, key=lambda namespace: str(namespace.name)))
