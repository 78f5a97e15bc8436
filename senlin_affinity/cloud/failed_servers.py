"""Fetch a failed server, its siblings and its request, as far as Nova returns them.

``changes-since`` also lists deleted servers to their owners, until the operator archives the
database. Siblings share a ``reservation_id``, by which only administrators list them.

Source: the compute API reference: the embedded flavor from 2.47, ``server_groups`` from 2.71 (for a
single server), ``pinned_availability_zone`` from 2.96 (the requested zone or the default), the
standard image properties from 2.98, ``scheduler_hints`` from 2.100; for administrators, the hosts
of events from 2.62 and their details from 2.84. Nova records when an aggregate was created or
renamed, but not a change of its hosts or metadata. The ``updated_at`` of a compute service is no
evidence of a change, because every heartbeat sets it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import images, server_fields
from senlin_affinity.cloud.clients import Clients, OwnerClient
from senlin_affinity.cloud.paging import (
    LIMIT,
    allowed,
    by_marker,
    check_identity,
    reading,
    the_only,
)
from senlin_affinity.cloud.rest import OwnerRest
from senlin_affinity.cloud.server_fields import NEWEST, PINNED_ZONE, ZONE
from senlin_affinity.model.errors import AffinityError, InvalidSpec
from senlin_affinity.model.image import Image
from senlin_affinity.policy.group_lookup import is_uuid
from senlin_affinity.preflight.failed_server import (
    Cause,
    CreationFailure,
    FailedServer,
    Sibling,
    cause_of,
)

_READ, _LIST, _ACTIONS = 'read the server', 'list the servers', 'list the actions of the server'
_AGGREGATES = 'list the aggregates'
_DELETED = 'DELETED'
#: Lists every server, also deleted ones.
_ALWAYS = '1970-01-01T00:00:00Z'
#: The event of a host that starts the server.
_BUILD = 'compute__do_build_and_run_instance'
_RESERVATION, _INDEX = 'OS-EXT-SRV-ATTR:reservation_id', 'OS-EXT-SRV-ATTR:launch_index'
_LAUNCHED, _ENDED = 'OS-SRV-USG:launched_at', 'OS-SRV-USG:terminated_at'


def find(clients: Clients, named: str, timeout: float | None = None) -> FailedServer:
    """Fetch the failed server with this id or name.

    Raise InvalidSpec for none or several, and if its creation did not fail.
    """
    nova = _Servers(clouds.compute(clients.owner, timeout))
    body = nova.by_id(named) if is_uuid(named) else nova.by_name(named)
    with reading(_READ):
        return _Reader(clients.owner, nova, body, timeout).read()


class _Servers:
    """The requests for servers and their actions."""

    def __init__(self, compute: OwnerRest) -> None:
        self.compute = compute
        self._version = compute.pick(NEWEST)

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
        since = _floored(max(str(each['start_time']) for each in actions))
        every = {'changes-since': since, 'uuid': server}
        found = self.all_listed(**every) or self.listed(**every)
        named = (each for each in found if each['id'] == server)
        return next(named, {'id': server, 'name': server, 'status': _DELETED})

    def by_name(self, name: str) -> dict[str, Any]:
        """Fetch the only server with this name, of the own project or else of any.

        Deleted servers count if all are. Raise InvalidSpec for none or several.
        """
        every = {'name': f'^{_escaped(name)}$', 'changes-since': _ALWAYS}
        own = (each for each in self.listed(**every) if each['name'] == name)
        found = [*own] or [each for each in self.all_listed(**every) if each['name'] == name]
        found = [each for each in found if each['status'] != _DELETED] or found
        only = the_only(found, 'server', name)
        return only if only['status'] == _DELETED else self.by_id(str(only['id']))

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

    def _get(self, path: str, what: str, key: str) -> Any:
        """Return ``body[key]`` of a GET request; None for a 404 or a 403."""
        get = partial(self.compute.get, path, what, self._version, may_be_missing=True)
        body = allowed(get)
        with reading(what):
            return None if body is None else body[key]


class _Reader:
    """The conversion of one server, and the requests for what belongs to it."""

    def __init__(
        self, owner: OwnerClient, nova: _Servers, body: dict[str, Any], timeout: float | None
    ) -> None:
        self._owner, self._nova, self._body, self._timeout = owner, nova, body, timeout
        self._id, self._name = str(body['id']), str(body['name'])
        self._is_administrator = _RESERVATION in body
        self._hidden: dict[str, str] = {}

    def read(self) -> FailedServer:
        """Return the server with its image, siblings and failure.

        ``hidden`` has a phrase for each part that the response lacks. Raise InvalidSpec as
        :meth:`_check_failed`.
        """
        body, actions = self._body, self._nova.actions(self._id)
        self._check_failed(actions)
        failure = self._failure(actions)
        siblings, number, is_least = self._siblings()
        hints = server_fields.hints(body)
        groups = body.get('server_groups') or [hints.get('group')]
        embedded = body.get('flavor') or {}
        create = next((each for each in actions if each['action'] == 'create'), {})
        return FailedServer(
            self._id,
            self._name,
            str(body['status']),
            failure,
            project_id=body.get('tenant_id'),
            user_id=body.get('user_id') or create.get('user_id'),
            flavor=server_fields.flavor(embedded),
            flavor_name=embedded.get('original_name') or embedded.get('id'),
            image=self._image(),
            is_volume_booted=server_fields.is_volume_booted(body),
            availability_zone=self._zone(failure),
            server_group=groups[0],
            hints={key: each for key, each in hints.items() if key != 'group'},
            siblings=siblings,
            number=number,
            is_number_at_least=is_least,
            hidden={**self._hidden, **self._lacking()},
            changes=self._changes(failure, siblings),
        )

    def _check_failed(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Raise InvalidSpec unless the server is in ERROR or deleted, and never ran.

        "web is ACTIVE; its last action, resize, succeeded"; for (): ": its creation did not fail".
        """
        if _is_failed(self._body):
            return
        is_at = f'{self._name} is {self._body["status"]}'
        if not actions:
            raise InvalidSpec(f'{is_at}: its creation did not fail')
        last = max(actions, key=lambda each: str(each['start_time']))
        ended = 'succeeded' if last['message'] is None else 'failed'
        why = '' if last['message'] is None else ', but this command explains failed creations only'
        raise InvalidSpec(f'{is_at}; its last action, {last["action"]}, {ended}{why}')

    def _failure(self, actions: Iterable[Mapping[str, Any]]) -> CreationFailure:
        """Return the failure by the fault of the server, or else by its create action.

        Then, the message is the first detail of a failed event. Without a message, the cause is
        BUILD after one attempt to build it, RETRIES after several, and NOT_SHOWN after none.
        ``tried`` are the hosts of the attempts.
        """
        create = next((each for each in actions if each['action'] == 'create'), None)
        events = () if create is None else self._nova.events(self._id, create)
        builds = [each for each in events if each['event'] == _BUILD]
        tried = dict.fromkeys(str(each['host']) for each in builds if each.get('host'))
        details = (each.get('details') for each in events if each['result'] == 'Error')
        fault = self._body.get('fault') or {}
        message = fault.get('message') or next(filter(None, details), None)
        cause = cause_of(message)
        if builds and message is None:  # rescheduled: a race, or failed starts
            cause = Cause.RETRIES if len(builds) > 1 else Cause.BUILD
        at = fault.get('created') or (create or {}).get('start_time')
        return CreationFailure(cause, message, at and _floored(at), (*tried,))

    def _siblings(self) -> tuple[tuple[Sibling, ...], int, bool]:
        """Return the servers of the request, their number, and whether some may be missing.

        They include this one, and are sorted by the length of the name, then by name. The number is
        at least the highest launch index + 1. A non-admin sees only this server.
        """
        reservation = self._body.get(_RESERVATION)
        query = {'reservation_id': str(reservation), 'changes-since': _ALWAYS}
        found = (self._nova.all_listed(**query) if reservation else []) or [self._body]
        siblings = tuple(
            Sibling(str(each['id']), str(each['name']), str(each['status']), _is_failed(each))
            for each in sorted(found, key=lambda each: (len(each['name']), each['name']))
        )
        highest = max(int(each.get(_INDEX) or 0) + 1 for each in found)
        number = max(len(siblings), highest)
        return siblings, number, not reservation or number > len(siblings)

    def _image(self) -> Image | None:
        """Fetch the image, with the properties that it had at the request; None for a volume.

        Nova's properties override Glance's. If Glance fails, only Nova's remain, and ``_hidden``
        says so.
        """
        embedded = self._body.get('image')
        if not embedded:
            return None
        identity, properties = str(embedded['id']), dict(embedded.get('properties') or {})
        try:
            image = images.find(self._owner, identity, self._timeout)
        except AffinityError:
            self._hidden['--image-property'] = f'image {identity}, which Glance does not show'
            return Image(identity, properties=properties)
        return Image(identity, properties={**image.properties, **properties}, status=image.status)

    def _zone(self, failure: CreationFailure) -> str | None:
        """Return the requested zone, or the default one; None if unknown.

        Below 2.96, only a server that found no host has it.
        """
        is_own = PINNED_ZONE not in self._body and failure.cause is Cause.NO_HOST
        return self._body.get(ZONE if is_own else PINNED_ZONE) or None

    def _lacking(self) -> dict[str, str]:
        """Return a phrase for each part that the response lacks: ``{'--flavor': 'the flavor'}``.

        Also ``--image-property`` for a volume, and ``--host`` for administrators, because only they
        can request a host. Scheduler hints include the group.
        """
        body = self._body
        has_hints, has_group = 'scheduler_hints' in body, 'server_groups' in body
        parts = (
            ('--flavor', 'flavor' in body, 'the flavor'),
            ('--availability-zone', PINNED_ZONE in body, 'the requested zone (from 2.96)'),
            ('--hint', has_hints, 'the scheduler hints (from 2.100)'),
            ('--server-group', has_hints or has_group, 'the server group (from 2.71)'),
            ('--image-property', body.get('image') != '', 'the image properties of the volume'),
            ('--host', not self._is_administrator, 'the requested host, if any'),
        )
        return {option: what for option, is_shown, what in parts if not is_shown}

    def _changes(self, failure: CreationFailure, siblings: Iterable[Sibling]) -> tuple[str, ...]:
        """Return a sentence about the other servers that ran and ended since the failure, if any.

        ``('2 servers were deleted, the last at 2026-11-24 09:14 UTC',)``. Of the first 1000 changed
        servers: for an administrator, deleted ones of all projects, otherwise those of the own
        project. For an administrator, also one about new and changed aggregates. () for a failure
        without a time.
        """
        since = failure.at
        if since is None:
            return ()
        own = {each.id for each in siblings}
        query = {'all_tenants': '1', 'deleted': 'true'} if self._is_administrator else {}
        changed = self._nova.listed(**{'changes-since': since}, **query)
        ends = [
            str(each[_ENDED])
            for each in itertools.islice(changed, LIMIT)  # one page
            if each['id'] not in own
            and each.get(_LAUNCHED)
            and (each.get(_ENDED) or '') >= since[:19]
        ]
        found = self._nova.aggregates() if self._is_administrator else ()
        times = (str(each.get('updated_at') or each.get('created_at') or '') for each in found)
        of_aggregates = [time for time in times if time >= since[:19]]
        return (
            *_since('server', 'deleted', ends),
            *_since('aggregate', 'created or changed', of_aggregates),
        )


def _since(noun: str, what: str, times: Sequence[str]) -> Iterator[str]:
    """Yield '2 servers were deleted, the last at 2026-11-24 09:14 UTC'; nothing without times."""
    if times:
        are = f'1 {noun} was' if len(times) == 1 else f'{len(times)} {noun}s were'
        yield f'{are} {what}, the last at {max(times)[:16].replace("T", " ")} UTC'


def _is_failed(body: Mapping[str, Any]) -> bool:
    """Check whether a server is in ERROR or deleted, and never ran."""
    return body['status'] in ('ERROR', 'DELETED') and not body.get(_LAUNCHED)


def _escaped(text: str) -> str:
    """Return the text, escaped for regular expressions: ``web-1\\.b``."""
    return re.sub(r'([.^$*+?{}\[\]\\|()])', r'\\\1', text)


def _floored(text: str) -> str:
    """Return the time as ``changes-since`` accepts it: ``2026-01-01T00:00:00Z``."""
    return f'{text[:19]}Z'
