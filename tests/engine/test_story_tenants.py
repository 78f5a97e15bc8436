"""A tenant's clusters in the real Senlin, with operator credentials with minimal rights.

A tenant may still not choose hosts, which Nova reserves for administrators.
"""

import pytest

from senlin_affinity.cloud import snapshot
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from tests.support.cloud_fixtures import Tenant, Truth, asked
from tests.support.sandbox import SandboxCloud

pytestmark = pytest.mark.long

HOSTS = 4
EYES = 'senlin_affinity'
KEPT = {'placement_req_default_forbidden_member_prefix': 'reservation:'}
OPTIONS = {'senlin_affinity_cloud': {'auth_section': 'cloud_eyes'}, 'scheduler': KEPT}
FLAVORS = {'m1.tiny': {}, 'm1.small': {'ram': 128}}
#: All requests that the user with minimal rights may send.
MAY = [
    ('compute', '/os-hypervisors/detail', '2.53'),
    ('compute', '/os-services', '2.1'),
    ('compute', '/os-aggregates', '2.41'),
    ('compute', '/os-migrations', '2.59'),
    ('placement', '/resource_providers', '1.36'),
    ('placement', '/allocation_candidates?resources=VCPU:1', '1.36'),
    ('placement', '/traits', '1.36'),
    ('placement', '/resource_classes', '1.36'),
]


@pytest.fixture(scope='module')
def cloud():
    names = [f'cmp-{number + 1}' for number in range(HOSTS)]
    aggregates = {'pool': {'hosts': ['cmp-1'], 'metadata': {'reservation:f3a9': 'free'}}}
    more = {'aggregates': aggregates, 'flavors': FLAVORS}
    with SandboxCloud(names, senlin=True, senlin_options=OPTIONS, **more) as running:
        yield running


@pytest.fixture(scope='module')
def demo(cloud):
    return Tenant(cloud.connection('demo'))


def view(cloud, group, owner='demo'):
    clients = Clients(OwnerClient(cloud.connection(owner)), OperatorClient(cloud.connection(EYES)))
    return snapshot.take(clients, server_groups=(group,), is_project_of_group=True)


def log(cloud):
    return (cloud.log_dir / 'senlin.log').read_text(encoding='utf-8')


def test_rx_02_six_nodes_of_a_tenant_for_four_hosts(cloud, demo):
    """They are rejected immediately, with remedies, and no server is created."""
    cluster, policy, group = demo.bound()
    cloud.clear_requests()
    reason = demo.scale_out(cluster, HOSTS + 2).failed()
    assert f'does not fit: at most {HOSTS} of {HOSTS + 2}; a host may hold 1 of server' in reason
    assert f'max_server_per_host: 2 ({HOSTS + 2} of {HOSTS + 2})' in reason
    assert 'cmp-' not in reason
    assert not [each for each in asked(cloud, 'servers') if each[0] == 'POST']
    assert demo.nodes(cluster) == []
    assert 'with the credentials of [cloud_eyes]' in log(cloud)
    assert f'0/{HOSTS} hosts left: server_group.host_full on {HOSTS}' in log(cloud)
    warned = 'neither the preflight nor Nova keeps these nodes off reserved hosts: '
    assert f'{warned}Nova does not let the owner choose hosts' in log(cloud)

    demo.scale_out(cluster, HOSTS).succeeded()
    assert Truth(cloud.connection()).spread(group) == {
        f'cmp-{number + 1}': 1 for number in range(HOSTS)
    }
    assert 'does not fit: ' in demo.scale_out(cluster, 1).failed()


def test_without_known_quotas_a_tenant_reads_no_number(cloud, demo):
    """The capacity of the hosts may exceed the quota, up to which trials reveal it."""
    cluster, policy, group = demo.bound()
    cloud.faults.add('/limits$', method='GET', status=403, times=None)
    reason = demo.scale_out(cluster, HOSTS + 2).failed()
    cloud.faults.clear()
    words = 'the number that fits is not shown, because not all quotas are known'
    assert f'does not fit: {words}; a host may hold 1 of server group' in reason
    assert 'would help' not in reason


@pytest.mark.parametrize(
    ('properties', 'what'),
    [
        ({'pin_hosts': True}, 'pin_hosts'),
        ({'member_of': ['!pool']}, 'member_of'),
        ({'member_of': ['no-such']}, 'member_of'),
        ({'spread': [{'by': 'rack'}]}, 'a spread by rack'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_r3_25_an_attach_that_needs_chosen_hosts_is_rejected(demo, properties, what):
    reason = demo.attach(demo.cluster(), demo.policy(**properties)).failed()
    assert f'for {what}, the policy must choose the host of every node' in reason
    assert 'os_compute_api:servers:create:forced_host' in reason


def test_an_administrators_nodes_are_pinned(cloud):
    """Also outside reserved hosts; the reasons are complete."""
    admin = Tenant(cloud.connection())
    cluster, _policy, _group = admin.bound(admin.policy(pin_hosts=True))
    placed = admin.scale_out(cluster, 1).placements()
    assert placed[0]['zone'] in {f'nova:cmp-{number}' for number in (2, 3, 4)}
    reason = admin.scale_out(cluster, HOSTS).failed()
    assert 'reservations.reserved on 1' in reason


def test_members_count_on_the_hosts_of_nova(cloud, demo):
    """In VERIFY_RESIZE on both hosts. The group's owner does not see one of another project."""
    admin, nova = cloud.connection(), Truth(cloud.connection())
    group = demo.compute.create_server_group(name='members', policy='anti-affinity').id
    servers = [boot(demo.compute, cloud, group), boot(demo.compute, cloud, group)]
    stranger = boot(admin.compute, cloud, group)
    resized = demo.compute.wait_for_server(demo.compute.get_server(servers[0]))
    source = nova.server(resized.id).compute_host
    small = demo.compute.find_flavor('m1.small').id
    demo.compute.resize_server(resized, small)
    demo.compute.wait_for_server(resized, status='VERIFY_RESIZE', interval=1)

    cloud.clear_requests()
    seen = view(cloud, group)
    (known,) = seen.server_groups
    found = {member.server: member for member in known.members}
    assert {name: each.host for name, each in found.items()} == {
        each: nova.server(each).compute_host for each in servers
    }
    both = {source, nova.server(resized.id).compute_host}
    assert set(found[resized.id].also_on) == both
    assert len(both) == 2
    assert not seen.owner_sees_hosts
    assert view(cloud, group, 'admin').owner_sees_hosts
    for server in (*servers, stranger):
        admin.compute.delete_server(server, force=True)


def boot(compute, cloud, group):
    made = compute.create_server(
        name='member',
        flavor_id=compute.find_flavor('m1.tiny').id,
        image_id=cloud.image_id,
        networks='none',
        scheduler_hints={'group': group},
    )
    compute.wait_for_server(made, interval=1)
    return made.id


def test_the_minimal_rights(cloud):
    """The documented rights are sufficient; the user sees no servers and changes nothing."""
    reader = cloud.connection(EYES)
    for service, path, microversion in MAY:
        answer = getattr(reader, service).get(path, microversion=microversion)
        assert answer.status_code == 200, (path, answer.text)
    found = reader.compute.get('/os-hypervisors/detail', microversion='2.53').json()
    path = f'/os-hypervisors/{found["hypervisors"][0]["id"]}'
    assert reader.compute.get(path, microversion='2.53').ok
    server = {'name': 'x', 'imageRef': cloud.image_id, 'flavorRef': '1', 'networks': 'none'}
    may_not = [
        ('compute', 'GET', '/servers/detail', None),
        ('compute', 'GET', '/servers/detail?all_tenants=1', None),
        ('compute', 'GET', '/os-server-groups', None),
        ('compute', 'POST', '/servers', {'server': server}),
        ('compute', 'POST', '/os-aggregates', {'aggregate': {'name': 'x'}}),
        ('placement', 'POST', '/resource_providers', {'name': 'x'}),
        ('placement', 'PUT', '/traits/CUSTOM_X', None),
    ]
    newest = {'compute': '2.79', 'placement': '1.36'}
    for service, method, path, body in may_not:
        answer = getattr(reader, service).request(
            path, method, json=body, microversion=newest[service]
        )
        assert answer.status_code == 403, (path, answer.text)
