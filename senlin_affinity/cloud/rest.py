"""One service of the cloud as raw JSON: requests, errors in the service's own words, versions.

Data flow: a path, a microversion and perhaps a body go out through openstacksdk's adapter; parsed
JSON comes back. Long lists never become SDK objects.

Units: the timeout is in seconds, for the silence of the service; a request has the deadline of
:mod:`~senlin_affinity.cloud.deadline`. A microversion is a pair: (2, 64).

Errors: CloudError for everything else than the expected answer; ``is_uncertain`` where a write may
have happened all the same. A request that writes is never repeated: a repeated POST could create
twice. "It is not there" is believed in Nova's own words only, a 404 whose body is
``{"itemNotFound": {...}}``: the page of a proxy that does not find Nova is a 404, too.

A read that is refused with a 429 or a 503 and ``Retry-After`` is sent again after that time, if it
would be over before the deadline: three times more at most.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NewType, TypeVar

import requests
from openstack.proxy import Proxy

from senlin_affinity.cloud import words
from senlin_affinity.cloud.deadline import REQUEST_TIMEOUT, GivenUp, left, within
from senlin_affinity.cloud.login import NO_ANSWER
from senlin_affinity.model.errors import CloudError, TooLarge

T = TypeVar('T')
Microversion = tuple[int, int]
#: Where the microversions of Nova begin.
BASE: Microversion = (2, 1)
#: What Nova calls the error in the body of a 404 about a thing that does not exist. Its router's
#: 404, of a path that Nova does not have, holds no such key.
NOT_FOUND = 'itemNotFound'
#: They may say when to ask again; a read is asked again so many times.
_LATER = (requests.codes.too_many_requests, requests.codes.service_unavailable)
_MOST_AGAIN = 3
#: The headers by which a service says under which id its log has the request.
_IDS = ('x-openstack-request-id', 'x-compute-request-id')
#: The words about it for the last answer, for who finds the answer odd later.
_LAST: contextvars.ContextVar[str] = contextvars.ContextVar('last', default='')


class Rest:
    """A service's API, by its adapter (``connection.compute``).

    :param service: the name that errors give it ("Nova").
    :param timeout: seconds that the service may be silent.
    """

    def __init__(self, adapter: Proxy, service: str, timeout: float | None = None) -> None:
        self._adapter = adapter
        self.name = service
        self._timeout = timeout
        self._offered: tuple[Microversion, Microversion] | None = None

    def pick(self, wanted: Microversion) -> Microversion:
        """The wanted microversion, or the nearest one that the cloud offers."""
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
        """GET: the parsed body; None where it ``may_be_missing`` and Nova says that it is.

        :param what: what is tried, for the error: "list the server groups".
        :param params: the query; a key with a list is sent once for each of its values.
        """
        response = self._send('GET', path, what, microversion, params=dict(params or {}))
        if may_be_missing and self._is_missing(response, what):
            return None
        return self._json(response, what)

    def post(self, path: str, what: str, microversion: Microversion, body: object) -> Any:
        """POST: the parsed body. Never repeated."""
        return self._json(self._send('POST', path, what, microversion, json=body), what)

    def delete(self, path: str, what: str, microversion: Microversion) -> bool:
        """DELETE: False where Nova says that there was nothing."""
        response = self._send('DELETE', path, what, microversion)
        if self._is_missing(response, what):
            return False
        self._check(response, what)
        if response.status_code != requests.codes.no_content:
            status = response.status_code
            said = f'{self.name} answered {status} in place of 204: {words.cut(response.text)!r}'
            raise _error(what, said, response)
        return True

    def _discover(self) -> tuple[Microversion, Microversion]:
        data = self._endpoint_data()
        if data.status is None:
            # Where discovery fails, keystoneauth goes on as if the service had no microversions,
            # which would read as "this cloud is too old". Ask again, for the reason.
            what = f'find out the microversions of {self.name}'
            self._json(self._send('GET', data.url, what), what)
            data = self._endpoint_data()
            if data.status is None:
                raise CloudError(f'could not {what}: {data.url} describes no version')
        highest = data.max_microversion or BASE
        lowest = data.min_microversion or highest
        return (lowest[0], lowest[1]), (highest[0], highest[1])

    def _endpoint_data(self) -> Any:
        try:
            data = self._in_time(self._adapter.get_endpoint_data)
        except (*NO_ANSWER, GivenUp) as error:
            raise unreachable(self.name, error) from error
        if data is None:
            raise CloudError(
                f'could not find {self.name}: '
                'the catalogue has no endpoint of it, or it does not answer'
            )
        return data

    def _in_time(self, call: Callable[[], T], *, is_write: bool = False) -> T:
        timeout = self._timeout or REQUEST_TIMEOUT
        return within(timeout, call, self._adapter.session, is_write=is_write)

    def _send(self, method: str, *arguments: Any, **request: Any) -> requests.Response:
        response = self._send_once(method, *arguments, **request)
        for _again in range(_MOST_AGAIN if method == 'GET' else 0):
            wait = _wait(response)
            if wait is None or wait >= left(self._timeout or REQUEST_TIMEOUT):
                break
            time.sleep(wait)
            response = self._send_once(method, *arguments, **request)
        _LAST.set(_request_id(response))
        return response

    def _send_once(
        self,
        method: str,
        path: str,
        what: str,
        microversion: Microversion | None = None,
        **request: Any,
    ) -> requests.Response:
        is_read = method == 'GET'
        if microversion is not None:
            request['microversion'] = shown(microversion)
        if self._timeout is not None:
            request['timeout'] = self._timeout
        if is_read:
            # A cache that clouds.yaml sets up would show groups as they were.
            request['skip_cache'] = True
        # Over what clouds.yaml may say (compute_status_code_retries), and openstacksdk for Glance.
        request['status_code_retries'] = 0
        headers, retries = {'Accept': 'application/json'}, int(is_read)
        try:
            return self._in_time(
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
                f'could not {what}: {words.of(error)}',
                status,
                is_uncertain=not (is_read or is_refused or is_unsent),
            ) from error

    def _is_missing(self, response: requests.Response, what: str) -> bool:
        """Nova says that there is no such thing; another 404 says nothing about it."""
        is_missing = response.status_code == requests.codes.not_found
        if is_missing and not _has_fault(response, NOT_FOUND):
            whose = f"the answer 404 is not {self.name}'s own ({NOT_FOUND})"
            raise _error(what, f'{whose}: {_message(response)}', response)
        return is_missing

    def _check(self, response: requests.Response, what: str) -> None:
        status = response.status_code
        if status >= requests.codes.bad_request:
            is_foreign = status == requests.codes.not_found and not _has_fault(response, NOT_FOUND)
            is_broken = status >= requests.codes.internal_server_error
            said = f'{self.name} answered {status}: {_message(response)}'
            raise _error(what, said, response, may_be_done=is_broken or is_foreign)

    def _json(self, response: requests.Response, what: str) -> Any:
        """The parsed body; never None, which :meth:`get` has a meaning for."""
        self._check(response, what)
        body = _parsed(response)
        if body is None:
            said = f'the answer of {self.name} is no JSON: {words.cut(response.text)!r}'
            raise _error(what, said, response)
        return body


#: One that a connection of the owner's eyes was made into, and of the cloud's
#: (:mod:`~senlin_affinity.cloud.clients`): mypy lets neither be taken for the other.
OwnerRest = NewType('OwnerRest', Rest)
OperatorRest = NewType('OperatorRest', Rest)


def _error(
    what: str, said: str, response: requests.Response, *, may_be_done: bool = True
) -> CloudError:
    is_uncertain = may_be_done and response.request.method != 'GET'
    words_of_all = f'could not {what}: {said}{_request_id(response)}'
    return CloudError(words_of_all, response.status_code, is_uncertain=is_uncertain)


def odd(what: str, why: str) -> CloudError:
    """The error for the last answer, which is not what the API says."""
    return CloudError(f'could not {what}: {why}{_LAST.get()}')


def _request_id(response: requests.Response) -> str:
    """Words for the end of an error, if the service says it."""
    for name in _IDS:
        if name in response.headers:
            return f' (request {words.cut(response.headers[name])})'
    return ''


def _wait(response: requests.Response) -> float | None:
    """Seconds after which the service may be asked again, if it says so."""
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
    """As people and services write it: 2.64."""
    return '.'.join(map(str, microversion))


def unreachable(service: str, error: BaseException) -> CloudError:
    """The error where Keystone's catalogue does not lead to the service."""
    return CloudError(
        f'could not find {service}: {words.of(error)}', getattr(error, 'http_status', None)
    )


def _has_fault(response: requests.Response, fault: str) -> bool:
    """Is the body an error in the shape of Nova's: ``{fault: {'code': 404, 'message': '...'}}``?"""
    body = _parsed(response)
    return isinstance(body, Mapping) and isinstance(body.get(fault), Mapping)


def _message(response: requests.Response) -> str:
    """The service's own words, wherever in the body they are."""
    stack = [_parsed(response)]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            message = value.get('message') or value.get('detail')
            if isinstance(message, str) and message:
                return words.cut(message)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return words.cut(response.text) or str(response.reason)


def _parsed(response: requests.Response) -> Any:
    """The body; None where it is null, or no JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
