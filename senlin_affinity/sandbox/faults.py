"""Log the requests to an API of the sandbox, and answer some of them with a fault.

Example (for tests, over HTTP)::

    POST   /_sandbox/faults     {"service": "compute", "method": "POST", "path": "/servers$",
                                 "status": 503, "body": {...}, "times": 1}
    DELETE /_sandbox/faults
    GET    /_sandbox/requests   [{"service", "method", "path", "query", "microversion", "body",
                                  "user_agent", "status"}, ...]
    DELETE /_sandbox/requests
"""

from __future__ import annotations

import collections
import contextlib
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from webob import Request, Response
from webob.dec import wsgify

from senlin_affinity.sandbox.wsgi import Application, Stub, answer, error, not_found, parts_of

#: The newest requests that the log keeps.
LOG_LENGTH = 20000
#: Seconds.
LONGEST_HOLD = 60.0


@dataclass
class Fault:
    """An answer that replaces the service's own for matching requests.

    ``path`` is a regular expression, searched in the path below the service's prefix
    (``/v2.1/servers``). ``times`` is the number of remaining faults; None: until they are cleared.
    With a ``status`` of None, the service answers. ``is_held`` delays the request until the faults
    are cleared. ``is_applied`` lets the service execute the request, and replaces only its answer.
    """

    path: str
    method: str | None = None
    status: int | None = 500
    body: Any = None
    times: int | None = 1
    service: str = 'compute'
    is_held: bool = False
    is_applied: bool = False
    cleared: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def fits(self, service: str, request: Request) -> bool:
        """Check whether the fault applies to a request."""
        return (
            service == self.service
            and self.times != 0
            and self.method in (None, request.method)
            and re.search(self.path, _path(request)) is not None
        )


class Observer(Stub):
    """The faults and the request log of one sandbox."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._requests: collections.deque[dict[str, Any]] = collections.deque(maxlen=LOG_LENGTH)

    def watch(self, service: str, application: Application) -> Application:
        """Return the application with the log and the faults in front of it."""

        @wsgify
        def watched(request: Request) -> Response:
            entry = _entry(service, request)
            with self._lock:
                self._requests.append(entry)
                fault = self._next_fault(service, request)
            if fault is not None and fault.is_held:
                fault.cleared.wait(LONGEST_HOLD)
            if fault is None or fault.status is None:
                response = request.get_response(application)
            else:
                if fault.is_applied:
                    request.get_response(application)
                response = answer(fault.status, fault.body)
            entry['status'] = response.status_int
            return response

        return watched

    def _answer(self, request: Request) -> Response:
        match (request.method, *parts_of(request)):
            case ('GET', 'requests'):
                return answer(200, list(self._requests))
            case ('DELETE', 'requests'):
                self._requests.clear()
                return answer(204)
            case ('POST', 'faults'):
                try:
                    fault = Fault(**request.json_body)
                    re.compile(fault.path)
                except (TypeError, ValueError, re.error) as problem:
                    return error(400, f'no fault: {problem}')
                self._faults.append(fault)
                return answer(201, request.json_body)
            case ('DELETE', 'faults'):
                for fault in self._faults:
                    fault.cleared.set()
                self._faults.clear()
                return answer(204)
        return not_found(request)

    def _next_fault(self, service: str, request: Request) -> Fault | None:
        fault = next((each for each in self._faults if each.fits(service, request)), None)
        if fault is not None and fault.times is not None:
            fault.times -= 1
        return fault


def _path(request: Request) -> str:
    return '/' + '/'.join(parts_of(request))


def _entry(service: str, request: Request) -> dict[str, Any]:
    microversion = request.headers.get('OpenStack-API-Version', '').partition(' ')[2]
    entry = {
        'service': service,
        'method': request.method,
        'path': _path(request),
        'query': request.query_string,
        'microversion': microversion or request.headers.get('X-OpenStack-Nova-API-Version'),
        'user_agent': request.headers.get('User-Agent', ''),
        'body': None,
        'status': None,
    }
    with contextlib.suppress(ValueError):  # no body, or not JSON
        entry['body'] = request.json_body
    return entry
