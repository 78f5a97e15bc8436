"""Every kind of request with live servers, for both roles, and rejected requests."""

from collections import Counter

from senlin_affinity.sandbox.demo.stage import wait_for
from tests.cluster.conftest import configure
from tests.cluster.settings import COMPUTES, CONDUCTORS, ENGINES


def test_nodes_join_the_group_by_every_request(user, truth):
    policy = user.policy(servergroup={'rules': {'max_server_per_host': 2}})
    cluster, _policy, group = user.bound(policy)
    user.scale_out(cluster, 1).succeeded()
    node = user.node(cluster)
    assert node.status == 'ACTIVE', node.status_reason
    user.resize(cluster, 'EXACT_CAPACITY', 3).succeeded()
    user.resize(cluster, 'CHANGE_IN_PERCENTAGE', 34).succeeded()
    again = user.recreate(node)
    assert truth.members(group) == {each.physical_id for each in user.nodes(cluster)}
    assert again.physical_id in truth.members(group)
    user.act(cluster, 'scale_in', count=2).succeeded()
    assert len(truth.members(group)) == 2


def test_rejections_name_the_reason(user, demo):
    hint = user.profile(scheduler_hints={'group': 'nowhere'})
    attach = user.attach(user.cluster(hint), user.policy())
    assert "server group 'nowhere'" in attach.failed()
    cluster, _policy, group = user.bound()
    more = len(COMPUTES) + 1
    reason = user.scale_out(cluster, more).failed()
    assert f'does not fit: at most {len(COMPUTES)} of {more}' in reason or 'hosts left' in reason
    assert user.nodes(cluster) == []
    if user is demo:
        pinned = user.attach(user.cluster(), user.policy(pin_hosts=True))
        assert 'forced_host' in pinned.failed()


def test_a_spread_uses_no_host_without_a_zone(user, truth):
    spread = [{'by': 'availability_zone'}]
    policy = user.policy(servergroup={'policies': 'soft-anti-affinity'}, spread=spread)
    cluster, _policy, group = user.bound(policy)
    user.scale_out(cluster, len(COMPUTES)).succeeded()
    landed = truth.spread(group)
    assert sorted(landed.values()) == [1, 1, 2]
    assert [host for host in landed if COMPUTES[host] is None] == []


def test_live_servers_stay_in_their_group_when_the_spec_changes(user, truth):
    cluster, old, group = user.bound()
    user.scale_out(cluster, 2).succeeded()
    _replace(user, cluster, old, user.policy(preflight='warn'))
    user.scale_out(cluster, 1).succeeded()
    assert sorted(truth.spread(group).values()) == [1, 1, 1]


def test_live_servers_stay_in_their_group_between_the_versions(stack, demo, truth):
    restarted = (*CONDUCTORS, *ENGINES)
    with configure(stack, restarted, {'affinity': {'serve_version_1_0': True}}):
        old = demo.policy('1.0', servergroup={'policies': 'anti-affinity'})
        cluster, _policy, group = demo.bound(old)
        demo.scale_out(cluster, 1).succeeded()
        new = demo.policy()
        _replace(demo, cluster, old, new)
        demo.scale_out(cluster, 1).succeeded()
        _replace(demo, cluster, new, old)
        demo.scale_out(cluster, 1).succeeded()
        assert sorted(truth.spread(group).values()) == [1, 1, 1]
        _replace(demo, cluster, old, new)
    wait_for('a policy type', lambda: [*demo.clustering.policy_types()])
    demo.scale_out(cluster, 1).succeeded()
    assert Counter(truth.spread(group).values()) == {1: 4}


def _replace(user, cluster, old, new):
    """Replace a policy as the manual says; the group stays."""
    group = user.group_id(cluster, old)
    user.set_metadata(cluster, senlin_affinity_on_detach='keep')
    user.detach(cluster, old).succeeded()
    user.attach(cluster, new).succeeded()
    user.set_metadata(cluster)
    assert user.group_id(cluster, new) == group
