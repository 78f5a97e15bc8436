"""Contain calls with the wrong client: ``make lint`` fails if mypy accepts one of them.

Only mypy reads this module, and it must find an error in every line with a comment.
"""

from __future__ import annotations

from senlin_affinity.cloud import connection, hosts, images, members, placement_aggregates
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.model.cloud import Cloud


def mixed_up(clients: Clients, cloud: Cloud) -> None:
    owners = connection.compute(clients.owner)
    clouds = connection.clouds_compute(clients, owners)
    hosts.hypervisors(owners)  # type: ignore[arg-type]
    members.migrations(owners)  # type: ignore[arg-type]
    placement_aggregates.compare(clients.owner, cloud, frozenset())  # type: ignore[arg-type]
    connection.placement(clients.owner)  # type: ignore[arg-type]
    members.own_servers(clouds)  # type: ignore[arg-type]
    members.listed(clouds, (), is_administrator=True)  # type: ignore[arg-type]
    images.find(clients.operator, 'cirros')  # type: ignore[arg-type]
    NovaServerGroups(clouds)  # type: ignore[arg-type]
    Clients(clients.operator, clients.owner)  # type: ignore[arg-type]
