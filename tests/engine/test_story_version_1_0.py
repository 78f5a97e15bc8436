"""Live clusters with Senlin's own policy are served by ours: no server is lost.

Senlin is restarted with and without the option, on the same database.
"""

import pytest

from tests.engine.test_story_change import outside
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.sandbox import SandboxCloud

pytestmark = pytest.mark.long

HOSTS = {f'cmp-{number}': {} for number in range(1, 7)}
SERVED = {'affinity': {'serve_version_1_0': True}}
#: What Senlin's own policy stores.
IN_TREE = {'servergroup_id', 'inherited_group'}


@pytest.fixture(scope='module')
def own_cloud():
    with SandboxCloud(HOSTS, senlin=True) as cloud:
        yield cloud


def data_of(user, cluster, policy):
    binding = user.binding(cluster, policy)
    assert binding['AffinityPolicy']['version'] == '1.0'
    assert binding['AffinityPolicy']['data'].keys() == IN_TREE
    return binding['AffinityPolicy']['data']


def test_q3_12_an_in_tree_cluster_moves_to_1_1_and_back(own_cloud):
    demo = Tenant(own_cloud.connection('demo'))
    truth = Truth(own_cloud.connection())
    spec = {'servergroup': {'policies': 'anti-affinity'}}
    # Senlin's own policy
    cluster, theirs, group = demo.bound(demo.policy('1.0', **spec))
    demo.scale_out(cluster, 2).succeeded()
    assert len(truth.members(group)) == 2
    # the same policy, served by ours: now a single node joins as well
    own_cloud.restart_senlin(SERVED)
    demo.scale_out(cluster, 1).succeeded()
    node = demo.node(cluster)
    assert node.status == 'ACTIVE', node.status_reason
    assert (len(truth.members(group)), outside(demo, truth, cluster, group)) == (4, set())
    assert data_of(demo, cluster, theirs) == {'servergroup_id': group, 'inherited_group': False}
    # an affinity policy 1.1, under the live servers
    demo.set_metadata(cluster, senlin_affinity_on_detach='keep')
    demo.detach(cluster, theirs).succeeded()
    ours = demo.policy('1.1', **spec)
    demo.attach(cluster, ours).succeeded()
    assert demo.group_id(cluster, ours) == group
    demo.scale_out(cluster, 1).succeeded()
    assert (len(truth.members(group)), outside(demo, truth, cluster, group)) == (5, set())
    # back to 1.0, then back to Senlin's own, which reads the binding that ours has written
    demo.detach(cluster, ours).succeeded()
    demo.attach(cluster, theirs).succeeded()
    assert data_of(demo, cluster, theirs) == {'servergroup_id': group, 'inherited_group': False}
    own_cloud.restart_senlin({})
    demo.scale_out(cluster, 1).succeeded()
    assert (len(truth.members(group)), outside(demo, truth, cluster, group)) == (6, set())
    assert truth.spread(group) == dict.fromkeys(HOSTS, 1)
    demo.detach(cluster, theirs).succeeded()
    assert truth.group_by_id(group) is None
