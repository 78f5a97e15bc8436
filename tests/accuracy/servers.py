"""Create and delete servers of the sandbox, as one of its users.

Units: seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tests.accuracy import timeouts
from tests.support.waiting import NotInTime, until

if TYPE_CHECKING:
    from openstack.connection import Connection

#: The interval of polling. An answer takes Nova 40 ms of the CPU time that it needs for building.
_PAUSE = 0.25
_LONGEST = 90.0
#: Part of nova-api's answer to a request that does not match its schema: an error of the suite.
_MALFORMED = 'Invalid input for field'
#: Exceptions of rules about a flavor and an image, which nova-api answers with 500.
_OF_RULES = ("nova.exception.Invalid'", 'InvalidPCINUMAAffinity', "<class 'ValueError'")


class Nova:
    """Nova's API for one user."""

    def __init__(self, connection: Connection, image: str) -> None:
        self.connection = connection
        self._image = image
        #: What Nova said about the last server that it rejected, or that failed.
        self.refusal = ''

    def ask(self, method: str, path: str, body: Any = None, version: str = '2.37') -> Any:
        """Send a request; return the response."""
        compute = self.connection.compute
        return compute.request(path, method, json=body, microversion=version, raise_exc=False)

    def call(self, method: str, path: str, body: Any = None, version: str = '2.37') -> Any:
        """Send a request that must succeed; return the body of the response."""
        answer = self.ask(method, path, body, version)
        assert answer.ok, f'{method} {path}: {answer.status_code} {answer.text}'
        return answer.json() if answer.content else {}

    def boot(
        self,
        flavor: str,
        *,
        image: str | None = None,
        group: str | None = None,
        zone: str | None = None,
        metadata: int = 0,
        hints: Mapping[str, Any] | None = None,
        host: str | None = None,
    ) -> tuple[str | None, str]:
        """Create a server; return its id (None if the request is rejected) and its final status."""
        server = {'name': 'server', 'flavorRef': flavor, 'imageRef': image or self._image}
        server |= {'networks': 'none', **({} if zone is None else {'availability_zone': zone})}
        server['metadata'] = dict.fromkeys(map(str, range(metadata)), 'x')
        every = {**(hints or {}), **({} if group is None else {'group': group})}
        body = {'server': server, **({'os:scheduler_hints': every} if every else {})}
        if host is not None:
            server['host'] = host
        answer = self.ask('POST', '/servers', body, '2.37' if host is None else '2.74')
        if answer.ok:
            made = str(answer.json()['server']['id'])
            status = self.ended(made)
            if status == 'ERROR':  # Nova stores the fault afterwards
                found = until(lambda: self._fault(made), 30, 'the fault of a server')
                self.refusal = str(found['message'])
                timeouts.check(self.refusal)
            return made, status
        timeouts.check(answer.text)
        is_refused = answer.status_code in (400, 403) and _MALFORMED not in answer.text
        is_broken = answer.status_code == 500 and any(name in answer.text for name in _OF_RULES)
        self.refusal = f'{answer.status_code} {answer.text}'
        assert is_refused or is_broken, self.refusal
        return None, 'REFUSED'

    def _fault(self, server: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call('GET', f'/servers/{server}')['server'].get('fault', {})
        return found

    def ended(self, server: str, *wanted: str) -> str:
        """Wait until a server has one of these statuses; return it."""
        wanted = wanted or ('ACTIVE', 'ERROR')
        deadline = time.monotonic() + _LONGEST
        while True:
            time.sleep(_PAUSE)
            found = self.call('GET', f'/servers/{server}')['server']
            if found['status'] in wanted and not found.get('OS-EXT-STS:task_state'):
                return str(found['status'])
            if time.monotonic() >= deadline:
                raise NotInTime(f'server {server} is {found["status"]}')

    def act(self, server: str, action: str, body: Any = None, version: str = '2.37') -> None:
        """Call an action of a server."""
        self.call('POST', f'/servers/{server}/action', {action: body}, version)

    def servers(self) -> list[dict[str, Any]]:
        """Return the servers of all projects, including deleted servers that can be restored."""
        seen = self.call('GET', '/servers/detail?all_tenants=1')['servers']
        return [*seen, *self.call('GET', '/servers?all_tenants=1&status=SOFT_DELETED')['servers']]

    def delete(self, servers: Iterable[str]) -> None:
        """Delete servers, and wait until Nova and Placement have no record of them."""
        for server in servers:
            answer = self.ask('POST', f'/servers/{server}/action', {'forceDelete': None})
            assert answer.ok or answer.status_code == 404, answer.text
        deadline = time.monotonic() + _LONGEST
        left = list(servers)
        while left:
            if time.monotonic() >= deadline:
                raise NotInTime(f'{left} were not deleted')
            left = [server for server in left if self._is_there(server)]
            time.sleep(_PAUSE if left else 0)

    def _is_there(self, server: str) -> bool:
        if self.ask('GET', f'/servers/{server}').ok:
            return True
        path = f'/allocations/{server}'
        return bool(self.connection.placement.get(path).json()['allocations'])
