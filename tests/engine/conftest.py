"""What tests of the policy in Senlin share; the cloud is ``tests/support/cloud_fixtures.py``."""

import pytest

from tests.engine import support
from tests.support.edge import Edge


@pytest.fixture(scope='session')
def _database():
    support.make_database()


@pytest.fixture
def desk(_database):
    """Senlin's objects, and a Nova at the HTTP edge that an administrator talks to."""
    with Edge() as edge:
        yield support.Desk(edge)
