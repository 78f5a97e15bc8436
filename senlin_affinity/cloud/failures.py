"""List the failures of a period, and read each as ``server explain`` reads a single one.

Two listings, by pages: the servers that changed in the period, and the migrations. A server in
ERROR that never ran is a failed creation; one that ran, a failed rebuild or whatever its fault
says; an ended migration that did not succeed is a failed resize, migration or evacuation. A failed
unshelve leaves neither. Deleted servers are left out: their faults are deleted with them.

Example::

    period = listed(clients, '2026-11-24T00:00:00Z')
    len(period.failures)                       214
    read(clients, period, snapshot)            up to 100 of FailedServer, the newest first

The fault of a server in ERROR is part of the listing. The message of an action needs two requests
(its actions, and the events of one), each image one.

Units: times are ISO 8601 in UTC.

Raises: CloudError.

Source: the compute API reference: ``changes-since``, with deleted servers; migrations with a
``uuid``, pages and ``changes-since`` from 2.59. Only administrators list all servers, and
migrations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from msgspec import structs

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import images, last_actions
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.failed_servers import LAUNCHED, RESERVATION, Reader, is_failed
from senlin_affinity.cloud.last_actions import LastAction
from senlin_affinity.cloud.named_servers import DELETED, NamedServers, floored, server_of
from senlin_affinity.cloud.paging import allowed, list_of, reading
from senlin_affinity.cloud.rest import Microversion, OwnerRest
from senlin_affinity.cloud.servers import NEWEST, hints_of
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.scheduler_hints import named
from senlin_affinity.model.server import Server
from senlin_affinity.preflight.failed_server import ActionFailure, FailedServer, cause_of

#: The failures that are read, and the requests for these.
MOST, MOST_REQUESTS = 100, 170
_READ, _MIGRATIONS = 'read the failed servers', 'list the migrations'
_ERROR = 'ERROR'
_FAILED = ('error', 'failed')
_PAGED: Microversion = (2, 59)
_OF_MESSAGE = 2


@dataclass(frozen=True)
class ListedFailure:
    """A server as parsed JSON, when it failed, and its failed migration, if that failed."""

    body: Mapping[str, Any]
    at: str
    record: Mapping[str, Any] | None = None

    @property
    def requests(self) -> int:
        """The number of requests for the message."""
        is_shown = bool((self.body.get('fault') or {}).get('message'))
        return 0 if self.record is None and is_failed(self.body) and is_shown else _OF_MESSAGE


@dataclass(frozen=True)
class Period:
    """The servers that changed in a period and their migrations, as parsed JSON, and the failures.

    The failures are sorted, the newest first. Each listing is () for a user who may not read it.
    """

    since: str
    servers: Sequence[Mapping[str, Any]]
    migrations: Sequence[Mapping[str, Any]]
    failures: Sequence[ListedFailure]

    def before(self, until: str) -> Period:
        """Return the period without the failures from a time on."""
        earlier = [each for each in self.failures if each.at[:19] < until[:19]]
        return replace(self, failures=earlier)

    @property
    def hinted(self) -> tuple[str, ...]:
        """The ids of the servers that the scheduler hints of the failed ones name."""
        each_hint = (named(hints_of(each.body), None) for each in self.failures)
        return tuple(dict.fromkeys(server for names in each_hint for server in names))


def listed(
    clients: Clients,
    since: str,
    project: str | None = None,
    *,
    most: int | None = None,
) -> Period:
    """List the failures since a time; a non-admin, those of the own project.

    :param project: the id of the only project.
    :param most: the number of objects of each listing that are read, the newest first.
    """
    nova = NamedServers(clouds.compute(clients.owner))
    query = {'changes-since': floored(since)}
    of_project = {} if project is None else {'project_id': project}
    every = nova.listed(all_tenants='1', **query, **of_project)
    servers = allowed(lambda: [*islice(every, most)])
    if servers is None:
        servers = [*islice(nova.listed(**query), most)]
    found_migrations = _migrations(nova.compute, query)
    migrations = allowed(lambda: [*islice(found_migrations, most)]) or ()
    with reading(_READ):
        by_id = {str(each['id']): each for each in servers}
        found = [*_failed_migrations(migrations, by_id, since)]
        moved = {str(each.body['id']) for each in found}
        found += (each for each in _in_error(by_id.values(), since) if each.body['id'] not in moved)
        found.sort(key=lambda each: each.at, reverse=True)
    return Period(since, (*by_id.values(),), migrations, found)


def read(
    clients: Clients,
    period: Period,
    cloud: Cloud,
    *,
    most: int = MOST,
    most_requests: int = MOST_REQUESTS,
) -> list[FailedServer]:
    """Return the newest failures with their requests, as far as the number of requests allows.

    :param cloud: shows the groups of the servers.
    """
    reading_them = _Reading(clients, period, cloud, most_requests)
    with reading(_READ):
        return [*reading_them.failures(most)]


def started(period: Period, cloud: Cloud, until: str) -> list[Server]:
    """Return the servers that were created and became ACTIVE in the period, before ``until``.

    :param cloud: shows the groups of the servers.
    """
    groups = cloud.server_group_ids
    with reading(_READ):
        found = [
            server_of(body, None, ())
            for body in period.servers
            if body['status'] == 'ACTIVE'
            and str(body['created'])[:19] >= period.since[:19]
            and str(body.get(LAUNCHED) or until)[:19] < until[:19]
        ]
    return [
        structs.replace(each, server_group=each.server_group or groups.get(each.id))
        for each in found
    ]


def _in_error(servers: Any, since: str) -> Iterator[ListedFailure]:
    """Yield the servers in ERROR that failed since then."""
    for body in servers:
        fault = body.get('fault') or {}
        at = str(fault.get('created') or body.get('updated') or body['created'])
        if body['status'] == _ERROR and at[:19] >= since[:19]:
            yield ListedFailure(body, at)


def _failed_migrations(
    migrations: Sequence[Mapping[str, Any]], servers: Mapping[str, Mapping[str, Any]], since: str
) -> Iterator[ListedFailure]:
    """Yield the failed migrations since then of servers that are not deleted."""
    for record in migrations:
        body, at = servers.get(str(record['instance_uuid'])), str(record['created_at'])
        is_known = body is not None and body['status'] != DELETED
        if record['status'] in _FAILED and at[:19] >= since[:19] and body is not None and is_known:
            yield ListedFailure(body, at, record)


def _migrations(compute: OwnerRest, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield the migrations that a query finds, the newest first; none below 2.59."""
    version = compute.pick(NEWEST)
    marker: dict[str, str] = {}
    while version >= _PAGED:
        body = compute.get('/os-migrations', _MIGRATIONS, version, params={**query, **marker})
        page = list_of(body, 'migrations', _MIGRATIONS)
        yield from page
        if not page or not body.get('migrations_links'):
            return
        with reading(_MIGRATIONS):
            following = str(page[-1]['uuid'])
        if following == marker.get('marker'):
            raise CloudError(f'could not {_MIGRATIONS}: a page repeats the previous one')
        marker = {'marker': following}


class _LimitedServers(NamedServers):
    """The requests for single servers, of which only ``left`` are sent."""

    def __init__(self, compute: OwnerRest, left: int) -> None:
        super().__init__(compute)
        self.left = left

    def _get(self, path: str, what: str, key: str) -> Any:
        self.left -= 1
        return super()._get(path, what, key)


class _Reading:
    """What the reads of several failures share."""

    def __init__(
        self,
        clients: Clients,
        period: Period,
        cloud: Cloud,
        most_requests: int,
    ) -> None:
        self.nova = _LimitedServers(clouds.compute(clients.owner), most_requests)
        self._clients, self.period = clients, period
        self.groups = cloud.server_group_ids
        self.find_image: Callable[[str], Image] = functools.cache(self._find_image)

    def failures(self, most: int) -> Iterator[FailedServer]:
        """Yield the newest failures; without those whose message would need too many requests."""
        for each in self.period.failures[:most]:
            if each.requests > self.nova.left:
                continue
            yield _ListedReader(self, each).read()

    @functools.cached_property
    def aggregates(self) -> Sequence[Mapping[str, Any]]:
        """All aggregates, by one request, if it is left."""
        return self.nova.aggregates() if self.nova.left > 0 else ()

    @functools.cached_property
    def by_reservation(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The servers that changed in the period, by the id of their request."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for body in self.period.servers:
            found.setdefault(str(body.get(RESERVATION)), []).append(body)
        return found

    def is_flavor_kept(self, record: Mapping[str, Any]) -> bool:
        """Check whether no later resize has changed the flavor of the server."""
        return not any(
            each['instance_uuid'] == record['instance_uuid']
            and each['migration_type'] == record['migration_type']
            and each['status'] not in _FAILED
            and str(each['created_at']) > str(record['created_at'])
            for each in self.period.migrations
        )

    def _find_image(self, identity: str) -> Image:
        if self.nova.left < 1:
            raise CloudError('too many images')
        self.nova.left -= 1
        return images.find(self._clients.owner, identity)


class _ListedReader(Reader):
    """The conversion of a server of the listing, and of its failed migration."""

    def __init__(self, shared: _Reading, listed_as: ListedFailure) -> None:
        super().__init__(shared.nova, listed_as.body, shared.find_image)
        self._shared, self._listed = shared, listed_as

    def read(self) -> FailedServer:
        """Return the failed server, or only its failure if Nova chose no host for the action."""
        try:
            found = super().read()
        except InvalidSpec:
            return self._of_fault()
        group = found.server_group or self._shared.groups.get(found.id)
        attempt = found.attempt
        if attempt is None:
            return replace(found, server_group=group)
        record = self._listed.record
        server = structs.replace(attempt.server, server_group=group)
        if record is not None:
            server = structs.replace(server, host=record['source_compute'])
        return replace(found, server_group=group, attempt=replace(attempt, server=server))

    def _of_fault(self) -> FailedServer:
        """Return the server with its fault, without any request."""
        body, fault = self._body, self._body.get('fault') or {}
        message = None if self._listed.record is not None else fault.get('message')
        failure = ActionFailure(cause_of(message), message, floored(self._listed.at))
        named_as = str(body['id']), str(body['name']), str(body['status'])
        return FailedServer(*named_as, failure, project_id=body.get('tenant_id'))

    def _actions(self) -> Sequence[Mapping[str, Any]]:
        return super()._actions() if self._listed.requests else ()

    def _tried(self, actions: Sequence[Mapping[str, Any]]) -> LastAction | None:
        record = self._listed.record
        if record is None:
            return super()._tried(actions)
        tried = last_actions.of_record(self._nova, self._body, actions, record)
        if tried is None:
            raise InvalidSpec(f'Nova does not show the action on {self._name}')
        # The flavor of the server, from which the new one is found, is only then that of the time.
        is_certain = tried.flavor_name is None or self._shared.is_flavor_kept(record)
        return tried if is_certain else replace(tried, flavor_name=None)

    def _listed_siblings(self, reservation: str | None) -> Sequence[Mapping[str, Any]]:
        return self._shared.by_reservation.get(str(reservation), ()) if reservation else ()

    def _changed_servers(self, _since: str) -> Iterator[Mapping[str, Any]]:
        return iter(self._shared.period.servers)

    def _changed_aggregates(self) -> Sequence[Mapping[str, Any]]:
        return self._shared.aggregates if self._is_administrator else ()
