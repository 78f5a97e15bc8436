"""A pooled SQLite connection of the sandbox's Nova is reset before it is reused."""

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


def test_an_open_transaction_is_rolled_back_before_reuse(engine):
    """oslo.db marks a connection after BEGIN; a stale mark would omit the next BEGIN."""
    insert = sqlalchemy.text('INSERT INTO t VALUES (1)')
    abandoned = engine.connect()
    abandoned.begin()
    abandoned.execute(insert)
    abandoned.connection.close()  # return it to the pool within the transaction
    with engine.connect() as connection:
        assert count(connection) == 0
        transaction = connection.begin()
        connection.execute(insert)
        transaction.rollback()
        assert count(connection) == 0
