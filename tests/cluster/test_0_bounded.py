"""The short form for CI: a cluster of each role, while an engine dies."""

from tests.cluster.conftest import DEAD, kill_at


def test_a_cluster_of_each_role_survives_the_death_of_an_engine(user, truth, stack):
    policy, cluster = user.policy(), user.cluster()
    killed = kill_at(stack, 8, 'CLUSTER_ATTACH_POLICY', lambda: user.attach(cluster, policy))
    assert killed.ended().reason.startswith(DEAD)
    user.attach(cluster, policy).succeeded()
    group = user.group_id(cluster, policy)
    user.scale_out(cluster, 2).succeeded()
    assert sorted(truth.spread(group).values()) == [1, 1]
    user.detach(cluster, policy).succeeded()
    assert truth.group_by_id(group) is None
