"""A Neutron with nothing in it: every collection is empty, every write is refused.

That is all that Nova and Senlin ask of it for servers with ``networks: []``.

Source: https://docs.openstack.org/api-ref/network/v2/
"""

from __future__ import annotations

from senlin_affinity.sandbox.catalogue import Endpoints
from senlin_affinity.sandbox.wsgi import Request, Response, Stub

_QUOTAS = ('network', 'subnet', 'port', 'router', 'floatingip', 'security_group')


class Neutron(Stub):
    """The Networking API of one sandbox."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def _answer(self, request: Request) -> Response:
        if not request.path:
            link = {'rel': 'self', 'href': self._endpoints.url('network') + '/v2.0/'}
            version = {'id': 'v2.0', 'status': 'CURRENT', 'links': [link]}
            return Response(200, {'versions': [version]})
        if request.path == ('v2.0',):
            return Response(200, {'resources': []})
        collection = request.path[1].removesuffix('.json').replace('-', '_')
        if request.method != 'GET':
            return _refusal(403, 'Forbidden', 'the sandbox has no networks')
        if collection == 'quotas':
            return Response(200, {'quota': dict.fromkeys(_QUOTAS, -1)})
        if len(request.path) > 2:
            return _refusal(404, 'NotFound', f'{"/".join(request.path[1:])} could not be found')
        return Response(200, {collection: []})


def _refusal(status: int, kind: str, message: str) -> Response:
    return Response(status, {'NeutronError': {'type': kind, 'message': message, 'detail': ''}})
