"""The connections of a cluster's owner and of the operator, as types that cannot be confused.

The owner's client fetches everything that the owner names (group, image, flavor, quota, project),
and only this client writes. The operator's client fetches what belongs to everybody (hosts,
services, aggregates) and queries Placement. It only reads, and no request of it contains an object
that an owner names: the object could be another project's.

Without operator credentials, both clients use the same connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OwnerClient:
    """The owner's ``openstack.connection.Connection``."""

    connection: Any


@dataclass(frozen=True)
class OperatorClient:
    """The ``openstack.connection.Connection`` that sees all hosts. It only reads."""

    connection: Any


@dataclass(frozen=True)
class Clients:
    """The two clients of one operation."""

    owner: OwnerClient
    operator: OperatorClient

    @property
    def has_operator(self) -> bool:
        """Check whether the operator's client has credentials of its own."""
        return self.owner.connection is not self.operator.connection


def of(connection: Any) -> Clients:
    """Return clients that both use this connection."""
    return Clients(OwnerClient(connection), OperatorClient(connection))
