"""Move servers of the sandbox as an administrator, and change what Nova's database says of them.

Units: seconds.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from senlin_affinity.nova.moves import COLD, EVACUATE, LIVE, Kind
from tests.accuracy.servers import Nova
from tests.support.waiting import until

_LONGEST = 90
#: The request of each kind of move to a host.
_ACTIONS: Mapping[Kind, tuple[str, Mapping[str, Any]]] = {
    LIVE: ('os-migrateLive', {'block_migration': 'auto'}),
    COLD: ('migrate', {}),
    EVACUATE: ('evacuate', {}),
}
#: With a named host, the scheduler checks it from 2.30 (live), 2.56 (cold) and 2.29 (evacuate) on.
_VERSION = '2.95'
SUCCEEDED, REFUSED, FAILED = 'succeeded', 'refused', 'failed'
_ENDED = ('completed', 'confirmed', 'finished', 'done', 'error', 'failed', 'cancelled')


def move(nova: Nova, server: str, kind: Kind, host: str | None) -> str:
    """Move a server to a host, and confirm it; return '' or why Nova did not move it there.

    None: to any host.
    """
    action, more = _ACTIONS[kind]
    named: dict[str, Any] = {} if host is None and kind != LIVE else {'host': host}
    known = len(_migrations(nova, server))
    answer = nova.ask('POST', f'/servers/{server}/action', {action: {**more, **named}}, _VERSION)
    if not answer.ok:
        assert answer.status_code in (400, 403, 404, 409), answer.text
        return f'{answer.status_code} {answer.text}'
    until(lambda: _has_ended(nova, server, known), _LONGEST, f'{kind} of {server}')
    if _migrations(nova, server)[0]['status'] == 'finished':
        nova.act(server, 'confirmResize')
        until(
            lambda: _migrations(nova, server)[0]['status'] == 'confirmed', _LONGEST, 'confirmation'
        )
    shown = nova.call('GET', f'/servers/{server}')['server']
    found = shown['OS-EXT-SRV-ATTR:host']
    last = _migrations(nova, server)[0]
    is_moved = (
        last['status'] in ('completed', 'confirmed', 'done') and found == last['dest_compute']
    )
    if is_moved and host in (None, found):
        return ''
    return f'{last["status"]}: {_event(nova, server)}'


def act(nova: Nova, server: str, action: str, body: Any) -> tuple[str, str]:
    """Call an action, and wait for its end; return what Nova did, and its message.

    'refused': by nova-api.
    """
    answer = nova.ask('POST', f'/servers/{server}/action', {action: body}, _VERSION)
    if not answer.ok:
        assert answer.status_code in (400, 403, 404, 409), answer.text
        return REFUSED, answer.text
    path = f'/servers/{server}/os-instance-actions/{answer.headers["x-openstack-request-id"]}'

    def ended() -> dict[str, Any] | None:
        shown = nova.call('GET', f'/servers/{server}')['server']
        found: dict[str, Any] = nova.call('GET', path, version='2.84')['instanceAction']
        are_over = found['events'] and all(each['result'] for each in found['events'])
        return found if are_over and shown['OS-EXT-STS:task_state'] is None else None

    found = until(ended, _LONGEST, f'{action} of {server}')
    return SUCCEEDED if found['message'] is None else FAILED, _details(found['events'])


def _migrations(nova: Nova, server: str) -> list[dict[str, Any]]:
    """Return the migrations of a server, the newest first."""
    path = f'/os-migrations?instance_uuid={server}'
    found: list[dict[str, Any]] = nova.call('GET', path, version='2.80')['migrations']
    return found


def _has_ended(nova: Nova, server: str, known: int) -> bool:
    """Check whether the migration after the known ones has ended."""
    found = _migrations(nova, server)
    if len(found) <= known or found[0]['status'] not in _ENDED:
        return False
    shown = nova.call('GET', f'/servers/{server}')['server']
    return shown['OS-EXT-STS:task_state'] is None


def _event(nova: Nova, server: str) -> str:
    """Return what Nova says of the failed events of the last action of a server."""
    path = f'/servers/{server}/os-instance-actions'
    last = nova.call('GET', path, version='2.84')['instanceActions'][0]['request_id']
    events = nova.call('GET', f'{path}/{last}', version='2.84')['instanceAction']['events']
    return _details(events)


def _details(events: Iterable[Mapping[str, Any]]) -> str:
    return '; '.join(str(each['details']) for each in events if each['result'] == 'Error')


def set_service(nova: Nova, host: str, **changes: Any) -> None:
    """Change a compute service: ``status`` (enabled, disabled) or ``forced_down``."""
    path = f'/os-services?binary=nova-compute&host={host}'
    service = nova.call('GET', path, version='2.53')['services'][0]['id']
    nova.call('PUT', f'/os-services/{service}', changes, '2.53')


def let_up(log_dir: Path, nova: Nova, hosts: Iterable[str]) -> None:
    """Let hosts be up again, as a restart of nova-compute does after evacuations."""
    with sqlite3.connect(log_dir / 'cell1.sqlite', timeout=30) as database:
        query = "update migrations set status = 'completed' where migration_type = 'evacuation'"
        database.execute(query)
    for host in hosts:
        set_service(nova, host, forced_down=False)


def rewrite(
    log_dir: Path,
    server: str,
    *,
    task: str | None = None,
    specs: Mapping[str, str] | None = None,
    image: Mapping[str, str] | None = None,
) -> None:
    """Change a server in Nova's database: its task, and its flavor's and image's properties.

    So a server has what no host of the sandbox offers.
    """
    with sqlite3.connect(log_dir / 'cell1.sqlite', timeout=30) as database:
        if task is not None:
            database.execute('update instances set task_state = ? where uuid = ?', (task, server))
        for name, value in (image or {}).items():
            row = (server, f'image_{name}', value)
            database.execute(
                'insert into instance_system_metadata (instance_uuid, key, value, deleted) '
                'values (?, ?, ?, 0)',
                row,
            )
        if specs:
            query = 'select flavor from instance_extra where instance_uuid = ?'
            flavor = json.loads(database.execute(query, (server,)).fetchone()[0])
            flavor['cur']['nova_object.data']['extra_specs'].update(specs)
            query = 'update instance_extra set flavor = ? where instance_uuid = ?'
            database.execute(query, (json.dumps(flavor), server))
