"""Spreads in the real Senlin and Nova: zones for a plain user, racks for an administrator."""

from collections import Counter

import pytest

from senlin_affinity.sandbox.cloud import SandboxCloud
from senlin_affinity.sandbox.demo.stage import wait_for
from tests.support.cloud_fixtures import Tenant, Truth

pytestmark = pytest.mark.long

ZONES = ('az-1', 'az-2', 'az-3')
HOSTS = {
    f'cmp-{number}{letter}': {'availability_zone': zone}
    for number, zone in enumerate(ZONES, 1)
    for letter in 'ab'
}
#: Three racks across the zones, and a host that is in none.
RACKS = {
    'one': {'hosts': ['cmp-1a', 'cmp-2a'], 'metadata': {'rack': 'r1'}},
    'two': {'hosts': ['cmp-1b', 'cmp-3a'], 'metadata': {'rack': 'r2'}},
    'three': {'hosts': ['cmp-2b'], 'metadata': {'rack': 'r3'}},
}
SOFT = {'policies': 'soft-anti-affinity'}


@pytest.fixture(scope='module')
def running():
    with SandboxCloud(HOSTS, aggregates=RACKS, senlin=True) as cloud:
        yield cloud


@pytest.fixture(scope='module')
def truth(running):
    return Truth(running.connection('admin'))


def by_zone(truth, group):
    return Counter(truth.server(server).availability_zone for server in truth.members(group))


def by_rack(truth, group):
    racks = {host: name for name, each in RACKS.items() for host in each['hosts']}
    return Counter(racks.get(host, 'none') for host in Counter(truth.spread(group)).elements())


def test_a_plain_user_s_nodes_are_spread_over_the_zones(running, truth):
    """7 nodes on 3 zones, and 2 more that even it out; scale-in brings the skew back."""
    user = Tenant(running.connection('demo'))
    policy = user.policy(servergroup=SOFT, spread=[{'by': 'availability_zone'}])
    cluster, _policy, group = user.bound(policy)
    placed = user.scale_out(cluster, 7).placements()
    assert [sorted(entry) for entry in placed] == [['servergroup', 'zone']] * 7
    assert sorted(by_zone(truth, group).values()) == [2, 2, 3]
    user.scale_out(cluster, 2).succeeded()
    assert by_zone(truth, group) == dict.fromkeys(ZONES, 3)
    gone = [
        node.id
        for node in user.nodes(cluster)
        if truth.server(node.physical_id).availability_zone == ZONES[0]
    ]
    for node in gone:
        user.clustering.delete_node(node)
    wait_for('the end of nodes', lambda: len(user.nodes(cluster)) == 9 - len(gone))
    assert by_zone(truth, group) == {ZONES[1]: 3, ZONES[2]: 3}
    user.scale_out(cluster, 2).succeeded()
    assert by_zone(truth, group) == {ZONES[0]: 2, ZONES[1]: 3, ZONES[2]: 3}


def test_an_administrator_s_nodes_are_spread_over_racks(running, truth):
    """Pinned: at most one more in a rack than in the emptiest, and none outside of racks."""
    admin = Tenant(running.connection('admin'))
    policy = admin.policy(servergroup=SOFT, spread=[{'by': 'rack'}])
    cluster, _policy, group = admin.bound(policy)
    admin.scale_out(cluster, 7).succeeded()
    assert sorted(by_rack(truth, group).values()) == [2, 2, 3]
    admin.scale_out(cluster, 2).succeeded()
    assert by_rack(truth, group) == dict.fromkeys(RACKS, 3)
