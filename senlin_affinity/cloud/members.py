"""Where the members of server groups are: never a request for each of them.

An administrator who wants all groups gets the servers of each host with the hypervisors. Who wants
one group lists the servers of its project, which are few beside the cloud's. A plain user lists
those of the own project, and sees a ``hostId`` in place of the host: equal for servers on one host.

Source: the compute API reference; ``with_servers`` from 2.53. The servers are asked for at 2.1,
where a server is shortest. A server that has no host yet (or none any more) has the ``hostId`` ''.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from senlin_affinity.cloud.answers import by_marker, reading
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.cloud.rest import BASE, Rest
from senlin_affinity.core.server_group import Member, ServerGroup

_SERVERS = 'list the servers'
_HOST = 'OS-EXT-SRV-ATTR:host'
_ZONE = 'OS-EXT-AZ:availability_zone'


def on_hypervisors(hypervisors: Iterable[Hypervisor]) -> dict[str, Member]:
    """The members with their hosts, from what was listed with the hypervisors."""
    return {
        server: Member(server, hypervisor.service_host)
        for hypervisor in hypervisors
        for server in hypervisor.servers
    }


def listed(
    compute: Rest, groups: Iterable[ServerGroup], *, is_administrator: bool
) -> dict[str, Member]:
    """The servers of the groups' project; of all projects where it is not just one."""
    query = {}
    if is_administrator:
        projects = {group.project_id for group in groups}
        query = {'all_tenants': '1'}
        if len(projects) == 1 and None not in projects:
            query['project_id'] = str(projects.pop())
    servers = by_marker(compute, '/servers/detail', 'servers', _SERVERS, BASE, **query)
    with reading(_SERVERS):
        return {server['id']: _member(server) for server in servers}


def located(groups: Iterable[ServerGroup], known: Mapping[str, Member]) -> tuple[ServerGroup, ...]:
    """The groups in order, their members in order, with what is known of these."""
    return tuple(
        dataclasses.replace(
            group,
            members=tuple(
                known.get(member.server, member)
                for member in sorted(group.members, key=lambda member: member.server)
            ),
        )
        for group in sorted(groups, key=lambda group: (group.name, group.id))
    )


def _member(server: Mapping[str, Any]) -> Member:
    host = server.get(_HOST) or None
    host_id = None if host else server.get('hostId') or None
    zone = server.get(_ZONE) or None
    return Member(server['id'], host, server.get('user_id'), host_id, zone)
