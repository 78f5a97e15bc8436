"""Count the requests of a connection by service and status, and tell which services answer.

Example::

    counted = RequestCount(Counter())
    counted.watch(connection.session)
    login.log_in(connection, 60)
    counted.endpoints = endpoints(connection)
    ...
    counted.numbers         Counter({('identity', '201'): 1, ('compute', '200'): 6})
    counted.answers         {'identity': True, 'compute': True}

The status of a request without a response is ``error``. A service answers if its last request got
a response below 500 that is not a 401; a request under way does not count as answered.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any
from urllib.parse import urlsplit

import requests

IDENTITY = 'identity'
_NO_RESPONSE = 'error'
_SERVICES = ('compute', 'placement', 'clustering', 'image')


class RequestCount:
    """The observer of one connection.

    :param numbers: the counts so far, by service and status, to which it adds.

    Before ``endpoints`` (services by URL) are known, each request counts as one to Keystone.
    """

    def __init__(self, numbers: Counter[tuple[str, str]]) -> None:
        self.numbers = numbers
        self.endpoints: Mapping[str, str] = {}
        self.answers: dict[str, bool] = {}
        self._lock = threading.Lock()

    def watch(self, session: Any) -> None:
        """Count the requests of a keystoneauth session from now on."""
        send = session.session.send

        def send_and_count(request: requests.PreparedRequest, **more: Any) -> requests.Response:
            url, status = str(request.url), None
            with self._lock:
                self.answers[self._service(url)] = False
            try:
                response: requests.Response = send(request, **more)
                status = response.status_code
            finally:
                self._end(url, status)
            return response

        session.session.send = send_and_count

    def _end(self, url: str, status: int | None) -> None:
        service = self._service(url)
        with self._lock:
            self.numbers[service, _NO_RESPONSE if status is None else str(status)] += 1
            self.answers[service] = (
                status is not None
                and status < requests.codes.internal_server_error
                and status != requests.codes.unauthorized
            )

    def _service(self, url: str) -> str:
        """Return the service whose endpoint has the longest common path with the URL."""
        asked = _parts(url)
        lengths = {each: _common(_parts(each), asked) for each in self.endpoints}
        best = max(lengths, key=lengths.__getitem__, default='')
        return self.endpoints[best] if lengths.get(best) else IDENTITY


def endpoints(connection: Any) -> Mapping[str, str]:
    """Return the services that this package uses, by the URLs of the catalog and clouds.yaml.

    The connection has logged in. Empty for an auth plugin without Keystone and no URLs.
    """
    return dict(_endpoints(connection))


def _endpoints(connection: Any) -> Iterator[tuple[str, str]]:
    session = connection.session
    if hasattr(session.auth, 'get_access'):
        catalog = session.auth.get_access(session).service_catalog
        for service in (*_SERVICES, IDENTITY):
            for each in catalog.get_endpoints_data(service_type=service).get(service, ()):
                yield each.url, service
    for service in _SERVICES:
        url = connection.config.get_endpoint(service)
        if url:
            yield url, service


def _parts(url: str) -> tuple[str, ...]:
    split = urlsplit(url)
    return split.netloc, *filter(None, split.path.split('/'))


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of equal parts at the beginning."""
    pairs = zip(one, other, strict=False)
    return len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
