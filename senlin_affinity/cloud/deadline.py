"""A deadline for what a session of keystoneauth does: a log-in, a search for a service, a request.

A request's timeout counts from one byte to the next, so a server that sends one now and then is
waited for without end; and a thread of keystoneauth's that takes its lock twice waits for itself.
So a call runs in a thread of its own (a daemon, so that the process can end), which is left behind
when the deadline passes, or at Ctrl-C. That thread may hold the lock of the session's token for
ever, and may be about to send its request again: the session is given up, which sends nothing more,
whoever asks, and every later call on it fails at once.

A whole :func:`operation` (the look of a hook, an attach) has a deadline, too, which its calls
share, but for those that write: what is half done must be ended.

Units: a timeout is in seconds, for the silence of a server; the deadline of a call is three of
them, that of an operation five. A token may be renewed within a call.

Errors: GivenUp, also for what the libraries raise over JSON of another shape than a version's, a
token's or a catalogue's. What else the call raises comes out as it is.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import requests

from senlin_affinity.model.errors import CloudError

T = TypeVar('T')

#: Seconds that a server may be silent, where nobody says otherwise.
REQUEST_TIMEOUT = 60.0
#: The deadline of a call is so many timeouts, and that of an operation.
TIMEOUTS = 3
OPERATION = 5
#: What the libraries make of an answer that is not what an API says.
_ODD = (AttributeError, LookupError, RecursionError, TypeError)
#: When the operation is over, by the clock of ``time.monotonic``; None: there is none.
_ENDS: contextvars.ContextVar[float | None] = contextvars.ContextVar('ends', default=None)


class GivenUp(CloudError):
    """Ended by us, where the libraries would go on, or wait for ever.

    ``is_uncertain`` is True where something was sent, or is not known not to have been.
    """


@contextlib.contextmanager
def operation(timeout: float) -> Iterator[None]:
    """What is asked in here ends within five timeouts, or with the operation that this is in."""
    known, ends = _ENDS.get(), time.monotonic() + OPERATION * timeout
    token = _ENDS.set(ends if known is None else min(known, ends))
    try:
        yield
    finally:
        _ENDS.reset(token)


def left(timeout: float) -> float:
    """Seconds that a call may take that begins now."""
    ends = _ENDS.get()
    return TIMEOUTS * timeout if ends is None else min(TIMEOUTS * timeout, ends - time.monotonic())


def within(
    timeout: float, call: Callable[[], T], session: Any = None, *, is_write: bool = False
) -> T:
    """What the call answers, or raises, within three timeouts, and the operation's deadline.

    :param session: the session of keystoneauth that the call uses, if there is one yet.
    :param is_write: the operation's deadline does not count.
    """
    if session is not None and is_given_up(session):
        raise GivenUp(f'the connection was given up: a request before had {session.session.why}')
    seconds = TIMEOUTS * timeout if is_write else left(timeout)
    if seconds <= 0:
        raise GivenUp(f'the operation is over its deadline of {OPERATION} timeouts')
    context = contextvars.copy_context()
    values: list[T] = []
    errors: list[BaseException] = []
    is_over = threading.Event()

    def work() -> None:
        try:
            values.append(context.run(call))
        except BaseException as error:  # noqa: BLE001 - the caller raises it again
            errors.append(error)
        finally:
            is_over.set()

    why = 'been interrupted'
    try:
        threading.Thread(target=work, name='senlin-affinity request', daemon=True).start()
        if not is_over.wait(seconds):
            why = f'no complete answer within {seconds:.3g} seconds'
            raise GivenUp(why, is_uncertain=True)
    except BaseException:
        if session is not None:
            session.session = _Nowhere(why)
        raise
    if not errors:
        return values[0]
    if session is not None and isinstance(errors[0], _ODD):
        raise GivenUp('an answer is not what the API says', is_uncertain=True) from errors[0]
    cause = errors[0].__context__
    try:
        raise errors[0]
    finally:
        errors[0].__context__ = cause  # not what the caller happens to be handling


def is_given_up(session: Any) -> bool:
    """Will a session send nothing more?"""
    return isinstance(session.session, _Nowhere)


class _Nowhere(requests.Session):
    """Takes the place of a session's connections: nothing more is sent."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def request(self, *_arguments: Any, **_more: Any) -> NoReturn:
        """Refuse a request."""
        raise requests.ConnectionError(self.why)
