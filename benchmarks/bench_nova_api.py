"""Measure the cost of the middleware of nova-api, compared with nova-api's own cost.

The cost of nova-api is the CPU time of its processes in the sandbox, without the middleware, for a
POST of two extra specs. The cost of the middleware is what it adds to an empty application: for
that POST, for requests that it ignores, and for hostile bodies.

Run: make bench. Prints CPU microseconds per request, the minimum of the rounds.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import requests

from benchmarks.goals import Goal, measured, report
from senlin_affinity.plugins.nova.api_middleware import MOST_NAMES, ExtraSpecValidation
from senlin_affinity.sandbox.cloud import SandboxCloud

ROUNDS, CALLS, REAL_CALLS = 7, 2_000, 100
MICROVERSION = '2.104'
SPECS = {'hw:cpu_policy': 'dedicated', 'hw:numa_nodes': '2'}
PATH = '/flavors/1/os-extra_specs'
#: A clock tick of /proc, in seconds.
TICK = 0.01

Environ = dict[str, Any]


def application(_environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response('200 OK', [('OpenStack-API-Version', 'compute 2.85')])
    return [b'']


OURS = ExtraSpecValidation(application, lambda: MICROVERSION)


def environ(
    method: str, path: str, specs: object = None, microversion: str = MICROVERSION
) -> Environ:
    body = json.dumps({'extra_specs': SPECS if specs is None else specs}).encode()
    return {
        'REQUEST_METHOD': method,
        'PATH_INFO': path,
        'QUERY_STRING': '',
        'HTTP_OPENSTACK_API_VERSION': f'compute {microversion}',
        'CONTENT_LENGTH': str(len(body)),
        'wsgi.input': io.BytesIO(body),
        'wsgi.url_scheme': 'http',
        'SERVER_NAME': 'localhost',
        'SERVER_PORT': '80',
    }


def added(asked: Environ, calls: int = CALLS) -> float:
    """Return the CPU microseconds that the middleware adds to one request."""

    def run(call: Callable[..., Any]) -> None:
        for _ in range(calls):
            asked['wsgi.input'].seek(0)
            call(asked, lambda _status, _headers: None)

    seconds = measured({'ours': lambda: run(OURS), 'bare': lambda: run(application)}, ROUNDS)
    return (seconds['ours'] - seconds['bare']) / calls * 1e6


def spent(pids: Iterable[int]) -> float:
    """Return the CPU seconds of these processes so far."""
    stats = (Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split() for pid in pids)
    return sum(int(each[11]) + int(each[12]) for each in stats) * TICK


def of_nova() -> float:
    """Return the CPU microseconds of nova-api for a POST of the same extra specs."""
    with SandboxCloud(1) as cloud, requests.Session() as session:
        session.trust_env = False
        connection = cloud.connection()
        url = f'{connection.compute.get_endpoint()}/flavors/{next(connection.compute.flavors()).id}'
        session.headers['X-Auth-Token'] = connection.auth_token
        session.headers['OpenStack-API-Version'] = f'compute {MICROVERSION}'

        def post() -> None:
            answer = session.post(f'{url}/os-extra_specs', json={'extra_specs': SPECS}, timeout=60)
            answer.raise_for_status()

        post()
        before = spent(cloud.pids)
        for _ in range(REAL_CALLS):
            post()
        return (spent(cloud.pids) - before) / REAL_CALLS * 1e6


def goals() -> Iterator[Goal]:
    novas, post = of_nova(), added(environ('POST', PATH))
    print(f'POST of {len(SPECS)} extra specs: nova-api {novas:,.0f} us, middleware {post:.1f} us')
    yield Goal('nova-api: a POST of extra specs: % of what nova-api spends', post / novas * 100, 1)
    for name, asked in (
        ('GET /servers', environ('GET', '/servers')),
        ('POST /servers', environ('POST', '/servers')),
        ('POST of extra specs at 2.1', environ('POST', PATH, microversion='2.1')),
    ):
        share = added(asked) / novas * 100
        yield Goal(f'nova-api: {name}, which is left alone: % of a POST of extra specs', share, 0.1)
    wrong = {f'hw:cpu_pollicy{number}': 'x' for number in range(MOST_NAMES)}
    yield Goal(
        f'nova-api: a POST of {MOST_NAMES:,} unknown names: CPU ms',
        added(environ('POST', PATH, wrong), 1) / 1000,
        1_000,
    )
    many = environ('POST', PATH, {f'unknown:{number:06}': 'x' for number in range(200_000)})
    text = many['wsgi.input'].getvalue()
    read = measured({'json': lambda: json.loads(text)}, ROUNDS)['json'] * 1e6
    yield Goal(
        'nova-api: a POST of 200,000 unknown names: CPU to json.loads', added(many, 1) / read, 5
    )


if __name__ == '__main__':
    sys.exit(report(goals()))
