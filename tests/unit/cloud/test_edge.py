"""The fake HTTP edge fails on unexpected requests."""

from contextlib import suppress

import pytest

from tests.support.edge import Edge


def get(url):
    with Edge() as edge, suppress(Exception):
        edge.connection().session.get(url)


@pytest.mark.parametrize('url', ['http://nova.test/v2.1/servers', 'http://elsewhere.test/'])
def test_an_unknown_url_fails_the_test_even_if_the_error_is_caught(url):
    with pytest.raises(AssertionError, match=f'nobody answers GET {url}'):
        get(url)


def test_one_token_and_one_discovery_suffice(edge):
    for _ in range(2):
        edge.ports.server_groups.named('web')
        edge.ports.inventory.quotas()
    assert (edge.tokens, edge.discoveries) == (1, 1)
    assert edge.nova.requests() == ['GET /os-server-groups', 'GET /limits'] * 2
