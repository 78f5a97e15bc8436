"""The replaced edge itself: what it must not let pass."""

from contextlib import suppress

import pytest

from tests.support.edge import Edge


def ask(url):
    with Edge() as edge, suppress(Exception):
        edge.connection().session.get(url)


@pytest.mark.parametrize('url', ['http://nova.test/v2.1/servers', 'http://elsewhere.test/'])
def test_a_url_that_nobody_answers_fails_the_test_though_the_code_caught_it(url):
    with pytest.raises(AssertionError, match=f'nobody answers GET {url}'):
        ask(url)


def test_one_token_and_one_discovery_serve_all_requests(edge):
    for _ in range(2):
        edge.ports.server_groups.named('web')
        edge.ports.inventory.quotas()
    assert (edge.tokens, edge.discoveries) == (1, 1)
    assert edge.nova.requests() == ['GET /os-server-groups', 'GET /limits'] * 2
