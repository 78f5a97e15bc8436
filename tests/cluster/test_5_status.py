"""``senlin-affinity status`` names exactly the finding that was provoked."""

import contextlib
import uuid

import pytest

from senlin_affinity.sandbox.config_files import write
from tests.cluster import audit
from tests.cluster.conftest import status
from tests.cluster.stack import commands

FILTERS = (
    'AggregateInstanceExtraSpecsFilter', 'AggregateInstanceTypeFilter', 'ComputeFilter',
)  # fmt: skip
#: Nova 26 lets every role list servers.
ALWAYS = {('credentials', 'os_compute_api:servers:index')}


@pytest.fixture
def findings(stack):
    """``findings()``: the checks and objects of all findings, with changed copies of files."""

    def ask(senlin=None, nova=None):
        files = []
        for name, layer in (('senlin', senlin), ('nova', nova)):
            path = stack.directory / 'lib' / f'status-{name}.conf'
            write(path, layer or {})
            path.write_text((stack.directory / f'etc/{name}.conf').read_text() + path.read_text())
            files.append(path)
        rows = status(stack, *files)
        found = [row for row in rows if row['State'] == 'finding']
        assert all(row['Fix'] for row in found)
        return {(row['Check'], row['Object']) for row in found} - ALWAYS

    return ask


@pytest.fixture(scope='module')
def bound(demo):
    cluster, policy, group = demo.bound(demo.policy(servergroup={'name': 'chosen'}))
    demo.scale_out(cluster, 2).succeeded()
    return cluster, policy, group


@contextlib.contextmanager
def changed(stack, change, back):
    stack.sql(change)
    try:
        yield
    finally:
        stack.sql(back)


def test_a_healthy_cloud_has_no_finding(bound, findings):
    assert findings() == set()


@pytest.mark.parametrize(
    ('senlin', 'nova', 'found'),
    [
        ({'senlin_affinity_cloud': {'password': 'wrong'}}, {},
         ('credentials', '[senlin_affinity_cloud]')),
        ({'affinity': {'request_timeout': 60}}, {'scheduler': {'max_placement_results': 7}},
         ('options', '[affinity] max_placement_results')),
        ({}, {'filter_scheduler': {'enabled_filters': [*FILTERS]}}, ('filters', 'enabled_filters')),
    ],
)  # fmt: skip
def test_a_configuration_file_is_named(bound, findings, stack, senlin, nova, found):
    senlin = {'affinity': {'nova_conf': stack.directory / 'lib/status-nova.conf'}, **senlin}
    assert findings(senlin, nova) == {found}


def test_an_aggregate_that_placement_lacks_is_named(bound, findings, admin, stack):
    placement = stack.connection().placement
    found = placement.get('/resource_providers', params={'name': 'cmp-1'}).json()
    url = f'/resource_providers/{found["resource_providers"][0]["uuid"]}/aggregates'
    before = placement.get(url, microversion='1.19').json()
    for aggregates, expected in (([], {('aggregates', 'cmp-1')}), (before['aggregates'], set())):
        generation = placement.get(url, microversion='1.19').json()
        body = {
            'aggregates': aggregates,
            'resource_provider_generation': generation['resource_provider_generation'],
        }
        answer = placement.put(url, json=body, microversion='1.19')
        assert answer.status_code == 200, answer.text
        assert findings() == expected


def test_groups_are_named(bound, findings, demo, stack, truth):
    cluster, _policy, group = bound
    first, second = sorted(truth.members(group))
    hosts = {server: truth.server(server).compute_host for server in (first, second)}
    move = "UPDATE nova_cell1.instances SET host = '{0}', node = '{0}' WHERE uuid = '{1}'"
    moved = move.format(hosts[first], second), move.format(hosts[second], second)
    with changed(stack, *moved):
        assert {check for check, _name in findings()} == {'groups'}
    orphan = demo.create_group(f'senlin-affinity-{uuid.uuid4()}')
    audit.foreign.discard(orphan)
    assert {check for check, _name in findings()} == {'groups'}
    demo.compute.delete_server_group(orphan)
    binding = "UPDATE cluster_policy SET data = REPLACE(data, '{}', '{}')"
    other = str(uuid.uuid4())
    with changed(stack, binding.format(group, other), binding.format(other, group)):
        assert {check for check, _name in findings()} == {'groups'}
    assert findings() == set()


def test_the_manuals_query_finds_the_lock_of_an_ended_action(bound, demo, stack):
    action = demo.action_of(bound[0])
    query = ' '.join(commands('Locks of ended actions'))
    locked = f"INSERT INTO cluster_lock VALUES ('{bound[0]}', '[\"{action}\"]', -1)"
    with changed(stack, locked, f"DELETE FROM cluster_lock WHERE cluster_id = '{bound[0]}'"):
        assert [row[0] for row in stack.sql(query)] == [action]
    assert stack.sql(query) == []
