"""Define the faults of a request, as a client observes them on the wire.

A :class:`Fault` replaces the response of the service, or breaks the connection (``wire``). With
``is_applied``, the service executes the request, and only its response is lost. With
``is_mistaken``, the response is well-formed but about another object of the same kind, or a list
has an object twice. With ``is_taken``, a user creates a server group of the requested name right
after the failure.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The behaviours of a connection; ANSWERS is the normal one.
ANSWERS, SILENT, RESET, CUT, DRIPS, UNREACHABLE = (
    'answers', 'silent', 'reset', 'cut', 'drips', 'unreachable',
)  # fmt: skip
#: Nova's names of its errors.
_KINDS = {
    400: 'badRequest', 401: 'unauthorized', 403: 'forbidden', 404: 'itemNotFound',
    409: 'conflictingRequest', 413: 'overLimit', 429: 'tooManyRequests', 500: 'computeFault',
    503: 'serviceUnavailable',
}  # fmt: skip
#: Requests whose responses contain objects with ids.
_OBJECTS = re.compile(
    '(GET|POST) (/compute/v2.1/(os-server-groups|flavors|os-hypervisors|os-aggregates|servers/)'
    '|/image/v2/)'
)
_HTML = b'<html><body><h1>This is not the service</h1></body></html>'
_AT_ONCE, _LATER = (('Retry-After', '0'),), (('Retry-After', '3600'),)
#: MiB of a huge response after decompression; the limit of the cases is 1.
HUGE = 3


@dataclass(frozen=True)
class Fault:
    """A fault; if ``body`` is None, it is the service's error response of this status."""

    name: str
    wire: str = ANSWERS
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_applied: bool = False
    takes_away: bool = False
    is_mistaken: bool = False
    is_taken: bool = False

    def __str__(self) -> str:
        return self.name

    def fits(self, step: str) -> bool:
        """Return whether the fault makes sense for a request."""
        if self.is_mistaken:
            return _OBJECTS.match(step) is not None
        if self.is_taken:
            return step == 'POST /compute/v2.1/os-server-groups'
        return not self.is_applied or step.startswith(('POST /compute', 'DELETE /compute'))

    def answer(self, service: str) -> bytes:
        """Return the body, in the format of the service."""
        return self.body if self.body is not None else _worded(service, self.status)


def _worded(service: str, status: int) -> bytes:
    words: Mapping[str, Any] = {
        'identity': {'error': {'code': status, 'title': 'No', 'message': 'in words'}},
        'placement': {'errors': [{'status': status, 'title': 'No', 'detail': 'in words'}]},
    }.get(service, {_KINDS.get(status, 'fault'): {'code': status, 'message': 'in words'}})
    return json.dumps(words).encode()


def _page(name: str, status: int) -> Fault:
    return Fault(name, status=status, headers=(('Content-Type', 'text/html'),), body=_HTML)


FAULTS = (
    *(Fault(str(status), status=status) for status in (400, 401, 403)),
    Fault('404 of the service', status=404, takes_away=True),
    _page('404 of a proxy', 404),
    *(Fault(str(status), status=status) for status in (409, 413, 429)),
    Fault('429, Retry-After: 0', status=429, headers=_AT_ONCE),
    Fault('429, Retry-After: 3600', status=429, headers=_LATER),
    Fault('503', status=503),
    Fault('503, Retry-After: 0', status=503, headers=_AT_ONCE),
    Fault('503, Retry-After: 3600', status=503, headers=_LATER),
    Fault('500', status=500),
    _page('502', 502),
    Fault('connect timeout', UNREACHABLE),
    Fault('read timeout', SILENT),
    Fault('reset', RESET),
    Fault('cut body', CUT),
    Fault('drip', DRIPS),
    _page('HTML', 200),
    Fault('JSON: a list', body=b'[1, null, {"id": []}]'),
    Fault('JSON: null', body=b'null'),
    Fault('JSON: other types', body=b'{"server_groups": 7, "server_group": "x", "versions": {}}'),
    Fault(
        'huge answer',
        headers=(('Content-Encoding', 'gzip'),),
        body=gzip.compress(b' ' * (HUGE << 20) + b'{}'),
    ),
    Fault('lost after the write: reset', RESET, is_applied=True),
    Fault('lost after the write: silence', SILENT, is_applied=True),
    Fault('lost after the write: 503', status=503, is_applied=True),
    Fault("another object's answer", is_mistaken=True),
    Fault('503, and a user creates the group', status=503, is_taken=True),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
