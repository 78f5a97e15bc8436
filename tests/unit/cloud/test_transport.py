"""Responses have a maximum size, and a read-only session sends no writes."""

import gzip
import io

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from senlin_affinity.cloud import transport
from senlin_affinity.cloud.transport import GivenUp, operation
from senlin_affinity.model.errors import TooLarge

MIB = 1 << 20


class FixedResponseAdapter(HTTPAdapter):
    """An adapter that returns a body and shows how much of it was read."""

    def __init__(self, body, **headers):
        super().__init__()
        self.raw, self.headers = io.BytesIO(body), headers
        self.is_closed = False

    def send(self, request, *, stream, **_more):
        assert stream, 'the body would be read at once'
        raw = HTTPResponse(self.raw, self.headers, 200, preload_content=False)
        return self.build_response(request, raw)

    def close(self):
        self.is_closed = True


@pytest.fixture
def session():
    class Session:
        auth = None
        session = requests.Session()

    return Session


def send_get(session, adapter, **more):
    session.session.mount('http://', adapter)
    transport.bound(session, 2)
    transport.bound(session)
    return session.session.get('http://nova/', **more)


@pytest.mark.parametrize('size', [0, 5, 2 * MIB])
def test_a_small_response_is_unchanged(session, size):
    body = b'x' * size
    assert send_get(session, FixedResponseAdapter(body)).content == body
    announced = FixedResponseAdapter(body, **{'Content-Length': str(size)})
    assert send_get(session, announced).content == body
    packed = {'Content-Encoding': 'gzip'}
    assert send_get(session, FixedResponseAdapter(gzip.compress(body), **packed)).content == body


def test_a_large_response_is_not_read_to_its_end(session):
    nova = FixedResponseAdapter(b'x' * (9 * MIB))
    with pytest.raises(GivenUp, match='the answer is larger than 2 MiB') as caught:
        send_get(session, nova)
    assert caught.value.is_uncertain
    assert nova.raw.closed


def test_a_large_content_length_is_rejected_and_the_option_is_named(session):
    nova = FixedResponseAdapter(b'x' * (9 * MIB), **{'Content-Length': str(9 * MIB - 1)})
    message = (
        r'^the answer is larger than 2 MiB \(9 MiB\): raise max_answer_size in \[affinity\], '
        'or --max-answer-size of the command$'
    )
    with pytest.raises(TooLarge, match=message):
        send_get(session, nova)
    assert nova.raw.closed


@pytest.mark.parametrize(
    ('length', 'more', 'size'),
    [
        ('7', {}, 7),
        ('7', {'Content-Encoding': 'gzip'}, 0),
        ('9' * 19, {}, 10**19 - 1),
        ('9' * 20, {}, 0),
        *((length, {}, 0) for length in ('', '-1', 'many', '٣', '9' * 19 + 'x' * 5000)),
    ],
)
def test_the_announced_size(length, more, size):
    response = requests.Response()
    response.headers.update({'Content-Length': length, **more})
    assert transport._announced(response) == size


def test_a_response_that_is_large_after_decompression_is_rejected(session):
    nova = FixedResponseAdapter(gzip.compress(bytes(99 * MIB)), **{'Content-Encoding': 'gzip'})
    with pytest.raises(GivenUp, match='larger than 2 MiB'):
        send_get(session, nova)


def test_the_responses_of_an_operation_are_limited_together(session):
    words = 'the answers of the operation are together larger than 8 MiB: raise max_answer_size'
    with operation(60), operation(60):
        for _ in range(4):
            send_get(session, FixedResponseAdapter(b'x' * (2 * MIB)))
        nova = FixedResponseAdapter(b'x' * MIB)
        with pytest.raises(TooLarge, match=words):
            send_get(session, nova)
    assert nova.raw.closed
    with operation(60):
        send_get(session, FixedResponseAdapter(b'x' * (2 * MIB)))


def test_a_streamed_response_is_not_limited(session):
    answer = send_get(session, FixedResponseAdapter(b'x' * (3 * MIB)), stream=True)
    assert sum(map(len, answer.iter_content(MIB))) == 3 * MIB


def test_the_wrapped_adapter_is_closed(session):
    nova = FixedResponseAdapter(b'')
    send_get(session, nova)
    session.session.close()
    assert nova.is_closed


@pytest.mark.parametrize(
    ('method', 'path', 'is_sent'),
    [
        ('GET', '/v2.1/servers/detail?limit=1', True),
        ('POST', '/identity/v3/auth/tokens', True),
        ('POST', '/v3/auth/tokens?nocatalog', True),
        ('POST', '/v2.1/servers', False),
        ('POST', '/v2.1/servers?x=/v3/auth/tokens', False),
        ('PUT', '/v3/auth/tokens', False),
        ('DELETE', '/v3/auth/tokens', False),
        ('PATCH', '/v2.1/os-services/1', False),
        ('OPTIONS', '/', False),
    ],
)
def test_a_read_only_session_sends_only_reads_and_logins(session, method, path, is_sent):
    nova = FixedResponseAdapter(b'')
    sent = []
    nova.send = lambda request, **more: (
        sent.append(request) or FixedResponseAdapter.send(nova, request, **more)
    )
    session.session.mount('http://', nova)
    transport.bound(session, is_read_only=True)
    transport.bound(session)
    if is_sent:
        session.session.request(method, f'http://nova{path}')
    else:
        with pytest.raises(
            GivenUp, match=f'{method} is rejected: this connection is read-only'
        ) as caught:
            session.session.request(method, f'http://nova{path}')
        assert not caught.value.is_uncertain
    assert len(sent) == is_sent
