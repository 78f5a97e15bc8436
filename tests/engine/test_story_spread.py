"""Spreads in the real Senlin and Nova: zones for a tenant, racks for an administrator."""

from collections import Counter

import pytest

from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.sandbox import SandboxCloud

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


@pytest.fixture
def full(running):
    """Fill a zone."""
    placement = running.connection('admin').placement
    headers = {'OpenStack-API-Version': 'placement 1.39'}
    found = placement.get('/resource_providers', headers=headers).json()['resource_providers']
    before = {}
    for provider in found:
        if HOSTS.get(provider['name'], {}).get('availability_zone') == ZONES[2]:
            url = f'/resource_providers/{provider["uuid"]}/inventories/VCPU'
            before[url] = placement.get(url).json()
            taken = {**before[url], 'reserved': before[url]['total']}
            placement.put(url, json=taken, headers=headers).raise_for_status()
    assert len(before) == 2
    yield ZONES[2]
    for url, values in before.items():
        generation = placement.get(url).json()['resource_provider_generation']
        again = {**values, 'resource_provider_generation': generation}
        placement.put(url, json=again, headers=headers).raise_for_status()


def by_zone(truth, group):
    return Counter(truth.server(server).availability_zone for server in truth.members(group))


def by_rack(truth, group):
    racks = {host: name for name, each in RACKS.items() for host in each['hosts']}
    return Counter(racks.get(host, 'none') for host in Counter(truth.spread(group)).elements())


def test_a_tenants_nodes_are_spread_over_the_zones(running, truth):
    """7 nodes on 3 zones, and 2 more for balance; a scale-in increases the skew again."""
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
    for node in gone:
        user.wait_for_actions(node)
    assert len(user.nodes(cluster)) == 9 - len(gone)
    assert by_zone(truth, group) == {ZONES[1]: 3, ZONES[2]: 3}
    user.scale_out(cluster, 2).succeeded()
    assert by_zone(truth, group) == {ZONES[0]: 2, ZONES[1]: 3, ZONES[2]: 3}


def zone_policy(user, name, zones):
    """Return Senlin's own zone placement policy."""
    weighted = [{'name': zone, 'weight': 100} for zone in zones]
    kind = {'type': 'senlin.policy.zone_placement', 'version': '1.0'}
    return user.create_policy(name, {**kind, 'properties': {'zones': weighted}})


def test_senlins_zone_policy_does_not_spread_new_nodes(running):
    user = Tenant(running.connection('demo'))
    cluster = user.cluster()
    user.attach(cluster, zone_policy(user, 'one-zone', ZONES[:1])).succeeded()
    running.clear_requests()
    user.scale_out(cluster, 2).succeeded()
    asked = [
        each['body']['server']
        for each in running.requests()
        if each['method'] == 'POST' and each['path'].endswith('/servers')
    ]
    assert ['availability_zone' in server for server in asked] == [False, False]


@pytest.mark.nightly
def test_a_zone_spread_beside_senlins_zone_policy(running, truth):
    """What a scale-in leaves uneven the next growth evens out, where all zones are named."""
    user = Tenant(running.connection('demo'))
    policy = user.policy(servergroup=SOFT, spread=[{'by': 'availability_zone'}])
    cluster, _policy, group = user.bound(policy)
    some = zone_policy(user, 'two-zones', ZONES[:2])
    user.attach(cluster, some).succeeded()
    user.scale_out(cluster, 6).succeeded()
    assert user.act(cluster, 'scale_in', count=2).failed() == "'az-3'"
    user.detach(cluster, some).succeeded()
    user.attach(cluster, zone_policy(user, 'all-zones', ZONES)).succeeded()
    user.act(cluster, 'scale_in', count=2).succeeded()
    user.scale_out(cluster, 2).succeeded()
    assert by_zone(truth, group) == dict.fromkeys(ZONES, 2)


@pytest.mark.nightly
def test_an_administrators_nodes_are_spread_over_racks(running, truth):
    """Pinned: at most one more in a rack than in the emptiest, and none outside racks."""
    admin = Tenant(running.connection('admin'))
    policy = admin.policy(servergroup=SOFT, spread=[{'by': 'rack'}])
    cluster, _policy, group = admin.bound(policy)
    admin.scale_out(cluster, 7).succeeded()
    assert sorted(by_rack(truth, group).values()) == [2, 2, 3]
    admin.scale_out(cluster, 2).succeeded()
    assert by_rack(truth, group) == dict.fromkeys(RACKS, 3)


def test_a_tenants_soft_spread_rejects_nothing(running, truth, full):
    """The tenant does not see which zone is full, so Nova chooses, as without a spread."""
    user = Tenant(running.connection('demo'))
    policy = user.policy(servergroup=SOFT, spread=[{'by': 'availability_zone', 'mode': 'soft'}])
    cluster, _policy, group = user.bound(policy)
    placed = user.scale_out(cluster, 4).placements()
    assert [sorted(entry) for entry in placed] == [['servergroup']] * 4
    found = by_zone(truth, group)
    assert found.total() == 4
    assert full not in found
    said = (running.log_dir / 'senlin.log').read_text(encoding='utf-8')
    assert 'the nodes are not spread over the zones' in said


def test_a_tenant_reads_the_limit_of_the_zones(running):
    user = Tenant(running.connection('demo'))
    spread = [{'by': 'availability_zone', 'max_per_domain': 1}]
    cluster, _policy, _group = user.bound(user.policy(servergroup=SOFT, spread=spread))
    assert (
        'does not fit: at most 3 of 4; max_per_domain allows 1 node(s) in each zone; '
        'would help: max_per_domain: 2 (at most 4 of 4)'
    ) in user.scale_out(cluster, 4).failed()
