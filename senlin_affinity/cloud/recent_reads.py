"""Keep what changes rarely for a minute, to support acceptances of scale-outs.

The aggregates, and the ids of flavors that are given by name, are the largest responses. A
rejection reads them again. The key of an owner's fact contains the owner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar('T')
#: The age at which a value is read again.
OLDEST = 60.0


class RecentReads:
    """Values that were read less than a minute ago. Threads may share it.

    :param clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: dict[Hashable, tuple[float, Any]] = {}

    def get(self, key: Hashable) -> Any | None:
        """Return the value under a key; None if it is missing, or 60 seconds old."""
        kept_at, value = self._values.get(key, (0.0, None))
        return value if value is not None and self._clock() - kept_at < OLDEST else None

    def keep(self, key: Hashable, value: T) -> T:
        """Keep a value for 60 seconds, and return it."""
        now = self._clock()
        # A copy, because another thread may change the dict during an iteration.
        recent = {
            each: kept for each, kept in self._values.copy().items() if now - kept[0] < OLDEST
        }
        self._values = {**recent, key: (now, value)}
        return value
