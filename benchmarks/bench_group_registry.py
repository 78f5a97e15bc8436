"""Measure how long a policy reads from Senlin's database who uses a server group.

An attach and a detach do so once, while they hold the lock of the group. The database is SQLite in
memory: the figure is the CPU time of the queries and of the engine, without the way to a server.

Run: make bench ARGS='--only bench_group_registry'. The exit status is 1 if the goal is missed.
"""

from __future__ import annotations

import sys
import uuid
from types import SimpleNamespace
from typing import Any

from oslo_utils import timeutils
from senlin.db.sqlalchemy import api as database
from senlin.db.sqlalchemy import models
from sqlalchemy import insert

from benchmarks.goals import Goal, measured, report
from senlin_affinity.plugins.senlin.group_registry import read_use
from tests.engine import support

CLUSTERS = 5000
ROUNDS = 7
#: The group of the benchmark, and the number of its users of each kind.
GROUP, NAME, USERS = str(uuid.UUID(int=1)), 'web-été', 5
#: Each profile of this number has the group of others in its scheduler hints.
HINTED = 5
PREFIX = 'senlin-affinity-'


def add_clusters(number: int, group: str = GROUP) -> None:
    """Add clusters, each with its own profile, policy and binding, to Senlin's database.

    The first ``USERS`` clusters use the group through a binding, their data, and the profile.
    """
    now = timeutils.utcnow()
    owner = {'user': support.USER, 'project': support.PROJECT, 'domain': '', 'created_at': now}
    rows: dict[Any, list[dict[str, Any]]] = {
        kind: [] for kind in (models.Profile, models.Policy, models.Cluster, models.ClusterPolicies)
    }
    for n in range(number):
        key, is_user = str(uuid.uuid4()), n < USERS
        named = {'scheduler_hints': {'group': NAME if is_user else f'group-{n}'}}
        profile = support.profile(**named) if is_user or n % HINTED == 0 else support.profile()
        bound = group if is_user else str(uuid.uuid4())
        kept = {'senlin_affinity': {'kept': group}} if is_user else {}
        of_profile = {'type': 'os.nova.server-1.0', 'spec': profile, 'context': {}, 'meta_data': {}}
        of_policy = {'type': 'senlin.policy.affinity-1.1', 'spec': support.plain(), 'data': {}}
        of_cluster = {'profile_id': key, 'data': kept, 'meta_data': {}, 'config': {}}
        data = support.binding(bound, version='1.1')
        named_by = {'id': key, 'name': f'c-{n}', **owner}
        rows[models.Profile].append({**named_by, **of_profile})
        rows[models.Policy].append({**named_by, **of_policy})
        rows[models.Cluster].append({**named_by, **of_cluster})
        rows[models.ClusterPolicies].append(
            {'id': key, 'cluster_id': key, 'policy_id': key, 'enabled': True, 'data': data}
        )
    with database.session_for_write() as session:
        for kind, values in rows.items():
            session.execute(insert(kind), values)


def main(number: int = CLUSTERS) -> int:
    """Measure one read, without and with the name of the group."""
    support.make_database()
    add_clusters(number)
    cluster = SimpleNamespace(id=str(uuid.uuid4()), project=support.PROJECT)
    ways = {
        'by its id': lambda: read_use(cluster, '', GROUP, None, PREFIX),
        'by its id and name': lambda: read_use(cluster, '', GROUP, NAME, PREFIX),
    }
    use = ways['by its id and name']()
    assert [len(each) for each in (use.users, use.keepers, use.profiles)] == [USERS] * 3
    seconds = measured(ways, ROUNDS)
    name = f'{number:,} clusters and profiles: find the users of a group {{}} (ms)'
    return report(Goal(name.format(way), took * 1000, 50) for way, took in seconds.items())


if __name__ == '__main__':
    sys.exit(main(*map(int, sys.argv[1:])))
