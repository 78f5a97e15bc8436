"""Send requests to one service of the cloud, and return raw JSON.

A microversion is a pair: (2, 64).

Raises: CloudError with the service's own message for any unexpected response; ``is_uncertain`` if a
write may have happened nevertheless. A write is never repeated. An object is missing only after a
404 with ``itemNotFound``: a proxy answers 404, too.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NewType, TypeVar, cast

import requests
from openstack.proxy import Proxy

from senlin_affinity.cloud.clients import Responses
from senlin_affinity.cloud.login import NO_ANSWER
from senlin_affinity.cloud.transport import (
    REQUEST_TIMEOUT,
    GivenUp,
    error_text,
    left,
    one_line,
    within,
)
from senlin_affinity.model.errors import CloudError, TooLarge

T = TypeVar('T')
Microversion = tuple[int, int]
BASE: Microversion = (2, 1)
#: The key in the body of a 404 for a missing object, but not for a path that Nova's router lacks.
NOT_FOUND = 'itemNotFound'
#: The statuses that Retry-After may accompany, and the number of retries of a read.
_LATER = (requests.codes.too_many_requests, requests.codes.service_unavailable)
_MOST_AGAIN = 3
#: The headers with the id of the request.
_IDS = ('x-openstack-request-id', 'x-compute-request-id')
#: The end of a message about the last response, for :func:`malformed`.
_LAST: contextvars.ContextVar[str] = contextvars.ContextVar('last', default='')


class Rest:
    """The API of one service.

    :param adapter: openstacksdk's adapter (``connection.compute``).
    :param service: the name in errors ("Nova").
    :param timeout: seconds for which the service may be silent; None: the session's.
    :param responses: those of earlier reads, which are not sent again.
    """

    def __init__(
        self,
        adapter: Proxy,
        service: str,
        timeout: float | None = None,
        responses: Responses | None = None,
    ) -> None:
        self._adapter = adapter
        self._responses = responses
        self.name = service
        self._timeout = timeout
        self._offered: tuple[Microversion, Microversion] | None = None

    def pick(self, wanted: Microversion) -> Microversion:
        """Return the wanted microversion, or the nearest that the cloud offers."""
        if self._offered is None:
            self._offered = self._discover()
        lowest, highest = self._offered
        return max(lowest, min(wanted, highest))

    def get(
        self,
        path: str,
        what: str,
        microversion: Microversion | None = None,
        params: Mapping[str, str | int | Sequence[str]] | None = None,
        may_be_missing: bool = False,
    ) -> Any:
        """Send a GET request, and return the parsed body.

        Raise CloudError for an error status, and for a body that is null or not JSON.

        :param what: the operation, for the error: "list the server groups".
        :param params: the query; a key with a list is sent once for each value.
        :param may_be_missing: return None for a 404 with ``itemNotFound``.
        """
        response = self._read(path, what, microversion, dict(params or {}))
        if may_be_missing and self._is_missing(response, what):
            return None
        return self._json(response, what)

    def post(self, path: str, what: str, microversion: Microversion, body: object) -> Any:
        """Send a POST request once, and return the parsed body, as :meth:`get`."""
        return self._json(self._send('POST', path, what, microversion, json=body), what)

    def delete(self, path: str, what: str, microversion: Microversion) -> bool:
        """Send a DELETE request: True for a 204, False for a 404 with ``itemNotFound``.

        Raise CloudError for any other response.
        """
        response = self._send('DELETE', path, what, microversion)
        if self._is_missing(response, what):
            return False
        self._check(response, what)
        if response.status_code != requests.codes.no_content:
            status = response.status_code
            message = f'{self.name} answered {status} instead of 204: {one_line(response.text)!r}'
            raise _error(what, message, response)
        return True

    def _discover(self) -> tuple[Microversion, Microversion]:
        """Fetch the lowest and highest microversion; (2, 1) for both if the service names none."""
        data = self._endpoint_data()
        if data.status is None:
            # keystoneauth hides a failed discovery. Send the request again, for the reason.
            what = f'find out the microversions of {self.name}'
            self._json(self._send('GET', data.url, what), what)
            data = self._endpoint_data()
            if data.status is None:
                raise CloudError(f'could not {what}: {data.url} describes no version')
        highest = data.max_microversion or BASE
        lowest = data.min_microversion or highest
        return (lowest[0], lowest[1]), (highest[0], highest[1])

    def _endpoint_data(self) -> Any:
        """Return keystoneauth's endpoint data; its ``status`` is None if the discovery failed.

        Raise CloudError if the login fails, or the catalog has no endpoint.
        """
        timeout = self._timeout or REQUEST_TIMEOUT
        adapter = self._adapter
        data = find(self.name, timeout, adapter.get_endpoint_data)
        if data is None:
            raise CloudError(
                f'could not find {self.name}: '
                'the catalog has no endpoint for it, or the endpoint does not answer'
            )
        return data

    def _read(
        self, path: str, what: str, microversion: Microversion | None, params: dict[str, Any]
    ) -> requests.Response:
        """Send a GET request, unless its error, or its response below 500, is remembered."""
        request = self.name, path, microversion, repr(sorted(params.items()))
        answer = (self._responses or {}).get(request)
        if answer is None:
            try:
                answer = self._send('GET', path, what, microversion, params=params)
            except CloudError as error:
                answer = error
            is_failure = getattr(answer, 'status_code', 0) >= requests.codes.internal_server_error
            if isinstance(self._responses, MutableMapping) and not is_failure:
                self._responses[request] = answer
        if isinstance(answer, CloudError):
            raise answer
        return cast(requests.Response, answer)

    def _send(self, method: str, *arguments: Any, **request: Any) -> requests.Response:
        """Send a request; repeat a GET as ``Retry-After`` demands, up to three times in time."""
        response = self._send_once(method, *arguments, **request)
        for _again in range(_MOST_AGAIN if method == 'GET' else 0):
            wait = _wait(response)
            if wait is None or wait >= left(self._timeout or REQUEST_TIMEOUT):
                break
            time.sleep(wait)
            response = self._send_once(method, *arguments, **request)
        return response

    def _send_once(
        self,
        method: str,
        path: str,
        what: str,
        microversion: Microversion | None = None,
        **request: Any,
    ) -> requests.Response:
        """Send a request; CloudError without a response ``is_uncertain`` if a write may be done."""
        is_read = method == 'GET'
        if microversion is not None:
            request['microversion'] = shown(microversion)
        if self._timeout is not None:
            request['timeout'] = self._timeout
        if is_read:
            # The cache of clouds.yaml could return outdated groups.
            request['skip_cache'] = True
        # Overrides clouds.yaml (compute_status_code_retries) and openstacksdk's default for Glance.
        request['status_code_retries'] = 0
        headers, retries = {'Accept': 'application/json'}, int(is_read)
        try:
            return within(
                self._timeout or REQUEST_TIMEOUT,
                lambda: self._adapter.request(
                    path, method, connect_retries=retries, headers=headers, **request
                ),
                is_write=not is_read,
            )
        except (*NO_ANSWER, GivenUp) as error:
            status = getattr(error, 'http_status', None)
            is_refused = status is not None and status < requests.codes.internal_server_error
            is_unsent = isinstance(error, GivenUp) and not error.is_uncertain
            kind = TooLarge if isinstance(error, TooLarge) else CloudError
            raise kind(
                f'could not {what}: {error_text(error)}',
                status,
                is_uncertain=not (is_read or is_refused or is_unsent),
            ) from error

    def _is_missing(self, response: requests.Response, what: str) -> bool:
        """Check for a 404 with ``itemNotFound``; raise CloudError for any other 404."""
        is_missing = response.status_code == requests.codes.not_found
        if is_missing and not _has_fault(response, NOT_FOUND):
            whose = f'the 404 does not come from {self.name} itself (no {NOT_FOUND})'
            raise _error(what, f'{whose}: {_message(response)}', response)
        return is_missing

    def _check(self, response: requests.Response, what: str) -> None:
        """Raise CloudError for a status from 400: "could not ``what``: Nova answered 409: ..."."""
        status = response.status_code
        if status >= requests.codes.bad_request:
            is_foreign = status == requests.codes.not_found and not _has_fault(response, NOT_FOUND)
            is_broken = status >= requests.codes.internal_server_error
            message = f'{self.name} answered {status}: {_message(response)}'
            raise _error(what, message, response, may_be_done=is_broken or is_foreign)

    def _json(self, response: requests.Response, what: str) -> Any:
        """Return the parsed body; raise CloudError for an error, for null, or if it is not JSON."""
        _LAST.set(_request_id(response))
        self._check(response, what)
        body = _parsed(response)
        if body is None:
            message = f'the answer of {self.name} is not JSON: {one_line(response.text)!r}'
            raise _error(what, message, response)
        return body


#: The API for the owner, and for the operator; mypy rejects one in place of the other.
OwnerRest = NewType('OwnerRest', Rest)
OperatorRest = NewType('OperatorRest', Rest)


def _error(
    what: str, message: str, response: requests.Response, *, may_be_done: bool = True
) -> CloudError:
    """Return the error "could not ``what``: ``message`` (request <id>)" with the status.

    It ``is_uncertain`` for a write that ``may_be_done``.
    """
    is_uncertain = may_be_done and response.request.method != 'GET'
    words_of_all = f'could not {what}: {message}{_request_id(response)}'
    return CloudError(words_of_all, response.status_code, is_uncertain=is_uncertain)


def malformed(what: str, why: str) -> CloudError:
    """Return the error "could not ``what``: ``why`` (request <id of the last request>)"."""
    return CloudError(f'could not {what}: {why}{_LAST.get()}')


def _request_id(response: requests.Response) -> str:
    """Return " (request <id>)"; '' if the service sent no request id."""
    for name in _IDS:
        if name in response.headers:
            return f' (request {one_line(response.headers[name])})'
    return ''


def _wait(response: requests.Response) -> float | None:
    """Return the seconds in ``Retry-After`` of a 429 or 503; None for any other response or value.

    A date becomes the seconds until then, 0 at least.
    """
    after = response.headers.get('Retry-After')
    if response.status_code not in _LATER or after is None:
        return None
    if after.isascii() and after.isdigit():
        return float(after)
    try:
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def shown(microversion: Microversion) -> str:
    """Return the microversion as text: (2, 64) is '2.64'."""
    return '.'.join(map(str, microversion))


def find(service: str, timeout: float, call: Callable[[], T]) -> T:
    """Return the result of ``call`` within three timeouts.

    If it fails, raise CloudError "could not find ``service``: ...".
    """
    try:
        return within(timeout, call)
    except (*NO_ANSWER, GivenUp) as error:
        why = f'could not find {service}: {error_text(error)}'
        raise CloudError(why, getattr(error, 'http_status', None)) from error


def _has_fault(response: requests.Response, fault: str) -> bool:
    """Check whether the body is an error of Nova: ``{fault: {'code': 404, 'message': '...'}}``."""
    body = _parsed(response)
    return isinstance(body, Mapping) and isinstance(body.get(fault), Mapping)


def _message(response: requests.Response) -> str:
    """Return a ``message`` or ``detail`` in the body: an outer before an inner one, else the last.

    Without any, its text, or the reason ("Not Found") for an empty body.
    """
    stack = [_parsed(response)]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            message = value.get('message') or value.get('detail')
            if isinstance(message, str) and message:
                return one_line(message)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return one_line(response.text) or str(response.reason)


def _parsed(response: requests.Response) -> Any:
    """Return the parsed body; None if it is null or not JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
