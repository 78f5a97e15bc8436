"""What a test can do to the APIs of a running sandbox, and what it can see of them.

Shapes::

    cloud.faults.add('/servers$', method='POST', status=503, times=1)
    cloud.requests(service='compute')
        == [{'service': 'compute', 'method': 'GET', 'path': '/v2.1/servers', 'query': '',
             'microversion': '2.1', 'user_agent': '...', 'body': None, 'status': 200}]
"""

from __future__ import annotations

from typing import Any

from senlin_affinity.sandbox import json_client


class Faults:
    """The answers that replace those of a service."""

    def __init__(self, base_url: str) -> None:
        self._url = f'{base_url}/_sandbox/faults'

    def add(
        self,
        path: str,
        *,
        method: str | None = None,
        status: int | None = 500,
        body: Any = None,
        times: int | None = 1,
        service: str = 'compute',
        is_held: bool = False,
        is_applied: bool = False,
    ) -> None:
        """Let the next requests that fit get this answer; see :mod:`...sandbox.faults`."""
        fault = {
            'path': path,
            'method': method,
            'status': status,
            'body': body,
            'times': times,
            'service': service,
            'is_held': is_held,
            'is_applied': is_applied,
        }
        json_client.call('POST', self._url, fault)

    def clear(self) -> None:
        """Let every service answer for itself again."""
        json_client.call('DELETE', self._url)


class RequestLog:
    """The requests that the services of the sandbox were sent."""

    def __init__(self, base_url: str) -> None:
        self._url = f'{base_url}/_sandbox/requests'

    def read(self, service: str | None = None) -> list[dict[str, Any]]:
        """Give the requests, oldest first; of one service type, or of all with None."""
        entries, _headers = json_client.call('GET', self._url)
        return [entry for entry in entries if service in (None, entry['service'])]

    def clear(self) -> None:
        """Forget all of them."""
        json_client.call('DELETE', self._url)
