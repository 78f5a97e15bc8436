"""Warnings about hosts that differ in Nova and Placement."""

import pytest

from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.nova.host_status import DISABLED, differences, started

USED = {'MEMORY_MB': Resource(9, 1)}


@pytest.mark.parametrize(
    ('host', 'said'),
    [
        (
            {'servers': 0, 'resources': USED},
            'cmp-1: allocations in Placement, but the hyper',
        ),
        ({'servers': 1, 'resources': USED}, None),
        ({'servers': None, 'resources': USED}, None),
        ({'servers': 0, 'resources': {'MEMORY_MB': Resource(9, 0)}}, None),
        ({'servers': 0, 'resources': USED, 'is_nested': True}, None),
        ({'servers': 0, 'resources': {'DISK_GB': Resource(9, 1, pool='nfs')}}, None),
        ({'servers': 0, 'resources': {'DISK_GB': Resource(9, 1, is_sum=True)}}, None),
        ({'servers': 0, 'resources': None}, None),
        (
            {'enabled': False, 'traits': frozenset({'A'})},
            'cmp-1: disabled in Nova, but still offered',
        ),
        ({'enabled': False, 'traits': frozenset({'A', DISABLED})}, None),
        ({'enabled': False, 'traits': frozenset()}, None),
        ({'enabled': False, 'up': False, 'traits': frozenset({'A'})}, None),
        ({'traits': frozenset({'A'})}, None),
    ],
)
def test_one_host(host, said):
    found = list(differences(Cloud((Host('cmp-1', 'cmp-1', **host),))))
    assert [words.startswith(said) for words in found] == ([True] if said else [])


@pytest.mark.parametrize('counted', [0, 1, None])
def test_only_a_list_of_servers_shows_that_allocations_are_orphaned(counted):
    """The count of the hypervisor is stale after a migration or a resize."""
    host = Host('cmp-1', servers=counted, resources=USED)
    on_host = Server('s', 'db', 'ACTIVE', host='cmp-1')
    assert [*differences(Cloud((host,), servers_by_host={'cmp-1': (on_host,)}))] == []
    (words,) = differences(Cloud((host,), servers_by_host={'cmp-1': ()}))
    assert 'no servers in Nova: orphaned allocations' in words
    unread = [*differences(Cloud((host,), servers_by_host={'cmp-2': ()}))]
    assert ['openstack server list --all-projects --host cmp-1' in each for each in unread] == (
        [True] if counted == 0 else []
    )
    assert 'orphaned' not in ' '.join(unread)


def test_servers_are_counted_by_hypervisor():
    hosts = [Host('ironic', name, servers=0, resources=USED) for name in ('node-1', 'node-2')]
    server = Server('s', 'db', 'ACTIVE', host='ironic', hypervisor_hostname='node-1')
    cloud = Cloud((*hosts,), servers_by_host={'ironic': (server,)})
    assert [*map(cloud.number_of_servers, hosts)] == [1, 0]
    assert cloud.number_of_servers(Host('unread')) is None


@pytest.mark.parametrize(('number', 'end'), [(5, 'c4:'), (7, 'c4 and 2 more:')])
def test_at_most_five_hosts_are_named(number, end):
    hosts = (Host(f'c{i}', f'c{i}', servers=0, resources=USED) for i in range(number))
    (words,) = differences(Cloud((*hosts,)))
    assert words.startswith(f'c0, c1, c2, c3, {end}')


def test_aggregates_that_differ():
    hosts = (
        Host('d', 'd', aggregates={'y'}, unmirrored=frozenset({'y'})),
        Host('a', 'a', aggregates={'x'}, unmirrored=frozenset({'x'})),
        Host('b', 'b', stale_aggregates=frozenset({'x', 'y'})),
        Host('c', 'c', stale_aggregates=frozenset({'x', 'y'})),
    )
    lost, other, stale = differences(Cloud(hosts, (Aggregate('x', 'zone-1'),)))
    assert lost.startswith('a: in aggregate zone-1 in Nova, but not in Placement: run "nova-manage')
    assert other.startswith('d: in aggregate y in Nova, but not in Placement: run "nova-manage')
    assert stale.startswith('b, c: in aggregate y or zone-1 in Placement, but not in Nova: Nova')


def test_hosts_to_start():
    traits = frozenset({'A', DISABLED})
    host = Host('a', 'a', enabled=False, up=False, disabled_reason='broken', traits=traits)
    assert started(host) == Host('a', 'a', traits=frozenset({'A'}))
