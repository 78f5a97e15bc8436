"""Changes of a request: a new server group."""

from types import SimpleNamespace

from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova import alternatives
from tests.support.small_cloud import flavor_of


def test_a_new_group_has_a_name_that_no_group_has():
    group, taken = ServerGroup('g1', 'web', 'anti-affinity'), ServerGroup('g2', 'web-2', 'affinity')
    snapshot = SimpleNamespace(server_groups=(group, taken))
    resolved = SimpleNamespace(snapshot=snapshot, project_id='p1')
    found = alternatives.new_group(resolved, group, rules={'max_server_per_host': 2})
    assert found == {
        'name': 'web-3',
        'policy': 'anti-affinity',
        'rules': {'max_server_per_host': 2},
        'project_id': 'p1',
    }


def flavors(*vcpus):
    return [flavor_of({'id': f'f{each}', 'vcpus': each, 'ram': 512 * each}) for each in vcpus]


def test_smaller_flavors_have_at_least_half_of_the_amounts_the_largest_first():
    (now,) = flavors(8)
    found = alternatives.smaller_flavors(flavors(3, 5, 9, 4, 8, 6), now)
    assert [each.vcpus for each in found] == [6, 5, 4][: alternatives._MOST_SMALLER]


def test_larger_flavors_are_ordered_from_the_smallest():
    (now,) = flavors(8)
    found = alternatives.larger_flavors(flavors(20, 4, 9, 16), now)
    assert [each.vcpus for each in found] == [9, 16, 20]
