"""Limit the time of what a keystoneauth session does: a login, a discovery, a request.

The timeout of a request counts from one byte to the next, and a keystoneauth thread that takes its
lock twice waits for itself. So each call runs in a daemon thread, which may be abandoned, with the
session, whose lock it may hold.

Units: a timeout is the seconds for which a server may be silent.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, NoReturn, TypeVar

import requests

from senlin_affinity.model.errors import CloudError

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


def within(
    timeout: float, call: Callable[[], T], session: Any = None, *, is_write: bool = False
) -> T:
    """Return the result of ``call``, or raise its exception, within three timeouts.

    Raise GivenUp if that time or the operation's is over, for an abandoned session, and, with a
    session, instead of the errors that the libraries raise for a malformed response. A timeout or
    Ctrl-C abandons the session.

    :param session: the keystoneauth session of the call, if it exists already.
    :param is_write: ignore the end of the operation.
    """
    if session is not None and is_given_up(session):
        raise GivenUp(f'the connection was abandoned: an earlier request had {session.session.why}')
    seconds = TIMEOUTS * timeout if is_write else left(timeout)
    if seconds <= 0:
        raise GivenUp(f'the operation did not finish within {OPERATION} times the request timeout')
    context = contextvars.copy_context()
    future: futures.Future[T] = futures.Future()

    def work() -> None:
        try:
            future.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - the caller raises it again
            future.set_exception(error)

    why = 'been interrupted'
    try:
        threading.Thread(target=work, name='senlin-affinity request', daemon=True).start()
        if not futures.wait([future], seconds).done:
            why = f'no complete answer within {seconds:.3g} seconds'
            raise GivenUp(why, is_uncertain=True)
    except BaseException:
        if session is not None:
            session.session = _Nowhere(why)
        raise
    error = future.exception()
    if error is None:
        return future.result()
    if session is not None and _is_odd(error):
        raise GivenUp('an answer does not conform to the API', is_uncertain=True) from error
    cause = error.__context__
    try:
        raise error
    finally:
        error.__context__ = cause  # "raise" has replaced it


def _is_odd(error: BaseException) -> bool:
    is_value = isinstance(error, ValueError) and not isinstance(error, _UNSENT)
    return is_value or isinstance(error, _ODD)


def is_given_up(session: Any) -> bool:
    """Check whether the session was abandoned by :func:`within`."""
    return isinstance(session.session, _Nowhere)


class _Nowhere(requests.Session):
    """The HTTP session of an abandoned session."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def request(self, *_arguments: Any, **_more: Any) -> NoReturn:
        """Raise ConnectionError with that reason."""
        raise requests.ConnectionError(self.why)
