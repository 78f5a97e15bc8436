"""Limit the time and size of responses, and limit a read-only connection to requests that read.

All responses of an operation together are limited, too: pages without an end fill the memory.

A wrapper of each HTTP adapter of a session stops the read of a body as soon as it is too large. Its
connections wait for the server only until the deadline of the call (``cloud.deadline``), at each
read of the socket.

If ``GET auth_url`` answers 401, keystoneauth repeats the request with the token that it is about to
get, and waits forever for a lock that it holds itself (``get_access`` of
``keystoneauth1/identity/base.py``). The wrapper raises GivenUp instead of returning this 401.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.utils import prepend_scheme_if_needed, select_proxy

from senlin_affinity.cloud.deadline import GivenUp, receive, remaining
from senlin_affinity.model.errors import TooLarge

_MEBIBYTE = 1 << 20
#: The default limit: the size of 30,000 hosts with traits.
LARGEST = 128
#: The limit of an operation, in largest responses.
RESPONSES = 4
_PIECE = 1 << 14
_DIGITS = 20
_NO_TOKEN = requests.codes.unauthorized


def bound(session: Any, largest: int = LARGEST, *, is_read_only: bool = False) -> None:
    """Limit the requests of a keystoneauth session; a second call changes nothing.

    Requests may raise AnswerTooLarge.

    :param largest: in MiB, after decompression.
    :param is_read_only: raise GivenUp for requests other than GET and a login.
    """
    adapters = session.session.adapters
    for prefix, adapter in [*adapters.items()]:
        if not isinstance(adapter, _Bounded):
            auth_url = getattr(session.auth, 'auth_url', None)
            bounded = _Bounded(adapter, largest * _MEBIBYTE, is_read_only, auth_url)
            session.session.mount(prefix, bounded)


class AnswerTooLarge(GivenUp, TooLarge):
    """A response that exceeds the limit; its body is not read completely."""


class _Bounded(BaseAdapter):
    """An HTTP adapter that limits the responses of another one, and rejects writes if it should."""

    def __init__(
        self, inner: BaseAdapter, largest: int, is_read_only: bool, auth_url: str | None
    ) -> None:
        super().__init__()
        self._inner = inner
        self._largest = largest
        self._is_read_only = is_read_only
        self._auth_url = auth_url

    def send(  # type: ignore[override]
        self, request: requests.PreparedRequest, stream: bool = False, **more: Any
    ) -> requests.Response:
        """Send the request, and limit the body, unless the caller reads it as a stream."""
        url, path = str(request.url), request.path_url.partition('?')[0]
        is_login = request.method == 'POST' and path.endswith('/v3/auth/tokens')
        if self._is_read_only and request.method != 'GET' and not is_login:
            raise GivenUp(f'{request.method} is rejected: this connection is read-only')
        if isinstance(self._inner, HTTPAdapter):
            _watch(self._inner, url, more.get('proxies'))
        is_login = 'X-Auth-Token' not in request.headers
        is_login = is_login and self._auth_url is not None and url.startswith(self._auth_url)
        try:
            response = self._inner.send(request, stream=True, **more)
        except requests.Timeout as error:
            if is_login:  # keystoneauth and openstacksdk would try other URLs
                raise GivenUp(f'Request to {url} timed out') from error
            raise
        if is_login and request.method == 'GET' and response.status_code == _NO_TOKEN:
            raise GivenUp('the service requires a token to issue a token', _NO_TOKEN)
        if not stream:
            response.raw = _Body(response, self._largest)
        return response

    def close(self) -> None:
        """Close the inner adapter."""
        self._inner.close()


class _Body:
    """The body of a response (``Response.raw``), of a limited size."""

    def __init__(self, response: requests.Response, largest: int) -> None:
        self._response, self._raw, self._largest = response, response.raw, largest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, _size: int, **more: Any) -> Iterator[bytes]:
        """Yield the body in pieces; raise AnswerTooLarge as soon as it is known to be too large."""
        total, size = 0, _announced(self._response)
        if size > self._largest:
            raise self._too_large(f' ({-(-size // _MEBIBYTE)} MiB)')
        for piece in self._raw.stream(_PIECE, **more):
            total += len(piece)
            if total > self._largest:
                raise self._too_large()
            if receive(len(piece)) > RESPONSES * self._largest:
                raise self._too_large(are_many=True)
            yield piece

    def _too_large(self, size: str = '', *, are_many: bool = False) -> AnswerTooLarge:
        """Close the response, and return the error; ``size`` is " (300 MiB)" if announced."""
        self._response.close()
        most = self._largest // _MEBIBYTE
        what = f'answer is larger than {most}'
        if are_many:
            what = f'answers of the operation are together larger than {RESPONSES * most}'
        return AnswerTooLarge(
            f'the {what} MiB{size}: raise '
            'max_answer_size in [affinity], or --max-answer-size of the command',
            self._response.status_code,
            is_uncertain=True,
        )


class _Response(http.client.HTTPResponse):
    """A response, head and body, each read of which waits only until the deadline."""

    def __init__(self, sock: Any, *arguments: Any, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        stream: Any = self.fp
        silence, readinto = sock.gettimeout(), stream.raw.readinto

        def read(buffer: Any) -> Any:
            sock.settimeout(remaining(silence))
            try:
                return readinto(buffer)
            except TimeoutError:
                remaining(None)
                raise

        stream.raw.readinto = read


def _limited(pool: Any) -> Any:
    """Return the class of a pool of urllib3 whose connections wait only until the deadline."""

    class Limited(pool.ConnectionCls):
        response_class = _Response
        timeout: Any

        def connect(self) -> None:
            self.timeout = remaining(self.timeout)
            super().connect()

        def send(self, data: Any) -> None:
            if self.sock is not None:
                self.sock.settimeout(remaining(self.timeout))
            super().send(data)

    return type(pool.__name__, (pool,), {'ConnectionCls': Limited})


def _watch(adapter: HTTPAdapter, url: str, proxies: Any) -> None:
    """Limit the connections that the adapter makes for a URL from now on."""
    manager, proxy = adapter.poolmanager, select_proxy(url, proxies)
    if proxy:
        manager = adapter.proxy_manager_for(prepend_scheme_if_needed(proxy, 'http'))
    pools = manager.pool_classes_by_scheme
    if pools['http'].ConnectionCls.response_class is not _Response:
        manager.pool_classes_by_scheme = {key: _limited(pool) for key, pool in pools.items()}


def _announced(response: requests.Response) -> int:
    """Return the size of the body in bytes; 0 if it is compressed, or not announced."""
    length = response.headers.get('Content-Length', '')
    is_plain = 'Content-Encoding' not in response.headers
    is_number = length.isascii() and length.isdigit() and len(length) < _DIGITS
    return int(length) if is_plain and is_number else 0
