"""Find the last action on a server for which Nova chose a host, and why it failed.

Example::

    of(nova, body, actions)      LastAction(Action.RESIZE, ActionFailure(NO_HOST, ...), None, 'big')

A later action for which Nova chooses no host, such as a reboot, does not count.

Units: times are ISO 8601 in UTC.

Raises: InvalidSpec if the action did not fail, or without such an action.

Source: the compute API reference: ``message`` of an action is "Error" or null; the details of
events from 2.84, and the migrations, are for administrators. The target of an evacuation is in its
migration record, those of a cold and a live migration are not. The record of a resize has the
internal number of the new flavor, in whose order Nova lists the flavors (``sort_key=id``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.cloud.named_servers import NamedServers, floored
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.nova.actions import Action
from senlin_affinity.preflight.failed_server import ActionFailure, cause_of

_ACTIONS: Mapping[str, Action] = {
    'resize': Action.RESIZE,
    'migrate': Action.MIGRATE,
    'live-migration': Action.LIVE_MIGRATE,
    'evacuate': Action.EVACUATE,
    'unshelve': Action.UNSHELVE,
    'rebuild': Action.REBUILD,
}
#: The types of migration records.
_TYPES: Mapping[Action, str] = {
    Action.RESIZE: 'resize',
    Action.MIGRATE: 'migration',
    Action.LIVE_MIGRATE: 'live-migration',
    Action.EVACUATE: 'evacuation',
}
#: The events on a host that Nova chose.
_ON_TARGET = frozenset(
    (
        *('compute_prep_resize', 'compute_finish_resize', 'compute_unshelve_instance'),
        *('compute_check_can_live_migrate_destination', 'compute_pre_live_migration'),
        *('compute_rebuild_instance',),
    )
)
_MOST_NAMED = 3


@dataclass(frozen=True)
class LastAction:
    """A failed action; its target and the name of its flavor, as far as Nova shows them.

    ``hidden`` has a phrase for each part that Nova does not show, by the option that specifies it.
    """

    action: Action
    failure: ActionFailure
    host: str | None = None
    flavor_name: str | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)


def of(
    nova: NamedServers, body: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]
) -> LastAction:
    """Return the last action for which Nova chose a host; up to three requests.

    Raise InvalidSpec unless it failed: "web is ACTIVE; its last action, resize, succeeded"; for ():
    ": its creation did not fail".
    """
    server, is_at = str(body['id']), f'{body["name"]} is {body["status"]}'
    if not actions:
        raise InvalidSpec(f'{is_at}: its creation did not fail')
    ordered = sorted(actions, key=lambda each: str(each['start_time']))
    tried = next((each for each in reversed(ordered) if each['action'] in _ACTIONS), None)
    if tried is None or tried['message'] is None:
        last = ordered[-1] if tried is None else tried
        is_failed = last['message'] is not None
        ended = 'failed, but Nova chooses no host for it' if is_failed else 'succeeded'
        if last is ordered[-1] and not is_failed and body.get('OS-EXT-STS:task_state'):
            ended = 'has not ended'
        which = 'last action' if last is ordered[-1] else 'last action that needed a host'
        raise InvalidSpec(f'{is_at}; its {which}, {last["action"]}, {ended}')
    action = _ACTIONS[tried['action']]
    record = None
    if action in _TYPES:
        record = _record(nova.migrations(server), tried, _TYPES[action])
    return _described(nova, body, tried, record)


def of_record(
    nova: NamedServers,
    body: Mapping[str, Any],
    actions: Sequence[Mapping[str, Any]],
    record: Mapping[str, Any],
) -> LastAction | None:
    """Return the action of a failed migration; None without one. One request.

    It is the last one of this type that started before Nova wrote the record.
    """
    kind, at = record.get('migration_type'), str(record['created_at'])[:19]
    name = next((key for key, each in _ACTIONS.items() if _TYPES.get(each) == kind), None)
    earlier = [
        each for each in actions if each['action'] == name and str(each['start_time'])[:19] <= at
    ]
    tried = max(earlier, key=lambda each: str(each['start_time']), default=None)
    return None if tried is None else _described(nova, body, tried, record)


def _described(
    nova: NamedServers,
    body: Mapping[str, Any],
    tried: Mapping[str, Any],
    record: Mapping[str, Any] | None,
) -> LastAction:
    """Return the failed action with what its events and its migration record show."""
    action = _ACTIONS[tried['action']]
    failure = _failure(body, tried, nova.events(str(body['id']), tried))
    if action in (Action.UNSHELVE, Action.REBUILD):
        hidden = {'--host': 'the requested host, if any'}
        if action is Action.REBUILD:
            hidden = {'--image': 'the new image, except its standard properties'}
        return LastAction(action, failure, hidden=hidden)
    if action is Action.RESIZE:
        name, lacking = _new_flavor(nova, body, record)
        return LastAction(action, failure, flavor_name=name, hidden=lacking)
    if action is Action.EVACUATE and record is not None:
        return LastAction(action, failure, record.get('dest_compute'))
    return LastAction(action, failure, hidden={'--host': 'the requested host, if any'})


def _failure(
    body: Mapping[str, Any], tried: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> ActionFailure:
    """Return the failure by the details of the first failed event, or else by a later fault.

    An event on a host that Nova chose comes before that of nova-conductor, which tries other hosts
    after it.
    """
    events = sorted(events, key=lambda each: str(each['start_time']))
    events.sort(key=lambda each: each['event'] not in _ON_TARGET)
    details = (each.get('details') for each in events if each['result'] == 'Error')
    message, at = next(filter(None, details), None), str(tried['start_time'])
    fault = body.get('fault') or {}
    if message is None and str(fault.get('created', '')) >= floored(at):
        message = fault.get('message')
    hosts = (str(each['host']) for each in events if each['event'] in _ON_TARGET and each['host'])
    return ActionFailure(cause_of(message), message, floored(at), (*dict.fromkeys(hosts),))


def _record(
    migrations: Iterable[Mapping[str, Any]], tried: Mapping[str, Any], kind: str
) -> Mapping[str, Any] | None:
    """Return the first migration of this type since the action started; None without one."""
    since = str(tried['start_time'])[:19]
    found = [
        each
        for each in migrations
        if each.get('migration_type') == kind and str(each['created_at']) >= since
    ]
    return found[-1] if found else None


def _new_flavor(
    nova: NamedServers, body: Mapping[str, Any], record: Mapping[str, Any] | None
) -> tuple[str | None, Mapping[str, str]]:
    """Return the name of the new flavor of a resize, as far as it can be told, and what is hidden.

    The most likely one if its number does not tell; None if nothing tells.
    """
    current = (body.get('flavor') or {}).get('original_name')
    if record is None or current is None:
        return None, {'--flavor': 'the new flavor'}
    now, wanted = int(record['old_instance_type_id']), int(record['new_instance_type_id'])
    found = named_by_number(nova.flavor_names, str(current), now, wanted)
    if len(found) == 1:
        return found[0], {}
    words = 'the new flavor, except its internal number'
    if not found:
        return None, {'--flavor': words}
    others = ', '.join(found[1 : 1 + _MOST_NAMED])
    return found[0], {'--flavor': f'{words} ({found[0]} is the most likely, then {others})'}


def named_by_number(names: Sequence[str], current: str, now: int, wanted: int) -> tuple[str, ...]:
    """Return the flavors that may have an internal number, the most likely first; () without one.

    Numbers start at 1 and ascend; those of deleted flavors are missing.
    ``named_by_number(['a', 'b', 'c'], 'a', 1, 3)`` is ``('c', 'b')``.

    :param names: all flavors, in the order of their numbers.
    :param now: the number of ``current``.
    """
    if current not in names or now == wanted:
        return ()
    place = names.index(current)
    if wanted > now:
        # Each flavor between the two takes a number.
        found = names[place + 1 : place + 1 + wanted - now]
        return (*reversed(found),)
    if place == now - 1:  # nothing below is missing
        return (names[wanted - 1],)
    return (*names[max(0, place - (now - wanted)) : min(place, wanted)],)
