"""Provide the WSGI parts that the stubs need beside webob: JSON, dispatch, a server."""

from __future__ import annotations

import contextlib
import http
import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from wsgiref import simple_server

from webob import Request, Response
from webob.dec import wsgify

LOG = logging.getLogger(__name__)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def parts_of(request: Request) -> tuple[str, ...]:
    """Return the parts of the path below the service's prefix."""
    return tuple(part for part in request.path_info.split('/') if part)


def answer(status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response; None is an empty body."""
    response = Response(status=status, content_type='application/json', charset='UTF-8')
    response.headers.update(headers or {})
    if body is not None:
        response.json_body = body
    return response


def not_found(request: Request) -> Response:
    """Return a 404 for an unknown path."""
    return error(404, f'the sandbox has no {request.method} /{"/".join(parts_of(request))}')


def error(status: int, message: str) -> Response:
    """Return an error in the format of Keystone and Glance."""
    title = http.HTTPStatus(status).phrase
    return answer(status, {'error': {'code': status, 'title': title, 'message': message}})


class Stub:
    """A small service of the sandbox: ``_answer`` turns a request into a response.

    A stub with state has a lock, which is held during ``_answer``.
    """

    _lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()

    @wsgify
    def __call__(self, request: Request) -> Response:
        """Handle a request as a WSGI application."""
        with self._lock:
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        raise NotImplementedError


class Switchboard:
    """A WSGI application that dispatches by the first part of the path."""

    def __init__(self) -> None:
        self.applications: dict[str, Application] = {}

    @wsgify
    def __call__(self, request: Request) -> Response | Application:
        """Return the application; return 503 while it is starting, so that clients retry."""
        name = request.path_info_pop()
        unavailable = error(503, f'the sandbox has no "{name}" (yet)')
        return self.applications.get(name, unavailable)


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log at debug level only: the services log their own requests."""
        LOG.debug(format, *args)


def serve(listener: socket.socket, application: Application) -> None:
    """Serve an application on a listening socket, in daemon threads."""
    server = _Server(listener.getsockname(), _Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    # The server's own method queries the DNS for a name.
    server.server_name, server.server_port = listener.getsockname()
    server.setup_environ()
    server.set_app(application)
    threading.Thread(target=server.serve_forever, daemon=True, name='sandbox-http').start()
