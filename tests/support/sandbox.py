"""The sandbox for tests: with faults, a log of requests, and a Senlin that is started again."""

import contextlib
import dataclasses
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests

from senlin_affinity.sandbox import child, cloud


class Faults:
    """The answers that replace those of a service."""

    def __init__(self, base_url: str) -> None:
        self._url = f'{base_url}/_sandbox/faults'

    def add(self, path: str, **more: Any) -> None:
        """Let the next requests that fit get this answer; ``more`` is as in ``faults.Fault``."""
        _call('POST', self._url, {'path': path, **more})

    def clear(self) -> None:
        """Let every service answer for itself again."""
        _call('DELETE', self._url)


class SandboxCloud(cloud.SandboxCloud):
    """A cloud in child processes, and what a test does to it."""

    @property
    def faults(self) -> Faults:
        """The answers that replace those of the services."""
        return Faults(self.base_url)

    def requests(self, service: str | None = 'compute') -> list[dict[str, Any]]:
        """Give the requests that a service got, oldest first, as ``faults`` has them; None: all."""
        entries = _call('GET', f'{self.base_url}/_sandbox/requests')
        return [entry for entry in entries if service in (None, entry['service'])]

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        _call('DELETE', f'{self.base_url}/_sandbox/requests')

    def restart_senlin(self, options: Mapping[str, Mapping[str, Any]]) -> None:
        """Kill Senlin and start it again, on its database, with other options in senlin.conf."""
        plan = self._running
        with child.without_ctrl_c(), contextlib.ExitStack() as sockets:
            blueprint = dataclasses.replace(plan.blueprint, senlin_options=dict(options))
            self._plan = dataclasses.replace(plan, blueprint=blueprint)
            self._plan.write()
            # By force: a child that is asked to end removes the work directory.
            self._children.pop().stop(deadline=0.0)
            address = ('127.0.0.1', urlsplit(plan.endpoints.url('clustering')).port)
            listener = sockets.enter_context(socket.create_server(address, backlog=128))
            senlin = child.Child('senlin_affinity.sandbox.senlin_process', plan.directory, listener)
            self._children.append(senlin)
        child.wait_until_ready([senlin], self._progress)


def _call(method: str, url: str, body: Any = None) -> Any:
    """Send a request and give the body, None where there is none."""
    with requests.Session() as session:
        # No proxy from the environment: it is never between this machine and itself.
        session.trust_env = False
        answer = session.request(method, url, json=body, timeout=60)
    answer.raise_for_status()
    return answer.json() if answer.content else None
