"""Whose eyes see what: two connections that can not be taken for each other.

Data flow: the owner's eyes look up all that the owner named (group, image, flavor, quota, project),
and they alone write. The cloud's eyes list what is everybody's (hosts, services, aggregates) and
ask Placement. They only read, and nothing that an owner wrote is ever put into their requests as a
thing to fetch: it could be another owner's.

Where nobody gave the cloud's eyes a log-in of their own, both are one connection, and what the
owner may not see is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OwnersEyes:
    """The connection of who asks (an ``openstack.connection.Connection``)."""

    connection: Any


@dataclass(frozen=True)
class CloudsEyes:
    """The connection that sees all hosts, and only reads."""

    connection: Any


@dataclass(frozen=True)
class Eyes:
    """Both."""

    owner: OwnersEyes
    cloud: CloudsEyes

    @property
    def are_one(self) -> bool:
        """Is all that is seen seen by the owner himself?"""
        return self.owner.connection is self.cloud.connection


def of(connection: Any) -> Eyes:
    """Eyes of somebody who looks with his own, whatever he may see."""
    return Eyes(OwnersEyes(connection), CloudsEyes(connection))
