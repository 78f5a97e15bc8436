"""The application that uwsgi serves: the function ``module:name`` in CLUSTER_APPLICATION makes it.

Neutron is a stub: Nova lists ports and security groups even for servers without networks.
"""

import importlib
import json
import os


def neutron():
    """Return an application with the discovery of Neutron, no limits, and empty collections."""

    def answer(environ, start_response):
        parts = environ['PATH_INFO'].strip('/').split('/')
        if parts == ['']:
            link = {'rel': 'self', 'href': f'http://{environ["HTTP_HOST"]}/v2.0/'}
            body = {'versions': [{'id': 'v2.0', 'status': 'CURRENT', 'links': [link]}]}
        elif parts[1:2] == ['quotas']:
            body = {'quota': {'network': -1, 'port': -1}}
        else:
            body = {parts[-1].removesuffix('.json').replace('-', '_'): []}
        start_response('200 OK', [('Content-Type', 'application/json')])
        return [json.dumps(body).encode()]

    return answer


_module, _, _name = os.environ['CLUSTER_APPLICATION'].partition(':')
application = (
    neutron() if _module == 'neutron' else getattr(importlib.import_module(_module), _name)()
)
