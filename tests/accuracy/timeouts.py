"""Tell a service that is too slow, on a machine with too much load, from a wrong answer.

Raises: NotInTime, for an answer that reports a time-out.
"""

from __future__ import annotations

import requests
from keystoneauth1.exceptions import ConnectTimeout

from tests.support.waiting import NotInTime

_TIMEOUTS = (NotInTime, TimeoutError, ConnectTimeout, requests.Timeout)
#: Parts of the messages of Nova, of this project's reads, and of a sandbox that starts.
_WORDS = (
    *('MessagingTimeout', 'Timed out waiting for a reply', 'database is locked'),
    *('no complete answer within', 'did not finish within', 'timed out', 'no progress for'),
)


def check(message: str) -> None:
    """Raise NotInTime for a message that reports a time-out."""
    if any(words in message for words in _WORDS):
        raise NotInTime(message)


def is_timeout(error: BaseException | None) -> bool:
    """Check whether an exception, or one that caused it, is a time-out."""
    if error is None:
        return False
    is_late = isinstance(error, _TIMEOUTS) or any(words in str(error) for words in _WORDS)
    return is_late or is_timeout(error.__cause__) or is_timeout(error.__context__)
