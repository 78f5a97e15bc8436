"""Provide a Glance with public images and an empty Neutron, enough to boot servers.

Every collection of Neutron is empty, and it rejects every write. Glance's schema lists every
attribute of an image, because Nova treats any other attribute as an image property.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from webob import Request, Response

from senlin_affinity.sandbox.blueprint import CIRROS, IMAGE_ID, ImageSpec
from senlin_affinity.sandbox.identities import Endpoints
from senlin_affinity.sandbox.wsgi import Stub, answer, error, not_found, parts_of

_ANY_TYPE = {'type': ['null', 'string', 'integer', 'boolean', 'array']}
_QUOTAS = ('network', 'subnet', 'port', 'router', 'floatingip', 'security_group')


def _version(number: str, url: str) -> dict[str, Any]:
    link = {'rel': 'self', 'href': url}
    return {'versions': [{'id': number, 'status': 'CURRENT', 'links': [link]}]}


def _image(image_id: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    own = {'id': image_id, 'file': f'/v2/images/{image_id}/file', 'self': f'/v2/images/{image_id}'}
    return {**CIRROS, **attributes, **own}


def _described(spec: ImageSpec) -> dict[str, Any]:
    is_cirros = spec.name == CIRROS['name']
    image_id = IMAGE_ID if is_cirros else str(uuid.uuid5(uuid.UUID(IMAGE_ID), spec.name))
    attributes = {'name': spec.name, 'min_disk': spec.min_disk, 'min_ram': spec.min_ram}
    return _image(image_id, {**attributes, **spec.properties})


class Glance(Stub):
    """The Image API of one sandbox; an image is active at once."""

    def __init__(self, endpoints: Endpoints, specs: Iterable[ImageSpec] = ()) -> None:
        self._url = endpoints.url('image')
        images = (CIRROS, *map(_described, specs))
        self._images = {image['id']: image for image in images}

    def _answer(self, request: Request) -> Response:
        if request.method == 'POST' and parts_of(request) == ('v2', 'images'):
            image = _image(str(uuid.uuid4()), request.json_body)
            self._images[image['id']] = image
            return answer(201, image)
        if request.method not in ('GET', 'HEAD'):
            return error(403, "the sandbox's images are fixed")
        match parts_of(request):
            case () | ('versions',) | ('v2',):
                return answer(300, _version('v2.9', f'{self._url}/v2/'))
            case ('v2', 'images'):
                name, known = request.GET.get('name'), tuple(self._images.values())
                found = [image for image in known if name in (None, image['name'])]
                ids = request.GET.get('id')
                if ids is not None:
                    wanted = ids.removeprefix('in:').split(',')
                    found = [each for each in found if each['id'] in wanted]
                more = {'first': '/v2/images', 'schema': '/v2/schemas/images'}
                return answer(200, {'images': found, **more})
            case ('v2', 'images', image_id):
                if image_id in self._images:
                    return answer(200, self._images[image_id])
                return error(404, f'No image found with ID {image_id}')
            case ('v2', 'schemas', 'image'):
                schema = {
                    'name': 'image',
                    'properties': dict.fromkeys(CIRROS, _ANY_TYPE),
                    'additionalProperties': {'type': 'string'},
                }
                return answer(200, schema)
        return not_found(request)


class Neutron(Stub):
    """The Networking API of one sandbox."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._url = endpoints.url('network')

    def _answer(self, request: Request) -> Response:
        match parts_of(request):
            case ():
                return answer(200, _version('v2.0', f'{self._url}/v2.0/'))
            case (_,):
                return answer(200, {'resources': []})
            case _ if request.method != 'GET':
                return _refusal(403, 'Forbidden', 'the sandbox has no networks')
            case (_, 'quotas' | 'quotas.json', *_):
                return answer(200, {'quota': dict.fromkeys(_QUOTAS, -1)})
            case (_, 'auto-allocated-topology', *_):  # Nova answers 400 for this error
                return _refusal(409, 'AutoAllocationFailure', 'the sandbox has no networks')
            case (_, collection):
                return answer(200, {collection.removesuffix('.json').replace('-', '_'): []})
            case (_, *names):
                return _refusal(404, 'NotFound', f'{"/".join(names)} could not be found')


def _refusal(status: int, kind: str, message: str) -> Response:
    return answer(status, {'NeutronError': {'type': kind, 'message': message, 'detail': ''}})
