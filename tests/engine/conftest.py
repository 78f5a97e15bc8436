"""What tests of the policy in Senlin share; the cloud is ``tests/support/cloud_fixtures.py``."""

import pytest
from oslo_config import cfg

from tests.engine import support
from tests.support.edge import Edge


@pytest.fixture(scope='session')
def _database():
    support.make_database()


@pytest.fixture
def option():
    """``option('drs_pattern', 'win')``: a line of the engine's configuration."""
    given = []

    def set_option(name, value):
        given.append(name)
        cfg.CONF.set_override(name, value, group='affinity')

    yield set_option
    for name in given:
        cfg.CONF.clear_override(name, group='affinity')


@pytest.fixture
def desk(_database):
    """Senlin's objects, and a Nova at the HTTP edge that an administrator talks to."""
    with Edge() as edge:
        yield support.Desk(edge)
