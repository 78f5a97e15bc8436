"""A malformed token is an error of the cloud, wherever it is malformed, and is found at once."""

import copy
import itertools
import time

import pytest

from senlin_affinity.cloud import clients, connection
from senlin_affinity.cloud.transport import operation
from senlin_affinity.model.errors import CloudError
from tests.support import fake_keystone
from tests.support.edge import NOVA, Edge

TOKEN = fake_keystone.token('admin', {'compute': NOVA})
#: Odd values in place of a part of the token; the times are out of range, and over.
VALUES = (None, -1, 'x', [1], {'a': 1}, '0001-01-01T00:00:00+23:00', '2020-01-01T00:00:00Z')
#: In seconds; far more than an answer takes, but a hang lasts longer.
SHORT = 20.0


def paths(value, path=()):
    """Yield the path of each value in a document."""
    yield path
    inner = enumerate(value) if isinstance(value, list) else getattr(value, 'items', tuple)()
    for key, each in inner:
        yield from paths(each, (*path, key))


def mutants(path):
    """Yield the token without the value of the path, and with odd values there."""
    for value in (*VALUES, ...):
        token = {'': copy.deepcopy(TOKEN)}
        place, *keys = token, '', *path
        for key in keys[:-1]:
            place = place[key]
        if value is not ...:
            place[keys[-1]] = value
        elif path:
            del place[keys[-1]]
        yield token['']


class OddKeystone(Edge):
    """A cloud whose Keystone issues this token."""

    def __init__(self, token):
        super().__init__()
        self._odd = token

    def _token(self, _user):
        return self._odd


#: All functions that read a token.
READERS = (
    connection.compute,
    connection.clustering,
    connection.has_clustering,
    connection.project,
    lambda owner: connection.compute(owner).get('/limits', 'read', (2, 1)),
    lambda owner: connection.compute(owner) and connection.ids(owner),
)


@pytest.mark.parametrize('path', paths(TOKEN), ids=lambda path: '.'.join(map(str, path)) or 'all')
def test_a_malformed_token_is_an_error_of_the_cloud(path):
    regions = ('RegionOne', 'Elsewhere') if 'catalog' in path else ('RegionOne',)
    for token, region in itertools.product(mutants(path), regions):
        start = time.monotonic()
        with OddKeystone(token) as edge, operation(SHORT):
            owner = clients.OwnerClient(edge.connection(region_name=region), SHORT)
            for read in READERS:
                try:
                    read(owner)
                except CloudError as error:
                    assert '\n' not in str(error), token
        assert time.monotonic() - start < SHORT, token


@pytest.mark.parametrize('time', ['x', None, '0001-01-01T00:00:00+23:00'])
def test_a_malformed_time_of_expiry_is_found_at_login(time):
    token = copy.deepcopy(TOKEN)
    token['token']['expires_at'] = time
    words = '^could not log in at .*: an answer does not conform to the API$'
    with OddKeystone(token) as edge, pytest.raises(CloudError, match=words):
        connection.compute(clients.OwnerClient(edge.connection(), SHORT))


def test_a_malformed_catalog_replaces_no_other_error():
    token = copy.deepcopy(TOKEN)
    token['token']['catalog'][0]['endpoints'] = [1]
    with OddKeystone(token) as edge, pytest.raises(CloudError, match='^could not find Nova: '):
        connection.compute(clients.OwnerClient(edge.connection(region_name='Elsewhere'), SHORT))
