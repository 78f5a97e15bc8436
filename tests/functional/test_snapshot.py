"""A snapshot of the real Nova and Placement contains the definition of the sandbox."""

import json
import stat

import pytest

from senlin_affinity.cloud import clients, snapshot, snapshot_file
from senlin_affinity.cloud.connection import ports
from senlin_affinity.model.cloud import Flavor, Quota
from senlin_affinity.model.host import Resource
from tests.support import command
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

HOSTS = {
    'cmp-1': {'vcpus': 8, 'memory_mb': 4096, 'disk_gb': 100, 'availability_zone': 'az1'},
    'cmp-2': {'aggregates': {'ssd': {'ssd': 'true'}}},
    'cmp-3': {'disabled': True},
    'small': {'vcpus': 1, 'memory_mb': 1024, 'disk_gb': 10, 'availability_zone': 'tiny'},
    'vc-1': {
        'hypervisor_hostname': 'domain-c7.b52f3c7e-19f4-4c7c-a4b9-6f5d0f1c2a11',
        'hypervisor_type': 'VMware vCenter Server',
        'availability_zone': 'vsphere',
    },
}
FLAVORS = {
    'm1.tiny': {'id': '1', 'extra_specs': {'hw:cpu_policy': 'shared'}},
    'filler': {'id': '2', 'vcpus': 1, 'ram': 512, 'disk': 10},
}
CPU_RATIO = 4.0


@pytest.fixture(scope='module')
def cloud():
    """Yield five different hosts; the disk of the small one has room for one server."""
    options = {'DEFAULT': {'initial_cpu_allocation_ratio': CPU_RATIO}}
    quotas = {'instances': 20, 'server_groups': 5}
    with SandboxCloud(HOSTS, flavors=FLAVORS, quotas=quotas, nova_options=options) as running:
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    return cloud.connection()


@pytest.fixture(scope='module')
def demo(cloud):
    return cloud.connection('demo')


@pytest.fixture(scope='module')
def group(cloud, demo, admin):
    """Create a group with a server on cmp-1, one on small, and one without a host."""
    rules = {'max_server_per_host': 2}
    created = demo.compute.create_server_group(name='web', policy='anti-affinity', rules=rules)
    for flavor, zone, wanted in (
        ('1', 'az1', 'ACTIVE'),
        ('2', 'tiny', 'ACTIVE'),
        ('2', 'tiny', 'ERROR'),
    ):
        server = demo.compute.create_server(
            name='s',
            flavor_id=flavor,
            image_id=cloud.image_id,
            networks='none',
            availability_zone=zone,
            scheduler_hints={'group': created.id},
        )
        until(
            lambda server=server, wanted=wanted: (
                demo.compute.get_server(server.id).status == wanted
            ),
            what=f'the server is {wanted}\n{cloud.logs()}',
        )
    return created


def by_name(taken):
    return {host.host: host for host in taken.hosts}


def asked(cloud, service):
    return [item for item in cloud.requests(service) if item['path'].strip('/') not in ('', 'v2.1')]


# -- as an administrator


def test_the_hosts_are_those_of_the_definition(admin, group):
    taken = snapshot.take(clients.of(admin))
    found = by_name(taken)

    assert taken.unavailable == {}
    assert list(found) == sorted(HOSTS)
    for name, host in found.items():
        created = HOSTS[name]
        assert host.hypervisor_hostname == created.get('hypervisor_hostname', name)
        assert host.hypervisor_type == created.get('hypervisor_type', 'QEMU')
        assert host.availability_zone == created.get('availability_zone', 'nova')
        assert host.enabled != created.get('disabled', False)
        assert host.up
        assert not host.is_nested
        assert ('COMPUTE_STATUS_DISABLED' in host.traits) != host.enabled
    assert taken.availability_zones == {'nova', 'az1', 'tiny', 'vsphere'}


def test_the_resources_include_the_allocation_ratio(admin, group):
    found = by_name(snapshot.take(clients.of(admin)))

    assert found['cmp-1'].resources == {
        'VCPU': Resource(int(8 * CPU_RATIO), 1, max_unit=8),
        'MEMORY_MB': Resource(4096, 64, max_unit=4096),
        'DISK_GB': Resource(100, 1, max_unit=100),
    }
    assert found['small'].resources == {
        'VCPU': Resource(int(CPU_RATIO), 1, max_unit=1),
        'MEMORY_MB': Resource(1024, 512, max_unit=1024),
        'DISK_GB': Resource(10, 10, max_unit=10),
    }
    assert found['vc-1'].resources['VCPU'] == Resource(int(64 * CPU_RATIO), 0)


def test_aggregates_flavors_and_quotas_are_those_of_the_definition(admin, group):
    taken = snapshot.take(clients.of(admin))

    (ssd,) = (item for item in taken.aggregates if item.name == 'ssd')
    assert (ssd.metadata, ssd.availability_zone) == ({'ssd': 'true'}, None)
    assert [host.host for host in taken.hosts if ssd.uuid in host.aggregates] == ['cmp-2']
    assert taken.flavors == (
        Flavor('2', 'filler', 1, 512, 10),
        Flavor('1', 'm1.tiny', 1, 64, 1, extra_specs={'hw:cpu_policy': 'shared'}),
    )
    # The limits are those of the administrator's own project.
    assert taken.quotas['instances'] == Quota(20, 0, of_user=Quota(20, 0))
    assert taken.quotas['cores'] == Quota(None, 0, of_user=Quota(None, 0))


@pytest.mark.parametrize('name', ['one/two', 'm1.tiny/os-extra_specs', '.', '..', 'detail'])
def test_a_flavor_whose_name_is_not_a_valid_path_is_found(admin, name):
    """In a path, such a name leads to a 404 of the router or to another resource."""
    inventory = ports(clients.of(admin)).inventory
    assert inventory.flavor(name) is None
    created = admin.compute.create_flavor(name=name, ram=64, vcpus=1, disk=1)
    try:
        assert inventory.flavor(name).id == created.id
    finally:
        admin.compute.delete_flavor(created)


# -- as a non-admin


def test_a_non_admin_reads_which_members_share_a_host(demo, admin, group):
    taken = snapshot.take(clients.of(demo))

    assert set(taken.unavailable) == {'hosts', 'aggregates'}
    assert taken.availability_zones == {'nova', 'az1', 'tiny', 'vsphere'}
    assert taken.quotas['instances'] == Quota(20, 3, of_user=Quota(20, 3))
    (found,) = taken.server_groups
    hosts = {server.id: server.compute_host for server in admin.compute.servers(all_projects=True)}
    assert {member.server for member in found.members} == set(hosts)
    assert {member.host for member in found.members} == {None}
    for member in found.members:
        assert (member.host_id is None) == (hosts[member.server] is None)
    assert len({member.host_id for member in found.members}) == 3


# -- the command


def save(path, *more, **environment):
    return command.run('snapshot', 'save', str(path), *more, '-f', 'json', **environment)


@pytest.fixture(scope='module')
def named_cloud(cloud, tmp_path_factory):
    """Return the environment of a user of the sandbox."""
    path = tmp_path_factory.mktemp('config') / 'clouds.yaml'
    path.write_text(cloud.clouds_yaml())
    return {'OS_CLIENT_CONFIG_FILE': str(path)}


def test_the_command_saves_a_snapshot_and_prints_a_summary(admin, group, named_cloud, tmp_path):
    path = tmp_path / 'cloud.json'

    done = save(path, OS_CLOUD='sandbox', **named_cloud)

    assert (done.returncode, done.stderr) == (0, '')
    saved = snapshot_file.load(path)
    assert saved.hosts == snapshot.take(clients.of(admin)).hosts
    assert json.loads(done.stdout) == {
        'file': str(path),
        'taken at': saved.taken_at,
        'hosts': '5 (4 enabled and up)',
        'aggregates': 4,
        'flavors': 2,
        'server groups': '1 (3 servers)',
        'quotas': 'cores, instances, metadata_items, ram, server_group_members, server_groups',
        'not known': '(nothing)',
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_command_saves_the_candidates_of_a_flavor(group, named_cloud, tmp_path):
    """Hosts in other zones have no candidates."""
    path, words = tmp_path / 'cloud.json', ('--flavor', 'm1.tiny', '--availability-zone', 'az1')

    done = save(path, *words, OS_CLOUD='sandbox', **named_cloud)

    assert (done.returncode, done.stderr) == (0, '')
    summary = json.loads(done.stdout)
    assert summary['answer for the flavor'] == '1 of 5 hosts have room'
    saved = snapshot_file.load(path)
    rooms = [grant.room for host in saved.hosts for grant in host.grants]
    assert len(saved.answered) == 1
    assert (len(rooms), summary['server groups']) == (1, '1 (3 servers)')


@pytest.mark.parametrize(
    ('more', 'error'),
    [
        (('--availability-zone', 'az1'), '--availability-zone requires --flavor'),
        (('--flavor', 'm1.tini'), 'did you mean m1.tiny'),
    ],
    ids=['a zone without a flavor', 'an unknown flavor'],
)
def test_an_incomplete_or_unknown_flavor_is_rejected(group, named_cloud, tmp_path, more, error):
    done = save(tmp_path / 'cloud.json', *more, OS_CLOUD='sandbox', **named_cloud)
    assert done.returncode == 2
    assert error in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_non_admin_reads_which_parts_are_unknown(group, named_cloud, tmp_path):
    done = save(tmp_path / 'cloud.json', OS_CLOUD='sandbox-demo', **named_cloud)
    assert done.returncode == 0
    summary = json.loads(done.stdout)
    assert (summary['hosts'], summary['aggregates'], summary['flavors']) == (
        'not known',
        'not known',
        2,
    )
    assert 'hosts: could not list the hypervisors: Nova answered 403' in summary['not known']
    assert done.stderr.startswith('warning: the snapshot has no hosts: ')


def test_the_command_saves_the_servers_of_all_hosts(group, named_cloud, tmp_path):
    file = tmp_path / 'cloud.json'
    done = save(file, '--servers', OS_CLOUD='sandbox', **named_cloud)
    assert (done.returncode, done.stderr) == (0, '')
    by_host = snapshot_file.load(file).servers_by_host
    assert {host: len(servers) for host, servers in by_host.items()} == {
        'cmp-1': 1,
        'cmp-2': 0,
        'cmp-3': 0,
        'small': 1,
        'vc-1': 0,
    }
    (server,) = by_host['cmp-1']
    assert (server.server_group, server.pinned_zone) == (group.id, 'az1')
    assert (server.flavor.name, server.unknown) == ('m1.tiny', frozenset())
