"""Members on each host, and hosts that only the late check of nova-compute rejects."""

import pytest

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.nova.group_policy import checked_late, is_checked_late
from tests.support.asked import Given, NamedRequest, with_values

HOSTS = (
    Host('cmp-1', 'cmp-1'),
    Host('cmp-2', 'cmp-2', enabled=False),
    Host('cmp-3', 'cmp-3', up=False),
    Host('cmp-4', 'cmp-4'),
    Host('cmp-5', 'cmp-5'),
)
MOVING = Member('s1', 'cmp-1', state='VERIFY_RESIZE', also_on=('cmp-1', 'cmp-4'))


@pytest.mark.parametrize(
    ('policy', 'most', 'filters', 'number'),
    [
        (None, 1, DEFAULT_FILTERS, 0),
        ('affinity', 1, DEFAULT_FILTERS, 0),
        ('anti-affinity', 1, DEFAULT_FILTERS, 1),
        ('anti-affinity', 2, DEFAULT_FILTERS, 0),
        ('anti-affinity', 1, ['ComputeFilter'], 2),
    ],
)
def test_the_number_of_hosts_that_only_the_late_check_rejects(policy, most, filters, number):
    """The filter counts a moving server on one host; without it, the late check alone rejects."""
    group = policy and ServerGroup('g', 'web', policy, {'max_server_per_host': most}, (MOVING,))
    request = NamedRequest(1, 'small', enabled_filters=tuple(filters))
    asked = with_values(request, Cloud(HOSTS), server_group=group)
    assert checked_late(*asked) == number


@pytest.mark.parametrize(('is_off', 'of_target'), [(False, 2), (True, 1)])
def test_planned_servers_count_beside_the_members(is_off, of_target):
    """The late check also counts a moving server on the target of its move."""
    group = ServerGroup('g', 'web', 'anti-affinity', members=(MOVING,))
    rules = Given.of(disable_group_policy_check_upcall=is_off)
    request = NamedRequest(1, 'small')
    asked = with_values(request, Cloud(HOSTS), server_group=group, given=rules)
    after, is_checked = asked.scenario.place(asked.request, {3: 1}), is_checked_late(asked.request)
    members = after.members_on(asked.request, is_checked=is_checked)
    assert members == {'cmp-1': 1, 'cmp-4': of_target}
    assert after.members(asked.request, is_checked=is_checked).tolist() == [1, 0, 0, of_target, 0]
