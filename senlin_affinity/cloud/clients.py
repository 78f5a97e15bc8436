"""The connections of a cluster's owner and of the operator, as types that cannot be confused.

The owner's client fetches everything that the owner names, and only this client writes. The
operator's client fetches what belongs to everybody: an object that an owner names could be another
project's.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from senlin_affinity.cloud.recent_reads import RecentReads

#: The responses to earlier reads, by request; new ones are added unless it is read-only.
Responses: TypeAlias = Mapping[Hashable, Any]


@dataclass(frozen=True)
class OwnerClient:
    """The owner's ``openstack.connection.Connection``. ``responses`` None: send each read."""

    connection: Any
    responses: Responses | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class OperatorClient:
    """The ``openstack.connection.Connection`` that sees all hosts. It only reads."""

    connection: Any
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


def of(connection: Any) -> Clients:
    """Return clients without operator credentials: both use this connection."""
    return Clients(OwnerClient(connection), OperatorClient(connection))
