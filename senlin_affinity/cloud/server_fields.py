"""Read the fields of a server in an answer of Nova, which many microversions show.

Source: the compute API reference: the embedded flavor from 2.47,
``pinned_availability_zone`` from 2.96, the standard image properties from 2.98, ``scheduler_hints``
from 2.100.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senlin_affinity.cloud.rest import Microversion
from senlin_affinity.model.flavor import Flavor

#: The microversion from which a server shows every field.
NEWEST: Microversion = (2, 100)
ZONE, PINNED_ZONE = 'OS-EXT-AZ:availability_zone', 'pinned_availability_zone'
HINTS, GROUP = 'scheduler_hints', 'group'
_EMBEDDED = frozenset(('original_name', 'extra_specs'))


def flavor(embedded: Mapping[str, Any]) -> Flavor | None:
    """Return the embedded flavor, its name as id; None below 2.47 or without ``extra_specs``."""
    if not embedded.keys() >= _EMBEDDED:
        return None
    name = str(embedded['original_name'])
    keys = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
    vcpus, ram, disk, ephemeral, swap = (int(embedded[key] or 0) for key in keys)
    specs = {str(key): str(value) for key, value in embedded['extra_specs'].items()}
    return Flavor(name, name, vcpus, ram, disk, ephemeral, swap, specs)


def has_flavor(body: Mapping[str, Any]) -> bool:
    """Check whether the server shows its flavor, not only the flavor's id."""
    return (body.get('flavor') or {}).keys() >= _EMBEDDED


def hints(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scheduler hints with ``group``: ``{'group': 'g', 'different_host': ['a', 'b']}``.

    Nova returns every hint as a list, also one that was no list.
    """
    known = (body.get(HINTS) or {}).items()
    return {key: each[0] if len(each) == 1 else each for key, each in known}


def is_volume_booted(body: Mapping[str, Any]) -> bool:
    """Check whether the root disk is a volume."""
    return body.get('image') == ''
