"""Stands before an API of the sandbox: keeps a log of its requests, and answers some with a fault.

Tests use it through :mod:`senlin_affinity.sandbox.controls`; over HTTP it is::

    POST   /_sandbox/faults     {"service": "compute", "method": "POST", "path": "/servers$",
                                 "status": 503, "body": {...}, "times": 1}
    DELETE /_sandbox/faults
    GET    /_sandbox/requests   [{"service", "method", "path", "query", "microversion", "body",
                                  "user_agent", "status"}, ...]
    DELETE /_sandbox/requests

Units: ``times`` counts the answers left; None means until the faults are cleared. ``path`` is a
regular expression, searched in the path below the service's prefix (``/v2.1/servers``). A
``status`` of None leaves the answer to the service. With ``is_held`` nothing happens until the
faults are cleared (or :data:`LONGEST_HOLD` seconds have passed); with ``is_applied`` the service
carries the request out, and only its answer is replaced.
"""

from __future__ import annotations

import collections
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from senlin_affinity.sandbox.wsgi import Application, Request, Response, Stub, error, not_found

#: The log keeps this many requests, the newest ones.
LOG_LENGTH = 20000
#: Seconds; a test that died must not hold a service for ever.
LONGEST_HOLD = 60.0


@dataclass
class Fault:
    """An answer that some requests get instead of the service's own."""

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
        """Tell whether this request gets it."""
        path = '/' + '/'.join(request.path)
        return (
            service == self.service
            and self.times != 0
            and self.method in (None, request.method)
            and re.search(self.path, path) is not None
        )


class Observer(Stub):
    """The faults and the request log of one sandbox."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._requests: collections.deque[dict[str, Any]] = collections.deque(maxlen=LOG_LENGTH)

    def watch(self, service: str, application: Application) -> Application:
        """Put the observer before an application."""

        def watched(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            request = Request.of(environ)
            entry = _entry(service, request)
            with self._lock:
                self._requests.append(entry)
                fault = self._next_fault(service, request)

            def start(status: str, headers: Any, *more: Any) -> Any:
                entry['status'] = int(status.split()[0])
                return start_response(status, headers, *more)

            if fault is not None and fault.is_held:
                fault.cleared.wait(LONGEST_HOLD)
            if fault is None or fault.status is None:
                return application(environ, start)
            if fault.is_applied:
                _carry_out(application, environ)
            return Response(fault.status, fault.body)(environ, start)

        return watched

    def _answer(self, request: Request) -> Response:
        match (request.method, *request.path):
            case ('GET', 'requests'):
                return Response(200, list(self._requests))
            case ('DELETE', 'requests'):
                self._requests.clear()
                return Response(204)
            case ('POST', 'faults'):
                try:
                    fault = Fault(**request.body)
                    re.compile(fault.path)
                except (TypeError, re.error) as problem:
                    return error(400, f'no fault: {problem}')
                self._faults.append(fault)
                return Response(201, request.body)
            case ('DELETE', 'faults'):
                for fault in self._faults:
                    fault.cleared.set()
                self._faults.clear()
                return Response(204)
        return not_found(request)

    def _next_fault(self, service: str, request: Request) -> Fault | None:
        for fault in self._faults:
            if fault.fits(service, request):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


def _carry_out(application: Application, environ: dict[str, Any]) -> None:
    """Let the service do what it is asked, and drop its answer."""
    answer = application(environ, lambda *_answer: lambda _data: None)
    for _part in answer:
        pass
    if hasattr(answer, 'close'):
        answer.close()


def _entry(service: str, request: Request) -> dict[str, Any]:
    microversion = request.header('OpenStack-API-Version').partition(' ')[2]
    return {
        'service': service,
        'method': request.method,
        'path': '/' + '/'.join(request.path),
        'query': request.environ.get('QUERY_STRING', ''),
        'microversion': microversion or request.header('X-OpenStack-Nova-API-Version') or None,
        'user_agent': request.header('User-Agent'),
        'body': request.body,
        'status': None,
    }
