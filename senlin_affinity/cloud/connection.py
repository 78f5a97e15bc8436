"""From a connection of openstacksdk to the ports that the decisions use.

Errors: CloudError where no connection can be made (no such cloud in clouds.yaml, no Keystone).
"""

from __future__ import annotations

from dataclasses import dataclass

import openstack
from openstack.connection import Connection

from senlin_affinity.cloud.candidates import PlacementCandidates
from senlin_affinity.cloud.inventory import NovaInventory
from senlin_affinity.cloud.rest import NO_ANSWER, Rest, unreachable
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.core.errors import CloudError

#: Seconds that one request to the cloud may take.
REQUEST_TIMEOUT = 60.0


@dataclass(frozen=True)
class Ports:
    """What the decisions ask, answered by one cloud."""

    server_groups: NovaServerGroups
    inventory: NovaInventory
    candidates: PlacementCandidates


def ports(connection: Connection, timeout: float = REQUEST_TIMEOUT) -> Ports:
    """The adapters over one connection. The first time, this gets a token and finds Nova."""
    found = compute(connection, timeout)
    return Ports(
        NovaServerGroups(found),
        NovaInventory(found),
        PlacementCandidates(lambda: placement(connection, timeout)),
    )


def compute(connection: Connection, timeout: float = REQUEST_TIMEOUT) -> Rest:
    """Nova's API. The first time, this gets a token and finds Nova."""
    return _service(connection, 'compute', 'Nova', timeout)


def placement(connection: Connection, timeout: float = REQUEST_TIMEOUT) -> Rest:
    """Placement's API."""
    return _service(connection, 'placement', 'Placement', timeout)


def image(connection: Connection, timeout: float = REQUEST_TIMEOUT) -> Rest:
    """Glance's API."""
    return _service(connection, 'image', 'Glance', timeout)


def owner(connection: Connection) -> tuple[str | None, str | None]:
    """The ids of the user and the project that the token is of; None where it has none."""
    try:
        return connection.session.get_user_id(), connection.session.get_project_id()
    except NO_ANSWER as error:
        raise unreachable('Keystone', error) from error


def _service(connection: Connection, kind: str, name: str, timeout: float) -> Rest:
    if connection.session.timeout is None:  # else a token and the discovery would wait for ever
        connection.session.timeout = timeout
    try:
        adapter = getattr(connection, kind)
    except NO_ANSWER as error:
        raise unreachable(name, error) from error
    return Rest(adapter, name, timeout)


def connect(cloud: str | None = None) -> Connection:
    """A connection to a cloud of clouds.yaml, or to the one that the environment names."""
    try:
        return openstack.connect(cloud=cloud)
    except NO_ANSWER as error:
        raise CloudError(f'could not connect to the cloud: {error}') from error
