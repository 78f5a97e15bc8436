"""The servers that scheduler hints name are read with as few requests as possible."""

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


def view(edge, hints, user=None, **more):
    question = api.Question(1, 'small', scheduler_hints=hints, **more)
    return api.fetch(edge.connection(user), question)


def asked(edge):
    paths = (each.path for each in edge.nova.asked)
    return [path for path in paths if path.startswith(('/servers', '/os-migrations'))]


def test_servers_of_any_project_are_read_one_by_one(edge, group):
    one = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    two = edge.nova.boot(group, 'cmp-2', project='another')
    seen = view(edge, {'same_host': [one, two], 'different_host': one})
    assert {each.server: each.host for each in seen.snapshot.servers} == {
        one: 'cmp-1',
        two: 'cmp-2',
    }
    assert asked(edge) == [f'/servers/{one}', f'/servers/{two}', MIGRATIONS]


def test_a_server_in_a_list_is_not_read_again(edge):
    group = edge.nova.add_group('web', 'soft-affinity', project_id=PROJECT)
    one = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    seen = view(edge, {'same_host': one}, server_group='web')
    assert [each.host for each in seen.snapshot.servers] == ['cmp-1']
    assert asked(edge) == ['/servers/detail', MIGRATIONS]


def test_a_server_that_does_not_exist_is_on_no_host(edge):
    seen = view(edge, {'same_host': NOT_THERE})
    assert seen.snapshot.servers == (Member(NOT_THERE, state='DELETED'),)
    assert seen.snapshot.servers[0].is_nowhere
    assert asked(edge) == [f'/servers/{NOT_THERE}', '/servers/detail']


def test_a_server_that_moves_is_on_two_hosts(edge, group):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
    seen = view(edge, {'different_host': server})
    assert [each.also_on for each in seen.snapshot.servers] == [('cmp-1', 'cmp-2')]
    assert asked(edge) == [f'/servers/{server}', MIGRATIONS]


def test_there_are_no_more_requests_than_a_bound(edge, group):
    servers = [
        edge.nova.boot(group, 'cmp-1', project=PROJECT) for _number in range(members.MOST_NAMED + 1)
    ]
    seen = view(edge, {'different_host': servers})
    assert {each.server for each in seen.snapshot.servers} == {*servers[: members.MOST_NAMED]}
    assert len(asked(edge)) == members.MOST_NAMED + 1


@pytest.mark.parametrize(
    'more',
    [
        {'hints': {'same_host': 'web'}},
        {'hints': {'same_host': NOT_THERE}, 'enabled_filters': ('DifferentHostFilter',)},
        {'hints': {'same_host': NOT_THERE}, 'user': 'demo'},
        {'hints': {'query': NOT_THERE}},
    ],
    ids=['no id', 'no filter reads it', 'the hosts are not shown', 'another hint'],
)
def test_servers_are_read_only_if_a_filter_needs_them(edge, more):
    assert view(edge, **more).snapshot.servers is None
    assert asked(edge) == []


def test_a_server_that_may_not_be_read_is_unknown(edge):
    edge.fail('GET', f'/servers/{NOT_THERE}', at_edge.FORBIDDEN)
    seen = view(edge, {'same_host': NOT_THERE})
    assert seen.snapshot.servers is None
    assert at_edge.FORBIDDEN.words in seen.unavailable['servers']


def test_the_answer_about_another_server_is_an_error(edge, group):
    other = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    body = {'server': {'id': other, 'status': 'ACTIVE', 'OS-EXT-SRV-ATTR:host': 'cmp-1'}}
    edge.fail('GET', f'/servers/{NOT_THERE}', at_edge.Failure('other', '', 200, body))
    with pytest.raises(CloudError, match='the answer is about another object'):
        view(edge, {'same_host': NOT_THERE})


def test_a_snapshot_file_has_them(edge, group, tmp_path):
    server = edge.nova.boot(group, 'cmp-1', project=PROJECT)
    seen = view(edge, {'same_host': [server, NOT_THERE]})
    api.save(seen, tmp_path / 'cloud.json')
    assert snapshot_file.load(tmp_path / 'cloud.json').servers == seen.snapshot.servers
