"""Fetch a failed server, its siblings and its request, as far as Nova returns them.

If the server ran, its last action for which Nova chose a host is read instead of its creation.
Siblings share a ``reservation_id``, by which only administrators list them.

Source: the compute API reference: the embedded flavor from 2.47, ``server_groups`` from 2.71 (for a
single server), ``pinned_availability_zone`` from 2.96 (the requested zone or the default), the
standard image properties from 2.98, ``scheduler_hints`` from 2.100; for administrators, the hosts
of events from 2.62 and their details from 2.84. Nova records when an aggregate was created or
renamed, but not a change of its hosts or metadata. The ``updated_at`` of a compute service is no
evidence of a change, because every heartbeat sets it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from senlin_affinity.cloud import connection as clouds
from senlin_affinity.cloud import images, last_actions, servers
from senlin_affinity.cloud.clients import Clients
from senlin_affinity.cloud.last_actions import LastAction
from senlin_affinity.cloud.named_servers import (
    ALWAYS,
    DELETED,
    NamedServers,
    floored,
    image_of,
    server_of,
)
from senlin_affinity.cloud.paging import LIMIT, reading
from senlin_affinity.cloud.servers import PINNED_ZONE, ZONE
from senlin_affinity.model.image import Image
from senlin_affinity.nova.actions import Action, ServerAction
from senlin_affinity.nova.moves import FIELDS, REBUILT_IMAGE
from senlin_affinity.preflight.failed_server import (
    CREATED,
    ENDED,
    ActionFailure,
    Cause,
    Change,
    FailedServer,
    Sibling,
    cause_of,
)

_READ = 'read the server'
HOST = 'OS-EXT-SRV-ATTR:host'
#: The event of a host that starts the server.
_BUILD = 'compute__do_build_and_run_instance'
RESERVATION, _INDEX = 'OS-EXT-SRV-ATTR:reservation_id', 'OS-EXT-SRV-ATTR:launch_index'
LAUNCHED, _TERMINATED = 'OS-SRV-USG:launched_at', 'OS-SRV-USG:terminated_at'


def find(clients: Clients, named: str) -> FailedServer:
    """Fetch the server with this id or name whose creation, or last action, failed.

    Raise InvalidSpec for none or several, and if neither failed.
    """
    nova = NamedServers(clouds.compute(clients.owner))
    body = nova.find(named)
    with reading(_READ):
        return Reader(nova, body, partial(images.find, clients.owner)).read()


class Reader:
    """The conversion of one server, and the requests for what belongs to it.

    :param find_image: returns Glance's image of an id, or raises AffinityError.
    """

    def __init__(
        self, nova: NamedServers, body: Mapping[str, Any], find_image: Callable[[str], Image]
    ) -> None:
        self._nova, self._body, self._find_image = nova, body, find_image
        self._id, self._name = str(body['id']), str(body['name'])
        self._is_administrator = RESERVATION in body
        self._hidden: dict[str, str] = {}

    def read(self) -> FailedServer:
        """Return the server with its image, siblings and failure, or with the action that failed.

        ``hidden`` has a phrase for each part that the response lacks. Raise InvalidSpec if its last
        action did not fail.
        """
        body, actions = self._body, self._actions()
        tried = self._tried(actions)
        failure = self._failure(actions) if tried is None else tried.failure
        siblings, number, is_least = self._siblings() if tried is None else ((), 1, False)
        image, is_complete = image_of(body, self._find_image)
        if image is not None and not is_complete:
            words = f'image {image.id}, which Glance does not show'
            self._hidden['--image-property'] = words
        hints = servers.hints_of(body)
        groups = body.get('server_groups') or [hints.get('group')]
        embedded = body.get('flavor') or {}
        create = next((each for each in actions if each['action'] == 'create'), {})
        found = FailedServer(
            self._id,
            self._name,
            str(body['status']),
            failure,
            project_id=body.get('tenant_id'),
            user_id=body.get('user_id') or create.get('user_id'),
            flavor=servers.embedded_flavor(embedded),
            flavor_name=embedded.get('original_name') or embedded.get('id'),
            image=image,
            is_volume_booted=servers.is_volume_booted(body),
            availability_zone=self._zone(failure),
            server_group=groups[0],
            hints={key: each for key, each in hints.items() if key != 'group'},
            siblings=siblings,
            number=number,
            is_number_at_least=is_least,
            hidden={**self._hidden, **self._lacking()},
            changes=self._changes(failure, siblings),
        )
        return found if tried is None else self._of_action(tried, found, actions)

    def _actions(self) -> Sequence[Mapping[str, Any]]:
        """Return the actions on the server."""
        return self._nova.actions(self._id)

    def _tried(self, actions: Sequence[Mapping[str, Any]]) -> LastAction | None:
        """Return the action that failed; None for the creation."""
        if is_failed(self._body):
            return None
        return last_actions.of(self._nova, self._body, actions)

    def _of_action(
        self, tried: LastAction, found: FailedServer, actions: Iterable[Mapping[str, Any]]
    ) -> FailedServer:
        """Return the server as the action that failed found it."""
        hidden = {key: each for key, each in found.hidden.items() if key != '--host'}
        known = None if '--image-property' in hidden else found.image
        server = server_of(self._body, known, actions)
        if REBUILT_IMAGE in server.unknown and tried.action is not Action.REBUILD:
            hidden['--image'] = FIELDS[REBUILT_IMAGE]
        is_resize, image = tried.action is Action.RESIZE, found.image
        if tried.action is Action.REBUILD:  # Nova keeps the properties of the new image
            image = Image(properties=(self._body.get('image') or {}).get('properties') or {})
        return replace(
            found,
            flavor=None if is_resize else found.flavor,
            flavor_name=tried.flavor_name if is_resize else found.flavor_name,
            image=image,
            availability_zone=self._body.get(PINNED_ZONE) or None,
            hidden={**hidden, **tried.hidden},
            attempt=ServerAction(tried.action, server),
            host=tried.host,
        )

    def _failure(self, actions: Iterable[Mapping[str, Any]]) -> ActionFailure:
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
        return ActionFailure(cause, message, at and floored(at), (*tried,))

    def _siblings(self) -> tuple[tuple[Sibling, ...], int, bool]:
        """Return the servers of the request, their number, and whether some may be missing.

        They include this one, and are sorted by the length of the name, then by name. The number is
        at least the highest launch index + 1. A non-admin sees only this server.
        """
        reservation = self._body.get(RESERVATION)
        found = self._listed_siblings(reservation) or [self._body]
        siblings = tuple(
            Sibling(str(each['id']), str(each['name']), str(each['status']), is_failed(each))
            for each in sorted(found, key=lambda each: (len(each['name']), each['name']))
        )
        highest = max(int(each.get(_INDEX) or 0) + 1 for each in found)
        number = max(len(siblings), highest)
        return siblings, number, not reservation or number > len(siblings)

    def _listed_siblings(self, reservation: str | None) -> Sequence[Mapping[str, Any]]:
        """Return the servers of the request, as far as Nova lists them."""
        query = {'reservation_id': str(reservation), 'changes-since': ALWAYS}
        return self._nova.all_listed(**query) if reservation else ()

    def _zone(self, failure: ActionFailure) -> str | None:
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

    def _changes(self, failure: ActionFailure, siblings: Iterable[Sibling]) -> tuple[Change, ...]:
        """Return the other servers that ran and ended, or were created, since the failure.

        For an administrator, also the aggregates that were created or changed. () for a failure
        without a time.
        """
        since = failure.at
        if since is None:
            return ()
        own = {self._id, *(each.id for each in siblings)}
        found = [
            change
            for body in self._changed_servers(since)
            if body['id'] not in own and body.get(LAUNCHED)
            for change in _of_server(body, since)
        ]
        times = (
            str(each.get('updated_at') or each.get('created_at') or '')
            for each in self._changed_aggregates()
        )
        found += (
            Change('aggregate', 'created or changed', time)
            for time in times
            if time[:19] > since[:19]
        )
        return tuple(found)

    def _changed_servers(self, since: str) -> Iterator[Mapping[str, Any]]:
        """Yield the servers that changed since then, up to 1000 of each kind.

        For an administrator, first deleted ones of all projects, then others, the newest first;
        otherwise those of the own project.
        """
        queries: tuple[dict[str, str], ...] = ({},)
        if self._is_administrator:
            queries = tuple({'all_tenants': '1', 'deleted': each} for each in ('true', 'false'))
        for query in queries:
            changed = self._nova.listed(**{'changes-since': since}, **query)
            yield from itertools.islice(changed, LIMIT)  # one page

    def _changed_aggregates(self) -> Sequence[Mapping[str, Any]]:
        """Return all aggregates; () for a non-admin."""
        return self._nova.aggregates() if self._is_administrator else ()


def _of_server(body: Mapping[str, Any], since: str) -> Iterator[Change]:
    """Yield that a server was created, or ended, since then.

    Nova shows whole seconds. What was created in the second of the failure (also an aggregate) was
    probably there before: the request failed. What ended in this second was probably still there.
    """
    host = body.get(HOST) or None
    created, ended = str(body['created']), str(body.get(_TERMINATED) or '')
    if body['status'] != DELETED and created[:19] > since[:19]:
        yield Change('server', CREATED, created, host)
    if ended >= since[:19]:
        yield Change('server', ENDED, ended, host)


def is_failed(body: Mapping[str, Any]) -> bool:
    """Check whether a server is in ERROR or deleted, and never ran."""
    return body['status'] in ('ERROR', DELETED) and not body.get(LAUNCHED)
