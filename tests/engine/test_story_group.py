"""S1 and S2 of document 003, by the real Senlin on the real Nova: a group inherited or created."""

import pytest

from senlin_affinity.sandbox.demo.stage import wait_for

RULES = {'max_server_per_host': 3}


@pytest.mark.parametrize(('who', 'end'), [('demo', 'detach'), ('admin', 'delete the cluster')])
def test_s2_group_is_created_used_and_deleted(request, truth, who, end):
    """R3-16, R3-11, R3-17, R3-24: by a plain user and by an administrator."""
    user = request.getfixturevalue(who)
    cluster, policy, group = user.bound(user.policy(servergroup={'rules': RULES}))
    created = truth.own_group(cluster)
    assert (created.id, created.policy, created.rules) == (group, 'anti-affinity', RULES)
    assert user.binding(cluster, policy) == {
        'AffinityPolicy': {
            'version': '1.1',
            'data': {
                'servergroup_id': group,
                'inherited_group': False,
                'policy': 'anti-affinity',
                'rules': RULES,
            },
        }
    }
    assert user.scale_out(cluster, 2).placements() == [{'servergroup': group}] * 2
    assert truth.members(group) == {node.physical_id for node in user.nodes(cluster)}
    servers = truth.members(group)
    assert len(servers) == 2
    if end == 'detach':
        user.detach(cluster, policy).succeeded()
        assert servers <= {server.id for server in user.compute.servers()}
    else:
        user.delete_cluster(cluster)
        assert not servers & {server.id for server in user.compute.servers()}
    assert truth.group_by_id(group) is None


@pytest.mark.parametrize(('who', 'by'), [('demo', 'name'), ('admin', 'id')])
def test_s1_group_of_the_profiles_hint_is_inherited(request, truth, who, by):
    """R3-12, R3-15, D3-16: Nova wants the id, the policy takes the name, too."""
    user = request.getfixturevalue(who)
    group = user.compute.create_server_group(name=f'hint-{who}-{by}', policy='soft-anti-affinity')
    profile = user.profile(scheduler_hints={'group': getattr(group, by), 'other': 'kept'})
    policy = user.policy(servergroup={'policies': 'soft-anti-affinity'})
    cluster, policy, bound = user.bound(policy, profile=profile)
    assert bound == group.id
    assert user.binding(cluster, policy)['AffinityPolicy']['data']['inherited_group'] is True
    user.scale_out(cluster).succeeded()
    node = user.node(cluster, profile)
    assert node.status == 'ACTIVE', node.status_reason
    assert truth.members(group.id) == {node.physical_id for node in user.nodes(cluster)}
    assert len(truth.members(group.id)) == 2
    user.detach(cluster, policy).succeeded()
    assert truth.group_by_id(group.id) is not None


def test_r3_13_group_that_the_hint_names_and_nova_lacks_is_an_error(demo, truth):
    groups = truth.groups()
    for hint in ('no-such-group', '11111111-2222-4333-8444-555555555555'):
        cluster = demo.cluster(demo.profile(scheduler_hints={'group': hint}))
        reason = demo.attach(cluster, demo.policy()).failed()
        assert f"'{hint}'" in reason
        assert 'does not exist' in reason
    assert truth.groups() == groups


def test_r3_14_r3_29_q3_2_group_that_is_another_is_an_error(demo, truth):
    group = demo.compute.create_server_group(name='other', policy='anti-affinity', rules=RULES)
    hinted = demo.cluster(demo.profile(scheduler_hints={'group': 'other'}))
    plain = demo.cluster()
    groups = truth.groups()
    named = {'name': 'other'}
    refused = [
        (hinted, {'policies': 'affinity'}, "Policies specified (affinity) doesn't match that"),
        (plain, {**named, 'policies': 'soft-affinity'}, '(soft-affinity)'),
        (hinted, {'rules': {'max_server_per_host': 2}}, 'max_server_per_host specified (2)'),
        (plain, {**named, 'rules': {'max_server_per_host': 4}}, "servergroup 'other' (3)"),
        (hinted, {'name': 'another'}, "servergroup.name is 'another'"),
        (plain, {'name': '11111111-2222-4333-8444-555555555555'}, 'no server group has it'),
    ]
    for cluster, wanted, words in refused:
        assert words in demo.attach(cluster, demo.policy(servergroup=wanted)).failed()
    assert truth.groups() == groups
    # Nothing was bound, so nothing is in the way of the right policy (Q3-8, Q3-10).
    right = demo.policy(servergroup=named)
    demo.attach(plain, right).succeeded()
    data = demo.binding(plain, right)['AffinityPolicy']['data']
    assert (data['servergroup_id'], data['inherited_group']) == (group.id, True)
    assert data['rules'] == RULES


def test_d3_16_two_groups_of_one_name_are_an_error(demo):
    ids = [demo.compute.create_server_group(name='twin', policy='affinity').id for _ in range(2)]
    policy = demo.policy(servergroup={'name': 'twin', 'policies': 'affinity'})
    reason = demo.attach(demo.cluster(), policy).failed()
    assert all(group in reason for group in ids)


def test_node_create_joins_and_recreate_works(demo, truth):
    """R3-08; a node's data forget a group that is gone, or a RECREATE could not boot it."""
    profile = demo.profile()
    cluster, policy, group = demo.bound(demo.policy(servergroup={'rules': RULES}), profile=profile)
    inside, outside = demo.node(cluster, profile), demo.node(profile=profile)
    assert inside.status == outside.status == 'ACTIVE'
    assert truth.members(group) == {inside.physical_id}
    assert demo.node_data(inside.id)['placement']['servergroup'] == group
    assert 'servergroup' not in demo.node_data(outside.id).get('placement', {})
    again = demo.recreate(inside)
    assert again.status == 'ACTIVE', again.status_reason
    assert truth.members(group) == {again.physical_id}
    demo.detach(cluster, policy).succeeded()
    assert truth.group_by_id(group) is None
    assert 'servergroup' not in demo.node_data(inside.id)['placement']
    again = demo.recreate(again)
    assert again.status == 'ACTIVE', again.status_reason


def test_node_create_waits_for_the_attach_and_joins(demo, truth, cloud):
    """Its action does not get the cluster's lock, and is tried again."""
    profile = demo.profile()
    cluster, policy = demo.cluster(profile), demo.policy()
    cloud.faults.add('/os-server-groups$', method='POST', status=None, is_held=True)
    attach = demo.attach(cluster, policy)
    node = demo.clustering.create_node(name='late', cluster_id=cluster, profile_id=profile)
    create = demo.running(demo.action_of(node.id))
    wait_for('the retry', lambda: 'retries' in (create.read()['data'] or {}))
    cloud.faults.clear()
    attach.succeeded()
    create.succeeded()
    physical_id = demo.clustering.get_node(node.id).physical_id
    assert truth.members(demo.group_id(cluster, policy)) == {physical_id}


def test_q3_9_group_of_two_clusters_stays(demo, truth, cloud):
    """The second cluster inherits what the first one's policy has created."""
    policy = demo.policy(servergroup={'name': 'of-two'})
    first, _, group = demo.bound(policy)
    second, _, same = demo.bound(policy)
    assert same == group
    assert demo.binding(second, policy)['AffinityPolicy']['data']['inherited_group'] is True
    demo.detach(first, policy).succeeded()
    assert truth.group_by_id(group) is not None
    name = demo.clustering.get_cluster(second).name
    assert f'server group {group} stays: cluster {name} uses it' in cloud.logs(200)
    node = demo.node(second)
    assert truth.members(group) == {node.physical_id}


def test_q3_9_group_with_servers_of_strangers_stays(demo, truth):
    cluster, policy, group = demo.bound()
    stranger = demo.node(profile=demo.profile(scheduler_hints={'group': group}))
    assert truth.members(group) == {stranger.physical_id}
    demo.detach(cluster, policy).succeeded()
    assert truth.members(group) == {stranger.physical_id}


def test_detach_twice(demo, truth):
    """Senlin refuses the second one itself, and Nova is not asked."""
    cluster, policy, group = demo.bound()
    demo.detach(cluster, policy).succeeded()
    answer = demo.clustering.detach_policy_from_cluster(cluster, policy)
    assert answer['error']['code'] == 400
    assert 'is not attached' in answer['error']['message']
    assert truth.group_by_id(group) is None
    # and once more from the beginning
    demo.attach(cluster, policy).succeeded()
    assert truth.own_group(cluster).id == demo.group_id(cluster, policy) != group


def test_group_that_is_gone_already_does_not_block_the_detach(demo):
    cluster, policy, group = demo.bound()
    demo.compute.delete_server_group(group)
    demo.detach(cluster, policy).succeeded()


def test_policy_that_is_attached_disabled_works_when_it_is_enabled(demo, truth):
    cluster, policy = demo.cluster(), demo.policy(servergroup={'rules': RULES})
    demo.attach(cluster, policy, enabled=False).succeeded()
    group = demo.group_id(cluster, policy)
    assert truth.own_group(cluster).id == group
    before = demo.node(cluster)
    assert before.status == 'ACTIVE', before.status_reason
    assert truth.members(group) == set()
    demo.act(cluster, 'policy_update', policy_id=policy, enabled=True).succeeded()
    after = demo.node(cluster)
    assert truth.members(group) == {after.physical_id}
    demo.act(cluster, 'policy_update', policy_id=policy, enabled=False).succeeded()
    assert demo.group_id(cluster, policy) == group
    demo.detach(cluster, policy).succeeded()
    # The node that came without the group is the cluster's own all the same.
    assert truth.group_by_id(group) is None


def test_senlins_own_affinity_policy_is_not_joined_by_ours(demo, truth):
    """The engine lets 1.0 and 1.1 onto one cluster; ours refuses."""
    cluster = demo.cluster()
    theirs = demo.policy('1.0', servergroup={'name': 'of-1-0'})
    demo.attach(cluster, theirs).succeeded()
    reason = demo.attach(cluster, demo.policy()).failed()
    assert 'has an affinity policy already' in reason
    assert 'senlin.policy.affinity-1.0' in reason
    assert truth.own_group(cluster) is None


def test_rx_02_six_nodes_on_two_hosts_and_the_seventh(demo, truth):
    """Without a preflight Nova says no: the node is in ERROR, the cluster shows it."""
    cluster, _policy, group = demo.bound(demo.policy(servergroup={'rules': RULES}))
    demo.scale_out(cluster, 6).succeeded()
    assert truth.spread(group) == {'cmp-1': 3, 'cmp-2': 3}
    # How this action ends is left open: Senlin marks a node's action and then its cluster's as
    # failed, and a cluster's action that looks in between takes itself for done.
    demo.scale_out(cluster).ended()
    *fine, seventh = demo.nodes(cluster)
    assert {node.status for node in fine} == {'ACTIVE'}
    assert seventh.status == 'ERROR'
    assert 'transitioned to failure state ERROR' in seventh.status_reason
    found = demo.clustering.get_cluster(cluster)
    assert found.status == 'WARNING', found.status_reason
    assert truth.spread(group) == {'cmp-1': 3, 'cmp-2': 3}
