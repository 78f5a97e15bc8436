"""JSON over HTTP with the standard library, for the sandbox's own requests to itself.

Errors: :class:`CloudError` with the status and the service's words.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from senlin_affinity.core.errors import CloudError

#: Seconds; the sandbox is on this machine.
TIMEOUT = 60

# No proxy from the environment: it is never between this machine and itself.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(
    method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> tuple[Any, Mapping[str, str]]:
    """Send a request and give the body (None where there is none) and the headers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, dict(headers or {}), method=method)
    request.add_header('Content-Type', 'application/json')
    try:
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            raw = response.read()
            return (json.loads(raw) if raw else None), response.headers
    except urllib.error.HTTPError as error:
        words = error.read().decode('utf-8', 'replace')
        raise CloudError(f'{method} {url}: {error.code} {words}', error.code) from error
    except OSError as error:
        raise CloudError(f'{method} {url}: {error}') from error
