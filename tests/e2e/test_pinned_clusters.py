"""Clusters whose hosts the policy chooses, on eight hosts of the real Nova, again and again."""

from collections import Counter

import pytest

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support.cloud_fixtures import Tenant, Truth

HOSTS = [f'cmp-{number}' for number in range(1, 9)]
LICENSED = HOSTS[:3]


@pytest.fixture(scope='module')
def pinned_cloud():
    aggregates = {'licensed': {'hosts': LICENSED, 'metadata': {}}}
    with SandboxCloud(HOSTS, aggregates=aggregates, senlin=True) as cloud:
        yield cloud


@pytest.fixture(scope='module')
def owner(pinned_cloud):
    return Tenant(pinned_cloud.connection())


@pytest.fixture(scope='module')
def nova(pinned_cloud):
    return Truth(pinned_cloud.connection())


@pytest.mark.parametrize('time', range(1, 11))
def test_eight_nodes_on_eight_hosts_come_up_in_parallel(owner, nova, time):
    """Under anti-affinity, at the first try, ten times of ten."""
    cluster, _policy, group = owner.bound(owner.policy(pin_hosts=True))
    owner.scale_out(cluster, len(HOSTS)).succeeded()
    nodes = owner.nodes(cluster)
    assert Counter(node.status for node in nodes) == {'ACTIVE': len(HOSTS)}
    assert nova.spread(group) == dict.fromkeys(HOSTS, 1)
    owner.delete_cluster(cluster)


def test_r1_42_twenty_nodes_of_twenty_keep_off_a_forbidden_aggregate(owner, nova):
    policy = owner.policy(
        servergroup={'rules': {'max_server_per_host': 4}}, member_of=['!licensed']
    )
    cluster, _policy, group = owner.bound(policy)
    owner.scale_out(cluster, 12).succeeded()
    owner.scale_out(cluster, 8).succeeded()
    spread = nova.spread(group)
    assert sum(spread.values()) == 20
    assert spread == dict.fromkeys(sorted(set(HOSTS) - set(LICENSED)), 4)
    reason = owner.scale_out(cluster, 1).failed()
    assert 'server_group.host_full on 5, member_of.forbidden on 3' in reason
