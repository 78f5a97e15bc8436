"""All flavors of a Nova, with their extra specs, in pages.

Units: ``swap`` is in MiB, '' for none in Nova's answer; ``disk`` and ``ephemeral`` in GiB.

Source: the compute API reference. The extra specs are in the list from 2.61, for users whom Nova's
policy shows them. ``is_public=None`` is how an administrator asks for the private ones, too; for
everybody else Nova ignores it, and lists the public ones and those that their project may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senlin_affinity.cloud.pages import by_marker, reading
from senlin_affinity.cloud.rest import Microversion, Rest
from senlin_affinity.core.objects import Flavor

EXTRA_SPECS: Microversion = (2, 61)
_FLAVORS = 'list the flavors'


def flavors(compute: Rest) -> tuple[Flavor, ...] | None:
    """Every flavor that the user sees; None where their extra specs are hidden."""
    found = list(
        by_marker(compute, '/flavors/detail', 'flavors', _FLAVORS, EXTRA_SPECS, is_public='None')
    )
    if any('extra_specs' not in item for item in found):
        return None
    with reading(_FLAVORS):
        return tuple(sorted(map(_flavor, found), key=lambda flavor: (flavor.name, flavor.id)))


def _flavor(item: Mapping[str, Any]) -> Flavor:
    return Flavor(
        item['id'],
        item['name'],
        item['vcpus'],
        item['ram'],
        item['disk'],
        item['OS-FLV-EXT-DATA:ephemeral'],
        item['swap'] or 0,
        dict(item['extra_specs']),
    )
