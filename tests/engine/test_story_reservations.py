"""Reserved hosts in a real cloud where Nova keeps them free: whose servers land where.

Once with the request filter of this project in nova-scheduler, once with the recipe, carried out as
it is printed. Nobody is pinned, and the tenant sees no host.
"""

import subprocess
from collections import Counter

import pytest

from senlin_affinity.core import candidate_query
from senlin_affinity.core.image import Image
from senlin_affinity.core.objects import PlacementRequest, Rules
from senlin_affinity.core.planning.resolution import resolve
from senlin_affinity.preflight import take_snapshot
from senlin_affinity.sandbox.identities import DEMO
from tests.functional.test_sent_queries import bare, sent
from tests.support import command, openstack_client
from tests.support.cloud_fixtures import Tenant, Truth
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

pytestmark = pytest.mark.long

FREE = ['cmp-1', 'cmp-2']
PREFIXES = {
    'placement_req_required_member_prefix': 'reservation:',
    'placement_req_default_forbidden_member_prefix': 'reservation:',
}
ISOLATED = {'enable_isolated_aggregate_filtering': True}


def by_request_filter():
    """Nova and the engine have the same options, and the aggregates have keys."""
    return {
        'available_filters': ['senlin_affinity.plugins.nova_request_filter.install'],
        'nova_options': {'scheduler': PREFIXES},
        'senlin_options': {
            'scheduler': PREFIXES,
            'affinity': {'reservations_enforced_by': 'nova'},
        },
        'aggregates': {
            'pool': {'hosts': ['pool-1'], 'metadata': {'reservation:f3a9': 'free'}},
            'mine': {'hosts': ['mine-1'], 'metadata': {'reservation:r1': 'mine'}},
        },
        'flavors': {'m1.tiny': {}, 'm1.mine': {'extra_specs': {'reservation:r1': 'true'}}},
    }


def by_recipe():
    """What a recipe finds."""
    return {
        'nova_options': {'scheduler': ISOLATED},
        'senlin_options': {'scheduler': ISOLATED},
        'aggregates': {'pool': {'hosts': ['pool-1']}, 'mine': {'hosts': ['mine-1']}},
        'flavors': {'m1.tiny': {}, 'm1.mine': {}},
    }


def carry_out(cloud, folder):
    """Print both recipes, and run what is printed."""
    (folder / 'clouds.yaml').write_text(cloud.clouds_yaml(), encoding='utf-8')
    shell = {**openstack_client.on_path(folder), 'OS_CLOUD': 'sandbox'}
    mine = ['mine', '--flavor', 'm1.mine']
    for words in (['pool'], mine, mine):  # again, as after a host has joined
        printed = command.run(
            'reservation', 'recipe', *words, folder=folder, OS_CLOUD='sandbox', NO_PROXY='127.0.0.1'
        )
        assert (printed.returncode, printed.stderr) == (0, '')
        subprocess.run(['sh'], input=printed.stdout, cwd=folder, env=shell, text=True, check=True)


@pytest.fixture(scope='module', params=[by_request_filter, by_recipe], ids=lambda way: way.__name__)
def cloud(request, tmp_path_factory):
    with SandboxCloud([*FREE, 'pool-1', 'mine-1'], senlin=True, **request.param()) as running:
        if request.param is by_recipe:
            carry_out(running, tmp_path_factory.mktemp('recipe'))
        yield running


@pytest.fixture(scope='module')
def tenant(cloud):
    return Tenant(cloud.connection('demo'))


@pytest.fixture(scope='module')
def nova(cloud):
    return Truth(cloud.connection())


@pytest.mark.parametrize(('flavor', 'hosts'), [('m1.tiny', FREE), ('m1.mine', ['mine-1'])])
def test_q1_05_four_servers_of_a_tenant(cloud, nova, flavor, hosts):
    """Ordinary ones land on free hosts only, those of a reservation on its own."""
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


def test_a_host_that_an_administrator_names_is_kept_as_well(cloud, nova):
    compute = cloud.connection().compute
    flavor = compute.find_flavor('m1.tiny').id
    made = {
        host: compute.create_server(
            name='s', flavor_id=flavor, image_id=cloud.image_id, networks=[],
            availability_zone=f'nova:{host}',
        ).id
        for host in ('cmp-1', 'mine-1')
    }  # fmt: skip
    until(lambda: all(nova.server(each).status != 'BUILD' for each in made.values()), 60)
    found = {host: nova.server(each).compute_host for host, each in made.items()}
    assert found == {'cmp-1': 'cmp-1', 'mine-1': None}


@pytest.mark.parametrize('flavor', ['m1.tiny', 'm1.mine'])
def test_what_nova_asks_placement_is_what_a_plan_asks(cloud, request, flavor):
    is_by_filter = request.node.callspec.params['cloud'] is by_request_filter
    prefix = 'reservation:'
    reserved = Rules.of(
        required_member_prefix=prefix,
        forbidden_member_prefixes=(prefix,),
        reservations_enforced_by='nova',
    )
    rules = reserved if is_by_filter else Rules.of(is_isolation_enforced=True)
    snapshot = take_snapshot(cloud.connection())
    asked = PlacementRequest(
        1, flavor, project_id=DEMO.project.id, image=Image('i', disk_format='qcow2')
    )
    resolved = resolve(asked, snapshot, rules)
    theirs, _is_placed = sent(cloud, resolved.flavor.id, None, {})
    assert [bare(each) for each in candidate_query.queries(resolved)] == theirs


def test_q1_05_a_tenant_s_cluster_with_the_policy(tenant, nova):
    cluster, _policy, group = tenant.bound()
    tenant.scale_out(cluster, 2).succeeded()
    assert nova.spread(group) == dict.fromkeys(FREE, 1)
    cluster, _policy, group = tenant.bound(profile=tenant.profile(flavor='m1.mine'))
    tenant.scale_out(cluster, 1).succeeded()
    assert nova.spread(group) == {'mine-1': 1}


def test_q1_05_an_administrator_s_cluster_is_not_pinned_and_is_refused_in_time(cloud, nova):
    admin = Tenant(cloud.connection())
    cluster, _policy, group = admin.bound()
    reason = admin.scale_out(cluster, 3).failed()
    assert 'does not fit: 2 of 3 placed; 0/4 hosts left: ' in reason
    assert [entry.get('zone') for entry in admin.scale_out(cluster, 2).placements()] == [None] * 2
    assert nova.spread(group) == dict.fromkeys(FREE, 1)


def test_q1_05_where_the_policy_knows_of_nobody_a_tenant_s_cluster_is_warned_of(cloud, tenant):
    cloud.restart_senlin({'scheduler': PREFIXES})
    cluster, _policy, _group = tenant.bound()
    tenant.scale_out(cluster, 1).succeeded()
    logs = (cloud.log_dir / 'senlin.log').read_text(encoding='utf-8')
    assert (
        'preflight: reserved hosts are not kept free of these nodes, as Nova does not do ' in logs
    )
