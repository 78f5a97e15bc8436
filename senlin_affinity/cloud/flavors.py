"""Fetch the flavors of a Nova with their extra specs: all of them, or one.

Units: ``swap`` is in MiB, '' for none in Nova's response; ``disk`` and ``ephemeral`` are in GiB.

Source: the compute API reference. From 2.61, the list contains the extra specs, if Nova's policy
shows them to the user. With ``is_public=None``, an administrator also gets the private flavors. A
name may contain a slash, an id may not; Nova's router finds no path with such a slash, so the name
is only searched for in the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.answers import by_marker, check_identity, reading
from senlin_affinity.cloud.rest import BASE, Microversion, OwnerRest
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.snapshot import Flavor

EXTRA_SPECS: Microversion = (2, 61)
_FLAVORS = 'list the flavors'
#: Only an administrator may list the projects of a flavor (403), and only of a private one (404).
_HIDDEN = (403, 404)
#: Path segments that, after /flavors/, are not the id of a flavor.
_NO_IDS = ('.', '..', 'detail')


def flavors(compute: OwnerRest, *, is_own: bool = True) -> tuple[Flavor, ...] | None:
    """Fetch every flavor that the user may list, by name; return None if extra specs are hidden.

    :param is_own: whether the snapshot is of the user's own project, which may use every flavor
        listed. Otherwise, ``is_shared`` of a private flavor is None.
    """
    found = list(_listed(compute, EXTRA_SPECS, is_public='None'))
    if any('extra_specs' not in item for item in found):
        return None
    with reading(_FLAVORS):
        known = [
            replace(_flavor(item), is_shared=True if is_own or not _is_private(item) else None)
            for item in found
        ]
        return tuple(sorted(known, key=lambda flavor: (flavor.name, flavor.id)))


def is_shared(compute: OwnerRest, flavor_id: str, project_id: str) -> bool | None:
    """Fetch whether a project has access to a private flavor; return None if that is hidden."""
    what = f'list the projects of the flavor {flavor_id!r}'
    try:
        body = compute.get(f'{_path(flavor_id)}/os-flavor-access', what, compute.pick(BASE))
    except CloudError as error:
        if error.status not in _HIDDEN:
            raise
        return None
    with reading(what):
        return project_id in {access['tenant_id'] for access in body['flavor_access']}


def flavor(compute: OwnerRest, name_or_id: str, *, are_specs_needed: bool = False) -> Flavor | None:
    """Fetch the flavor with this id, or else this name; return None if there is none.

    If its extra specs are hidden, return it without any, or None if ``are_specs_needed``.
    """
    what = f'read the flavor {name_or_id!r}'
    microversion = compute.pick(EXTRA_SPECS)
    body = None
    if '/' not in name_or_id and name_or_id not in _NO_IDS:
        body = compute.get(_path(name_or_id), what, microversion, may_be_missing=True)
    with reading(what):
        if body is None:
            item = _named(compute, name_or_id, microversion)
        else:
            item = body['flavor']
            check_identity(item['id'], name_or_id, what)
        if item is None:
            return None
        if microversion < EXTRA_SPECS:
            item |= compute.get(f'{_path(item["id"])}/os-extra_specs', what, microversion)
        return None if are_specs_needed and 'extra_specs' not in item else _flavor(item)


def _named(compute: OwnerRest, name: str, microversion: Microversion) -> dict[str, Any] | None:
    return next((item for item in _listed(compute, microversion) if item['name'] == name), None)


def _listed(
    compute: OwnerRest, microversion: Microversion, **query: str
) -> Iterator[dict[str, Any]]:
    return by_marker(compute, '/flavors/detail', 'flavors', _FLAVORS, microversion, **query)


def _path(flavor_id: str) -> str:
    return f'/flavors/{quote(flavor_id)}'


def _is_private(item: Mapping[str, Any]) -> bool:
    return item.get('os-flavor-access:is_public') is False


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
