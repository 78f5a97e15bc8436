"""A policy with live servers is replaced in the real Senlin and Nova: no server is lost."""

import pytest

pytestmark = pytest.mark.long
RULES = {'max_server_per_host': 2}


def outside(user, truth, cluster, group):
    """Return the servers of a cluster that are not in its group."""
    return {node.physical_id for node in user.nodes(cluster)} - truth.members(group)


def test_q3_12_another_policy_adopts_the_group_of_live_servers(demo, truth):
    """The cluster's metadata request it while the policy is attached; the next policy has
    on_detach.
    """
    cluster, policy, group = demo.bound(demo.policy(servergroup={'rules': RULES}))
    demo.scale_out(cluster, 2).succeeded()
    demo.set_metadata(cluster, senlin_affinity_on_detach='keep')
    demo.detach(cluster, policy).succeeded()
    assert len(truth.members(group)) == 2
    wrong = demo.policy(servergroup={'policies': 'soft-affinity'})
    reason = demo.attach(cluster, wrong).failed()
    assert "Policies specified (soft-affinity) doesn't match" in reason
    assert f'openstack server group delete {group}' in reason
    changed = demo.policy(servergroup={'rules': RULES, 'on_detach': 'keep'}, preflight='warn')
    demo.attach(cluster, changed).succeeded()
    data = demo.binding(cluster, changed)['AffinityPolicy']['data']
    assert (data['servergroup_id'], data['inherited_group']) == (group, False)
    demo.scale_out(cluster, 2).succeeded()
    assert outside(demo, truth, cluster, group) == set()
    assert truth.spread(group) == {'cmp-1': 2, 'cmp-2': 2}
    # Independent of the metadata and the spec, because the cluster is deleted.
    demo.delete_cluster(cluster)
    assert truth.group_by_id(group) is None


def test_profile_that_names_another_group_after_an_update(demo, truth):
    """Senlin runs no policy at a CLUSTER_UPDATE: the next new node causes the warning."""
    mine, other = (
        demo.compute.create_server_group(name=name, policy='anti-affinity').id
        for name in ('bound before', 'named after')
    )
    before, after = (demo.profile(scheduler_hints={'group': each}) for each in (mine, other))
    cluster, policy, group = demo.bound(profile=before)
    assert group == mine
    demo.update_cluster(cluster, profile_id=after, profile_only=True)
    demo.scale_out(cluster, 1).succeeded()
    (node,) = demo.nodes(cluster)
    assert (truth.members(mine), truth.members(other)) == ({node.physical_id}, set())
    events = [each.status_reason for each in demo.clustering.events(cluster_id=cluster)]
    words = f"name server group '{other}', but the affinity policy is bound to server group"
    assert sum(words in (each or '') for each in events) == 1
    demo.delete_cluster(cluster)
