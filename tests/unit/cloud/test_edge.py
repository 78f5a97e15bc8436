"""The replaced edge itself: what it must not let pass."""

from contextlib import suppress

import pytest

from senlin_affinity.cloud.rest import Rest
from tests.support.edge import FAILURES, Edge
from tests.support.fake_glance import FakeGlance


def use_a_url_that_nobody_answers(edge):
    with edge, suppress(Exception):
        Rest(edge.connection().compute, 'Nova').get('/servers', 'list the servers', (2, 1))


def use_another_host(edge):
    with edge, suppress(Exception):
        edge.connection().session.get('http://elsewhere.test/', authenticated=False)


def fail(edge):
    with edge:
        edge.unmatched.append('GET http://nova.test/')
        raise ZeroDivisionError


def test_a_url_that_nobody_answers_fails_the_test_though_the_code_caught_it():
    with pytest.raises(AssertionError, match='nobody answers GET http://nova'):
        use_a_url_that_nobody_answers(Edge())


def test_another_host_is_nobody_too():
    with pytest.raises(AssertionError, match='nobody answers GET http://elsewhere'):
        use_another_host(Edge())


def test_an_error_of_the_test_is_not_hidden_by_a_url_that_nobody_answers():
    with pytest.raises(ZeroDivisionError):
        fail(Edge())


def test_one_token_and_one_discovery_serve_all_requests(edge):
    edge.ports.server_groups.named('web')
    edge.ports.inventory.quotas()
    edge.ports.server_groups.named('web')
    assert edge.tokens == 1
    assert edge.discoveries == 1
    assert edge.nova.requests() == ['GET /os-server-groups', 'GET /limits', 'GET /os-server-groups']


def test_nobody_waits_before_a_request_is_tried_again():
    """openstacksdk asks Glance six times, each time later: 15 seconds."""
    (failure,) = (item for item in FAILURES if item.status == 503)
    with Edge(glance=FakeGlance()) as cloud:
        cloud.fail('GET', '/v2/images', failure)
        assert cloud.connection().image.get('/images').status_code == 503
    assert len(cloud.pauses) == 5
    assert sum(cloud.pauses) > 15
