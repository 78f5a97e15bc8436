"""The servers named in scheduler hints are fetched with as few requests as possible."""

import pytest

from senlin_affinity import api
from senlin_affinity.cloud import members, snapshot_file
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import Member
from tests.support import edge as at_edge
from tests.support.fake_nova import FakeHost

PROJECT = 'admin-project'
HOSTS = (FakeHost('cmp-1'), FakeHost('cmp-2'), FakeHost('cmp-3'))
CLOUD = {'hosts': HOSTS, 'services': ('compute', 'placement'), 'flavors': (), 'aggregates': ()}
MIGRATIONS = '/os-migrations'
NOT_THERE = '12345678-1234-4234-8234-123456789abc'


def fetch_view(edge, hints, user=None, **question_options):
    question = api.Question(1, 'small', scheduler_hints=hints, **question_options)
    return api.fetch(edge.connection(user), question)


def requested_paths(edge):
    paths = (each.path for each in edge.nova.asked)
    return [path for path in paths if path.startswith(('/servers', '/os-migrations'))]


def test_servers_of_any_project_are_fetched_one_by_one(edge, group):
    first = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    second = edge.nova.boot(group, 'cmp-2', project='another')
    view_found = fetch_view(edge, {'same_host': [first, second], 'different_host': first})
    assert {each.server: each.host for each in view_found.servers} == {
        first: 'cmp-1',
        second: 'cmp-2',
    }
    assert requested_paths(edge) == [f'/servers/{first}', f'/servers/{second}', MIGRATIONS]


def test_a_listed_server_is_not_fetched_again(edge):
    group = edge.nova.add_group('web', 'soft-affinity', project_id=PROJECT)
    first = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    view_found = fetch_view(edge, {'same_host': first}, server_group='web')
    assert [each.host for each in view_found.servers] == ['cmp-1']
    assert requested_paths(edge) == ['/servers/detail', MIGRATIONS]


def test_a_server_that_does_not_exist_is_on_no_host(edge):
    view_found = fetch_view(edge, {'same_host': NOT_THERE})
    assert view_found.servers == (Member(NOT_THERE, state='DELETED'),)
    assert view_found.servers[0].is_nowhere
    assert requested_paths(edge) == [f'/servers/{NOT_THERE}', '/servers/detail']
    query = {'all_tenants': '1', 'uuid': NOT_THERE, 'limit': '1000'}
    assert [each.query for each in edge.nova.asked if each.path == '/servers/detail'] == [query]


def test_the_number_of_fetched_servers_is_limited(edge, group):
    servers = [
        edge.nova.boot(group, 'cmp-1', project=PROJECT) for _number in range(members.MOST_NAMED + 1)
    ]
    view_found = fetch_view(edge, {'different_host': servers})
    assert {each.server for each in view_found.servers} == {*servers[: members.MOST_NAMED]}
    assert len(requested_paths(edge)) == members.MOST_NAMED + 1


@pytest.mark.parametrize(
    'question_options',
    [
        {'hints': {'same_host': 'web'}},
        {'hints': {'same_host': NOT_THERE}, 'enabled_filters': ('DifferentHostFilter',)},
        {'hints': {'same_host': NOT_THERE}, 'user': 'demo'},
        {'hints': {'query': NOT_THERE}},
    ],
    ids=['a name', 'no filter reads the hint', 'hosts are hidden', 'another hint'],
)
def test_servers_are_fetched_only_if_a_filter_needs_them(edge, question_options):
    assert fetch_view(edge, **question_options).servers is None
    assert requested_paths(edge) == []


def test_a_forbidden_server_is_unknown(edge):
    edge.fail('GET', f'/servers/{NOT_THERE}', at_edge.FORBIDDEN)
    view_found = fetch_view(edge, {'same_host': NOT_THERE})
    assert view_found.servers is None
    assert at_edge.FORBIDDEN.words in view_found.unavailable['servers']


def test_a_response_about_another_server_is_an_error(edge, group):
    other = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    body = {'server': {'id': other, 'status': 'ACTIVE', 'OS-EXT-SRV-ATTR:host': 'cmp-1'}}
    edge.fail('GET', f'/servers/{NOT_THERE}', at_edge.Failure('other', '', 200, body))
    with pytest.raises(CloudError, match='the answer is about another object'):
        fetch_view(edge, {'same_host': NOT_THERE})


def test_a_snapshot_file_contains_the_servers(edge, group, tmp_path):
    server = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    view_found = fetch_view(edge, {'same_host': [server, NOT_THERE]})
    api.save(view_found, tmp_path / 'cloud.json')
    assert snapshot_file.load(tmp_path / 'cloud.json').servers == view_found.servers
