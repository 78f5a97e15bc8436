"""Bounds what one answer may bring, on whatever connection it comes, a log-in's too.

And what a connection may ask, where it is for reading: GET, and the POST of a log-in to Keystone.

The way of the data: each of a session's adapters is wrapped. The wrapped one sends, and reads the
body piece by piece, as it is after decompression; what is too large is given up in the middle.

Units: MiB, after decompression.

Errors: GivenUp for an answer that is too large, and before anything is sent for a request that
is not for reading. What requests raises comes out as it is.
"""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import BaseAdapter

from senlin_affinity.cloud.deadline import GivenUp
from senlin_affinity.model.errors import TooLarge

_MEBIBYTE = 1 << 20
#: No answer is larger, unless an option says so: 30,000 hosts with their traits are that much.
LARGEST = 128
_PIECE = 1 << 14
_DIGITS = 20


def bound(session: Any, largest: int = LARGEST, *, is_read_only: bool = False) -> None:
    """Bound all that a session of keystoneauth receives; the first to say so says how much."""
    adapters = session.session.adapters
    for prefix, adapter in [*adapters.items()]:
        if not isinstance(adapter, _Bounded):
            session.session.mount(prefix, _Bounded(adapter, largest * _MEBIBYTE, is_read_only))


class AnswerTooLarge(GivenUp, TooLarge):
    """A response that exceeds the limit, so that its body is not read completely."""


class _Bounded(BaseAdapter):
    """An adapter around another one."""

    def __init__(self, inner: BaseAdapter, largest: int, is_read_only: bool) -> None:
        super().__init__()
        self._inner = inner
        self._largest = largest
        self._is_read_only = is_read_only

    def send(  # type: ignore[override]
        self, request: requests.PreparedRequest, stream: bool = False, **more: Any
    ) -> requests.Response:
        """Send it, and read the answer, unless who asks reads it piece by piece himself."""
        if self._is_read_only and request.method != 'GET' and not _is_log_in(request):
            raise GivenUp(f'{request.method} is refused: this connection only reads')
        response = self._inner.send(request, stream=True, **more)
        if not stream:
            # What requests itself keeps of a body that was read.
            response._content = self._read(response)
        return response

    def close(self) -> None:
        """Close the other one."""
        self._inner.close()

    def _read(self, response: requests.Response) -> bytes:
        body = bytearray()
        size = _announced(response)
        if size > self._largest:
            raise self._too_large(response, f' ({-(-size // _MEBIBYTE)} MiB)')
        for piece in response.iter_content(_PIECE):
            body += piece
            if len(body) > self._largest:
                raise self._too_large(response)
        return bytes(body)

    def _too_large(self, response: requests.Response, size: str = '') -> AnswerTooLarge:
        response.close()
        return AnswerTooLarge(
            f'the answer is larger than {self._largest // _MEBIBYTE} MiB{size}; max_answer_size in '
            '[affinity], or --max-answer-size of a command, allows more',
            response.status_code,
            is_uncertain=True,
        )


def _announced(response: requests.Response) -> int:
    """Return the size of the body in bytes; 0 if it is compressed, or not announced."""
    length = response.headers.get('Content-Length', '')
    is_plain = 'Content-Encoding' not in response.headers
    is_number = length.isascii() and length.isdigit() and len(length) < _DIGITS
    return int(length) if is_plain and is_number else 0


def _is_log_in(request: requests.PreparedRequest) -> bool:
    path = request.path_url.partition('?')[0]
    return request.method == 'POST' and path.endswith('/v3/auth/tokens')
