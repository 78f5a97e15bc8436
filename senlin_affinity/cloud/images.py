"""Fetch an image from Glance; its properties may contain reservations and traits.

Raises: InvalidSpec if there is no such image, or several with the name; CloudError.

Source: Glance's image schema, whose own attributes are not image properties in Nova.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from senlin_affinity.cloud.clients import OwnerClient
from senlin_affinity.cloud.connection import image
from senlin_affinity.cloud.paging import check_identity, check_unique, list_of, reading, the_only
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.member_of import canonical

_SCHEMA = """
    checksum container_format created_at direct_url disk_format file id locations min_disk min_ram
    name os_hash_algo os_hash_value os_hidden owner protected schema self size status stores tags
    updated_at virtual_size visibility
"""
_NOT_FOUND = 404
_LIST = 'list the images'
#: The ids of one request, whose address has two kilobytes.
_MOST_IDS = 50
_ATTRIBUTES = frozenset(_SCHEMA.split())


def find(owner: OwnerClient, name_or_id: str) -> Image:
    """Fetch the image with this UUID, or else the only one with this name. One request.

    A name that looks like a UUID is never searched for.
    """
    what = f"read the image '{name_or_id}'"
    glance = image(owner)
    if wanted := canonical(name_or_id):
        try:
            found = [glance.get(f'/images/{name_or_id}', what)]
        except CloudError as error:
            if error.status != _NOT_FOUND:
                raise
            raise InvalidSpec(str(error), 'image') from error
    else:
        found = list_of(glance.get('/images', what, params={'name': name_or_id}), 'images', what)
        check_unique(found, 'id', what)
    only = the_only(found, 'image', name_or_id, 'image')
    with reading(what):
        check_identity(only['id' if wanted else 'name'], wanted or name_or_id, what)
        return _image(only)


def find_all(owner: OwnerClient, names: Collection[str]) -> dict[str, Image]:
    """Fetch the images with these UUIDs or names, as :func:`find` does.

    One request for each 50 UUIDs, one for each name, and one for each UUID that Glance does not
    list, as those of hidden images.
    """
    ids = {name: uuid for name in names if (uuid := canonical(name))}
    found = by_ids(owner, {*ids.values()})
    return {name: found.get(ids.get(name, '')) or find(owner, name) for name in names}


def by_ids(owner: OwnerClient, ids: Collection[str]) -> dict[str, Image]:
    """Fetch the images with these ids, without those that Glance does not show.

    One request for each 50 ids.
    """
    found: dict[str, Image] = {}
    every = sorted(ids)
    for first in range(0, len(every), _MOST_IDS):
        some = every[first : first + _MOST_IDS]
        query = {'id': f'in:{",".join(some)}', 'limit': str(_MOST_IDS)}
        body = image(owner).get('/images', _LIST, params=query)
        with reading(_LIST):
            made = map(_image, list_of(body, 'images', _LIST))
            found |= {each.id: each for each in made if each.id in some}
    return found


def _image(body: dict[str, Any]) -> Image:
    """Convert the JSON of an image; its properties are the strings that Glance does not define.

    Missing or null numbers are 0, and such a status is 'active'.
    """
    return Image(
        str(body['id']),
        int(body.get('min_ram') or 0),
        int(body.get('min_disk') or 0),
        body.get('disk_format'),
        {
            key: value
            for key, value in body.items()
            if isinstance(value, str) and key not in _ATTRIBUTES
        },
        int(body.get('size') or 0),
        str(body.get('status') or 'active'),
    )
