"""The connections of the sandbox's Nova to a SQLite file: kept, and as good as new ones."""

import pytest
import sqlalchemy
from oslo_db.sqlalchemy import engines

from senlin_affinity.sandbox import workarounds


@pytest.fixture
def engine(monkeypatch, tmp_path):
    monkeypatch.setattr(engines, '_init_connection_args', engines._init_connection_args)
    workarounds.keep_sqlite_connections()
    engine = engines.create_engine(f'sqlite:///{tmp_path}/nova.sqlite', sqlite_synchronous=False)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text('CREATE TABLE t (n INTEGER)'))
    yield engine
    engine.dispose()


def count(connection):
    return connection.execute(sqlalchemy.text('SELECT COUNT(*) FROM t')).scalar()


def test_what_a_session_left_open_is_undone_and_the_next_one_can_undo_its_own(engine):
    """oslo.db notes on a connection that it sent BEGIN: a note that stays would leave it out."""
    insert = sqlalchemy.text('INSERT INTO t VALUES (1)')
    left = engine.connect()
    left.begin()
    left.execute(insert)
    left.connection.close()  # back to the pool, without the end of the transaction
    with engine.connect() as connection:
        assert count(connection) == 0
        transaction = connection.begin()
        connection.execute(insert)
        transaction.rollback()
        assert count(connection) == 0
