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
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud.answers import by_marker, check_identity, reading
from senlin_affinity.cloud.rest import BASE, Microversion, OwnerRest
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.snapshot import Flavor

EXTRA_SPECS: Microversion = (2, 61)
_FLAVORS = 'list the flavors'
#: Only administrators may list the access (403); the flavor is now public, or deleted (404).
_HIDDEN = (403, 404)
#: After /flavors/, these lead to something else than a flavor.
_NO_IDS = ('.', '..', 'detail')


def flavors(compute: OwnerRest, *, is_own: bool = True) -> tuple[Flavor, ...] | None:
    """Return every flavor that the user may list; None if the extra specs are hidden.

    :param is_own: whether the snapshot is of the user's own project, which may use all of them.
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
    """Return whether a private flavor is shared with a project; None if that may not be read."""
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
    """The one with this id, or else this name.

    One that hides its extra specs shows none; where they are needed, it is not there.
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
