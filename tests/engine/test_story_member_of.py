"""A policy with member_of in the real Senlin, on a cluster that an administrator owns.

What its nodes then do is in ``test_story_preflight``.
"""

from tests.support.cloud_fixtures import asked

#: The cloud's one aggregate is that of a zone.
ZONE = 'vsphere'


def test_r1_17_an_attach_looks_the_aggregates_up(admin, truth, cloud):
    policy = admin.policy(member_of=[f'!{ZONE}'])
    made = admin.cluster()
    cloud.clear_requests()
    admin.attach(made, policy).succeeded()
    assert asked(cloud, 'os-aggregates') == [('GET', '/v2.1/os-aggregates', '')]
    assert truth.own_group(made) is not None
