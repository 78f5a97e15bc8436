"""Fixtures of the tests of the policy in Senlin."""

import pytest
from oslo_config import cfg

from senlin_affinity.cloud.clients import RecentReads
from senlin_affinity.plugins.senlin import clients
from tests.engine import support
from tests.support.edge import Edge


@pytest.fixture(scope='session')
def _database():
    support.make_database()


@pytest.fixture(autouse=True)
def _no_recent_reads(monkeypatch):
    """Forget what the owners of an earlier test have read."""
    monkeypatch.setattr(clients, '_OWNERS_READS', RecentReads())


@pytest.fixture
def option():
    """Set an option of the engine: ``option('drs_pattern', 'win')``."""
    given = []

    def set_option(name, value):
        given.append(name)
        cfg.CONF.set_override(name, value, group='affinity')

    yield set_option
    for name in given:
        cfg.CONF.clear_override(name, group='affinity')


@pytest.fixture
def desk(_database):
    """Senlin's objects, and a Nova at the HTTP edge for an administrator."""
    with Edge() as edge:
        yield support.Desk(edge)
