"""The servers of hosts, by requests to an old and a new Nova, and their allocations."""

import pytest

from senlin_affinity.cloud import clients, connection, servers
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from tests.support.edge import FORBIDDEN, Edge
from tests.support.fake_nova import FakeHost
from tests.support.fake_placement import FakeProvider
from tests.support.values import replace

EMBEDDED = {
    'vcpus': 2,
    'ram': 1024,
    'disk': 10,
    'ephemeral': 0,
    'swap': 512,
    'original_name': 'small',
    'extra_specs': {'trait:CUSTOM_A': 'required'},
}
SMALL = Flavor('small', 'small', 2, 1024, 10, 0, 512, {'trait:CUSTOM_A': 'required'})
CLOUD = Cloud(hosts=(Host('cmp-1'), Host('cmp-2')), server_groups=())


def body(number=1, host='cmp-1', **more):
    """Return the body of a server at the newest microversion; ``more`` overrides fields."""
    return {
        'id': f's{number}',
        'name': f'web-{number}',
        'status': 'ACTIVE',
        'tenant_id': 'p',
        'user_id': 'u',
        'flavor': EMBEDDED,
        'image': {'id': 'i', 'properties': {'hw_architecture': 'x86_64'}},
        'locked': False,
        'scheduler_hints': {},
        'pinned_availability_zone': None,
        'OS-EXT-AZ:availability_zone': 'az-1',
        'OS-EXT-STS:task_state': None,
        'OS-EXT-SRV-ATTR:host': host,
        'OS-EXT-SRV-ATTR:hypervisor_hostname': host and f'{host}.example.org',
        'os-extended-volumes:volumes_attached': [],
        **more,
    }


@pytest.fixture
def edge():
    hosts = tuple(FakeHost(f'cmp-{number}') for number in range(1, 13))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        yield edge


def compute_of(edge):
    both = clients.of(edge.connection())
    return connection.clouds_compute(both, connection.compute(both.owner))


def read(edge, bodies, names=('cmp-1',), cloud=CLOUD):
    """Return the servers of hosts of a Nova that lists these bodies, and keep the queries."""
    edge.queries = []

    def answer(query):
        edge.queries.append(query)
        host = query.get('host')
        found = [each for each in bodies if host in (None, each['OS-EXT-SRV-ATTR:host'])]
        return {'servers': found}

    edge.answer('/servers/detail', answer)
    return servers.of_hosts(compute_of(edge), names, cloud)


def test_every_field_of_a_server(edge):
    more = {
        'pinned_availability_zone': 'az-1',
        'locked': True,
        'scheduler_hints': {'group': ['g'], 'different_host': ['a', 'b'], 'same_host': ['c']},
        'OS-EXT-STS:task_state': 'migrating',
        'os-extended-volumes:volumes_attached': [{'id': 'v'}],
    }
    assert read(edge, [body(**more)])['cmp-1'] == (
        Server(
            's1',
            'web-1',
            'ACTIVE',
            host='cmp-1',
            hypervisor_hostname='cmp-1.example.org',
            task_state='migrating',
            project_id='p',
            user_id='u',
            flavor=SMALL,
            availability_zone='az-1',
            pinned_zone='az-1',
            hints={'different_host': ['a', 'b'], 'same_host': 'c'},
            server_group='g',
            image='i',
            image_properties={'hw_architecture': 'x86_64'},
            is_locked=True,
            attached=1,
        ),
    )
    (asked,) = edge.nova.asked
    assert asked.microversion == '2.100'


def test_a_member_of_a_group_needs_no_hint(edge):
    group = ServerGroup('g', 'web', 'affinity', members=(Member('s1'),))
    (found,) = read(edge, [body()], cloud=replace(CLOUD, server_groups=(group,)))['cmp-1']
    assert found.server_group == 'g'


def test_the_image_of_a_volume_is_not_shown(edge):
    (found,) = read(edge, [body(image='')])['cmp-1']
    assert (found.is_volume_booted, found.unknown) == (True, {'image_properties'})


OLD = {
    'flavor': {'id': '7'},
    'image': {'id': 'i'},
}
LACKING = ('locked', 'scheduler_hints', 'pinned_availability_zone')


def test_an_old_nova_names_what_it_does_not_show(edge):
    old = {key: value for key, value in body(**OLD).items() if key not in LACKING}
    flavor = Flavor('7', 'small', 1, 1, 1)
    cloud = replace(CLOUD, flavors=(flavor,), server_groups=None)
    (found,) = read(edge, [old], cloud=cloud)['cmp-1']
    assert found.flavor == flavor
    assert found.unknown == {
        'flavor',
        'hints',
        'image_properties',
        'is_locked',
        'pinned_zone',
        'server_group',
    }


def test_hosts_are_named_up_to_ten(edge):
    bodies = [body(2, 'cmp-2'), body(1), body(3, 'cmp-3')]
    found = read(edge, bodies, ('cmp-1', 'cmp-2', 'cmp-9'))
    assert {host: [each.name for each in of_host] for host, of_host in found.items()} == {
        'cmp-1': ['web-1'],
        'cmp-2': ['web-2'],
        'cmp-9': [],
    }
    assert [each['host'] for each in edge.queries] == ['cmp-1', 'cmp-2', 'cmp-9']
    assert all(each['all_tenants'] == '1' for each in edge.queries)


def test_more_hosts_are_filtered_from_one_list(edge):
    names = [f'cmp-{number}' for number in range(1, 12)]
    found = read(edge, [body(), body(2, 'cmp-12'), body(3, None)], names)
    assert ([*found], len(found['cmp-1'])) == (sorted(names), 1)
    (query,) = edge.queries
    assert 'host' not in query


def test_all_hosts_of_the_cloud(edge):
    found = read(edge, [body(), body(2, 'gone')], None)
    assert {host: len(of_host) for host, of_host in found.items()} == {'cmp-1': 1, 'cmp-2': 0}


def test_a_server_in_build_that_is_listed_twice_counts_once(edge):
    pages = [
        {'servers': [body()], 'servers_links': [{'rel': 'next', 'href': 'x'}]},
        {'servers': [body(2), body()]},
    ]
    edge.answer('/servers/detail', lambda query: pages['marker' in query])
    found = servers.of_hosts(compute_of(edge), ['cmp-1'], CLOUD)
    assert [each.id for each in found['cmp-1']] == ['s1', 's2']


def test_equal_flavors_are_one_object(edge):
    first, second = read(edge, [body(), body(2, flavor={**EMBEDDED})])['cmp-1']
    assert first.flavor is second.flavor


def test_a_user_who_may_not_list_all_projects(edge):
    edge.fail('GET', '/servers/detail', FORBIDDEN, times=None)
    with pytest.raises(CloudError, match='could not list the servers of all projects: .* Policy'):
        servers.of_hosts(compute_of(edge), ['cmp-1'], CLOUD)


def test_a_user_who_may_not_read_the_hosts(edge):
    shown = body()
    del shown['OS-EXT-SRV-ATTR:host']
    edge.answer('/servers/detail', lambda _query: {'servers': [shown]})
    with pytest.raises(CloudError, match='does not show their hosts to this user'):
        servers.of_hosts(compute_of(edge), ['cmp-1'], CLOUD)


# -- allocations

SERVER = Server('s1', 'web-1', 'ACTIVE', 'cmp-1', flavor=SMALL)
ASKED = {'VCPU': 2, 'MEMORY_MB': 1024, 'DISK_GB': 11}


def allocate(edge, amounts, server=SERVER, **of_host):
    """Return the server, for which Placement has allocated these amounts."""
    first = edge.placement.providers[0]
    edge.placement.providers[0] = replace(first, consumers={'s1': amounts})
    placement = connection.placement(clients.of(edge.connection()).operator)
    (found,) = servers.with_allocations(placement, Host('cmp-1', **of_host), [server])
    return found


def test_an_equal_allocation_changes_nothing(edge):
    assert allocate(edge, ASKED) == SERVER
    assert len(edge.placement.asked) == 2


def test_a_different_allocation_is_named_and_nova_asks_for_the_flavor(edge):
    amounts = {**ASKED, 'VCPU': 4}
    assert allocate(edge, amounts) == replace(SERVER, allocated=amounts)


@pytest.mark.parametrize('of_cpus', ['VCPU', 'PCPU'])
def test_a_flavor_that_pins_cpus_is_requested_in_two_ways(edge, of_cpus):
    pinned = replace(SMALL, extra_specs={'hw:cpu_policy': 'dedicated'})
    amounts = {of_cpus: 2, 'MEMORY_MB': 1024, 'DISK_GB': 11}
    server = replace(SERVER, flavor=pinned)
    assert allocate(edge, amounts, server) == server


def test_the_root_disk_in_a_volume_is_not_allocated(edge):
    server = replace(SERVER, is_volume_booted=True)
    assert allocate(edge, {**ASKED, 'DISK_GB': 1}, server) == server


def test_the_allocation_replaces_an_unknown_flavor(edge):
    amounts = {**ASKED, 'CUSTOM_GPU': 1}
    for is_volume_booted in (False, True):
        server = replace(SERVER, flavor=None, is_volume_booted=is_volume_booted)
        found = allocate(edge, amounts, server)
        assert found.flavor == Flavor(
            '', '', 2, 1024, 0, 11, extra_specs={'resources:CUSTOM_GPU': '1'}
        )
        assert allocate(edge, amounts, replace(server, flavor=found.flavor)).allocated == {}


def test_the_resources_of_ports_are_requested_again(edge):
    root = edge.nova.hypervisor_id(0)
    port = {'NET_BW_EGR_KILOBIT_PER_SEC': 1000}
    bridge = FakeProvider(
        'bridge', {'NET_BW_EGR_KILOBIT_PER_SEC': (9000, 0)}, parent=root, consumers={'s1': port}
    )
    edge.placement.providers.append(bridge)
    found = allocate(edge, ASKED, is_nested=True)
    assert found.allocated == {**ASKED, **port}
    assert found.flavor.extra_specs == {
        **SMALL.extra_specs,
        'resources:NET_BW_EGR_KILOBIT_PER_SEC': '1000',
    }
    assert len(edge.placement.asked) == 4


def test_a_server_without_an_allocation_stays(edge):
    other = replace(SERVER, id='s2')
    assert allocate(edge, ASKED, other) == other
