"""A cloud behind a real socket, in which one request fails once or twice.

Requests are counted by :func:`step_of`, so that the cases follow the code that sends them: a run
without a fault finds the steps, and each other run lets one of them fail.

Example of a step: ``GET /compute/v2.1/os-server-groups?limit #2``, the second such request.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import urllib3.connectionpool
import urllib3.util.connection

from senlin_affinity.groups.attachment import GROUP_NAME_PREFIX
from tests.functional import http_cloud
from tests.functional.http_cloud import HttpCloud
from tests.recordings.exchanges import Reply
from tests.reliability.faults import CUT, DRIPS, RESET, SILENT, UNREACHABLE, Fault
from tests.support import fake_keystone
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeNova

_ID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
#: The id of an object that does not exist.
_OTHER = '0f0f0f0f-0000-4000-8000-000000000001'
#: Groups that exist before, and are not bound to a cluster; the first is inherited by its name.
FOREIGN = ('web', 'other', 'senlin-affinity-of-nobody')
_GROUP = re.compile(r'/compute/v2\.1/os-server-groups/([^/?]+)$')
#: Seconds between two drops of a body.
_BETWEEN = 0.02


def step_of(method: str, target: str) -> str:
    """Return the method, the path and the parameter names of a request, without ids and values."""
    parts = urlsplit(target)
    keys = '&'.join(sorted({key for key, _value in parse_qsl(parts.query)}))
    path = _ID.sub('{id}', parts.path.rstrip('/'))
    return f'{method} {path}{"?" if keys else ""}{keys}'


class FaultyCloud(HttpCloud):
    """The cloud. ``steps`` counts the requests since the last :meth:`begin`.

    ``taken`` are the groups that a user creates meanwhile, ``gone`` those that are deleted.

    ``clustering`` answers for Senlin: a function of a path and a query.
    """

    def __init__(self, nova: FakeNova) -> None:
        super().__init__(nova)
        self.steps: Counter[str] = Counter()
        self.gone: set[str] = set()
        self.taken: set[str] = set()
        self.hits = 0
        self.clustering: Callable[[str, Mapping[str, list[str]]], Reply] | None = None
        self._glance = FakeGlance(FakeImage('cirros'))
        self._lock = threading.Lock()
        self._fault: tuple[str, range, Fault] | None = None
        self._server.RequestHandlerClass = _handler(self)
        nova.url = f'{self.url}/compute/v2.1'

    def answer(self, method: str, target: str, headers: Any, body: Any) -> Reply:
        """Return the response of the cloud, including Glance."""
        parts = urlsplit(target)
        service, _, path = parts.path.lstrip('/').partition('/')
        if service == 'image':
            return self._glance.send(f'{self.url}/image', f'/{path}', dict(parse_qsl(parts.query)))
        if service == 'clustering' and self.clustering is not None:
            return self.clustering(path, parse_qs(parts.query))
        if service == 'identity' and method == 'POST':
            services = {'compute': 'compute/v2.1', 'placement': 'placement', 'image': 'image'}
            if self.clustering is not None:
                services['clustering'] = 'clustering/v1'
            urls = {name: f'{self.url}/{path}' for name, path in services.items()}
            return Reply(201, fake_keystone.token('admin', urls))
        return super().answer(method, target, headers, body)

    def begin(self, step: str = '', at: range = range(0), fault: Fault | None = None) -> None:
        """Start counting; the requests with the numbers ``at`` (from 1 on) of the step fail."""
        with self._lock:
            self.steps.clear()
            self.hits = 0
            self._fault = None if fault is None else (step, at, fault)

    def meets(self, method: str, target: str, *, is_connecting: bool = False) -> Fault | None:
        """Return the fault of a request, and count the request unless it only connects."""
        step = step_of(method, target)
        with self._lock:
            self.steps[step] += not is_connecting
            times = self.steps[step] + is_connecting
            planned = self._fault
            if planned is None or planned[0] != step or times not in planned[1]:
                return None
            if is_connecting != (planned[2].wire == UNREACHABLE):
                return None
            self.hits += 1
            self.steps[step] += is_connecting
            return planned[2]

    def mistaken(self, data: bytes) -> bytes:
        """Return the response with another id; a list contains its first object twice.

        The other server group is the last one that is bound to no cluster.
        """
        body = json.loads(data)
        for key, value in ('', body), *body.items():
            if isinstance(value, list):
                value[:0] = value[:1]
            elif isinstance(value, dict) and 'id' in value:
                groups = [each for each in self.nova.groups if each['name'] == FOREIGN[-1]]
                other = groups[0] if key == 'server_group' else {'id': _OTHER, 'name': 'another'}
                value |= {'id': other['id'], 'name': other['name']}
        return json.dumps(body).encode()

    def take_away(self, target: str) -> None:
        """Delete the object for which the service returned 404."""
        found = _GROUP.search(target)
        if found is not None:
            self.gone.add(found[1])
            self.nova.groups[:] = [item for item in self.nova.groups if item['id'] != found[1]]

    def take_name(self, wanted: Mapping[str, Any]) -> None:
        """Create a user's group with the name of the wanted one, unless it names a cluster."""
        if not wanted['name'].startswith(GROUP_NAME_PREFIX):
            rules = wanted.get('rules', {})
            self.taken.add(self.nova.add_group(wanted['name'], wanted['policy'], rules=rules))


def _handler(cloud: FaultyCloud) -> type[http_cloud.http.server.BaseHTTPRequestHandler]:
    class Handler(http_cloud._handler(cloud)):  # type: ignore[misc]
        def _serve(self) -> None:
            length = int(self.headers.get('Content-Length') or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            fault = cloud.meets(self.command, self.path)
            service = self.path.lstrip('/').partition('/')[0]
            status, data, more = 200, b'', {}
            is_mistaken = fault is not None and fault.is_mistaken
            if fault is None or fault.is_applied or is_mistaken or fault.wire in (CUT, DRIPS):
                status, data = cloud.data(self.command, self.path, self.headers, body)
            if is_mistaken and status < 300:
                data = cloud.mistaken(data)
            if fault is not None and fault.takes_away:
                cloud.take_away(self.path)
            if fault is not None and fault.is_taken:
                cloud.take_name(body['server_group'])
            if fault is not None and fault.wire == 'answers' and not is_mistaken:
                status, data, more = fault.status, fault.answer(service), dict(fault.headers)
            self._send(status, data, more, fault.wire if fault else '')

        def _send(self, status: int, data: bytes, more: dict[str, str], wire: str) -> None:
            # Each request opens a connection, which may then fail.
            self.close_connection = True
            if wire == RESET:
                linger = struct.pack('ii', 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return
            if wire == SILENT:
                self._wait()
                return
            self.send_response(status)
            headers = {'Content-Type': 'application/json', 'X-Subject-Token': 'admin', **more}
            headers['Connection'] = 'close'
            if wire == DRIPS:
                headers['Transfer-Encoding'] = 'chunked'
            else:
                headers['Content-Length'] = str(len(data) + 100 * (wire == CUT))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self._drip(b'1\r\n \r\n') if wire == DRIPS else self.wfile.write(data)

        def _wait(self) -> None:
            """Wait until the client disconnects, or the cloud stops."""
            self.connection.setblocking(False)
            while not cloud.flow.wait(_BETWEEN):
                with contextlib.suppress(BlockingIOError):
                    if not self.connection.recv(1):
                        return

        do_GET = do_POST = do_DELETE = _serve

    return Handler


@contextlib.contextmanager
def unreachable(cloud: FaultyCloud) -> Iterator[None]:
    """Connect the requests that must time out to a port that accepts no connection.

    Only the client knows which request a connection is for.
    """
    asked = threading.local()
    request = urllib3.connectionpool.HTTPConnectionPool._make_request
    connect = urllib3.util.connection.create_connection

    def make_request(pool: Any, connection: Any, method: str, url: str, *more: Any, **rest: Any):
        asked.now = (method, url)
        return request(pool, connection, method, url, *more, **rest)

    def create_connection(address: Any, *more: Any, **rest: Any) -> socket.socket:
        if cloud.meets(*asked.now, is_connecting=True):
            address = full.getsockname()
        return connect(address, *more, **rest)

    with socket.create_server(('127.0.0.1', 0), backlog=0) as full, contextlib.ExitStack() as held:
        for _ in range(4):  # fill the queue; later connections time out
            filler = held.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        urllib3.connectionpool.HTTPConnectionPool._make_request = make_request
        urllib3.util.connection.create_connection = create_connection
        try:
            yield
        finally:
            urllib3.connectionpool.HTTPConnectionPool._make_request = request
            urllib3.util.connection.create_connection = connect
