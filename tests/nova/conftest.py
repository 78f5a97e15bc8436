"""Nova's API database in memory, with aggregates for the request filter."""

import pytest
from nova import objects
from nova.db.api import api as database
from nova.db.api import models

objects.register_all()


@pytest.fixture(scope='session')
def api_database():
    """Return Nova's module of the API database, which has its tables."""
    database.context_manager.configure(connection='sqlite://')
    models.BASE.metadata.create_all(database.get_engine())
    return database
