"""The properties of an image, as Glance has them: reservations and traits may be among them.

Requests: one by id, one by name.

Errors: CloudError, also where there is no such image, or more than one of the name.
"""

from __future__ import annotations

from collections.abc import Mapping

from openstack.connection import Connection

from senlin_affinity.cloud.answers import list_of
from senlin_affinity.cloud.connection import image
from senlin_affinity.core.errors import CloudError
from senlin_affinity.core.member_of import canonical


def properties(
    connection: Connection, name_or_id: str, timeout: float | None = None
) -> Mapping[str, str]:
    """All that Glance says of the image with this name or id, as far as it is text."""
    what = f"read the properties of image '{name_or_id}'"
    glance = image(connection, timeout)
    if canonical(name_or_id):
        found = [glance.get(f'/images/{name_or_id}', what)]
    else:
        found = list_of(glance.get('/images', what, params={'name': name_or_id}), 'images', what)
    if len(found) != 1:
        raise CloudError(f'could not {what}: {len(found)} images are called so')
    return {str(key): value for key, value in found[0].items() if isinstance(value, str)}
