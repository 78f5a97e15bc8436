"""What the filter for nova-api costs: requests that it leaves alone, and those that it judges.

All in one process and one run, through the same trivial application: with no filter, with one that
does nothing, and with ours; beside them one request to the sandbox's real nova-api over a socket.

Run: make bench. Prints microseconds for each request (the least of the rounds), what is added to
the application without a filter, and the share of a real request that this is.
"""

from __future__ import annotations

import io
import json
import time

import requests

from senlin_affinity.plugins.nova_api import ExtraSpecValidation
from senlin_affinity.sandbox.cloud import SandboxCloud

ROUNDS, CALLS = 7, 20_000
BODY = json.dumps({'extra_specs': {'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '2'}}).encode()
PATH = '/flavors/1/os-extra_specs'


def application(environ, start_response):
    start_response('200 OK', [('OpenStack-API-Version', 'compute 2.85')])
    return [b'']


def nothing(environ, start_response):
    return application(environ, start_response)


OURS = ExtraSpecValidation(application, lambda: '2.104')


def environ_of(method, path, microversion, query=''):
    return {
        'REQUEST_METHOD': method,
        'PATH_INFO': path,
        'QUERY_STRING': query,
        'HTTP_OPENSTACK_API_VERSION': f'compute {microversion}',
        'CONTENT_LENGTH': str(len(BODY)),
        'wsgi.input': io.BytesIO(BODY),
        'wsgi.url_scheme': 'http',
        'SERVER_NAME': 'localhost',
        'SERVER_PORT': '80',
    }


REQUESTS = {
    'GET /servers': environ_of('GET', '/servers', '2.104'),
    'POST /servers': environ_of('POST', '/servers', '2.104'),
    'GET extra specs': environ_of('GET', PATH, '2.104'),
    'POST extra specs at 2.1': environ_of('POST', PATH, '2.1'),
    'POST extra specs, strict': environ_of('POST', PATH, '2.104'),
    'POST extra specs, off': environ_of('POST', PATH, '2.104', 'validation=off'),
}


def microseconds(call, environ, calls=CALLS):
    def start_response(status, headers):
        pass

    least = float('inf')
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            environ['wsgi.input'].seek(0)
            call(environ, start_response)
        least = min(least, time.perf_counter() - start)
    return least / calls * 1e6


def real_request():
    """GET /flavors of the real nova-api, over a socket that is kept open."""
    with SandboxCloud(1) as cloud, requests.Session() as session:
        session.trust_env = False
        connection = cloud.connection()
        url = f'{connection.compute.get_endpoint()}/flavors'
        headers = {'X-Auth-Token': connection.auth_token, 'OpenStack-API-Version': 'compute 2.104'}
        least = float('inf')
        for _ in range(50):
            start = time.perf_counter()
            session.get(url, headers=headers, timeout=60).raise_for_status()
            least = min(least, time.perf_counter() - start)
    return least * 1e6


def main() -> None:
    real = real_request()
    print(f'GET /flavors of the real nova-api: {real:,.0f} us')
    for name, environ in REQUESTS.items():
        calls = CALLS if 'extra specs, ' not in name else CALLS // 20
        bare, idle, ours = (
            microseconds(call, environ, calls) for call in (application, nothing, OURS)
        )
        print(
            f'{name:26} {ours:8.2f} us  adds {ours - bare:7.2f} us '
            f'(a filter that does nothing {idle - bare:5.2f} us), '
            f'{(ours - bare) / real:8.4%} of a real request'
        )


if __name__ == '__main__':
    main()
