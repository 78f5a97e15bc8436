"""``senlin-affinity group`` on the real Senlin and Nova: owners of groups, and violations."""

import json

import pytest

from tests.support import command, waiting

pytestmark = pytest.mark.long

RULES = {'max_server_per_host': 3}
UNCHECKED = (
    'clusters of other projects may use these orphans: only an administrator can check this\n'
)


@pytest.fixture(scope='module')
def group(senlin_cloud, tmp_path_factory):
    """Run the command: ``group('demo', 'list', '--orphans')``; return the exit status and the
    output.
    """
    folder = tmp_path_factory.mktemp('command')
    clouds = folder / 'clouds.yaml'
    clouds.write_text(senlin_cloud.clouds_yaml())

    def run(user, *arguments, text='', noun='group'):
        name = {'demo': 'sandbox-demo', 'admin': 'sandbox'}[user]
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds), 'COLUMNS': '200'}
        words = ('--os-cloud', name, noun, *arguments)
        done = command.run(*words, folder=folder, text=text, **environment)
        assert done.stderr in ('', UNCHECKED * (user == 'demo'))
        return done.returncode, done.stdout

    return run


def rows(answer):
    """Return the status, and the rows by the names of their columns."""
    status, said = answer
    return status, json.loads(said)


def test_an_orphan_is_listed_and_deleted(demo, truth, group, cloud):
    cluster, policy, bound = demo.bound(demo.policy())
    named = f'senlin-affinity-{cluster}'
    flavor = demo.compute.find_flavor('m1.tiny').id
    stranger = demo.compute.create_server(
        name='stranger', flavor_id=flavor, image_id=cloud.image_id, networks='none',
        scheduler_hints={'group': bound},
    )  # fmt: skip
    demo.compute.wait_for_server(stranger, interval=0.3)
    status, found = rows(group('demo', 'list', '-f', 'json'))
    (row,) = [each for each in found if each['ID'] == bound]
    name = demo.clustering.get_cluster(cluster).name
    assert (row['Name'], row['Rule'], row['Members']) == (named, 'anti-affinity', 1)
    assert (row['Made By'], row['Used By'], row['Orphan']) == ('policy', [name], False)
    demo.detach(cluster, policy).succeeded()
    assert truth.members(bound) == {stranger.id}
    orphans = ('list', '--orphans', '-f', 'value', '-c', 'ID')
    assert bound not in group('demo', *orphans)[1], 'it has a server'
    demo.compute.delete_server(stranger)
    demo.compute.wait_for_delete(stranger, interval=0.3)
    assert bound not in group('demo', *orphans)[1], 'its cluster exists'
    demo.clustering.delete_cluster(cluster)
    waiting.until(lambda: demo.clustering.find_cluster(cluster) is None)
    for user in ('demo', 'admin'):
        everywhere = ('--all-projects',) * (user == 'admin')
        status, said = group(user, *orphans, *everywhere)
        assert (status, bound in said.split()) == (3, True)
    status, said = group('demo', 'delete', '--orphans', '--dry-run')
    assert (status, f'{named} ({bound}), made by: policy\n' in said) == (3, True)
    status, said = group('demo', 'delete', '--orphans', text='n\n')
    assert (status, said.endswith('[y/N] nothing was deleted\n')) == (3, True)
    assert truth.group_by_id(bound) is not None
    status, said = group('demo', 'delete', '--orphans', text='yes\n')
    assert (status, f'deleted {named} ({bound})\n' in said) == (0, True)
    assert truth.group_by_id(bound) is None
    assert group('demo', 'delete', '--orphans', '--yes') == (0, 'there are no orphans\n')
    assert group('demo', *orphans) == (0, '')


def test_an_audit_by_host_and_by_host_id(demo, truth, group):
    """Nodes from before the policy are outside its group."""
    profile = demo.profile()
    cluster = demo.cluster(profile)
    before = demo.node(cluster, profile)
    policy = demo.policy(servergroup={'rules': RULES})
    demo.attach(cluster, policy).succeeded()
    bound = demo.group_id(cluster, policy)
    inside = demo.node(cluster, profile)
    audit = ('audit', '--cluster', cluster, '-f', 'json')
    status, found = rows(group('demo', *audit))
    assert status == 3
    assert [(row['Servers'], row['State']) for row in found] == [
        ([inside.physical_id], 'ok'),
        ([before.physical_id], 'outside of the group'),
    ]
    assert len(found[0]['Host']) == 56, 'a hostId'
    of_all = rows(group('admin', *audit, '--all-projects'))[1]
    ((host, _number),) = truth.spread(bound).items()
    assert [(row['Host'], row['State']) for row in of_all] == [
        (host, 'ok'), ('', 'outside of the group'),
    ]  # fmt: skip
    assert bound not in group('admin', 'audit', '-f', 'json')[1], "another project's"
    assert found[0]['Rule'] == 'anti-affinity max_server_per_host=3'
    demo.act(cluster, 'del_nodes', nodes=[before.id], destroy_after_deletion=True).succeeded()
    assert [row['State'] for row in rows(group('demo', *audit))[1]] == ['ok']
    assert group('demo', *audit)[0] == 0
    demo.compute.delete_server_group(bound)
    status, found = rows(group('demo', *audit))
    assert (status, [(row['Server Group'], row['State']) for row in found]) == (
        3, [(bound, 'no such group')],
    )  # fmt: skip


def test_an_administrator_sees_hosts(admin, truth, group):
    cluster, _policy, bound = admin.bound()
    node = admin.node(cluster)
    ((host, _number),) = truth.spread(bound).items()
    status, found = rows(group('admin', 'audit', truth.own_group(cluster).name, '-f', 'json'))
    assert status == 0
    assert [(row['Host'], row['Servers']) for row in found] == [(host, [node.physical_id])]
    audit = ('audit', '--cluster', cluster, '--all-projects', '-f', 'json')
    assert rows(group('admin', *audit)) == (0, found)


def findings(shown):
    found = (each for each in shown if each['State'] == 'finding')
    return [(each['Check'], each['Object'], each['Fix']) for each in found]


def test_status_names_each_problem_of_a_cluster(admin, truth, group, cloud):
    """The release of the engine, a missing group, and an aggregate that Placement lacks."""
    cluster, policy, bound = admin.bound()
    status, before = rows(group('admin', '-f', 'json', noun='status'))
    known = findings(before)  # of the clusters of other tests in this sandbox
    assert (status, bound in str(known)) == (3 if known else 0, False)
    (engine,) = [each for each in before if each['Check'] == 'engines']
    assert engine['Details'].startswith('has ')
    placement = cloud.connection().placement
    aggregate = admin.compute.create_aggregate(name='status')
    host = next(iter(admin.compute.hypervisors())).name
    admin.compute.add_host_to_aggregate(aggregate, host)
    provider = next(iter(placement.resource_providers(name=host)))
    mirror = placement.fetch_resource_provider_aggregates(provider)
    try:
        left = [each for each in mirror.aggregates if each != aggregate.uuid]
        placement.set_resource_provider_aggregates(mirror, *left)
        admin.compute.delete_server_group(bound)
        status, found = rows(group('admin', '-f', 'json', noun='status'))
    finally:
        admin.compute.remove_host_from_aggregate(aggregate, host)
        admin.compute.delete_aggregate(aggregate)
        admin.detach(cluster, policy)
    problems = [each for each in findings(found) if each not in known]
    assert (status, problems) == (3, [
        ('aggregates', host, 'nova-manage placement sync_aggregates'),
        ('groups', bound, 'detach the policy, and attach it again'),
    ])  # fmt: skip
