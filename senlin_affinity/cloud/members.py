"""Where the members of server groups are: never a request for each of them.

An administrator who wants all groups gets the servers of each host with the hypervisors, and those
without a host by their states. Who wants one group lists the servers of its project, which are few
beside the cloud's. A plain user lists those of the own project, and sees a ``hostId`` in place of
the host: equal for servers on one host. It is a hash of the project and the host (``hostId`` in the
compute API reference), so where the cloud's eyes list the hosts, it names one of them. Servers of
another project, which only an administrator can put into a group, the group does not show the user.

Nova counts some servers elsewhere, too, where the policy is anti-affinity: what moves on both
hosts, and what is soft-deleted though no group shows it. One list of each tells an administrator.

Source: the compute API reference; ``with_servers`` from 2.53. The servers are asked for at 2.1,
where a server is shortest. A server that has no host yet (or none any more) has the ``hostId`` ''.
Migrations come the newest first, in pages, from 2.59. What Nova takes for one in progress is any
that has not ended. The project of a migration (from 2.80) is that of who started it, mostly an
administrator's, and tells nothing of the server's.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from senlin_affinity.cloud.answers import LIMIT, by_marker, list_of, reading
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.cloud.rest import BASE, CloudsRest, Microversion, OwnersRest, Rest
from senlin_affinity.core.server_group import (
    ANTI_AFFINITY,
    MOVING,
    SOFT_DELETED,
    Member,
    ServerGroup,
)

_SERVERS, _DELETED = 'list the servers', 'list the soft-deleted servers'
_MIGRATIONS = 'list the migrations'
_HOST = 'OS-EXT-SRV-ATTR:host'
_ZONE = 'OS-EXT-AZ:availability_zone'
#: From here on migrations are paged.
_PAGED: Microversion = (2, 59)
_ENDED = ('confirmed', 'reverted', 'error', 'failed', 'completed', 'cancelled', 'done')
#: In these a server may be without a host. No other state of Nova's says so.
_HOSTLESS = ('ERROR', 'SHELVED_OFFLOADED', 'BUILD')


def on_hypervisors(found: Iterable[Hypervisor]) -> dict[str, Member]:
    """The members with their hosts, from what was listed with the hypervisors."""
    return {
        server: Member(server, hypervisor.service_host)
        for hypervisor in found
        for server in hypervisor.servers
    }


def without_host(compute: CloudsRest) -> dict[str, Member]:
    """The servers of all projects that no hypervisor has, for an administrator."""
    return _by_id(compute, _SERVERS, all_tenants='1', status=_HOSTLESS)


def listed(
    compute: OwnersRest, groups: Iterable[ServerGroup], *, is_administrator: bool
) -> dict[str, Member]:
    """The servers of the groups' project; of all projects where it is not just one."""
    query = {'all_tenants': '1', **_project(groups)} if is_administrator else {}
    return _by_id(compute, _SERVERS, **query)


def traced(compute: OwnersRest, hosts: Collection[str]) -> dict[str, Member]:
    """The servers of a plain user's project, each on one of the hosts that the cloud's eyes see."""
    return named(own(compute), hosts)


def own(compute: OwnersRest) -> list[dict[str, Any]]:
    """The servers of a plain user's project, as raw JSON."""
    return _servers(compute, _SERVERS)


def named(servers: Iterable[Mapping[str, Any]], hosts: Collection[str]) -> dict[str, Member]:
    """Each of them on one of these hosts, by what the user sees of it."""
    with reading(_SERVERS):
        projects = {server['tenant_id'] for server in servers}
        names = {_host_id(project, host): host for project in projects for host in hosts}
        return {server['id']: _member(server, names) for server in servers}


def _host_id(project: str, host: str) -> str:
    """What Nova calls a host where a user of the project sees a server on it."""
    return hashlib.sha224(f'{project}{host}'.encode()).hexdigest()


def soft_deleted(compute: CloudsRest, groups: Iterable[ServerGroup]) -> tuple[Member, ...]:
    """Those that may be members of the groups, for an administrator. One request a page."""
    query = {'all_tenants': '1', 'deleted': 'true', 'status': SOFT_DELETED, **_project(groups)}
    found = by_marker(compute, '/servers/detail', 'servers', _DELETED, BASE, **query)
    with reading(_DELETED):
        made = [dataclasses.replace(_member(item), project=item['tenant_id']) for item in found]
    return tuple(sorted(made, key=lambda member: member.server))


def are_hidden(groups: Iterable[ServerGroup]) -> bool:
    """Does it matter to one of the groups what is soft-deleted?"""
    return any(group.policy == ANTI_AFFINITY for group in groups)


def moved(compute: CloudsRest, groups: tuple[ServerGroup, ...]) -> tuple[ServerGroup, ...]:
    """The groups, whose members that move have both hosts.

    Nothing is asked where the states of the members say that none does. One request, and another
    where there are so many migrations that the oldest may be missing.
    """
    members = [each for group in groups if group.policy == ANTI_AFFINITY for each in group.members]
    if not any(each.host and (each.state in (None, 'ERROR', *MOVING)) for each in members):
        return groups
    places = _in_progress(compute)
    return tuple(
        dataclasses.replace(
            group,
            members=tuple(
                dataclasses.replace(member, also_on=places[member.server])
                if member.server in places
                else member
                for member in group.members
            ),
        )
        for group in groups
    )


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


def _in_progress(compute: CloudsRest) -> dict[str, tuple[str, ...]]:
    """The hosts of the migrations in progress, by their servers."""
    offered = compute.pick(_PAGED)
    # A resize that waits to be confirmed may be old; whatever else is in progress is new.
    query = {'status': 'finished'} if offered < _PAGED else {'limit': str(LIMIT)}
    found = _migrations(compute, offered, **query)
    places: dict[str, set[str]] = {}
    with reading(_MIGRATIONS):
        for item in found:
            if item['status'] not in _ENDED:
                hosts = {item['source_compute'], item['dest_compute']} - {None}
                places.setdefault(item['instance_uuid'], set()).update(hosts)
    return {server: tuple(sorted(hosts)) for server, hosts in places.items()}


def _migrations(
    compute: CloudsRest, microversion: Microversion, **query: str
) -> Iterator[dict[str, Any]]:
    body = compute.get('/os-migrations', _MIGRATIONS, microversion, params=query)
    yield from list_of(body, 'migrations', _MIGRATIONS)
    if body.get('migrations_links') and 'status' not in query:
        yield from _migrations(compute, microversion, **{**query, 'status': 'finished'})


def _by_id(compute: Rest, what: str, **query: Any) -> dict[str, Member]:
    servers = _servers(compute, what, **query)
    with reading(what):
        return {server['id']: _member(server) for server in servers}


def _servers(compute: Rest, what: str, **query: Any) -> list[dict[str, Any]]:
    return [*by_marker(compute, '/servers/detail', 'servers', what, BASE, **query)]


def _project(groups: Iterable[ServerGroup]) -> dict[str, str]:
    """A query for what is of the groups' project; for all where it is not just one."""
    projects = {group.project_id for group in groups}
    is_one = len(projects) == 1 and None not in projects
    return {'project_id': str(projects.pop())} if is_one else {}


def _member(server: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Member:
    """A server; ``names`` are those of hosts by what a user sees of them."""
    host_id = server.get('hostId') or None
    host = server.get(_HOST) or (names or {}).get(host_id or '') or None
    host_id = None if host else host_id
    zone = server.get(_ZONE) or None
    return Member(server['id'], host, server.get('user_id'), host_id, zone, server.get('status'))
