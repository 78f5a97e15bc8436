"""Changes of a request: a new server group."""

from types import SimpleNamespace

from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova import alternatives


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
