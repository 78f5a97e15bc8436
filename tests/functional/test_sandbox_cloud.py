"""Nova, Placement and Senlin of a sandbox respond, schedule and reject like a real cloud."""

import pytest
from openstack.exceptions import BadRequestException

from tests.support.cloud_fixtures import Tenant
from tests.support.sandbox import SandboxCloud

HOSTS = {
    'cmp-1': {'vcpus': 8, 'availability_zone': 'az1'},
    'cmp-2': {
        'hypervisor_hostname': 'domain-c7.b52f3c7e-19f4-4c7c-a4b9-6f5d0f1c2a11',
        'hypervisor_type': 'VMware vCenter Server',
    },
    'cmp-3': {'disabled': True},
}


@pytest.fixture(scope='module')
def cloud():
    newest_versions = {'compute_max_version': '2.90', 'placement_max_version': '1.36'}
    with SandboxCloud(HOSTS, senlin=True, **newest_versions) as running:
        yield running


@pytest.fixture(scope='module')
def admin(cloud):
    return cloud.connection()


@pytest.fixture(scope='module')
def demo(cloud):
    return cloud.connection('demo')


@pytest.mark.parametrize(
    ('service', 'path', 'newest', 'too_new'),
    [('compute', '/servers', '2.90', '2.91'), ('placement', '/traits', '1.36', '1.37')],
)
def test_the_maximum_microversions_are_those_requested(admin, service, path, newest, too_new):
    adapter = getattr(admin, service)
    assert adapter.get(path, microversion=newest).status_code == 200
    answer = adapter.get(path, microversion=too_new)
    assert answer.status_code == 406
    assert adapter.get_endpoint_data().max_microversion == tuple(map(int, newest.split('.')))


@pytest.mark.parametrize(
    ('service', 'path'),
    [('compute', '/servers'), ('placement', '/traits'), ('clustering', '/v1/clusters')],
)
def test_a_forged_token_is_rejected(admin, service, path):
    url = admin.session.get_endpoint(service_type=service) + path
    forged = {'X-Auth-Token': 'admin'}
    answer = admin.session.get(url, authenticated=False, headers=forged, raise_exc=False)
    assert answer.status_code == 401


def test_a_cluster_with_two_nodes_has_two_servers_of_its_owner(cloud, admin, demo):
    cloud.clear_requests()
    tenant = Tenant(demo)
    cluster = tenant.cluster(size=2)
    servers = list(admin.compute.servers(all_projects=True))
    assert [server.status for server in servers] == ['ACTIVE', 'ACTIVE']
    # Senlin acted for its user, with a trust.
    assert {server.project_id for server in servers} == {demo.current_project_id}
    assert {server.user_id for server in servers} == {demo.current_user_id}
    trusts = list(demo.identity.trusts(trustor_user_id=demo.current_user_id))
    assert [trust.project_id for trust in trusts] == [demo.current_project_id]
    assert [role['name'] for role in trusts[0].roles] == ['member', 'reader']
    posted = [entry for entry in cloud.requests() if entry['method'] == 'POST']
    assert [entry['path'] for entry in posted] == ['/v2.1/servers', '/v2.1/servers']
    assert all(entry['user_agent'].startswith('senlin') for entry in posted)
    tenant.delete_cluster(cluster)
    assert list(demo.compute.servers()) == []


def test_a_server_with_automatic_networks_is_rejected(demo):
    flavor, image = demo.compute.find_flavor('m1.tiny'), demo.image.find_image('cirros')
    with pytest.raises(BadRequestException, match='Unable to automatically allocate a network'):
        demo.compute.create_server(
            name='s', flavor_id=flavor.id, image_id=image.id, networks='auto'
        )


def test_proxy_settings_are_ignored(cloud, monkeypatch):
    for name in ('http_proxy', 'HTTP_PROXY'):
        monkeypatch.setenv(name, 'http://127.0.0.1:9')
    for name in ('no_proxy', 'NO_PROXY'):
        monkeypatch.delenv(name, raising=False)
    assert cloud.connection('demo').current_project.name == 'demo'
    assert isinstance(cloud.requests(), list)
