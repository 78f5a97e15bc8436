"""What the policy asks of Nova, counted before the real one. (With DRS: test_story_drs.)"""

from tests.support.cloud_fixtures import asked

#: What the flavor of the profile costs: it is named by its name.
FLAVOR = 2
#: What it costs to know that a list of groups, which has one, ends.
END = 1
#: What it costs to find out that the owner cannot list the hypervisors.
HYPERVISORS = 1


def test_attach_and_detach_ask_at_most_three_times(demo, cloud):
    """By hint 1, by name 2, creating one 3; without the hypervisors.

    A list of groups costs one more, which says that it ends.

    The flavor comes on top of it, unless its extra specs are not to be checked. One more request
    finds out that the owner cannot list the hypervisors, so that the attach can report that nodes
    are not checked.
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


def test_plain_hook_asks_whether_the_group_is_there(demo, cloud):
    """With a node to create; else Nova gets what the same scale-out asks without a policy."""
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
