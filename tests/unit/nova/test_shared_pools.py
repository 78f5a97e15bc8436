"""Hosts whose servers may use up a pool that other hosts share."""

import pytest

from senlin_affinity.nova.candidate_query import may_take_of_pools
from tests.support.asked import resolve
from tests.support.small_cloud import granted, request_of, rules_of, snapshot_of


def resolved(of_pool, is_whole=True, flavor=2):
    """Return a request for 2 GB of disk; three servers on two hosts may use the pool nfs."""
    disks = {
        'cmp-0': ({'capacity': 50, 'used': 0}, []),
        'cmp-1': ({'capacity': 50, 'used': 0, 'is_sum': True}, [2, 2]),
        'cmp-2': ({'capacity': 50, 'used': 0, 'pool': 'nfs'}, [1, 1]),
        'cmp-3': ({'capacity': 50, 'used': 0, 'pool': 'ceph'}, [9, 9]),
        'cmp-4': ({'capacity': 50, 'used': 0}, [9, 9]),
    }
    row = {
        'hosts': {
            name: {'resources': {'VCPU': [9, 0], 'MEMORY_MB': [9999, 0], 'DISK_GB': disk}}
            for name, (disk, _grants) in disks.items()
        },
        'pools': {'nfs': {'DISK_GB': of_pool}, 'ceph': {'DISK_GB': [100, 0]}},
        'flavor': {'disk': flavor},
    }
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    grants = {name: {'grants': grants} for name, (_disk, grants) in disks.items()}
    return granted(asked, grants, is_whole=is_whole)


@pytest.mark.parametrize(
    ('of_pool', 'is_whole', 'flavor', 'expected'),
    [
        ([8, 2], True, 2, False),
        ([8, 3], True, 2, True),
        ([8, 2], False, 2, True),
        ([8, 8], True, 0, False),
    ],
)
def test_servers_may_use_up_a_pool_with_less_than_its_hosts_could_use(
    of_pool, is_whole, flavor, expected
):
    """Of a host without a candidate, an incomplete answer does not say what it could use."""
    asked = resolved(of_pool, is_whole, flavor)
    found = [host.host for host in asked.cloud.hosts if may_take_of_pools(*asked, host)]
    assert found == (['cmp-1'] if expected else [])
