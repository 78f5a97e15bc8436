"""Fetch the hosts of the members of server groups, without a request per member.

A non-admin gets ``hostId``, a hash of project and host, which identifies a host that the operator
lists.

For anti-affinity, Nova counts a migrating server on both of its hosts, and a soft-deleted server,
although no group shows it.

Source: the compute API reference. At 2.1, servers have the fewest fields. From 2.59, migrations are
paged, the newest first. The project of a migration (from 2.80) is that of the user who started it.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote

from msgspec import structs

from senlin_affinity.cloud.paging import LIMIT, by_marker, check_identity, list_of, reading
from senlin_affinity.cloud.rest import BASE, Microversion, OperatorRest, OwnerRest, Rest
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import (
    ANTI_AFFINITY,
    DELETED,
    MOVING,
    SOFT_DELETED,
    Member,
    ServerGroup,
)

#: By server: the hosts of migrations in progress; former hosts, with the seconds since then.
Migrations: TypeAlias = tuple[Mapping[str, tuple[str, ...]], Mapping[str, Mapping[str, int]]]
_SERVERS, _DELETED = 'list the servers', 'list the soft-deleted servers'
_MIGRATIONS, _SERVER = 'list the migrations', 'read a server that a scheduler hint names'
#: The most servers that are read one by one.
MOST_NAMED = 20
_HOST = 'OS-EXT-SRV-ATTR:host'
_ZONE = 'OS-EXT-AZ:availability_zone'
_PAGED: Microversion = (2, 59)
_ENDED = ('confirmed', 'reverted', 'error', 'failed', 'completed', 'cancelled', 'done')
#: The field with the former host, by type and status, of the migrations of which nova-compute does
#: not inform nova-scheduler.
_UNREPORTED: Mapping[tuple[str | None, str], str] = {
    ('live-migration', 'completed'): 'source_compute',
    ('migration', 'reverted'): 'dest_compute',
    ('resize', 'reverted'): 'dest_compute',
}
#: The seconds for which an ended migration is recent.
_DAY = 86400
#: The statuses in which a server may be without a host.
_HOSTLESS = ('ERROR', 'SHELVED_OFFLOADED', 'BUILD')


def without_host(compute: OperatorRest) -> dict[str, Member]:
    """Fetch the servers of all projects in ERROR, SHELVED_OFFLOADED or BUILD, by id."""
    return _by_id(compute, all_tenants='1', status=_HOSTLESS)


def listed(
    compute: OwnerRest, groups: Iterable[ServerGroup], *, is_administrator: bool
) -> tuple[dict[str, Member], dict[str, str]]:
    """Fetch the servers of the groups' project, and their names, both by server id.

    For a non-admin, those of the own project; for an administrator, those of all projects if that
    of the groups is unknown, or not the only one.
    """
    servers = servers_of(compute, groups) if is_administrator else own_servers(compute)
    with reading(_SERVERS):
        by_id = {server['id']: _member(server) for server in servers}
        return by_id, {server['id']: str(server['name']) for server in servers}


def names_of(compute: OwnerRest, servers: Iterable[str]) -> dict[str, str]:
    """Fetch the names of the servers that exist, by id. One request each."""
    names = {}
    for server in servers:
        path = f'/servers/{quote(server, safe="")}'
        body = compute.get(path, _SERVERS, BASE, may_be_missing=True)
        with reading(_SERVERS):
            if body is not None:
                names[server] = str(body['server']['name'])
    return names


def own_servers(compute: OwnerRest) -> list[dict[str, Any]]:
    """Fetch the servers of the connection's project as parsed JSON."""
    return _servers(compute)


def servers_of(compute: Rest, groups: Iterable[ServerGroup]) -> list[dict[str, Any]]:
    """Fetch the servers of the groups' project as parsed JSON, as an administrator.

    Of all projects if that is unknown, or not the only one.
    """
    return _servers(compute, all_tenants='1', **_project(groups))


def settled(servers: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the service host of each raw server, by server id.

    Left out are servers without a host, and those that are moving to another one.
    """
    with reading(_SERVERS):
        return {
            each['id']: each[_HOST]
            for each in servers
            if each.get(_HOST) and each.get('status') not in MOVING
        }


def with_hosts_by_id(
    servers: Iterable[Mapping[str, Any]], hosts: Collection[str]
) -> dict[str, Member]:
    """Convert raw servers to Members, by id; find a host that Nova hides by its ``hostId``.

    If it is none of ``hosts``, the host is None, and ``host_id`` is set.
    """
    with reading(_SERVERS):
        projects = {server['tenant_id'] for server in servers}
        names = {  # by hostId, as Nova computes it
            hashlib.sha224(f'{project}{host}'.encode()).hexdigest(): host
            for project in projects
            for host in hosts
        }
        return {server['id']: _member(server, names) for server in servers}


def by_ids(
    compute: OperatorRest, servers: Collection[str], fetched: Mapping[str, Member]
) -> tuple[Member, ...]:
    """Return the servers with these ids, of any project: first those of ``fetched``.

    Up to :data:`MOST_NAMED` others take a request each, and a second one after a 404; a nonexistent
    one has the state DELETED. The rest is left out.
    """
    missing = [server for server in servers if server not in fetched][:MOST_NAMED]
    return (
        *(fetched[server] for server in servers if server in fetched),
        *(_server(compute, server) for server in missing),
    )


def _server(compute: OperatorRest, server: str) -> Member:
    """Fetch the server with this id; a nonexistent one has the state DELETED."""
    path = f'/servers/{quote(server, safe="")}'
    body = compute.get(path, _SERVER, BASE, may_be_missing=True)
    if body is None:  # nonexistent, or of another project
        listed_as = _by_id(compute, all_tenants='1', uuid=server)
        return listed_as.get(server, Member(server, state=DELETED))
    with reading(_SERVER):
        found = _member(body['server'])
    check_identity(found.server, server, _SERVER)
    return found


def soft_deleted(compute: OperatorRest, groups: Iterable[ServerGroup]) -> tuple[Member, ...]:
    """Fetch the soft-deleted servers that may be members, sorted by id, as an administrator.

    Those of the groups' project, or of all if that is unknown, or not the only one.
    """
    # Nova ignores "deleted" of users without servers:allow_all_filters, but not changes-since.
    every = {'deleted': 'true', 'changes-since': '1970-01-01T00:00:00Z'}
    query = {'all_tenants': '1', 'status': SOFT_DELETED, **every, **_project(groups)}
    found = by_marker(compute, '/servers/detail', 'servers', _DELETED, BASE, **query)
    with reading(_DELETED):
        made = [structs.replace(_member(item), project=item['tenant_id']) for item in found]
    return tuple(sorted(made, key=lambda member: member.server))


def has_anti_affinity(groups: Iterable[ServerGroup]) -> bool:
    """Check whether a group has the hard policy anti-affinity."""
    return any(group.policy == ANTI_AFFINITY for group in groups)


def with_migrations(
    groups: tuple[ServerGroup, ...], read: Callable[[], Migrations | None]
) -> tuple[ServerGroup, ...] | None:
    """Return the groups with ``also_on`` and ``left`` of their members; None if ``read`` does.

    Unchanged, without ``read``, if no anti-affinity group has a member on a host.
    """
    members = [each for group in groups if group.policy == ANTI_AFFINITY for each in group.members]
    if not any(each.host for each in members):
        return groups
    migrations = read()
    if migrations is None:
        return None
    hosts, left = migrations
    return tuple(
        structs.replace(
            group,
            members=tuple(
                structs.replace(
                    member,
                    also_on=hosts.get(member.server, ()),
                    left=_others(left.get(member.server, {}), member.host),
                )
                if member.server in hosts or member.server in left
                else member
                for member in group.members
            ),
        )
        for group in groups
    )


def moving(
    found: tuple[Member, ...], read: Callable[[], Migrations | None]
) -> tuple[Member, ...] | None:
    """Return servers with the hosts of their migrations, as members of an anti-affinity group."""
    groups = with_migrations((ServerGroup('', '', ANTI_AFFINITY, members=found),), read)
    return None if groups is None else groups[0].members


def with_members(
    groups: Iterable[ServerGroup], members: Mapping[str, Member]
) -> tuple[ServerGroup, ...]:
    """Sort the groups by name, and their members by id; replace those that are in ``members``."""
    return tuple(
        structs.replace(
            group,
            members=tuple(
                members.get(member.server, member)
                for member in sorted(group.members, key=lambda member: member.server)
            ),
        )
        for group in sorted(groups, key=lambda group: (group.name, group.id))
    )


def migrations(compute: OperatorRest) -> Migrations:
    """Fetch the hosts of migrations in progress, and the former hosts, both by server.

    ``({'a': ('cmp-1', 'cmp-2')}, {'b': {'cmp-3': 60}})``: b left cmp-3 60 s ago. A live migration,
    or a reverted resize or cold migration, left a former host in the last day. Raise CloudError
    with status 403 if Nova hides the hosts.
    """
    offered = compute.pick(_PAGED)
    # Only a resize that waits to be confirmed may be old.
    query = {'status': 'finished'} if offered < _PAGED else {'limit': str(LIMIT)}
    found = _migrations(compute, offered, **query)
    hosts_of: dict[str, set[str]] = {}
    left: dict[str, dict[str, int]] = {}
    with reading(_MIGRATIONS):
        for item in found:
            server = item['instance_uuid']
            if item['source_compute'] is None:  # for users without this right
                why = "Policy doesn't allow os_compute_api:os-migrations:index:host"
                raise CloudError(f'could not {_MIGRATIONS} with their hosts: {why}', status=403)
            if item['status'] not in _ENDED:
                hosts = {item['source_compute'], item['dest_compute']} - {None}
                hosts_of.setdefault(server, set()).update(hosts)
            elif where := _UNREPORTED.get((item.get('migration_type'), item['status'])):
                seconds = _seconds_since(item['updated_at'] or item['created_at'])
                if seconds < _DAY:
                    hosts_left, host = left.setdefault(server, {}), item[where]
                    hosts_left[host] = min(seconds, hosts_left.get(host, seconds))
    return {server: tuple(sorted(hosts)) for server, hosts in hosts_of.items()}, left


def _seconds_since(time: str) -> int:
    """Return the whole seconds since a time in UTC (ISO 8601 without zone), at least 0."""
    then = datetime.datetime.fromisoformat(time).replace(tzinfo=datetime.timezone.utc)
    passed = datetime.datetime.now(datetime.timezone.utc) - then
    return max(0, int(passed.total_seconds()))


def _others(left: Mapping[str, int], host: str | None) -> dict[str, int]:
    """Return ``left`` without ``host``, sorted by name."""
    return {name: seconds for name, seconds in sorted(left.items()) if name != host}


def _migrations(
    compute: OperatorRest, microversion: Microversion, **query: str
) -> Iterator[dict[str, Any]]:
    """Yield the migrations as parsed JSON.

    If there are more pages, the first page of those that are ``finished`` follows.
    """
    body = compute.get('/os-migrations', _MIGRATIONS, microversion, params=query)
    yield from list_of(body, 'migrations', _MIGRATIONS)
    if body.get('migrations_links') and 'status' not in query:
        yield from _migrations(compute, microversion, **{**query, 'status': 'finished'})


def _by_id(compute: Rest, **query: Any) -> dict[str, Member]:
    """Fetch the servers that a query finds, by id."""
    servers = _servers(compute, **query)
    with reading(_SERVERS):
        return {server['id']: _member(server) for server in servers}


def _servers(compute: Rest, **query: Any) -> list[dict[str, Any]]:
    """Fetch the servers that a query finds, as parsed JSON."""
    return [*by_marker(compute, '/servers/detail', 'servers', _SERVERS, BASE, **query)]


def only_project(groups: Iterable[ServerGroup]) -> str | None:
    """Return the only project of the groups; None for several, none, or an unknown one."""
    projects = {group.project_id for group in groups}
    return projects.pop() if len(projects) == 1 else None


def only_creator(groups: Iterable[ServerGroup], project: str | None) -> str | None:
    """Return the only creator of the groups of a project; None for several, or an unknown one."""
    users = {group.user_id for group in groups if group.project_id == project}
    return users.pop() if len(users) == 1 else None


def _project(groups: Iterable[ServerGroup]) -> dict[str, str]:
    """Return the query for :func:`only_project`."""
    project = only_project(groups)
    return {} if project is None else {'project_id': project}


def _member(server: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Member:
    """Convert a raw server; its host is ``names[hostId]`` if Nova does not show it.

    ``host_id`` is set without a host.
    """
    host_id = server.get('hostId') or None
    host = server.get(_HOST) or (names or {}).get(host_id or '') or None
    host_id = None if host else host_id
    zone = server.get(_ZONE) or None
    return Member(server['id'], host, server.get('user_id'), host_id, zone, server.get('status'))
