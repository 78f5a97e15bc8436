"""An engine without the package, and engines that die before each step of an action."""

import itertools

import pytest

from tests.cluster.conftest import DEAD, at_once, kill_at, release, status
from tests.cluster.settings import ENGINES

UNINSTALL = ('pip', 'uninstall', '--break-system-packages', '--yes', 'senlin-affinity')
MISSING = "The policy_type 'senlin.policy.affinity-1.1' could not be found."
ATTACH, DETACH = 'CLUSTER_ATTACH_POLICY', 'CLUSTER_DETACH_POLICY'


def test_an_engine_without_the_package_rejects_and_damages_nothing(demo, stack, truth):
    policy = demo.policy()
    cluster, _policy, group = demo.bound(policy)
    demo.scale_out(cluster, 1).succeeded()
    alone, *others = ENGINES
    stack.run(*UNINSTALL, host=alone)
    try:
        stack.restart(alone)
        stack.stop(*others)
        node = demo.clustering.create_node(name='n', cluster_id=cluster, profile_id=demo.profile())
        attach, scale_out = demo.attach(demo.cluster(), policy), demo.scale_out(cluster, 1)
        assert attach.failed() == scale_out.failed() == MISSING
        assert demo.running(demo.action_of(node.id)).failed() == 'Policy check: '
        assert [*truth.spread(group).values()] == [1]
        (engine,) = (row for row in status(stack) if row['Object'] == alone)
        assert engine['Details'] == 'has not used the policy since it started'
    finally:
        stack.stop(alone)
        stack.install_wheel(alone)
        stack.start(*ENGINES)
    demo.scale_out(cluster, 1).succeeded()
    assert [*truth.spread(group).values()] == [1, 1]


@pytest.mark.parametrize(
    ('name', 'every'), [(ATTACH, 1), ('CLUSTER_SCALE_OUT', 4), ('NODE_CREATE', 3), (DETACH, 3)]
)
def test_an_engine_dies_before_a_step(name, every, demo, stack):
    policy, killed = demo.policy(), []

    def repeat(cluster):
        if name == ATTACH:
            return demo.attach(cluster, policy)
        return demo.detach(cluster, policy) if name == DETACH else demo.scale_out(cluster, 1)

    for step in itertools.count(1, every):
        cluster = demo.cluster() if name == ATTACH else demo.bound(policy)[0]
        action = kill_at(stack, step, name, lambda cluster=cluster: repeat(cluster))
        if action is None:
            break
        killed.append((cluster, action))
    assert len(killed) > 2
    release(stack)
    for cluster, action in killed:
        ended = action.ended()
        assert ended.status != 'FAILED' or ended.reason.startswith(DEAD), ended
        is_bound = [*demo.clustering.cluster_policies(cluster)]
        if ended.status != 'SUCCEEDED' and (is_bound or name != DETACH):
            repeat(cluster).succeeded()
        assert bool([*demo.clustering.cluster_policies(cluster)]) is (name != DETACH)
    at_once(lambda each: demo.scale_out(each[0], 1).succeeded(), killed)
