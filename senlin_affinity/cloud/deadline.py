"""A deadline for what a session of keystoneauth does: a log-in, a search for a service, a request.

A request's timeout counts from one byte to the next, so a server that sends one now and then is
waited for without end; and a thread of keystoneauth's that takes its lock twice waits for itself.
So a call runs in a thread of its own (a daemon, so that the process can end), which is left behind
when the deadline passes, or at Ctrl-C. That thread may hold the lock of the session's token for
ever, and may be about to send its request again: the session is given up, which sends nothing more,
whoever asks, and every later call on it fails at once.

Units: a timeout is in seconds, for the silence of a server; the deadline is three of them. A read
is sent twice at most, and a token may be renewed between.

Errors: GivenUp. What the call raises comes out as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import requests

from senlin_affinity.core.errors import CloudError

T = TypeVar('T')

#: Seconds that a server may be silent, where nobody says otherwise.
REQUEST_TIMEOUT = 60.0
#: A deadline is so many timeouts.
TIMEOUTS = 3


class GivenUp(CloudError):
    """Ended by us, where the libraries would go on, or wait for ever.

    ``is_uncertain`` is True where something was sent, or is not known not to have been.
    """


def within(timeout: float, call: Callable[[], T], session: Any = None) -> T:
    """What the call answers, or raises, within three timeouts.

    :param session: the session of keystoneauth that the call uses, if there is one yet.
    """
    if session is not None and isinstance(session.session, _Nowhere):
        raise GivenUp(f'the connection was given up: a request before had {session.session.why}')
    values: list[T] = []
    errors: list[BaseException] = []
    is_over = threading.Event()

    def work() -> None:
        try:
            values.append(call())
        except BaseException as error:  # noqa: BLE001 - the caller raises it again
            errors.append(error)
        finally:
            is_over.set()

    why = 'been interrupted'
    try:
        threading.Thread(target=work, name='senlin-affinity request', daemon=True).start()
        if not is_over.wait(TIMEOUTS * timeout):
            why = f'no complete answer within {TIMEOUTS * timeout:g} seconds'
            raise GivenUp(why, is_uncertain=True)
    except BaseException:
        if session is not None:
            session.session = _Nowhere(why)
        raise
    if not errors:
        return values[0]
    context = errors[0].__context__
    try:
        raise errors[0]
    finally:
        errors[0].__context__ = context  # not what the caller happens to be handling


class _Nowhere(requests.Session):
    """Takes the place of a session's connections: nothing more is sent."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def request(self, *_arguments: Any, **_more: Any) -> NoReturn:
        """Refuse a request."""
        raise requests.ConnectionError(self.why)
