"""The connections of a cluster's owner and of the operator, as types that cannot be confused.

The owner's client fetches everything that the owner names, and only this client writes. The
operator's client fetches what belongs to everybody: an object that an owner names could be another
project's.

Both keep what changes rarely (the aggregates, and the ids of flavors that are given by name) for a
minute, to support acceptances of scale-outs; a rejection reads it again. The key of a value that an
owner reads contains the owner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

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


#: The responses to earlier reads, by request; new ones are added unless it is read-only.
Responses: TypeAlias = Mapping[Hashable, Any]


@dataclass(frozen=True)
class OwnerClient:
    """The owner's ``openstack.connection.Connection``. ``responses`` None: send each read.

    ``timeout`` is the seconds for which a service may be silent; None: that of the connection,
    else 60.
    """

    connection: Any
    timeout: float | None = None
    responses: Responses | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class OperatorClient:
    """The ``openstack.connection.Connection`` that sees all hosts. It only reads.

    ``timeout`` is that of :class:`OwnerClient`.
    """

    connection: Any
    timeout: float | None = None
    responses: Responses | None = field(default=None, compare=False, repr=False)
    recent: RecentReads | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Clients:
    """The two clients of one operation."""

    owner: OwnerClient
    operator: OperatorClient

    @property
    def has_operator(self) -> bool:
        """Return whether the operator has another connection (object)."""
        return self.owner.connection is not self.operator.connection

    def remembering(self) -> Clients:
        """Return clients that answer a repeated GET from memory, and so send none twice."""
        return Clients(replace(self.owner, responses={}), replace(self.operator, responses={}))

    def recalling(self) -> Clients:
        """Return clients that answer from the same memory, if any, and add nothing to it."""
        owner, operator = (
            MappingProxyType(each.responses or {}) for each in (self.owner, self.operator)
        )
        return Clients(
            replace(self.owner, responses=owner), replace(self.operator, responses=operator)
        )


def of(connection: Any, timeout: float | None = None) -> Clients:
    """Return clients without operator credentials: both use this connection and this timeout."""
    return Clients(OwnerClient(connection, timeout), OperatorClient(connection, timeout))
