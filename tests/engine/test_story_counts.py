"""The number of placements, and of nodes that Senlin creates (R3-07, R3-09, R3-10)."""

import pytest

EXACT, MORE, PERCENT = 'EXACT_CAPACITY', 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'
ANYWHERE = {'policies': 'soft-anti-affinity'}


@pytest.mark.nightly
@pytest.mark.long
def test_r3_09_r3_10_resizes(demo, truth):
    """One cluster is resized several times; each step is a row of the numeric table."""
    cluster, _policy, group = demo.bound(demo.policy(servergroup=ANYWHERE), max_size=3)
    entry = {'servergroup': group}

    def size():
        return len(demo.nodes(cluster))

    assert demo.resize(cluster, EXACT, 2).placements() == [entry] * 2
    assert size() == 2
    # the same size: a list of none
    assert demo.resize(cluster, EXACT, 2).placements() == []
    assert size() == 2
    # beyond max_size: rejected if strict (by Senlin's API), otherwise up to max_size
    words = demo.refused(cluster, 'resize', adjustment_type=MORE, number=2, strict=True)
    assert 'max_size (3)' in words
    assert demo.resize(cluster, MORE, 2, strict=False).placements() == [entry]
    assert size() == 3
    # only a min_size, which Senlin's API accepts if strict is false
    assert demo.resize(cluster, min_size=4, max_size=9, strict=False).placements() == [entry]
    assert size() == 4
    assert demo.resize(cluster, PERCENT, 50).placements() == [entry] * 2
    assert size() == 6
    assert truth.members(group) == {node.physical_id for node in demo.nodes(cluster)}
    # a shrink is not blocked, and holds no placement
    assert demo.resize(cluster, EXACT, 1, min_size=0).placements() is None
    assert size() == 1


@pytest.mark.long
def test_r3_07_counts_of_other_policies_and_strings(demo, truth):
    """The count of another policy, an emptied cluster, a string of a receiver, and a scale-in."""
    cluster, _policy, group = demo.bound(demo.policy(servergroup=ANYWHERE))
    entry = {'servergroup': group}
    scaling = demo.policy_of(
        'senlin.policy.scaling', event='CLUSTER_SCALE_OUT', adjustment={'type': MORE, 'number': 3}
    )
    keeping = demo.policy_of(
        'senlin.policy.deletion', destroy_after_deletion=True, reduce_desired_capacity=False
    )
    for policy in (scaling, keeping):
        demo.attach(cluster, policy).succeeded()
    running = demo.scale_out(cluster)
    assert running.placements() == [entry] * 3
    assert running.ended().data['creation']['count'] == 3
    # no nodes, a desired capacity of 3: Senlin interprets 0 as unknown, and would create 2
    nodes = [node.id for node in demo.nodes(cluster)]
    demo.act(cluster, 'del_nodes', nodes=nodes).succeeded()
    assert demo.nodes(cluster) == []
    assert demo.clustering.get_cluster(cluster).desired_capacity == 3
    for policy in (scaling, keeping):
        demo.detach(cluster, policy).succeeded()
    assert demo.resize(cluster, EXACT, 5).placements() == [entry] * 5
    assert len(demo.nodes(cluster)) == 5
    # a receiver's count is what was typed
    receiver = demo.clustering.create_receiver(
        name='two',
        type='webhook',
        cluster_id=cluster,
        action='CLUSTER_SCALE_OUT',
        params={'count': '2'},
    )
    trigger = receiver.channel['alarm_url'].partition('/v1/')[2]
    answer = demo.clustering.post(f'/{trigger}').json()
    assert demo.running(answer['action']).placements() == [entry] * 2
    assert len(demo.nodes(cluster)) == 7
    assert truth.members(group) == {node.physical_id for node in demo.nodes(cluster)}
    # the policy does not act at a scale-in
    assert demo.act(cluster, 'scale_in', count=1).placements() is None
    assert len(demo.nodes(cluster)) == 6
