"""The little of WSGI that the stubs need: read a request, answer with JSON, choose a service.

Shapes::

    Request.of(environ) -> Request('GET', ('v3', 'users'), {'name': 'demo'}, headers..., body=None)
    Response(200, {'users': []}) is called like any WSGI application
"""

from __future__ import annotations

import contextlib
import http
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True)
class Request:
    """What a stub looks at. ``body`` is None where there is none, or where it is no JSON."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    environ: Mapping[str, Any]
    body: Any = None

    @classmethod
    def of(cls, environ: dict[str, Any]) -> Request:
        """Read a request; its body is put back, so that another application can read it too."""
        length = int(environ.get('CONTENT_LENGTH') or 0)
        raw = environ['wsgi.input'].read(length) if length else b''
        environ['wsgi.input'] = io.BytesIO(raw)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        return cls(
            environ['REQUEST_METHOD'],
            tuple(part for part in environ['PATH_INFO'].split('/') if part),
            dict(parse_qsl(environ.get('QUERY_STRING', ''), keep_blank_values=True)),
            environ,
            body,
        )

    def header(self, name: str) -> str:
        """Give a header's value, the empty text where it is absent."""
        return str(self.environ.get('HTTP_' + name.upper().replace('-', '_'), ''))


@dataclass(frozen=True)
class Response:
    """An answer in JSON; a ``body`` of None is an empty one, bytes are sent as they are."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer, as a WSGI application."""
        data = b'' if self.body is None else json.dumps(self.body).encode()
        phrase = http.HTTPStatus(self.status).phrase
        headers = [('Content-Length', str(len(data))), *self.headers.items()]
        if self.body is not None:
            headers.append(('Content-Type', 'application/json'))
        start_response(f'{self.status} {phrase}', headers)
        return [data]


def not_found(request: Request) -> Response:
    """Answer to what a stub does not know."""
    return error(404, f'the sandbox has no {request.method} /{"/".join(request.path)}')


def error(status: int, message: str) -> Response:
    """Give an error the way Keystone and Glance write it."""
    title = http.HTTPStatus(status).phrase
    return Response(status, {'error': {'code': status, 'title': title, 'message': message}})


class Stub:
    """A small service of the sandbox: ``_answer`` turns a request into a response.

    One with a state of its own has a lock, which is held while it answers.
    """

    _lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request, as a WSGI application."""
        request = Request.of(environ)
        with self._lock:
            response = self._answer(request)
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        raise NotImplementedError


class Switchboard:
    """Sends a request to the application whose name is the first part of its path."""

    def __init__(self) -> None:
        self.applications: dict[str, Application] = {}

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer 503 while an application is still starting, so that clients try again."""
        name, _, rest = environ['PATH_INFO'].lstrip('/').partition('/')
        application = self.applications.get(name)
        if application is None:
            return error(503, f'the sandbox has no "{name}" (yet)')(environ, start_response)
        environ['SCRIPT_NAME'] = f'{environ.get("SCRIPT_NAME", "")}/{name}'
        environ['PATH_INFO'] = '/' + rest
        return application(environ, start_response)
