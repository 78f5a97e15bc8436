"""The manual's query of Senlin's database for the locks of ended actions."""

import contextlib
import sqlite3
from pathlib import Path

PAGE = Path(__file__).parents[3] / 'doc/source/howto/operations.rst'


def test_the_query_lists_the_locks_of_ended_actions():
    section = PAGE.read_text().partition('\nLocks of ended actions\n===')[2]
    query = section.partition('::\n\n')[2].partition('\n\n')[0]
    with contextlib.closing(sqlite3.connect(':memory:')) as database:
        database.executescript("""
            create table action (id text, action text, status text, target text);
            create table cluster (id text);
            create table cluster_lock (cluster_id text, action_ids text);
            create table node_lock (node_id text, action_id text);
            insert into action values
                ('a1', 'CLUSTER_CHECK', 'FAILED', 'c1'), ('a2', 'NODE_CHECK', 'SUCCEEDED', 'n2'),
                ('a3', 'CLUSTER_CHECK', 'RUNNING', 'c2'), ('a4', 'NODE_CHECK', 'FAILED', 'n4');
            insert into cluster values ('c1'), ('c2'), ('c3');
            insert into cluster_lock values
                ('c1', '["a0", "a1"]'), ('c2', '["a3"]'), ('group', '["a4"]');
            insert into node_lock values ('n2', 'a2'), ('n3', 'a3');
        """)
        found = database.execute(query).fetchall()
    assert found == [('a1', 'CLUSTER_CHECK', 'c1'), ('a2', 'NODE_CHECK', 'n2')]
