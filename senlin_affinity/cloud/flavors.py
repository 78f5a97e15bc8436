"""The flavors of a Nova, with their extra specs: all of them, or one.

Units: ``swap`` is in MiB, '' for none in Nova's answer; ``disk`` and ``ephemeral`` in GiB.

Source: the compute API reference. The extra specs are in the list from 2.61, for users whom Nova's
policy shows them. ``is_public=None`` is how an administrator asks for the private ones, too; for
everybody else Nova ignores it, and lists the public ones and those that their project may use.
Names are unique. An id holds no slash, a name may (``schemas/flavors.py`` of Nova), and Nova's
router does not pass one on: such a name is not asked for as an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.answers import by_marker, reading
from senlin_affinity.cloud.rest import Microversion, OwnersRest
from senlin_affinity.core.objects import Flavor

EXTRA_SPECS: Microversion = (2, 61)
_FLAVORS = 'list the flavors'
#: After /flavors/, these lead to something else than a flavor.
_NO_IDS = ('.', '..', 'detail')


def flavors(compute: OwnersRest) -> tuple[Flavor, ...] | None:
    """Every flavor that the user sees; None where their extra specs are hidden."""
    found = list(_listed(compute, EXTRA_SPECS, is_public='None'))
    if any('extra_specs' not in item for item in found):
        return None
    with reading(_FLAVORS):
        return tuple(sorted(map(_flavor, found), key=lambda flavor: (flavor.name, flavor.id)))


def flavor(
    compute: OwnersRest, name_or_id: str, *, are_specs_needed: bool = False
) -> Flavor | None:
    """The one with this id, or else this name.

    One that hides its extra specs shows none; where they are needed, it is not there.
    """
    what = f'read the flavor {name_or_id!r}'
    microversion = compute.pick(EXTRA_SPECS)
    body = None
    if '/' not in name_or_id and name_or_id not in _NO_IDS:
        body = compute.get(_path(name_or_id), what, microversion, may_be_missing=True)
    with reading(what):
        item = _named(compute, name_or_id, microversion) if body is None else body['flavor']
        if item is None:
            return None
        if microversion < EXTRA_SPECS:
            item |= compute.get(f'{_path(item["id"])}/os-extra_specs', what, microversion)
        return None if are_specs_needed and 'extra_specs' not in item else _flavor(item)


def _named(compute: OwnersRest, name: str, microversion: Microversion) -> dict[str, Any] | None:
    return next((item for item in _listed(compute, microversion) if item['name'] == name), None)


def _listed(
    compute: OwnersRest, microversion: Microversion, **query: str
) -> Iterator[dict[str, Any]]:
    return by_marker(compute, '/flavors/detail', 'flavors', _FLAVORS, microversion, **query)


def _path(flavor_id: str) -> str:
    return f'/flavors/{quote(flavor_id)}'


def _flavor(item: Mapping[str, Any]) -> Flavor:
    return Flavor(
        str(item['id']),
        str(item['name']),
        vcpus=int(item['vcpus']),
        ram=int(item['ram']),
        disk=int(item['disk']),
        ephemeral=int(item['OS-FLV-EXT-DATA:ephemeral']),
        swap=int(item.get('swap') or 0),
        extra_specs={str(key): str(value) for key, value in item.get('extra_specs', {}).items()},
    )
