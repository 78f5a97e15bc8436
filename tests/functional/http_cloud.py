"""Serve a Keystone, a fake Nova and a fake Placement on a real socket.

A cloud of this kind measures the bytes of a response at sizes that no test can boot, such as ten
thousand hypervisors. It can also send a response byte by byte (``drip``), and respond with 401 to
the discovery of Keystone (``is_locked``).
"""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import re
import ssl
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from openstack.connection import Connection

from tests.recordings.exchanges import Reply
from tests.support import fake_keystone
from tests.support.fake_nova import FakeNova, query_of
from tests.support.fake_placement import FakePlacement

#: The key and certificate of 127.0.0.1, valid until 2126.
CERTIFICATE = Path(__file__).with_name('localhost.pem')
#: Seconds between two bytes, shorter than any timeout.
_BETWEEN = 0.02


class HttpCloud:
    """A cloud behind a socket; a context manager.

    :param drip: a pattern of the requests ("GET /identity/v3") whose response is sent byte by byte,
        until ``flow`` is set.
    :param part: the part of such a response that is endless: head or body.
    :param is_locked: whether the discovery of Keystone needs a token.
    :param is_tls: whether the socket has TLS, with the certificate ``localhost.pem``.
    :param is_packed: whether bodies are compressed.
    :param user: admin, or demo, a member of one project.

    ``refused`` is a request that gets a 401. ``bytes_sent`` counts all bodies except Keystone's.
    """

    def __init__(
        self,
        nova: FakeNova,
        *,
        drip: str | None = None,
        part: str = 'body',
        is_locked: bool = False,
        is_tls: bool = False,
        is_packed: bool = False,
        user: str = 'admin',
    ) -> None:
        self.nova, self.user = nova, user
        self.drip, self.part, self.is_locked = drip, part, is_locked
        self.is_tls, self.is_packed = is_tls, is_packed
        self.flow = threading.Event()
        self.dripped = threading.Event()
        self.asked: list[str] = []
        self.refused: str | None = None
        self.placement = FakePlacement.of(nova)
        self.bytes_sent = 0
        self._server = _Server(('127.0.0.1', 0), _handler(self))
        if is_tls:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(CERTIFICATE)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables with which a command connects."""
        return {
            'OS_AUTH_URL': f'{self.url}/identity/v3',
            'OS_USERNAME': self.user,
            'OS_PASSWORD': 'secret',
            'OS_PROJECT_NAME': self.user,
            'OS_USER_DOMAIN_ID': 'default',
            'OS_PROJECT_DOMAIN_ID': 'default',
            'OS_REGION_NAME': fake_keystone.REGION,
            'NO_PROXY': '127.0.0.1',
        }

    def __enter__(self) -> HttpCloud:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.flow.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        scheme = 'https' if self.is_tls else 'http'
        return f'{scheme}://127.0.0.1:{self._server.server_address[1]}'

    def connection(self) -> Connection:
        """Return a new connection as an administrator."""
        return fake_keystone.connect(f'{self.url}/identity/v3', cacert=str(CERTIFICATE))

    def data(self, method: str, target: str, headers: Any, body: Any) -> tuple[int, bytes]:
        """Return the status and the encoded body of the response."""
        reply = self.answer(method, target, headers, body)
        return reply.status, b'' if reply.body is None else json.dumps(reply.body).encode()

    def answer(self, method: str, target: str, headers: Any, body: Any) -> Reply:
        """Return the response of Keystone, Nova or Placement."""
        parts = urlsplit(target)
        service, _, path = parts.path.lstrip('/').partition('/')
        if service == 'identity':
            if method == 'POST':
                urls = {'compute': f'{self.url}/compute/v2.1', 'placement': f'{self.url}/placement'}
                return Reply(201, fake_keystone.token(self.user, urls))
            if self.is_locked:
                return Reply(401, fake_keystone.UNAUTHORIZED)
            return Reply(200, fake_keystone.version(f'{self.url}/identity/v3'))
        microversion = headers.get('OpenStack-API-Version')
        microversion = microversion and microversion.partition(' ')[2]
        user, query = headers.get('X-Auth-Token', 'nobody'), parse_qsl(parts.query)
        if service == 'placement':
            return self.placement.send(user, f'/{path}', microversion, query)
        path = path.removeprefix('v2.1') or '/'
        return self.nova.send(user, method, path, microversion, query_of(query), body)


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *request: Any) -> None:
        """Ignore clients that close the connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*request)


def _handler(cloud: HttpCloud) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        # A small answer must not wait for the client's acknowledgement.
        disable_nagle_algorithm = True
        wbufsize = -1

        def _serve(self) -> None:
            length = int(self.headers.get('Content-Length') or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            asked = f'{self.command} {self.path.partition("?")[0]}'
            cloud.asked.append(asked)
            status, data = 401, b'{}'
            if asked != cloud.refused:
                status, data = cloud.data(self.command, self.path, self.headers, body)
            if not self.path.startswith('/identity'):
                cloud.bytes_sent += len(data)
            data = gzip.compress(data) if cloud.is_packed else data
            drips = cloud.drip is not None and re.fullmatch(cloud.drip, asked)
            self.send_response(status)
            if drips and cloud.part == 'head':
                self.flush_headers()
                self.wfile.write(b'X-Drip: ')
                self._drip(b'x')
                self.wfile.write(b'\r\n')
            self.send_header('Content-Type', 'application/json')
            if cloud.is_packed:
                self.send_header('Content-Encoding', 'gzip')
            if drips and cloud.part == 'body':
                self.send_header('Transfer-Encoding', 'chunked')
            else:
                self.send_header('Content-Length', str(len(data)))
            self.send_header('X-Subject-Token', cloud.user)
            self.end_headers()
            if drips and cloud.part == 'body':
                self._drip(b'1\r\n \r\n')
                data = b'%x\r\n%s\r\n0\r\n\r\n' % (len(data), data)
            self.wfile.write(data)

        def _drip(self, drop: bytes) -> None:
            """Send drops until ``flow`` is set or the client disconnects."""
            with contextlib.suppress(OSError):
                while not cloud.flow.wait(_BETWEEN):
                    self.wfile.write(drop)
                    self.wfile.flush()
                    cloud.dripped.set()

        do_GET = do_POST = do_DELETE = _serve

        def log_message(self, *_words: object) -> None:
            pass

    return Handler
