"""The number of the policy's requests to Nova, sent to a real one. (With DRS: test_story_drs.)"""

from tests.support.cloud_fixtures import asked

#: The requests for the flavor of the profile, which has a name.
FLAVOR = 2
#: The request for the empty last page of a list of groups.
END = 1
#: What it costs to find out that the owner cannot list the hypervisors.
HYPERVISORS = 1


def test_attach_and_detach_send_at_most_three_requests(demo, cloud):
    """One by the hint, two by a name, three to create one; without the hypervisors.

    A list of groups needs one more request, for the empty last page. The flavor needs one, unless
    its extra specs are not checked. One more finds out that the owner may not list the hypervisors,
    so that the attach can report that nodes are not checked.
    """
    group = demo.compute.create_server_group(name='counted', policy='anti-affinity').id
    attaches = [
        (demo.cluster(demo.profile(scheduler_hints={'group': group})), {}, 1),
        (demo.cluster(), {'name': 'counted'}, 2 + END),
        (demo.cluster(), {}, 3 + END),
        (demo.cluster(), {'name': 'counted-new'}, 3 + END),
    ]
    bound = []
    for (cluster, wanted, number), mode in zip(attaches, ('strict', 'off') * 2, strict=True):
        policy = demo.policy(servergroup=wanted, extra_specs=mode)
        cloud.clear_requests()
        demo.attach(cluster, policy).succeeded()
        of_flavor = 0 if mode == 'off' else FLAVOR
        assert len(asked(cloud)) == number + of_flavor + HYPERVISORS, asked(cloud)
        bound.append((cluster, policy))
    for (cluster, policy), number in zip(bound, (0, 0, 3, 3), strict=True):
        cloud.clear_requests()
        demo.detach(cluster, policy).succeeded()
        assert len(asked(cloud)) == number, asked(cloud)


def test_the_hook_without_a_preflight_only_reads_the_group(demo, cloud):
    """Only with new nodes; all other requests are those of the same scale-out without a policy."""
    without, profile = demo.cluster(), demo.profile()
    cluster, _policy, group = demo.bound(demo.policy(preflight='off'), profile=profile)
    cloud.clear_requests()
    demo.resize(cluster, 'EXACT_CAPACITY', 0).succeeded()
    assert cloud.requests() == []

    def kinds():
        return {(method, path.split('/')[2]) for method, path, _query in asked(cloud)}

    demo.scale_out(without).succeeded()
    plain = kinds()
    assert ('POST', 'servers') in plain
    cloud.clear_requests()
    demo.scale_out(cluster).succeeded()
    assert kinds() == plain | {('GET', 'os-server-groups')}
    assert [path for _method, path, _query in asked(cloud) if 'os-server-groups' in path] == [
        f'/v2.1/os-server-groups/{group}'
    ]
