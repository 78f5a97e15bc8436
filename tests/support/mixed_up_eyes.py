"""Calls with the wrong eyes: ``make lint`` fails where mypy would let one of them pass.

It is for mypy alone, which must find a mistake in every line that has a comment.
"""

from __future__ import annotations

from senlin_affinity.cloud import connection, hosts, images, members, mirrors
from senlin_affinity.cloud.eyes import Eyes
from senlin_affinity.cloud.server_groups import NovaServerGroups
from senlin_affinity.core.objects import CloudSnapshot


def mixed_up(eyes: Eyes, snapshot: CloudSnapshot) -> None:
    owners = connection.compute(eyes.owner)
    clouds = connection.clouds_compute(eyes, owners)
    hosts.hypervisors(owners)  # type: ignore[arg-type]
    members.moved(owners, ())  # type: ignore[arg-type]
    mirrors.see(eyes.owner, snapshot, frozenset())  # type: ignore[arg-type]
    connection.placement(eyes.owner)  # type: ignore[arg-type]
    members.traced(clouds, ())  # type: ignore[arg-type]
    members.listed(clouds, (), is_administrator=True)  # type: ignore[arg-type]
    images.find(eyes.cloud, 'cirros')  # type: ignore[arg-type]
    NovaServerGroups(clouds)  # type: ignore[arg-type]
    Eyes(eyes.cloud, eyes.owner)  # type: ignore[arg-type]
