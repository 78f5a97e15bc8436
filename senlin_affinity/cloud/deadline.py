"""Limit the time of what a keystoneauth session does: a login, a discovery, a request.

The timeout of a request counts from one byte to the next. So each connect, write and read of a
socket (``cloud.transport``) waits only for what remains of the call's time.

Units: a timeout is the seconds for which a server may be silent.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

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
