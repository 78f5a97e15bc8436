"""S3 of document 003 in the real Senlin and Nova: a vSphere host with DRS, and zones."""

import pytest

from tests.support.cloud_fixtures import DRS_HOST, HOSTS, asked

EIGHT = {'rules': {'max_server_per_host': 8}}
DRS_ZONE = f'vsphere:{DRS_HOST}'
WANTED = {'enable_drs_extension': True, 'availability_zone': 'vsphere', 'servergroup': EIGHT}
NO_DRS_HOST = 'No suitable vSphere host is available.'


@pytest.mark.long
def test_s3_with_the_preflight(admin, truth, drs_host):
    """Within the rule of the group, and in the zone of the host."""
    cluster, _policy, group = admin.bound(
        admin.policy(enable_drs_extension=True, servergroup=EIGHT)
    )
    entry = {'zone': DRS_ZONE, 'servergroup': group}
    assert admin.scale_out(cluster, 2).placements() == [entry] * 2
    assert truth.spread(group) == {drs_host: 2}
    reason = admin.scale_out(cluster, 7).failed()
    assert f'does not fit: 6 of 7 placed; 0/{len(HOSTS)} hosts left: ' in reason
    assert truth.spread(group) == {drs_host: 2}


def test_s3_nodes_land_on_the_drs_host(admin, truth, cloud, drs_host):
    """R3-18, R3-19, R3-21, Q3-3: the name of the service host contains drs, and Nova gets that
    name.
    """
    cluster, policy, group = admin.bound(admin.policy(**WANTED, preflight='off'))
    cloud.clear_requests()
    entry = {'zone': DRS_ZONE, 'servergroup': group}
    assert admin.resize(cluster, 'EXACT_CAPACITY', 2).placements() == [entry] * 2
    assert asked(cloud, 'os-services', 'os-hypervisors') == [
        ('GET', '/v2.1/os-services', 'binary=nova-compute'),
        ('GET', '/v2.1/os-hypervisors/detail', 'hypervisor_hostname_pattern=drs'),
    ]
    node = admin.node(cluster)
    assert node.status == 'ACTIVE', node.status_reason
    assert admin.node_data(node.id)['placement'] == entry
    assert truth.spread(group) == {drs_host: 3}
    assert {truth.server(item).availability_zone for item in truth.members(group)} == {'vsphere'}
    # R3-22: without new nodes, no hypervisors are read
    cloud.clear_requests()
    admin.resize(cluster, 'EXACT_CAPACITY', 3).succeeded()
    assert cloud.requests() == []
    admin.resize(cluster, 'EXACT_CAPACITY', 2).succeeded()
    assert asked(cloud, 'os-services', 'os-hypervisors') == []
    admin.detach(cluster, policy).succeeded()
    assert truth.group_by_id(group) is None


@pytest.mark.parametrize(
    ('mode', 'why'),
    [
        ('enforce', 'does not fit: 0 of 2 placed; '),
        ('off', f'1 host(s) match "drs", but none accepts servers: drs.disabled on 1: {DRS_HOST}'),
    ],
)
def test_r3_20_q3_11_disabled_drs_host_is_the_reason(admin, truth, mode, why):
    cluster, _policy, group = admin.bound(admin.policy(**WANTED, preflight=mode))
    running = admin.scale_out(cluster, 2)
    assert f'{NO_DRS_HOST} ({why}' in running.failed()
    data = running.ended().data
    assert (data['status'], data['status_reason']) == ('ERROR', NO_DRS_HOST)
    assert 'placement' not in data
    assert admin.nodes(cluster) == []
    # NODE_CREATE: the action fails with the reason, and no server comes
    profile = admin.clustering.get_cluster(cluster).profile_id
    node = admin.clustering.create_node(name='no', cluster_id=cluster, profile_id=profile)
    assert NO_DRS_HOST in admin.running(admin.action_of(node.id)).failed()
    left = admin.clustering.get_node(node.id)
    assert not left.physical_id
    assert f'{NO_DRS_HOST} ({why.replace("0 of 2", "0 of 1")}' in left.status_reason
    # ... which Senlin's events have, too
    for target in (cluster, node.id):
        found = admin.clustering.events(cluster_id=cluster)
        reasons = [each.status_reason for each in found if each.obj_id == target]
        assert any(NO_DRS_HOST in each for each in reasons if each), target
    assert truth.members(group) == set()


@pytest.mark.parametrize('mode', ['off', 'enforce'])
def test_r3_25_a_tenants_drs_policy_is_rejected_at_attach(demo, truth, mode):
    cluster, groups = demo.cluster(), truth.groups()
    policy = demo.policy(enable_drs_extension=True, preflight=mode)
    reason = demo.attach(cluster, policy).failed()
    assert 'for enable_drs_extension, the policy must choose the host of every node' in reason
    assert truth.groups() == groups


@pytest.mark.long
def test_r3_23_zone_reaches_nova(demo, truth, drs_host):
    cluster, _policy, group = demo.bound(
        demo.policy(availability_zone='vsphere', servergroup=EIGHT)
    )
    assert demo.scale_out(cluster).placements() == [{'zone': 'vsphere', 'servergroup': group}]
    node = demo.node(cluster)
    assert demo.node_data(node.id)['placement']['zone'] == 'vsphere'
    assert truth.spread(group) == {drs_host: 2}
