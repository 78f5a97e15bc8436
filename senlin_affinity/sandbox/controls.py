"""What a test can do to the APIs of a running sandbox, and what it can see of them.

Shapes::

    cloud.faults.add('/servers$', method='POST', status=503, times=1)
    cloud.requests(service='compute')
        == [{'service': 'compute', 'method': 'GET', 'path': '/v2.1/servers', 'query': '',
             'microversion': '2.1', 'user_agent': '...', 'body': None, 'status': 200}]

Errors: :class:`CloudError` with the status and the words of the answer.
"""

from __future__ import annotations

from typing import Any

import requests

from senlin_affinity.core.errors import CloudError

#: Seconds; the sandbox is on this machine.
TIMEOUT = 60


def call(method: str, url: str, body: Any = None) -> Any:
    """Send a request and give the body, None where there is none."""
    with requests.Session() as session:
        # No proxy from the environment: it is never between this machine and itself.
        session.trust_env = False
        try:
            answer = session.request(method, url, json=body, timeout=TIMEOUT)
        except requests.RequestException as error:
            raise CloudError(f'{method} {url}: {error}') from error
    if not answer.ok:
        words = f'{method} {url}: {answer.status_code} {answer.text}'
        raise CloudError(words, answer.status_code)
    return answer.json() if answer.content else None


class Faults:
    """The answers that replace those of a service."""

    def __init__(self, base_url: str) -> None:
        self._url = f'{base_url}/_sandbox/faults'

    def add(self, path: str, **more: Any) -> None:
        """Let the next requests that fit get this answer; ``more`` is as in ``faults.Fault``."""
        call('POST', self._url, {'path': path, **more})

    def clear(self) -> None:
        """Let every service answer for itself again."""
        call('DELETE', self._url)
