"""A policy with member_of in the real Senlin, on a cluster that an administrator owns."""

from tests.cloud_fixtures import asked

#: The cloud's one aggregate is that of a zone.
ZONE = 'vsphere'


def test_r1_42_what_no_host_is_chosen_for_is_not_created(admin, truth, cloud):
    """An attach looks the aggregates up; a growth is refused, and not left to Nova."""
    policy = admin.policy(member_of=[f'!{ZONE}'])
    made = admin.cluster()
    cloud.clear_requests()
    admin.attach(made, policy).succeeded()
    assert asked(cloud, 'os-aggregates') == [('GET', '/v2.1/os-aggregates', '')]
    assert truth.own_group(made) is not None
    assert 'placement.hosts_not_chosen' in admin.scale_out(made, 1).failed()
    assert admin.nodes(made) == []
