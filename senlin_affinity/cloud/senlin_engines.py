"""Fetch from Senlin which engines run, with which release, and which actions they left.

Each engine writes its release and a hash of its options into the ``data`` of policies
(``plugins.senlin.engine_report``). All requests need an administrator.

Source: Senlin's API reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from senlin_affinity.cloud.paging import list_of, reading
from senlin_affinity.cloud.rest import OwnerRest
from senlin_affinity.cloud.senlin import UNFINISHED, list_all

REPORTS = 'affinity_engines'
ENGINE = 'senlin-engine'
_SERVICES = 'list the services of Senlin'
_UP = 'up'
#: Actions show the cluster of their node.
_CLUSTER_IDS = (1, 14)


@dataclass(frozen=True)
class Engine:
    """The engines of one host; ``is_up`` if at least one of them is.

    ``release`` and ``options`` (a hash) are of the latest report of one that is up; None without.
    """

    host: str
    is_up: bool
    release: str | None = None
    options: str | None = None


@dataclass(frozen=True)
class AbandonedAction:
    """An action that may lock a cluster or node (``target``) forever: its engine is not up."""

    id: str
    name: str
    target: str


def reports(data: object) -> dict[str, dict[str, str]]:
    """Return the reports in the data of a policy, by host; keys and values are strings.

    ``{'affinity_engines': {'a': {'at': 1}}} -> {'a': {'at': '1'}}``. Malformed ones are left out.
    """
    found = data.get(REPORTS) if isinstance(data, Mapping) else None
    entries = found if isinstance(found, Mapping) else {}
    return {
        str(host): {str(key): str(value) for key, value in entry.items()}
        for host, entry in entries.items()
        if isinstance(entry, Mapping)
    }


def engines(senlin: OwnerRest) -> tuple[Engine, ...]:
    """Fetch the engines of each host with their latest report, sorted by host."""
    policies = [*list_all(senlin, 'policies', None)]
    alive: dict[str, set[str]] = {}
    for host, service, is_up in _services(senlin):
        alive.setdefault(host, set()).update([service] if is_up else [])
    latest: dict[str, dict[str, str]] = {}
    for policy in policies:
        for host, entry in reports(policy.get('data')).items():
            if not alive.get(host, set()).isdisjoint(entry.get('services', '').split()):
                latest[host] = max(latest.get(host, {}), entry, key=lambda each: each.get('at', ''))
    return tuple(
        Engine(host, bool(alive[host]), entry.get('release'), entry.get('options'))
        for host in sorted(alive)
        for entry in [latest.get(host, {})]
    )


def abandoned_actions(senlin: OwnerRest) -> Iterator[AbandonedAction]:
    """Yield the unfinished actions, of all projects, whose engine is not up.

    An action without an engine counts if it is INIT, has a ``cluster_id``, and no engine that is up
    has an action of this cluster.
    """
    # Read first: an engine that starts an action in between is up.
    shown, status = senlin.pick(_CLUSTER_IDS), UNFINISHED
    actions = [*list_all(senlin, 'actions', None, shown, global_project='True', status=status)]
    alive = {service for _host, service, is_up in _services(senlin) if is_up}
    with reading('list the actions of Senlin'):
        busy = {str(each['target']) for each in actions if each['owner'] in alive}
        for each in actions:
            is_left = each['status'] == 'INIT' and each.get('cluster_id', '') not in {'', *busy}
            if each['owner'] not in alive if each['owner'] else is_left:
                yield AbandonedAction(str(each['id']), str(each['action']), str(each['target']))


def _services(senlin: OwnerRest) -> list[tuple[str, str, bool]]:
    """Fetch the host and the id of each engine that has both, and whether it is up."""
    body = senlin.get('/services', _SERVICES)
    with reading(_SERVICES):
        listed = list_of(body, 'services', _SERVICES)
        return [
            (str(each['host']), str(each['id']), each['state'] == _UP)
            for each in listed
            if each['binary'] == ENGINE and each['host'] and each['id']
        ]
