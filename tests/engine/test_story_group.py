"""S1 and S2 of document 003 in the real Senlin and Nova: an inherited or created group."""

import pytest

from senlin_affinity.sandbox.demo.stage import wait_for

RULES = {'max_server_per_host': 3}


@pytest.mark.parametrize(
    ('who', 'end'),
    [('demo', 'detach'), pytest.param('admin', 'delete the cluster', marks=pytest.mark.long)],
)
def test_s2_group_is_created_used_and_deleted(request, truth, who, end):
    """R3-16, R3-11, R3-17, R3-24: for a tenant and for an administrator."""
    user = request.getfixturevalue(who)
    cluster, policy, group = user.bound(user.policy(servergroup={'rules': RULES}))
    created = truth.own_group(cluster)
    assert (created.id, created.policy, created.rules) == (group, 'anti-affinity', RULES)
    data = {'servergroup_id': group, 'inherited_group': False}
    data |= {'policy': 'anti-affinity', 'rules': RULES}
    stored = {'AffinityPolicy': {'version': '1.1', 'data': data}}
    assert user.binding(cluster, policy) == stored
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


@pytest.mark.parametrize(
    ('who', 'by'), [('demo', 'name'), pytest.param('admin', 'id', marks=pytest.mark.long)]
)
def test_s1_group_of_the_profiles_hint_is_inherited(request, truth, who, by):
    """R3-12, R3-15, D3-16: Nova requires the id; the policy also accepts the name."""
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


@pytest.mark.long
def test_r3_13_r3_14_r3_29_q3_2_a_different_or_missing_group_is_an_error(demo, truth):
    """D3-16: two groups of one name are an error, too."""
    create, no_id = demo.compute.create_server_group, '11111111-2222-4333-8444-555555555555'
    group = create(name='other', policy='anti-affinity', rules=RULES)
    twins = [create(name='twin', policy='affinity').id for _ in range(2)]
    hints = {hint: demo.profile(scheduler_hints={'group': hint}) for hint in ('other', 'no', no_id)}
    clusters = {None: demo.cluster(), **{hint: demo.cluster(hints[hint]) for hint in hints}}
    groups = truth.groups()
    named = {'name': 'other'}
    refused = [
        ('other', {'policies': 'affinity'}, "Policies specified (affinity) doesn't match that"),
        (None, {**named, 'policies': 'soft-affinity'}, '(soft-affinity)'),
        ('other', {'rules': {'max_server_per_host': 2}}, 'max_server_per_host specified (2)'),
        (None, {**named, 'rules': {'max_server_per_host': 4}}, "servergroup 'other' (3)"),
        ('other', {'name': 'another'}, "servergroup.name is 'another'"),
        (None, {'name': no_id}, 'no server group has this id'),
        (None, {'name': 'twin', 'policies': 'affinity'}, ', '.join(sorted(twins))),
        ('no', {}, "scheduler_hints name server group 'no', which does not exist"),
        (no_id, {}, f"scheduler_hints name server group '{no_id}', which does not exist"),
    ]
    for hint, wanted, words in refused:
        assert words in demo.attach(clusters[hint], demo.policy(servergroup=wanted)).failed()
    assert truth.groups() == groups
    # Nothing was bound, so nothing is in the way of the right policy (Q3-8, Q3-10).
    right = demo.policy(servergroup=named)
    demo.attach(clusters[None], right).succeeded()
    data = demo.binding(clusters[None], right)['AffinityPolicy']['data']
    assert (data['servergroup_id'], data['inherited_group']) == (group.id, True)
    assert data['rules'] == RULES
    for twin in twins:  # a policy still names them: "group delete" of other tests would, too
        demo.compute.delete_server_group(twin)


@pytest.mark.long
def test_node_create_joins_and_recreate_works(demo, truth):
    """R3-08; a deleted group is removed from a node's data, because a RECREATE would fail."""
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


@pytest.mark.long
def test_node_create_waits_for_the_attach_and_joins(demo, truth, cloud):
    """Its action does not get the cluster's lock, and is retried."""
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


@pytest.mark.long
def test_q3_9_group_of_two_clusters_is_deleted_by_the_last(demo, truth, cloud):
    """The second cluster inherits the group of the first one's policy; its node leaves."""
    policy = demo.policy(servergroup={'name': 'of-two'})
    first, _, group = demo.bound(policy)
    second, _, same = demo.bound(policy)
    assert same == group
    assert demo.binding(second, policy)['AffinityPolicy']['data']['inherited_group'] is True
    demo.detach(first, policy).succeeded()
    assert truth.group_by_id(group) is not None
    name = demo.clustering.get_cluster(second).name
    said = f'server group {group} stays: cluster {name} uses it'
    assert said in cloud.logs(200)
    assert demo.clustering.get_cluster(first).status_reason == said
    (told,) = [
        each for each in demo.clustering.events(cluster_id=first) if each.status_reason == said
    ]
    assert (told.action, told.obj_id) == ('CLUSTER_DETACH_POLICY', first)
    node = demo.node(second)
    assert truth.members(group) == {node.physical_id}
    demo.act(second, 'del_nodes', nodes=[node.id]).succeeded()
    demo.detach(second, policy).succeeded()
    assert truth.group_by_id(group) is None
    assert 'servergroup' not in demo.node_data(node.id)['placement']


@pytest.mark.long
def test_a_disabled_policy_works_after_it_is_enabled(demo, truth, cloud):
    cluster, policy = demo.cluster(), demo.policy(servergroup={'rules': RULES})
    demo.attach(cluster, policy, enabled=False).succeeded()
    group = demo.group_id(cluster, policy)
    assert truth.own_group(cluster).id == group
    reason = demo.clustering.get_cluster(cluster).status_reason
    assert 'was attached disabled' in reason
    assert group in reason
    before = demo.node(cluster)
    assert before.status == 'ACTIVE', before.status_reason
    assert truth.members(group) == set()
    demo.act(cluster, 'policy_update', policy_id=policy, enabled=True).succeeded()
    after = demo.node(cluster)
    assert truth.members(group) == {after.physical_id}
    assert f'1 server(s) of the cluster are not in server group {group}' in cloud.logs(400)
    demo.act(cluster, 'policy_update', policy_id=policy, enabled=False).succeeded()
    assert demo.group_id(cluster, policy) == group
    demo.detach(cluster, policy).succeeded()
    # The node that came without the group is the cluster's own all the same.
    assert truth.group_by_id(group) is None


def test_an_attach_beside_senlins_own_affinity_policy_is_rejected(demo, truth):
    """The engine permits 1.0 and 1.1 on one cluster; ours rejects the attach."""
    cluster = demo.cluster()
    theirs = demo.policy('1.0', servergroup={'name': 'of-1-0'})
    demo.attach(cluster, theirs).succeeded()
    reason = demo.attach(cluster, demo.policy()).failed()
    assert 'has an affinity policy already' in reason
    assert 'senlin.policy.affinity-1.0' in reason
    assert truth.own_group(cluster) is None
