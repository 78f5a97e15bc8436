"""The locks of ended actions are read from Senlin's database."""

import contextlib
import sqlite3

import pytest

from senlin_affinity.cloud import senlin_engines
from senlin_affinity.cloud.senlin_engines import AbandonedAction
from senlin_affinity.model.errors import CloudError


def test_the_locks_of_ended_actions_are_kept(tmp_path):
    path = tmp_path / 'senlin.sqlite'
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("""
            create table action (id text, action text, status text);
            create table cluster (id text);
            create table cluster_lock (cluster_id text, action_ids text);
            create table node_lock (node_id text, action_id text);
            insert into action values
                ('a1', 'CLUSTER_CHECK', 'FAILED'), ('a2', 'NODE_CHECK', 'SUCCEEDED'),
                ('a3', 'CLUSTER_CHECK', 'RUNNING'), ('a4', 'NODE_CHECK', 'FAILED');
            insert into cluster values ('c1'), ('c2'), ('c3');
            insert into cluster_lock values
                ('c1', '["a0", "a1"]'), ('c2', '["a3"]'), ('group', '["a4"]');
            insert into node_lock values ('n2', 'a2'), ('n3', 'a3');
        """)
    assert senlin_engines.kept_locks(f'sqlite:///{path}') == [
        AbandonedAction('a1', 'CLUSTER_CHECK', 'c1', True),
        AbandonedAction('a2', 'NODE_CHECK', 'n2', True),
    ]
    with pytest.raises(CloudError, match='^the database of Senlin cannot be read: '):
        senlin_engines.kept_locks(f'sqlite:///{tmp_path}/empty.sqlite')
