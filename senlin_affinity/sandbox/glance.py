"""A Glance with one public image: enough for Nova and Senlin to boot servers from it.

The schema lists every attribute of the image, since Nova takes for a property of the image
whatever the schema does not list.

Source: https://docs.openstack.org/api-ref/image/v2/
"""

from __future__ import annotations

from typing import Any

from senlin_affinity.sandbox.catalogue import Endpoints
from senlin_affinity.sandbox.identities import ADMIN
from senlin_affinity.sandbox.wsgi import Request, Response, Stub, error, not_found

IMAGE_ID = '7c5a6d0e-5a2b-4f43-8a53-9d1f6f4c2e11'
IMAGE_NAME = 'cirros'

_IMAGE: dict[str, Any] = {
    'id': IMAGE_ID,
    'name': IMAGE_NAME,
    'status': 'active',
    'visibility': 'public',
    'protected': False,
    'os_hidden': False,
    'size': 1,
    'virtual_size': None,
    'min_disk': 0,
    'min_ram': 0,
    'disk_format': 'raw',
    'container_format': 'bare',
    'owner': ADMIN.project.id,
    'checksum': None,
    'os_hash_algo': None,
    'os_hash_value': None,
    'tags': [],
    'created_at': '2020-01-01T00:00:00Z',
    'updated_at': '2020-01-01T00:00:00Z',
    'file': f'/v2/images/{IMAGE_ID}/file',
    'self': f'/v2/images/{IMAGE_ID}',
    'schema': '/v2/schemas/image',
}
_ANY_TYPE = {'type': ['null', 'string', 'integer', 'boolean', 'array']}


class Glance(Stub):
    """The Image API of one sandbox."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def _answer(self, request: Request) -> Response:
        if request.method not in ('GET', 'HEAD'):
            return error(403, "the sandbox's images are fixed")
        match request.path:
            case () | ('versions',) | ('v2',):
                link = {'rel': 'self', 'href': self._endpoints.url('image') + '/v2/'}
                version = {'id': 'v2.9', 'status': 'CURRENT', 'links': [link]}
                return Response(300, {'versions': [version]})
            case ('v2', 'images'):
                name = request.query.get('name')
                found = [_IMAGE] if name in (None, IMAGE_NAME) else []
                return Response(
                    200, {'images': found, 'first': '/v2/images', 'schema': '/v2/schemas/images'}
                )
            case ('v2', 'images', image_id):
                if image_id == IMAGE_ID:
                    return Response(200, _IMAGE)
                return error(404, f'No image found with ID {image_id}')
            case ('v2', 'schemas', 'image'):
                schema = {
                    'name': 'image',
                    'properties': dict.fromkeys(_IMAGE, _ANY_TYPE),
                    'additionalProperties': {'type': 'string'},
                }
                return Response(200, schema)
        return not_found(request)
