"""Put existing servers into a state, as users and operators do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.accuracy.case import Server

if TYPE_CHECKING:
    from tests.accuracy.servers import Nova
    from tests.accuracy.stage import Stage


def put(stage: Stage, server: Server) -> str:
    """Create a server on this host, without the scheduler's choice, in its state; return its id.

    The scheduler chooses the host of a server of demo: only an administrator may.
    """
    is_chosen = server.host is not None and server.user != 'demo'
    zone = f'nova:{server.host}' if is_chosen else None
    group = None if server.group is None else stage.groups[server.group]
    made, status = stage.novas[server.user].boot(
        stage.flavors[server.flavor], group=group, zone=zone
    )
    assert made is not None, f'{server} is rejected'
    wanted = 'ERROR' if server.host is None else 'ACTIVE'
    assert status == wanted, f'{server} is {status}'
    if server.host is not None:
        _MAKE[server.state](stage.admin, made, server)
    return made


def _act(action: str, status: str, body: Any = None) -> Callable[[Nova, str, Server], None]:
    def make(nova: Nova, made: str, _server: Server) -> None:
        nova.act(made, action, body)
        nova.ended(made, status)

    return make


def _resize(nova: Nova, made: str, server: Server) -> None:
    nova.act(made, 'migrate', {'host': server.target}, '2.56')
    nova.ended(made, 'VERIFY_RESIZE')


def _resize_and(action: str) -> Callable[[Nova, str, Server], None]:
    def make(nova: Nova, made: str, server: Server) -> None:
        _resize(nova, made, server)
        nova.act(made, action)
        nova.ended(made, 'ACTIVE')

    return make


def live_migrate(nova: Nova, made: str, server: Server) -> None:
    """Migrate a server to its target, which nova-scheduler notices at the next periodic report."""
    body = {'host': server.target, 'block_migration': 'auto'}
    nova.act(made, 'os-migrateLive', body, '2.25')
    nova.ended(made, 'ACTIVE')
    found = nova.call('GET', f'/servers/{made}')['server']['OS-EXT-SRV-ATTR:host']
    assert found == server.target, f'{server} is on {found}'


def _soft_delete(nova: Nova, made: str, _server: Server) -> None:
    nova.call('DELETE', f'/servers/{made}')
    nova.ended(made, 'SOFT_DELETED')


LIVE_MIGRATED = 'LIVE_MIGRATED'
#: By state; ``SOFT_DELETED`` requires nova.conf's reclaim_instance_interval.
_MAKE: dict[str, Callable[[Nova, str, Server], None]] = {
    'ACTIVE': lambda _nova, _made, _server: None,
    'SHUTOFF': _act('os-stop', 'SHUTOFF'),
    'PAUSED': _act('pause', 'PAUSED'),
    'SUSPENDED': _act('suspend', 'SUSPENDED'),
    'ERROR': _act('os-resetState', 'ERROR', {'state': 'error'}),
    'SHELVED_OFFLOADED': _act('shelve', 'SHELVED_OFFLOADED'),
    'VERIFY_RESIZE': _resize,
    'MIGRATED': _resize_and('confirmResize'),
    'MIGRATED_BACK': _resize_and('revertResize'),
    # Done by the stage, after nova-scheduler knows all other servers.
    LIVE_MIGRATED: lambda _nova, _made, _server: None,
    'SOFT_DELETED': _soft_delete,
}
STATES = tuple(_MAKE)
