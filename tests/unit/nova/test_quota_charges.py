"""Quotas count servers that are planned."""

from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.request import QUOTA, Request, Settings
from senlin_affinity.model.server_group import Member, ServerGroup
from senlin_affinity.nova.quota_charges import DRIVER, USAGE, Total, charged, totals
from senlin_affinity.nova.quotas import Charged, room_for_members
from tests.support.values import replace

FLAVOR = Flavor('f', 'f', 2, 512, 1)
GROUP = ServerGroup.planned('web', 'affinity', {})
KNOWN = {
    'instances': Quota(10, 4, Quota(8, 1)),
    'cores': Quota(None, 3),
    'ram': Quota(9000, None),
    'server_groups': Quota(5, 1),
    'server_group_members': Quota(6),
}
#: Nova's own driver, which reads the usage from its database.
SURE = Settings(explicit=frozenset((DRIVER.key, USAGE.key)))
ASKED = Request(1, FLAVOR, GROUP, image_properties={}, project_id='p', user_id='u', settings=SURE)


def test_servers_of_the_project_and_of_the_user():
    other = replace(ASKED, user_id='v')
    found = charged(KNOWN, [(ASKED, 2), (other, 3), (replace(ASKED, project_id='q'), 9)], ASKED)
    assert found == {
        'instances': Charged(10, 9, Charged(8, 3)),
        'cores': Charged(None, 13),
        'ram': Quota(9000, None),
        'server_groups': Charged(5, 2),
        'server_group_members': Charged(6, 2, doubt=3),
    }


def test_servers_that_ignore_quotas_do_not_count():
    moved = replace(ASKED, settings=Settings(waived=frozenset((QUOTA,))))
    assert charged(KNOWN, [(moved, 5)], ASKED)['instances'] == KNOWN['instances']


def test_the_least_that_nova_may_count_is_used_and_the_rest_is_in_doubt():
    flavor = replace(FLAVOR, vcpus=4, extra_specs={'resources:VCPU': '1'})
    asked = replace(ASKED, flavor=flavor, settings=Settings())
    found = charged({'cores': Quota(20, 1)}, [(asked, 3)], asked)
    assert found == {'cores': Charged(20, 4, doubt=9)}


def test_planned_members_count_for_their_user():
    group = replace(GROUP, members=(Member('s', 'h', 'u'), Member('t', 'h', 'v')))
    quotas = charged(KNOWN, [(ASKED, 2), (replace(ASKED, user_id='v'), 1)], ASKED)
    asked = replace(ASKED, server_group=group)
    bounds = room_for_members(quotas, asked.server_group, 1, 'u').bounds
    # 1 + 2 of the user; with unified limits, all 2 + 3.
    assert (bounds.lower, bounds.upper) == (1, 3)


def test_totals_of_a_list():
    requests = [replace(ASKED, count=3), replace(ASKED, count=1, server_group=None)]
    assert {each.what: each[1:] for each in totals(KNOWN, requests, 2)} == {
        'instances of the project': (4, 4, 6),
        'instances of the user': (4, 4, 7),
        'server groups of the project': (2, 2, 4),
        'members of server group web': (3, 3, 6),
    }
    assert Total('x', 1, 2, 3).left == 3
