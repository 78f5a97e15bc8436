"""Follow each procedure of the page on reservations in a real cloud, and check its effect.

The options and the commands are read from the page. No node is pinned if Nova enforces the
reservations, and the tenant sees no hosts.
"""

import configparser
import contextlib
import re
import subprocess
import textwrap
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from senlin_affinity.model.image import Image
from senlin_affinity.nova import candidate_query
from senlin_affinity.sandbox.identities import DEMO
from tests.support import openstack_client
from tests.support.asked import Given, NamedRequest, resolve
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.preflight import take_snapshot
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[2] / 'doc/source/howto/reservations.rst'
FREE, LICENSED = ['cmp-1', 'cmp-2'], ['win-1', 'win-2']
PREFIX = 'licence:'
PREFIXES = {
    'placement_req_required_member_prefix': PREFIX,
    'placement_req_default_forbidden_member_prefix': PREFIX,
}
INSTALL = 'senlin_affinity.plugins.nova.request_filter.install'


def block(name):
    """Return the text of a code block of the page."""
    text = PAGE.read_text(encoding='utf-8').split(f'      :name: {name}\n\n')[1]
    return textwrap.dedent(re.match(r'(?: {6}.*\n|\n)*', text)[0])


def options(name):
    """Return the options of a code block, and the filters that it adds to those of Nova."""
    lines = block(name).splitlines()
    available = [line.split(' = ')[1] for line in lines if line.startswith('available_filters')]
    parser = configparser.ConfigParser()
    parser.read_string('\n'.join(line for line in lines if 'available_filters' not in line))
    found = {section: dict(parser[section]) for section in parser.sections() if parser[section]}
    return found, available[1:]


@contextlib.contextmanager
def with_nova_conf(folder, commands, nova=None, senlin=None):
    """Start a cloud with the options of these blocks, and run the commands in it."""
    of_nova, available = options(nova) if nova else ({}, [])
    of_senlin, _none = options(senlin)
    more = {'nova_options': of_nova, 'senlin_options': of_senlin}
    with SandboxCloud(
        [*FREE, *LICENSED], senlin=True, available_filters=available, **more
    ) as cloud:
        (folder / 'clouds.yaml').write_text(cloud.clouds_yaml(), encoding='utf-8')
        shell = {**openstack_client.on_path(folder), 'OS_CLOUD': 'sandbox'}
        lines = f'set -e\n{block(commands)}'
        subprocess.run(['sh'], input=lines, cwd=folder, env=shell, text=True, check=True)
        yield cloud


@pytest.fixture(scope='module', params=['filter', 'isolated'])
def cloud(request, tmp_path_factory):
    names = (f'licence-{request.param}-{each}' for each in ('commands', 'nova', 'senlin'))
    with with_nova_conf(tmp_path_factory.mktemp(request.param), *names) as running:
        yield running


@pytest.fixture(scope='module')
def tenant(cloud):
    return Tenant(cloud.connection('demo'))


@pytest.fixture(scope='module')
def nova(cloud):
    return Truth(cloud.connection())


@pytest.mark.parametrize(('flavor', 'hosts'), [('m1.tiny', FREE), ('m1.windows', LICENSED)])
def test_q1_05_four_servers_of_a_tenant(cloud, nova, flavor, hosts):
    """Servers without a reservation are only on free hosts, those with one only on its hosts."""
    compute = cloud.connection('demo').compute
    made = [
        compute.create_server(
            name='s', flavor_id=compute.find_flavor(flavor).id, image_id=cloud.image_id, networks=[]
        ).id
        for _ in range(4)
    ]
    until(lambda: all(nova.server(each).status != 'BUILD' for each in made), 60, cloud.logs())
    found = Counter((nova.server(each).status, nova.server(each).compute_host) for each in made)
    assert found.total() == 4
    assert set(found) <= {('ACTIVE', host) for host in hosts}


def test_a_host_that_an_administrator_requests_is_also_reserved(cloud, nova):
    compute = cloud.connection().compute
    flavor = compute.find_flavor('m1.tiny').id
    made = {
        host: compute.create_server(
            name='s', flavor_id=flavor, image_id=cloud.image_id, networks=[],
            availability_zone=f'nova:{host}',
        ).id
        for host in ('cmp-1', 'win-1')
    }  # fmt: skip
    until(lambda: all(nova.server(each).status != 'BUILD' for each in made.values()), 60)
    found = {host: nova.server(each).compute_host for host, each in made.items()}
    assert found == {'cmp-1': 'cmp-1', 'win-1': None}


def sent(cloud, flavor):
    """Return nova-scheduler's query to Placement for a server of demo, without limit and owner."""
    demo = cloud.connection('demo')
    image = demo.image.post('/images', json={'name': 'other', 'disk_format': 'qcow2'}).json()['id']
    cloud.clear_requests()
    server = demo.compute.create_server(name='s', flavor_id=flavor, image_id=image, networks='none')
    until(lambda: demo.compute.get_server(server.id).status in ('ACTIVE', 'ERROR'), what='it ends')
    asked = [each for each in cloud.requests('placement') if each['path'].endswith('_candidates')]
    assert {each['microversion'] for each in asked} == {candidate_query.MICROVERSION}
    return [bare(each['query']) for each in asked]


def bare(query):
    """Return the parameters except those of Nova that do not change an answer."""
    found = parse_qsl(query.replace('OWNER_NOVA%2C', ''))
    return sorted(item for item in found if item[0] != 'limit')


@pytest.mark.parametrize('flavor', ['m1.tiny', 'm1.windows'])
def test_novas_query_equals_that_of_a_plan(cloud, request, flavor):
    is_by_filter = request.node.callspec.params['cloud'] == 'filter'
    reserved = Given.of(
        required_member_prefix=PREFIX,
        forbidden_member_prefixes=(PREFIX,),
        reservations_enforced_by='nova',
    )
    rules = reserved if is_by_filter else Given.of(is_isolation_enforced=True)
    snapshot = take_snapshot(cloud.connection())
    asked = NamedRequest(
        1, flavor, project_id=DEMO.project.id, image=Image('i', disk_format='qcow2')
    )
    resolved = resolve(asked, snapshot, rules)
    ours = [bare(each) for each in candidate_query.queries(*resolved)]
    assert ours == sent(cloud, resolved.request.flavor.id)


def test_q1_05_a_tenant_s_cluster_with_the_policy(tenant, nova):
    cluster, _policy, group = tenant.bound()
    tenant.scale_out(cluster, 2).succeeded()
    assert nova.spread(group) == dict.fromkeys(FREE, 1)
    cluster, _policy, group = tenant.bound(profile=tenant.profile(flavor='m1.windows'))
    tenant.scale_out(cluster, 2).succeeded()
    assert nova.spread(group) == dict.fromkeys(LICENSED, 1)


def test_q1_05_an_administrators_cluster_is_not_pinned_and_is_rejected_early(cloud, nova):
    admin = Tenant(cloud.connection())
    cluster, _policy, group = admin.bound()
    reason = admin.scale_out(cluster, 3).failed()
    assert 'does not fit: at most 2 of 3' in reason
    assert [entry.get('zone') for entry in admin.scale_out(cluster, 2).placements()] == [None] * 2
    assert nova.spread(group) == dict.fromkeys(FREE, 1)


def test_q1_05_without_operator_credentials_a_tenants_cluster_causes_a_warning(cloud, tenant):
    cloud.restart_senlin({'scheduler': PREFIXES})
    cluster, _policy, _group = tenant.bound()
    tenant.scale_out(cluster, 1).succeeded()
    logs = (cloud.log_dir / 'senlin.log').read_text(encoding='utf-8')
    assert 'preflight: neither the preflight nor Nova keeps these nodes off reserved hosts' in logs


def test_q1_05_the_policy_alone_enforces_reservations_of_administrators(tmp_path):
    with with_nova_conf(tmp_path, 'licence-policy-commands', senlin='windows-options') as cloud:
        admin, nova = Tenant(cloud.connection()), Truth(cloud.connection())
        cluster, _policy, group = admin.bound()
        assert 'reservations.reserved on 2' in admin.scale_out(cluster, 3).failed()
        admin.scale_out(cluster, 2).succeeded()
        assert nova.spread(group) == dict.fromkeys(FREE, 1)
        cluster, _policy, group = admin.bound(profile=admin.profile(flavor='m1.windows'))
        admin.scale_out(cluster, 2).succeeded()
        assert nova.spread(group) == dict.fromkeys(LICENSED, 1)


@pytest.mark.parametrize('is_of_flavors', [False, True])
def test_an_image_of_a_tenant_with_a_prefix_of_traits(is_of_flavors):
    """By default, the image gives access to the hosts; if only flavors count, it does not."""
    trait = 'CUSTOM_LICENCE_WINDOWS'
    prefixes = dict.fromkeys(PREFIXES, 'trait:CUSTOM_LICENCE_')
    prefixes['placement_req_member_keys_from_flavors_only'] = is_of_flavors
    aggregates = {'windows': {'hosts': LICENSED[:1], 'metadata': {f'trait:{trait}': 'required'}}}
    with SandboxCloud(
        [*FREE, LICENSED[0]],
        available_filters=[INSTALL],
        nova_options={'scheduler': prefixes},
        aggregates=aggregates,
    ) as cloud:
        admin, demo = cloud.connection(), cloud.connection('demo')
        (provider,) = admin.placement.resource_providers(name=LICENSED[0])
        path = f'/resource_providers/{provider.id}/traits'
        assert admin.placement.put(f'/traits/{trait}', microversion='1.6').ok
        known = admin.placement.get(path, microversion='1.6').json()
        body = {**known, 'traits': [*known['traits'], trait]}
        assert admin.placement.put(path, json=body, microversion='1.6').ok
        image = demo.image.post('/images', json={'name': 'mine', f'trait:{trait}': 'required'})
        made = demo.compute.create_server(
            name='s',
            flavor_id=next(demo.compute.flavors()).id,
            image_id=image.json()['id'],
            networks='none',
        )
        nova = Truth(admin)
        until(lambda: nova.server(made.id).status != 'BUILD', 60, cloud.logs())
        assert nova.server(made.id).compute_host == (None if is_of_flavors else LICENSED[0])
        log = (cloud.log_dir / 'nova.log').read_text(encoding='utf-8')
        assert ('any user who may create an image' in log) is not is_of_flavors
