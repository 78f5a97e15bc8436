"""The current code uses and cleans up the data of an earlier version in Senlin's database.

Each folder of ``tests/upgrade`` was recorded with one release (``tests/upgrade/record.py``).
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from senlin import objects
from senlin.db.sqlalchemy import api as database
from sqlalchemy import text

from senlin_affinity.plugins.senlin.policy import AffinityPolicy
from tests.engine.support import done, plain
from tests.support.fake_nova import FakeServer

FOLDERS = sorted(path.parent for path in Path('tests/upgrade').glob('*/senlin.sql'))
#: These need a cloud with hosts or zones to choose from.
CHOOSERS = ('pinned', 'DRS', 'spread over zones')
KEPT = ('kept at detach', 'detached, its group kept')
TABLES = ('cluster_policy', 'node', 'cluster', 'policy', 'profile')


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def upgraded(desk, request):
    """Load the recorded rows into Senlin's database, and the recorded groups into Nova."""
    recorded = json.loads((request.param / 'clusters.json').read_text(encoding='utf-8'))
    _run(*[f'DELETE FROM {table}' for table in TABLES])
    _run(*(request.param / 'senlin.sql').read_text(encoding='utf-8').splitlines())
    nova = desk.edge.nova
    for group in recorded['groups']:
        hosts, owner = group['members'], {'project': group['project_id'], 'user': group['user_id']}
        nova.servers.extend(FakeServer(server, host, **owner) for server, host in hosts.items())
        nova.add_group(**{**group, 'members': [*hosts]})
    yield desk, recorded['clusters']
    _run(*[f'DELETE FROM {table}' for table in TABLES])


def _run(*statements):
    with database.get_engine().begin() as connection:
        for statement in statements:
            connection.execute(text(statement.replace(':', r'\:')))


def _policy(desk, recorded_cluster):
    """Load the policy of a recorded cluster as the current engine does."""
    policy = AffinityPolicy.load(desk.context, policy_id=recorded_cluster['policy'])
    policy._novaclient = SimpleNamespace(conn=desk.edge.connection())
    return policy


def _detach(desk, recorded_cluster):
    """Detach a policy, and store what the engine stores afterwards."""
    cluster = desk.load_cluster(recorded_cluster['cluster'])
    done(_policy(desk, recorded_cluster).detach(cluster))
    objects.ClusterPolicy.delete(desk.context, cluster.id, recorded_cluster['policy'])
    cluster.store(desk.context)


def test_new_nodes_join_the_recorded_groups(upgraded):
    desk, clusters = upgraded
    for name, each in clusters.items():
        if name in CHOOSERS or each.get('is_detached'):
            continue
        cluster = desk.load_cluster(each['cluster'])
        action = desk.action(cluster, 'CLUSTER_SCALE_OUT', {'count': 1})
        _policy(desk, each).pre_op(cluster.id, action)
        (placement,) = action.data['placement']['placements']
        assert placement['servergroup'] == each['group'], name


def test_detaching_every_cluster_deletes_exactly_the_policies_groups(upgraded):
    desk, clusters = upgraded
    for each in clusters.values():
        if not each.get('is_detached'):
            _detach(desk, each)
    # The servers of the first cluster are still in the group that both have used.
    stays = {*KEPT, 'the same group, inherited'}
    owned = {each['group'] for each in clusters.values() if each['is_owner']}
    others = {each['group'] for each in clusters.values()} - owned
    assert set(desk.groups()) == others | {clusters[name]['group'] for name in stays}


def test_the_next_policy_adopts_a_kept_group_and_its_detach_deletes_it(upgraded):
    desk, clusters = upgraded
    kept = clusters['detached, its group kept']
    policy = desk.policy(plain())
    cluster = desk.load_cluster(kept['cluster'])
    bound = done(policy.attach(cluster))
    assert bound['AffinityPolicy']['data']['servergroup_id'] == kept['group']
    desk.bind(cluster, policy, bound)
    cluster.store(desk.context)
    done(policy.detach(desk.load_cluster(kept['cluster'])))
    assert kept['group'] not in desk.groups()
