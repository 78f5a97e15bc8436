"""Limit the size of responses, and limit a read-only connection to requests that read.

All responses of an operation together are limited, too: pages without an end fill the memory.

A wrapper of each HTTP adapter of a session reads the body in pieces, and stops as soon as it is too
large.
"""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import BaseAdapter

from senlin_affinity.cloud.deadline import GivenUp, receive
from senlin_affinity.model.errors import TooLarge

_MEBIBYTE = 1 << 20
#: The default limit: the size of 30,000 hosts with traits.
LARGEST = 128
#: The limit of an operation, in largest responses.
RESPONSES = 4
_PIECE = 1 << 14
_DIGITS = 20


def bound(session: Any, largest: int = LARGEST, *, is_read_only: bool = False) -> None:
    """Limit the responses of a keystoneauth session; a second call changes nothing.

    Requests may raise AnswerTooLarge.

    :param largest: in MiB, after decompression.
    :param is_read_only: raise GivenUp for requests other than GET and a login.
    """
    adapters = session.session.adapters
    for prefix, adapter in [*adapters.items()]:
        if not isinstance(adapter, _Bounded):
            session.session.mount(prefix, _Bounded(adapter, largest * _MEBIBYTE, is_read_only))


class AnswerTooLarge(GivenUp, TooLarge):
    """A response that exceeds the limit; its body is not read completely."""


class _Bounded(BaseAdapter):
    """An HTTP adapter that limits the responses of another one, and rejects writes if it should."""

    def __init__(self, inner: BaseAdapter, largest: int, is_read_only: bool) -> None:
        super().__init__()
        self._inner = inner
        self._largest = largest
        self._is_read_only = is_read_only

    def send(  # type: ignore[override]
        self, request: requests.PreparedRequest, stream: bool = False, **more: Any
    ) -> requests.Response:
        """Send the request, and read the response, unless the caller reads it as a stream."""
        path = request.path_url.partition('?')[0]
        is_login = request.method == 'POST' and path.endswith('/v3/auth/tokens')
        if self._is_read_only and request.method != 'GET' and not is_login:
            raise GivenUp(f'{request.method} is rejected: this connection is read-only')
        response = self._inner.send(request, stream=True, **more)
        if not stream:
            response._content = self._read(response)  # where requests stores it
        return response

    def close(self) -> None:
        """Close the inner adapter."""
        self._inner.close()

    def _read(self, response: requests.Response) -> bytes:
        """Return the body; raise AnswerTooLarge as soon as it is known to be too large."""
        body = bytearray()
        size = _announced(response)
        if size > self._largest:
            raise self._too_large(response, f' ({-(-size // _MEBIBYTE)} MiB)')
        for piece in response.iter_content(_PIECE):
            body += piece
            if len(body) > self._largest:
                raise self._too_large(response)
            if receive(len(piece)) > RESPONSES * self._largest:
                raise self._too_large(response, are_many=True)
        return bytes(body)

    def _too_large(
        self, response: requests.Response, size: str = '', *, are_many: bool = False
    ) -> AnswerTooLarge:
        """Close the response, and return the error; ``size`` is " (300 MiB)" if announced."""
        response.close()
        most = self._largest // _MEBIBYTE
        what = f'answer is larger than {most}'
        if are_many:
            what = f'answers of the operation are together larger than {RESPONSES * most}'
        return AnswerTooLarge(
            f'the {what} MiB{size}: raise '
            'max_answer_size in [affinity], or --max-answer-size of the command',
            response.status_code,
            is_uncertain=True,
        )


def _announced(response: requests.Response) -> int:
    """Return the size of the body in bytes; 0 if it is compressed, or not announced."""
    length = response.headers.get('Content-Length', '')
    is_plain = 'Content-Encoding' not in response.headers
    is_number = length.isascii() and length.isdigit() and len(length) < _DIGITS
    return int(length) if is_plain and is_number else 0
