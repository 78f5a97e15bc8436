"""The servers of a group in each domain."""

from senlin_affinity.nova.topology import servers
from tests.support.asked import resolve
from tests.support.small_cloud import request_of, rules_of, snapshot_of


def test_a_server_on_an_unknown_host_counts_in_its_zone_only():
    """A server on a host of several racks, or of none, counts in no rack."""
    racks = {'r1': {'metadata': {'rack': 'r1'}}, 'r2': {'metadata': {'rack': 'r2'}}}
    row = {
        'hosts': {
            'cmp-1': {'zone': 'az-1', 'aggregates': ['r1']},
            'cmp-2': {'zone': 'az-1', 'aggregates': ['r1', 'r2']},
            'cmp-3': {'zone': 'az-2'},
        },
        'aggregates': racks | {'az-1': {'zone': 'az-1'}, 'az-2': {'zone': 'az-2'}},
        'group': {
            'policy': 'soft-anti-affinity',
            'members': ['cmp-1', 'cmp-2', 'cmp-3', [None, None, None, 'az-2']],
        },
    }
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    assert servers(*asked, 'rack', {}) == {'r1': 1}
    assert servers(*asked, 'availability_zone', {}) == {'az-1': 2, 'az-2': 2}
