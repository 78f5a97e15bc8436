"""Limit the time and size of responses, and limit a read-only connection to requests that read.

All responses of an operation together are limited, too: pages without an end fill the memory.

A wrapper of each HTTP adapter of a session stops the read of a body as soon as it is too large. Its
connections wait for the server only until the deadline of the call, at each connect, write and read
of the socket: the timeout of a request counts from one byte to the next. A call is what a
keystoneauth session does: a login, a discovery, a request.

Units: a timeout is the seconds for which a server may be silent.

If ``GET auth_url`` answers 401, keystoneauth repeats the request with the token that it is about to
get, and waits forever for a lock that it holds itself (``get_access`` of
``keystoneauth1/identity/base.py``). The wrapper raises GivenUp instead of returning this 401.
"""

from __future__ import annotations

import contextlib
import contextvars
import http.client
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.utils import prepend_scheme_if_needed, select_proxy

from senlin_affinity.model.errors import CloudError, TooLarge
from senlin_affinity.model.terminal_text import escaped

T = TypeVar('T')

#: The default timeout, in seconds.
REQUEST_TIMEOUT = 60.0
#: The deadlines of a call and of an operation, in timeouts.
TIMEOUTS = 3
OPERATION = 5
#: What the libraries raise for a response of an unexpected shape, or with an invalid value.
_ODD = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError)
#: The ValueErrors that concern the request.
_UNSENT = (requests.RequestException, UnicodeEncodeError)


class GivenUp(CloudError):
    """The error of a request that this package prevents or ends, where the libraries would not.

    ``is_uncertain``: a request was, or may have been, sent.
    """


class _Operation:
    """The end of an operation, and the bytes that it has received; all its threads share it."""

    def __init__(self, seconds: float, outer: _Operation | None) -> None:
        self._seconds, self._outer, self._received = seconds, outer, 0
        self.renew()

    def renew(self) -> None:
        """Begin the time of the operation again."""
        self._ends = time.monotonic() + self._seconds

    def left(self) -> float:
        """Return the seconds until the end of the operation, or of an enclosing one."""
        own = self._ends - time.monotonic()
        return own if self._outer is None else min(own, self._outer.left())

    def receive(self, size: int) -> int:
        """Add received bytes to this and the enclosing operations; return the largest total."""
        self._received += size
        outer = 0 if self._outer is None else self._outer.receive(size)
        return max(outer, self._received)


#: The current operation; None outside of operations.
_CURRENT: contextvars.ContextVar[_Operation | None] = contextvars.ContextVar(
    'operation', default=None
)
#: The length and the end of the current call; None outside of calls.
_CALL: contextvars.ContextVar[tuple[float, float] | None] = contextvars.ContextVar(
    'call', default=None
)


@contextlib.contextmanager
def operation(timeout: float) -> Iterator[None]:
    """End all calls in the block, except writes, within five timeouts.

    Earlier, if an enclosing operation ends.
    """
    token = _CURRENT.set(_Operation(OPERATION * timeout, _CURRENT.get()))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def renew() -> None:
    """Let the deadline of the operation count from now: a long list makes progress."""
    current = _CURRENT.get()
    if current is not None:
        current.renew()


def receive(size: int) -> int:
    """Add bytes to those that the operation has received; return the total."""
    current = _CURRENT.get()
    return size if current is None else current.receive(size)


def left(timeout: float) -> float:
    """Return the seconds that a call may take: ``3 * timeout``, or until the end of the operation.

    0 or negative after it.
    """
    current = _CURRENT.get()
    most = TIMEOUTS * timeout
    return most if current is None else min(most, current.left())


def within(timeout: float, call: Callable[[], T], *, is_write: bool = False) -> T:
    """Return the result of ``call``, whose requests end within three timeouts (:func:`remaining`).

    Raise GivenUp if the time of the operation is over, and instead of the errors that the libraries
    raise for a malformed response.

    :param is_write: ignore the end of the operation.
    """
    seconds = TIMEOUTS * timeout if is_write else left(timeout)
    if seconds <= 0:
        raise GivenUp(f'the operation did not finish within {OPERATION} times the request timeout')
    token = _CALL.set((seconds, time.monotonic() + seconds))
    try:
        return call()
    except Exception as error:
        if _is_odd(error):
            raise GivenUp('an answer does not conform to the API', is_uncertain=True) from error
        raise
    finally:
        _CALL.reset(token)


def remaining(timeout: float | None) -> float | None:
    """Return the seconds to wait for the server: ``timeout``, or less at the end of the call.

    Raise GivenUp after the end. None: forever, outside of calls.
    """
    call = _CALL.get()
    if call is None:
        return timeout
    seconds, ends = call
    rest = ends - time.monotonic()
    if rest <= 0:
        raise GivenUp(f'no complete answer within {seconds:.3g} seconds', is_uncertain=True)
    return rest if timeout is None else min(timeout, rest)


def _is_odd(error: Exception) -> bool:
    is_value = isinstance(error, ValueError) and not isinstance(error, _UNSENT)
    return is_value or isinstance(error, _ODD)


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


_LONGEST = 300


def error_text(error: BaseException) -> str:
    """Return the error in one line; the message of an OSError that caused it comes last.

    "Unable to connect to http://[::1]:9: Connection refused". The name of the type if it has no
    text.
    """
    text = str(error)
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            below = str(error.__cause__) if error.__cause__ is not None else ''
            head = text.removesuffix(below).rstrip(': ') if below else ''
            text = f'{head}: {cause.strerror}' if head else cause.strerror
            break
    return one_line(text) or type(error).__name__


def one_line(text: str) -> str:
    """Return the text in one line, with control characters escaped.

    Beyond 300 characters, it is cut at a space, and ends in "...".
    """
    text = escaped(' '.join(text.split()))
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rsplit(' ', 1)[0] + '...'


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then its causes and theirs."""
    waiting, known = [error], set()
    while waiting:
        found = waiting.pop(0)
        if not isinstance(found, BaseException) or id(found) in known:
            continue
        known.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__, *found.args]
