"""Fetch the flavors of a Nova with their extra specs: all of them, or one.

Source: the compute API reference. From 2.61, the list contains the extra specs, if Nova's policy
permits. With ``is_public=None``, an administrator also gets the private flavors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from senlin_affinity.cloud.paging import allowed, by_marker, check_identity, reading
from senlin_affinity.cloud.rest import BASE, Microversion, OwnerRest
from senlin_affinity.model.cloud import Flavor

EXTRA_SPECS: Microversion = (2, 61)
_FLAVORS = 'list the flavors'
#: For a non-admin, and for a public flavor.
_HIDDEN = (403, 404)
#: Path segments after /flavors/ that are no ids.
_NO_IDS = ('.', '..', 'detail')


def flavors(compute: OwnerRest, *, is_own: bool = True) -> tuple[Flavor, ...] | None:
    """Fetch every flavor that the user may list, sorted by name, then id; None if specs are hidden.

    :param is_own: if False, ``is_shared`` of private flavors is None (unknown); otherwise True.
    """
    found = list(_listed(compute, EXTRA_SPECS, is_public='None'))
    if any('extra_specs' not in item for item in found):
        return None
    with reading(_FLAVORS):
        every = []
        for item in found:
            is_usable = is_own or item.get('os-flavor-access:is_public') is not False
            every.append(replace(_flavor(item), is_shared=True if is_usable else None))
        return tuple(sorted(every, key=lambda flavor: (flavor.name, flavor.id)))


def is_shared(compute: OwnerRest, flavor_id: str, project_id: str) -> bool | None:
    """Fetch whether a project has access to a private flavor; None for a 403 or 404."""
    what = f'list the projects of the flavor {flavor_id!r}'
    path = f'{_path(flavor_id)}/os-flavor-access'
    body = allowed(lambda: compute.get(path, what, compute.pick(BASE)), _HIDDEN)
    if body is None:
        return None
    with reading(what):
        return project_id in {access['tenant_id'] for access in body['flavor_access']}


def flavor(compute: OwnerRest, name_or_id: str, *, are_specs_needed: bool = False) -> Flavor | None:
    """Fetch the flavor with this id, or else with this name; None if there is none.

    Without visible extra specs, it has none from 2.61 on, or is None if ``are_specs_needed``;
    before, Nova's 403 is a CloudError.
    """
    what = f'read the flavor {name_or_id!r}'
    microversion = compute.pick(EXTRA_SPECS)
    body = None
    # An id has no slash, and Nova's router finds no path with one.
    if '/' not in name_or_id and name_or_id not in _NO_IDS:
        body = compute.get(_path(name_or_id), what, microversion, may_be_missing=True)
    with reading(what):
        if body is None:
            every = _listed(compute, microversion)
            item = next((each for each in every if each['name'] == name_or_id), None)
        else:
            item = body['flavor']
            check_identity(item['id'], name_or_id, what)
        if item is None:
            return None
        if microversion < EXTRA_SPECS:
            item |= compute.get(f'{_path(item["id"])}/os-extra_specs', what, microversion)
        return None if are_specs_needed and 'extra_specs' not in item else _flavor(item)


def _listed(
    compute: OwnerRest, microversion: Microversion, **query: str
) -> Iterator[dict[str, Any]]:
    """Yield the JSON of all listed flavors."""
    return by_marker(compute, '/flavors/detail', 'flavors', _FLAVORS, microversion, **query)


def _path(flavor_id: str) -> str:
    """Return ``/flavors/<id>``, quoted."""
    return f'/flavors/{quote(flavor_id)}'


def _flavor(item: Mapping[str, Any]) -> Flavor:
    """Convert the JSON of a flavor; swap '' or null is 0, and missing ``extra_specs`` are {}."""
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
