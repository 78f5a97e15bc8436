"""The preflight in the real Senlin: a request that does not fit is rejected before Nova gets it."""

from collections import Counter

import pytest

from tests.support.cloud_fixtures import DRS_HOST, HOSTS, asked
from tests.support.waiting import until

#: The DRS host is disabled.
OPEN = [host for host in HOSTS if host != DRS_HOST]
ROOM = len(OPEN)


def test_rx_02_a_rejected_scale_out_creates_no_server(admin, truth, cloud):
    """The user reads the line and the remedies."""
    cluster, _policy, group = admin.bound()
    cloud.clear_requests()
    reason = admin.scale_out(cluster, ROOM + 1).failed()
    assert f'does not fit: at most {ROOM} of {ROOM + 1}; a host may hold 1 of ' in reason
    assert f'would help: max_server_per_host: 2 ({ROOM + 1} of {ROOM + 1})' in reason
    assert not any(host in reason for host in HOSTS)
    assert not [request for request in asked(cloud, 'servers') if request[0] == 'POST']
    assert admin.nodes(cluster) == []
    admin.scale_out(cluster, ROOM).succeeded()
    assert truth.spread(group) == dict.fromkeys(OPEN, 1)


@pytest.mark.long
def test_warn_continues(admin, truth):
    """In any status of Senlin's action, which ends with the first failed node."""
    cluster, _policy, group = admin.bound(admin.policy(preflight='warn'))
    admin.scale_out(cluster, ROOM + 1).ended()

    def ended():
        found = Counter(node.status for node in admin.nodes(cluster))
        return None if found.keys() & {'INIT', 'CREATING'} else found

    assert until(ended, 60, 'every node is made') == {'ACTIVE': ROOM, 'ERROR': 1}
    assert admin.clustering.get_cluster(cluster).status == 'WARNING'
    assert set(truth.spread(group)) - {None} == set(OPEN)


@pytest.mark.long
def test_a_tenant_without_hosts_is_not_rejected(demo, truth):
    """An unknown result rejects nothing."""
    cluster, _policy, group = demo.bound()
    demo.scale_out(cluster, ROOM).succeeded()
    assert truth.spread(group) == dict.fromkeys(OPEN, 1)


def test_pinned_nodes_are_created_on_the_planned_hosts(admin, truth):
    """All hosts at once, under anti-affinity: no two of them race for one host."""
    cluster, _policy, group = admin.bound(admin.policy(pin_hosts=True))
    placed = admin.scale_out(cluster, ROOM).placements()
    assert sorted(entry['zone'] for entry in placed) == [f'nova:{host}' for host in OPEN]
    assert truth.spread(group) == dict.fromkeys(OPEN, 1)
    reason = admin.scale_out(cluster, 1).failed()
    assert f'server_group.host_full on {ROOM}' in reason


@pytest.mark.long
def test_pinned_nodes_follow_the_scheduler_hints_of_the_profile(admin, truth):
    """Nova runs no filter for a pinned node. It stores all hints, with the group beside them."""
    other = admin.node().physical_id
    host = truth.server(other).compute_host
    hints = {'same_host': [other], 'other': 'kept'}
    policy = admin.policy(pin_hosts=True, servergroup={'policies': 'soft-anti-affinity'})
    cluster, _policy, group = admin.bound(policy, profile=admin.profile(scheduler_hints=hints))
    placed = admin.scale_out(cluster, 2).placements()
    assert [entry['zone'] for entry in placed] == [f'nova:{host}'] * 2
    assert truth.spread(group) == {host: 2}
    for node in admin.nodes(cluster):
        stored = admin.compute.get(f'/servers/{node.physical_id}', microversion='2.100').json()
        assert stored['server']['scheduler_hints'] == {
            'same_host': [other],
            'other': ['kept'],
            'group': [group],
        }


@pytest.mark.long
def test_r1_42_no_node_is_created_on_a_forbidden_host(admin, truth, cloud, drs_host):
    """R1-17: an attach resolves the aggregate; every node is created on a host outside it."""
    policy = admin.policy(servergroup={'policies': 'soft-anti-affinity'}, member_of=['!vsphere'])
    made = admin.cluster()
    cloud.clear_requests()
    admin.attach(made, policy).succeeded()
    assert asked(cloud, 'os-aggregates')[0] == ('GET', '/v2.1/os-aggregates', '')
    cluster, group = made, admin.group_id(made, policy)
    admin.scale_out(cluster, 4).succeeded()
    assert truth.spread(group) == dict.fromkeys(OPEN, 2)
    inside = admin.policy(member_of=['vsphere'])
    cluster, _policy, group = admin.bound(inside)
    reason = admin.scale_out(cluster, 2).failed()
    assert 'does not fit: 1 of 2 placed; 0/3 hosts left: member_of.required on 2' in reason
    admin.scale_out(cluster, 1).succeeded()
    assert truth.spread(group) == {drs_host: 1}
