"""Extend the sandbox for tests: faults, a log of requests, a restart of Senlin, a fast start."""

import contextlib
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests

from senlin_affinity.sandbox import child, cloud
from tests.support import forked
from tests.support.values import replace


class Faults:
    """Responses that replace those of a service."""

    def __init__(self, base_url: str) -> None:
        self._url = f'{base_url}/_sandbox/faults'

    def add(self, path: str, **more: Any) -> None:
        """Replace the next matching responses; ``more`` is as in ``faults.Fault``."""
        _call('POST', self._url, {'path': path, **more})

    def clear(self) -> None:
        """Remove all faults."""
        _call('DELETE', self._url)


class SandboxCloud(cloud.SandboxCloud):
    """A sandbox that a test can disturb."""

    @property
    def faults(self) -> Faults:
        """Return the faults of the services."""
        return Faults(self.base_url)

    def requests(self, service: str | None = 'compute') -> list[dict[str, Any]]:
        """Return a service's requests, oldest first, as in ``faults``; None: of all services."""
        entries = _call('GET', f'{self.base_url}/_sandbox/requests')
        return [entry for entry in entries if service in (None, entry['service'])]

    def clear_requests(self) -> None:
        """Clear the log of requests."""
        _call('DELETE', f'{self.base_url}/_sandbox/requests')

    def restart_senlin(self, options: Mapping[str, Mapping[str, Any]]) -> None:
        """Stop Senlin by force, and start it on its database with these options of senlin.conf."""
        plan = self._running
        with child.without_ctrl_c(), contextlib.ExitStack() as sockets:
            blueprint = replace(plan.blueprint, senlin_options=dict(options))
            self._plan = replace(plan, blueprint=blueprint)
            self._plan.write()
            # By force, because a child that terminates normally removes the work directory.
            self._children.pop().stop(deadline=0.0)
            address = ('127.0.0.1', urlsplit(plan.endpoints.url('clustering')).port)
            listener = sockets.enter_context(socket.create_server(address, backlog=128))
            senlin = child.Child('senlin_affinity.sandbox.senlin_process', plan.directory, listener)
            self._children.append(senlin)
        child.wait_until_ready([senlin], self._progress)

    def _child(self, module: str, *more: Any) -> child.Child:
        is_forked = module.endswith('nova_process') and forked.may_fork()
        return (forked.Forked if is_forked else child.Child)(module, *more)


def _call(method: str, url: str, body: Any = None) -> Any:
    """Send a request, and return the body or None."""
    with requests.Session() as session:
        # The environment's proxy does not apply to this machine.
        session.trust_env = False
        answer = session.request(method, url, json=body, timeout=60)
    answer.raise_for_status()
    return answer.json() if answer.content else None
