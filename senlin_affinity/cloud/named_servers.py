"""Fetch a server by its id or name, with its actions and migrations.

``changes-since`` also lists deleted servers to their owners, until the operator archives the
database.

Source: the compute API reference: the details of events from 2.84, and the migrations, for
administrators only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote

from msgspec import structs

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import images, servers
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.paging import (
    allowed,
    by_marker,
    check_identity,
    list_of,
    reading,
    the_only,
)
from senlin_affinity.cloud.rest import Microversion, OwnerRest
from senlin_affinity.cloud.servers import NEWEST
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.model.server import Server
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.moves import REBUILT_IMAGE
from senlin_affinity.policy.group_lookup import is_uuid

_READ, _LIST, _ACTIONS = 'read the server', 'list the servers', 'list the actions of the server'
_AGGREGATES, _MIGRATIONS = 'list the aggregates', 'list the migrations of the server'
_FLAVORS = 'list the flavors'
#: From this microversion on, Nova lists the newest migration first.
_SORTED: Microversion = (2, 59)
DELETED = 'DELETED'
_REBUILD = 'rebuild'
#: Lists every server, also deleted ones.
ALWAYS = '1970-01-01T00:00:00Z'


def find(clients: Clients, named: str) -> Server:
    """Fetch the server with this id or name, with the properties of its image.

    Raise InvalidSpec for none or several, and for a deleted one.
    """
    nova = NamedServers(clouds.compute(clients.owner))
    body = nova.find(named)
    with reading(_READ):
        if body['status'] == DELETED:
            raise InvalidSpec(f'server {body["name"]} is deleted')
        image, is_complete = image_of(body, partial(images.find, clients.owner))
        return server_of(body, image if is_complete else None, nova.actions(str(body['id'])))


def server_of(
    body: Mapping[str, Any], image: Image | None, actions: Iterable[Mapping[str, Any]]
) -> Server:
    """Convert the JSON of a server and its actions.

    :param image: has all properties of its image; None: those that Nova shows.
    """
    found = servers.server_of(body)
    found = found if image is None else servers.with_image(found, image)
    if any(each['action'] == _REBUILD and each['message'] is not None for each in actions):
        found = structs.replace(found, unknown=Texts((*found.unknown, REBUILT_IMAGE)))
    return found


def image_of(
    body: Mapping[str, Any], find_image: Callable[[str], Image]
) -> tuple[Image | None, bool]:
    """Return the image of a server with the properties that it had at the request.

    Nova's properties, which lack traits, override Glance's. (None, True) for a volume. If Glance
    fails, only Nova's remain, and the second value is False.

    :param find_image: returns Glance's image of an id, or raises AffinityError.
    """
    embedded = body.get('image')
    if not embedded:
        return None, True
    identity, properties = str(embedded['id']), dict(embedded.get('properties') or {})
    try:
        image = find_image(identity)
    except AffinityError:
        return Image(identity, properties=properties), False
    properties = {**image.properties, **properties}
    return Image(identity, image.min_ram, properties=properties, status=image.status), True


class NamedServers:
    """The requests for servers and their actions."""

    def __init__(self, compute: OwnerRest) -> None:
        self.compute = compute
        self._version = compute.pick(NEWEST)

    def find(self, named: str) -> dict[str, Any]:
        """Fetch a server by its id or name; see :meth:`by_id` and :meth:`by_name`."""
        return self.by_id(named) if is_uuid(named) else self.by_name(named)

    def by_id(self, server: str) -> dict[str, Any]:
        """Fetch a server as parsed JSON; a deleted one from the list.

        If only its actions are visible: ``{'id': 'x', 'name': 'x', 'status': 'DELETED'}``. Raise
        InvalidSpec without actions.
        """
        body = self._get(f'/servers/{quote(server, safe="")}', _READ, 'server')
        if body is not None:
            check_identity(body['id'], server, _READ)
            return dict(body)
        actions = self.actions(server)
        if not actions:
            raise InvalidSpec(f'there is no server {server!r}')
        since = floored(max(str(each['start_time']) for each in actions))
        every = {'changes-since': since, 'uuid': server}
        found = self.all_listed(**every) or self.listed(**every)
        named = (each for each in found if each['id'] == server)
        return next(named, {'id': server, 'name': server, 'status': DELETED})

    def by_name(self, name: str) -> dict[str, Any]:
        """Fetch the only server with this name, of the own project or else of any.

        Deleted servers count if all are. Raise InvalidSpec for none or several.
        """
        every = {'name': f'^{_escaped(name)}$', 'changes-since': ALWAYS}
        own = (each for each in self.listed(**every) if each['name'] == name)
        found = [*own] or [each for each in self.all_listed(**every) if each['name'] == name]
        found = [each for each in found if each['status'] != DELETED] or found
        only = the_only(found, 'server', name)
        return only if only['status'] == DELETED else self.by_id(str(only['id']))

    def listed(self, **query: str) -> Iterator[dict[str, Any]]:
        """Yield the servers that a query finds, on all pages, as parsed JSON."""
        path = '/servers/detail'
        return by_marker(self.compute, path, 'servers', _LIST, self._version, **query)

    def all_listed(self, **query: str) -> list[dict[str, Any]]:
        """Return the servers of all projects that a query finds; [] for a non-admin."""
        return allowed(lambda: [*self.listed(all_tenants='1', **query)]) or []

    def actions(self, server: str) -> Sequence[Mapping[str, Any]]:
        """Return the actions of a server, even a deleted one; () for a 404 or 403."""
        path = f'/servers/{quote(server, safe="")}/os-instance-actions'
        return self._get(path, _ACTIONS, 'instanceActions') or ()

    def aggregates(self) -> Sequence[Mapping[str, Any]]:
        """Return all aggregates as parsed JSON; () for a 403."""
        return self._get('/os-aggregates', _AGGREGATES, 'aggregates') or ()

    def events(self, server: str, action: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the events of an action; () for a 404 or 403."""
        request = quote(str(action['request_id']), safe='')
        path = f'/servers/{quote(server, safe="")}/os-instance-actions/{request}'
        return (self._get(path, _ACTIONS, 'instanceAction') or {}).get('events') or ()

    def migrations(self, server: str) -> Sequence[Mapping[str, Any]]:
        """Return the migrations of a server, the newest first; () for a 403, and below 2.59."""
        if self._version < _SORTED:
            return ()
        query = {'instance_uuid': server, 'limit': '20'}
        get = partial(self.compute.get, '/os-migrations', _MIGRATIONS, self._version, params=query)
        body = allowed(get)
        return () if body is None else list_of(body, 'migrations', _MIGRATIONS)

    @cached_property
    def flavor_names(self) -> Sequence[str]:
        """The names of all flavors in the order in which they were created, by one listing."""
        query = {'sort_key': 'id', 'sort_dir': 'asc', 'is_public': 'None'}
        listed = by_marker(self.compute, '/flavors', 'flavors', _FLAVORS, self._version, **query)
        with reading(_FLAVORS):
            return [str(each['name']) for each in listed]

    def _get(self, path: str, what: str, key: str) -> Any:
        """Return ``body[key]`` of a GET request; None for a 404 or a 403."""
        get = partial(self.compute.get, path, what, self._version, may_be_missing=True)
        body = allowed(get)
        with reading(what):
            return None if body is None else body[key]


def _escaped(text: str) -> str:
    """Return the text, escaped for regular expressions: ``web-1\\.b``."""
    return re.sub(r'([.^$*+?{}\[\]\\|()])', r'\\\1', text)


def floored(text: str) -> str:
    """Return the time as ``changes-since`` accepts it: ``2026-01-01T00:00:00Z``."""
    return f'{text[:19]}Z'
