"""Requests count for the service whose endpoint has the longest common path."""

from collections import Counter
from types import SimpleNamespace

import pytest
import requests

from senlin_affinity.cloud.request_count import RequestCount

ENDPOINTS = {
    'http://cloud.test/compute/v2.1': 'compute',
    'http://cloud.test/placement': 'placement',
    'http://cloud.test/identity': 'identity',
    'http://nova.test:8774/v2.1/': 'compute',
}


def counted(send, endpoints=ENDPOINTS):
    count = RequestCount(Counter())
    count.endpoints = endpoints
    session = SimpleNamespace(session=SimpleNamespace(send=send))
    count.watch(session)
    return count, lambda url: session.session.send(SimpleNamespace(url=url))


def answering(status):
    return lambda _request: SimpleNamespace(status_code=status)


@pytest.mark.parametrize(
    ('url', 'service'),
    [
        ('http://cloud.test/compute/', 'compute'),
        ('http://cloud.test/compute/v2.1/servers?limit=1', 'compute'),
        ('http://cloud.test/placement/traits', 'placement'),
        ('http://cloud.test/identity/v3/auth/tokens', 'identity'),
        ('http://nova.test:8774/', 'compute'),
        ('http://elsewhere.test/v3', 'identity'),
    ],
)
def test_the_service_of_a_url(url, service):
    count, send = counted(answering(200))
    send(url)
    assert count.numbers == {(service, '200'): 1}
    assert count.answers == {service: True}


@pytest.mark.parametrize(
    ('status', 'answers'), [(200, True), (404, True), (403, True), (401, False), (503, False)]
)
def test_which_statuses_are_answers(status, answers):
    count, send = counted(answering(status))
    send('http://cloud.test/placement')
    assert count.answers == {'placement': answers}


def test_a_request_without_a_response():
    def fail(_request):
        raise requests.ConnectionError

    count, send = counted(fail)
    with pytest.raises(requests.ConnectionError):
        send('http://cloud.test/compute/v2.1')
    assert (count.numbers, count.answers) == ({('compute', 'error'): 1}, {'compute': False})


def test_a_request_under_way_is_not_answered():
    count, send = counted(lambda _request: seen.update(count.answers) or answering(200)(None))
    seen = {}
    send('http://cloud.test/compute/v2.1')
    assert (seen, count.answers) == ({'compute': False}, {'compute': True})
