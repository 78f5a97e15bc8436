"""``cluster explain`` and ``node explain``, after failures in the real Senlin and Nova."""

import json

import pytest

from tests.support import command
from tests.support.cloud_fixtures import DRS_HOST, HOSTS
from tests.support.remedying import Operator
from tests.support.waiting import until

pytestmark = pytest.mark.long

#: The DRS host is disabled.
OPEN = [host for host in HOSTS if host != DRS_HOST]
ROOM = len(OPEN)


@pytest.fixture
def explain(senlin_cloud, tmp_path):
    """Run the command: ``explain('admin', 'cluster', id, ...)``."""
    (tmp_path / 'clouds.yaml').write_text(senlin_cloud.clouds_yaml())
    conf = str(senlin_cloud.log_dir / 'nova.conf')

    def run(user, kind, named, *options):
        cloud = {'admin': 'sandbox', 'demo': 'sandbox-demo'}[user]
        known = ('--nova-conf', conf) if user == 'admin' else ()
        line = (kind, 'explain', named, *known, *options)
        return command.run('--os-cloud', cloud, *line, folder=tmp_path, COLUMNS='300')

    return run


def read(done, status):
    """Return the JSON of an explanation."""
    assert (done.returncode, done.stderr) == (status, '')
    return json.loads(done.stdout)


def ended_nodes(tenant, cluster, number):
    """Wait for all nodes of a cluster, and return them."""

    def ended():
        found = tenant.nodes(cluster)
        is_over = all(each.status in ('ACTIVE', 'ERROR') for each in found)
        return found if len(found) == number and is_over else None

    return until(ended, 90, f'{number} nodes end')


@pytest.mark.parametrize(
    ('action', 'inputs'),
    [
        ('CLUSTER_SCALE_OUT', {'count': ROOM + 1}),
        ('CLUSTER_RESIZE', {'adjustment_type': 'EXACT_CAPACITY', 'number': ROOM + 1}),
    ],
)
def test_a_rejection_of_the_policy_is_explained_and_each_remedy_helps(
    admin, truth, senlin_cloud, explain, action, inputs
):
    cluster, _policy, _group = admin.bound()
    name = admin.clustering.get_cluster(cluster).name
    made = {'CLUSTER_SCALE_OUT': 'scale_out', 'CLUSTER_RESIZE': 'resize'}[action]
    reason = admin.act(cluster, made, **inputs).failed()
    said = read(explain('admin', 'cluster', name, '-f', 'json'), 3)
    assert (said['action']['name'], said['action']['cause']) == (action, 'policy')
    assert (said['action']['reason'], said['wanted']) == (reason, ROOM + 1)
    assert (said['failure']['cause'], said['failure']['is_placement']) == ('policy', True)
    codes = {each['host']: each['code'] for each in said['hosts']}
    assert codes == {**dict.fromkeys(OPEN, 'server_group.host_full'), DRS_HOST: codes[DRS_HOST]}
    text = explain('admin', 'cluster', cluster).stdout.splitlines()
    assert text[0].startswith(f'{action} of cluster {name} ({ROOM + 1} nodes) was rejected by the ')
    assert ' '.join(text[1:]).startswith(f'Senlin: {reason} ')
    assert 'does not fit: ' in reason
    events = [each.status_reason for each in admin.clustering.events(cluster_id=cluster)]
    assert reason in events
    # Each remedy with commands helps. A scale-out that succeeds is the last action.
    remedies = [each for each in said['remedies'] if each['kind'] == 'operators']
    (commands,) = (each['commands'] for each in remedies if each['commands'])
    assert f'$ {commands[0]}' in '\n'.join(text)
    assert 'server group create' not in '\n'.join(text)
    for line in commands:
        Operator(senlin_cloud).run(line)
    try:
        admin.act(cluster, made, **inputs).succeeded()
    finally:
        truth.disable(DRS_HOST)
    words = f'the last action of cluster {name} ({action}) succeeded'
    command.check_refused(explain('admin', 'cluster', cluster), words)


def test_nodes_that_failed_in_nova_are_explained_by_their_servers(admin, demo, explain):
    """Senlin deletes the server immediately, and stores its id."""
    for user, tenant, status in (('admin', admin, 3), ('demo', demo, 1)):
        cluster, _policy, _group = tenant.bound(tenant.policy(preflight='warn'))
        tenant.scale_out(cluster, ROOM).succeeded()
        # Senlin may call the action successful.
        tenant.scale_out(cluster, 1).ended()
        nodes = ended_nodes(tenant, cluster, ROOM + 1)
        (node,) = (each for each in nodes if each.status == 'ERROR')
        said = read(explain(user, 'cluster', cluster, '-f', 'json'), status)
        assert (said['action']['nodes'], said['server']['id']) == ([node.name], node.physical_id)
        cause = {'admin': 'no_host', 'demo': 'not_shown'}[user]
        assert (said['failure']['cause'], said['wanted']) == (cause, 1)
        text = explain(user, 'node', node.name).stdout
        name = admin.clustering.get_cluster(cluster).name
        events = [each.status_reason for each in tenant.clustering.events(cluster_id=cluster)]
        expected = 'the preflight expects nodes to fail, but the policy only warns: does not fit: '
        assert any(each.startswith(expected) for each in events) is (user == 'admin')
        assert text.startswith('node found no host at ' if user == 'admin' else 'node failed at ')
        text = explain(user, 'cluster', cluster).stdout
        failed = f'Nodes that failed in CLUSTER_SCALE_OUT of cluster {name}: {node.name}.'
        assert text.startswith(failed)
        for other in nodes:
            if other is not node:
                words = f'the last action of node {other.name} (NODE_CREATE) succeeded'
                command.check_refused(explain(user, 'node', other.id), words)


def test_a_rejected_node_is_explained(admin, explain):
    cluster, _policy, _group = admin.bound()
    admin.scale_out(cluster, ROOM).succeeded()
    node = admin.clustering.create_node(
        name='rejected', cluster_id=cluster, profile_id=admin.profile()
    )
    admin.wait_for_actions(node.id)
    said = read(explain('admin', 'node', node.id, '-f', 'json'), 3)
    assert (said['action']['name'], said['action']['cause']) == ('NODE_CREATE', 'policy')
    assert said['action']['reason'].endswith(admin.clustering.get_node(node.id).status_reason)
    assert said['wanted'] == 1
    # An action on a node of the cluster is one of the cluster.
    of_cluster = read(explain('admin', 'cluster', cluster, '-f', 'json'), 3)['action']
    name = admin.clustering.get_cluster(cluster).name
    assert of_cluster == {**said['action'], 'target': f'cluster {name}'}
