"""A fake cloud at the HTTP edge (requests-mock): discovery, token, catalog, Nova and Placement.

A real openstacksdk connection sends the requests. This module is Keystone; :class:`FakeNova`,
:class:`FakePlacement` and :class:`FakeGlance` are the others. A :class:`Failure` may replace
a response, before or after Nova carried out the request.

Shapes::

    with Edge('2.63', quota=2) as edge:
        edge.fail('POST', '/os-server-groups', TIMEOUT, is_applied=True)
        edge.ports.server_groups.create('web', 'anti-affinity', {})
        assert edge.nova.requests() == ['POST /os-server-groups']

Raises: a request to an unknown URL is kept in ``unmatched`` and fails the test at the end of the
block, even if the code under test caught the error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import requests
import requests_mock
from keystoneauth1 import session
from openstack.connection import Connection

from senlin_affinity.cloud import clients
from senlin_affinity.cloud.connection import Ports, ports
from tests.recordings.exchanges import Reply
from tests.support import fake_keystone
from tests.support.fake_glance import FakeGlance
from tests.support.fake_nova import FakeNova, NoRoute, newest, query_of
from tests.support.fake_placement import FakePlacement

KEYSTONE = 'http://keystone.test/v3'
NOVA = 'http://nova.test/v2.1'
PLACEMENT = 'http://placement.test'
GLANCE = 'http://image.test'


@dataclass(frozen=True)
class Failure:
    """An error response, or an exception of the transport.

    ``words`` is a part of the resulting error. A failure that ``is_foreign`` has a status that Nova
    uses, but is not from Nova.
    """

    name: str
    words: str
    status: int = 0
    body: Any = None
    text: str = ''
    headers: tuple[tuple[str, str], ...] = ()
    exception: Exception | None = None
    is_foreign: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def is_uncertain(self) -> bool:
        """Return whether a failed write may have been carried out."""
        return not 400 <= self.status < 500 or self.is_foreign


def _fault(status: int, kind: str, words: str, **more: Any) -> Failure:
    """Return an error in Nova's format."""
    body = {kind: {'code': status, 'message': words}}
    return Failure(str(status), words, status, body, **more)


UNAUTHORIZED = Failure(
    '401', 'The request you have made requires authentication.', 401, fake_keystone.UNAUTHORIZED
)
FORBIDDEN = _fault(403, 'forbidden', "Policy doesn't allow this to be performed.")
NOT_FOUND = _fault(404, 'itemNotFound', 'The resource could not be found.')
CONFLICT = _fault(409, 'conflictingRequest', 'Not while something else goes on.')
TOO_LARGE = _fault(
    413, 'overLimit', 'This request was rate-limited.', headers=(('Retry-After', '0'),)
)
TOO_MANY = _fault(429, 'tooManyRequests', 'Slow down, please.', headers=(('Retry-After', '0'),))
SERVER_ERROR = _fault(500, 'computeFault', 'Unexpected API Error. DBConnectionError')
_HTML = (('Content-Type', 'text/html'),)
_WORDS = 'No server is available to handle this request.'
_PAGE = f'<html><body><h1>503 Service Unavailable</h1>\n{_WORDS}\n</body></html>\n'
UNAVAILABLE = Failure('503', _WORDS, 503, text=_PAGE, headers=_HTML)
_PAGE = '<html><body><h1>404 Not Found</h1></body></html>'
PROXY_PAGE = Failure('a 404 of a proxy', _PAGE, 404, None, f'{_PAGE}\n', _HTML, is_foreign=True)
TIMEOUT = Failure('timeout', 'timed out', exception=requests.ReadTimeout('read timed out'))
RESET = Failure(
    'reset',
    'Connection reset by peer',
    exception=requests.ConnectionError(ConnectionResetError(104, 'Connection reset by peer')),
)
_WORDS = 'Welcome to the load balancer'
NO_JSON = Failure('no JSON', _WORDS, 200, text=f'<html><body>{_WORDS}</body></html>')
REFUSALS = (UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, TOO_LARGE, TOO_MANY)
UNCERTAIN = (SERVER_ERROR, UNAVAILABLE, TIMEOUT, RESET, NO_JSON, PROXY_PAGE)
FAILURES = (*REFUSALS, *UNCERTAIN)


@dataclass
class _Planned:
    """A failure of future requests."""

    method: str
    url: str
    failure: Failure
    times: int | None
    skip: int
    is_applied: bool


class Edge:
    """A fake cloud; a context manager.

    :param newest_microversion: the newest one of Nova; '' is a Nova without microversions.
    :param user: the user of the connection: admin or demo.
    :param services: the service types in the catalog.
    :param placement: replaces the Placement that has a provider for each host.
    :param glance: the Glance, if any.
    :param projects: Keystone's projects (and users), names by ids; None: Keystone is not in the
        catalog.
    :param nova: arguments of :class:`FakeNova`; its hosts are those of ``placement``.
    """

    def __init__(
        self,
        newest_microversion: str | None = None,
        *,
        user: str = 'admin',
        services: tuple[str, ...] = ('compute',),
        placement: FakePlacement | None = None,
        glance: FakeGlance | None = None,
        projects: Mapping[str, str] | None = None,
        **nova: Any,
    ) -> None:
        self.nova = FakeNova(
            newest() if newest_microversion is None else newest_microversion, **nova
        )
        self.placement = FakePlacement.of(self.nova) if placement is None else placement
        self.unmatched: list[str] = []
        self.tokens = 0
        self.discoveries = 0
        self._user = user
        self.glance = glance
        more = {'placement': placement, 'image': glance, 'identity': projects}
        self._services = [*services, *(name for name, has in more.items() if has is not None)]
        self.projects = projects
        self.looked_up: list[str] = []
        self._planned: list[_Planned] = []
        self._answers: list[tuple[str, Callable[[dict[str, str]], Any]]] = []
        self._events: list[tuple[str, str, Callable[[], object]]] = []
        self._mocker = requests_mock.Mocker()
        #: The delays before retries, in seconds; the tests do not wait for them.
        self.pauses: list[float] = []
        self._clock = mock.patch.object(session, 'time', SimpleNamespace(sleep=self.pauses.append))
        self._ports: Ports | None = None

    def __enter__(self) -> Edge:
        self._clock.start()
        self._mocker.start()
        self._mocker.add_matcher(self._answer)
        return self

    def __exit__(self, kind: object, *_exception: object) -> None:
        self._mocker.stop()
        self._clock.stop()
        if kind is None:
            assert not self.unmatched, f'nobody answers {", ".join(self.unmatched)}'

    # -- for tests

    def connection(self, user: str | None = None, **more: Any) -> Connection:
        """Return a real connection of a user, with these options of openstacksdk."""
        return fake_keystone.connect(KEYSTONE, user or self._user, **more)

    @property
    def ports(self) -> Ports:
        """Return the adapters of one connection, which is made at the first use."""
        if self._ports is None:
            self._ports = ports(clients.of(self.connection(), 5.0))
        return self._ports

    def fail(
        self,
        method: str,
        url: str,
        failure: Failure,
        *,
        times: int | None = None,
        skip: int = 0,
        is_applied: bool = False,
    ) -> None:
        """Let requests fail until :meth:`mend`.

        :param url: a pattern that matches the end of the URL, without its query.
        :param times: the number of failing requests; None: all.
        :param skip: the number of requests that succeed before.
        :param is_applied: Nova carries out the request, and the response is lost.
        """
        self._planned.append(_Planned(method, url, failure, times, skip, is_applied))

    def answer(self, path: str, reply: Callable[[dict[str, str]], Any]) -> None:
        """Let Nova answer GET requests for a path, which is a pattern, in another way.

        :param reply: the body for a query; a number is the status of an error.
        """
        self._answers.append((path, reply))

    def before(self, method: str, url: str, event: Callable[[], object]) -> None:
        """Call the event just before the next such request arrives."""
        self._events.append((method, url, event))

    def mend(self) -> None:
        """Remove all failures, and use a new connection."""
        self._planned.clear()
        self._ports = None
        self.nova.asked.clear()

    # -- responses

    def _answer(self, request: Any) -> requests.Response | None:
        url = request.url.partition('?')[0]
        for item in [item for item in self._events if _fits(request, url, *item[:2])]:
            self._events.remove(item)
            item[2]()
        planned = self._find(request, url)
        if planned is None:
            reply, headers = self._reply(request, url)
            content = {} if reply.body is None else {'json': reply.body}
            return _response(request, reply.status, content, headers)
        failure = planned.failure
        if planned.is_applied:
            self._reply(request, url)
        else:
            self._note(request, url)
        if failure.exception is not None:
            raise failure.exception
        content = {'text': failure.text} if failure.body is None else {'json': failure.body}
        return _response(request, failure.status, content, dict(failure.headers))

    def _find(self, request: Any, url: str) -> _Planned | None:
        for planned in self._planned:
            if planned.times != 0 and _fits(request, url, planned.method, planned.url):
                if planned.skip:
                    planned.skip -= 1
                    continue
                if planned.times is not None:
                    planned.times -= 1
                return planned
        return None

    def _reply(self, request: Any, url: str) -> tuple[Reply, dict[str, str]]:
        if url == KEYSTONE and request.method == 'GET':
            return Reply(200, fake_keystone.version(KEYSTONE)), {}
        if url == f'{KEYSTONE}/auth/tokens' and request.method == 'POST':
            self.tokens += 1
            user = _user(request)
            return Reply(201, self._token(user)), {'X-Subject-Token': user}
        kind = url.removeprefix(f'{KEYSTONE}/')
        if kind in ('projects', 'users') and self.projects is not None:
            name = _query(request)['name']
            self.looked_up.append(name)
            return fake_keystone.listed(self._user, kind, name, self.projects), {}
        if url.startswith(NOVA) and 'compute' in self._services:
            self.discoveries += url in (NOVA, f'{NOVA}/')
            try:
                return self._nova(request, url), {}
            except NoRoute:
                pass
        if url.startswith(PLACEMENT) and 'placement' in self._services:
            path, asked = url.removeprefix(PLACEMENT) or '/', _microversion(request)
            query = parse_qsl(urlsplit(request.url).query)
            user = request.headers.get('X-Auth-Token', 'nobody')
            return self.placement.send(user, path, asked, query), {}
        if url.startswith(GLANCE) and self.glance is not None:
            return self.glance.send(GLANCE, url.removeprefix(GLANCE), _query(request)), {}
        self.unmatched.append(f'{request.method} {request.url}')
        raise requests_mock.NoMockAddress(request)

    def _nova(self, request: Any, url: str) -> Reply:
        user = request.headers.get('X-Auth-Token', 'nobody')
        path = url.removeprefix(NOVA)
        for pattern, reply in self._answers:
            if request.method == 'GET' and re.fullmatch(pattern, path):
                self._note(request, url)
                body = reply(_query(request))
                kind = 'itemNotFound' if body == 404 else 'forbidden'
                is_error = isinstance(body, int)
                error = {kind: {'code': body, 'message': 'no'}}
                return Reply(body, error) if is_error else Reply(200, body)
        return self.nova.send(
            user if user in ('admin', 'demo') else 'nobody',
            request.method,
            url.removeprefix(NOVA) or '/',
            _microversion(request),
            _query(request),
            request.json() if request.body else None,
        )

    def _note(self, request: Any, url: str) -> None:
        """Record a request that fails before Nova gets it."""
        path = url.removeprefix(NOVA) or '/'
        if url.startswith(NOVA) and path != '/':
            body = request.json() if request.body else None
            self.nova.note(request.method, path, _microversion(request), _query(request), body)

    def _token(self, user: str) -> dict[str, Any]:
        known = {'compute': NOVA, 'identity': KEYSTONE}
        urls = {name: known.get(name, f'http://{name}.test') for name in self._services}
        return fake_keystone.token(user, urls)


def _fits(request: Any, url: str, method: str, pattern: str) -> bool:
    return request.method == method and re.search(f'{pattern}$', url) is not None


def to_json(value: Any) -> str:
    """Return any JSON value as text."""
    return json.dumps(value)


def _response(
    request: Any, status: int, content: dict[str, Any], headers: dict[str, str]
) -> requests.Response:
    kind = {'Content-Type': 'application/json'} if 'json' in content else {}
    response: requests.Response = requests_mock.create_response(
        request, status_code=status, headers={**kind, **headers}, **content
    )
    return response


def _user(request: Any) -> str:
    """Return the name of the user that authenticates."""
    return str(request.json()['auth']['identity']['password']['user']['name'])


def _microversion(request: Any) -> str | None:
    header = request.headers.get('OpenStack-API-Version')
    return None if header is None else str(header).rpartition(' ')[2]


def _query(request: Any) -> dict[str, str]:
    """Return the query of the URL, because requests-mock converts its own to lower case."""
    return query_of(parse_qsl(urlsplit(request.url).query, keep_blank_values=True))
