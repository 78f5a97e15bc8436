"""The hosts of group members are completed from migrations and soft-deleted servers."""

import datetime
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from senlin_affinity.cloud import clients, connection, snapshot
from senlin_affinity.cloud import members as servers
from senlin_affinity.model.server_group import Member, ServerGroup
from tests.support import edge as at_edge
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost, FakeMigration
from tests.support.values import replace

PROJECT = 'admin-project'
HOSTS = (FakeHost('cmp-1'), FakeHost('cmp-2'), FakeHost('cmp-3'))
CLOUD = {'hosts': HOSTS, 'services': ('compute', 'placement'), 'flavors': (), 'aggregates': ()}
MIGRATIONS = '/os-migrations'


def boot(edge, group, host, **more):
    return edge.nova.boot(group, host, project=PROJECT, **more)


def members(edge, wanted='web'):
    (group,) = snapshot.take(clients.of(edge.connection()), server_groups=wanted).server_groups
    return {member.server: member for member in group.members}


def clients_compute(edge):
    return connection.compute(clients.OwnerClient(edge.connection()))


def queries(edge, path):
    return [each.query for each in edge.nova.asked if each.path == path]


@pytest.mark.parametrize('wanted', ['web', None], ids=['one group', 'all groups'])
def test_a_migrating_member_is_on_two_hosts(edge, group, wanted):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
    resting = boot(edge, group, 'cmp-3')

    members_found = members(edge, wanted)

    assert members_found[server].also_on == ('cmp-1', 'cmp-2')
    assert (members_found[server].host, members_found[resting].also_on) == ('cmp-2', ())
    assert queries(edge, MIGRATIONS) == [{'limit': '1000'}]


@pytest.mark.parametrize('status', ['confirmed', 'reverted', 'error', 'completed', 'done'])
def test_a_finished_migration_does_not_count(edge, group, status):
    server = boot(edge, group, 'cmp-2', status='ERROR')
    edge.nova.migrations = [FakeMigration(server, 'cmp-1', 'cmp-2', status)]
    assert members(edge)[server].also_on == ()


@pytest.mark.parametrize(
    ('policy', 'status', 'is_asked'),
    [
        ('anti-affinity', 'ACTIVE', True),
        ('anti-affinity', 'SHUTOFF', True),
        ('anti-affinity', 'MIGRATING', True),
        ('anti-affinity', 'RESIZE', True),
        ('anti-affinity', 'REVERT_RESIZE', True),
        ('anti-affinity', 'VERIFY_RESIZE', True),
        ('affinity', 'VERIFY_RESIZE', False),
        ('soft-anti-affinity', 'VERIFY_RESIZE', False),
    ],
)
def test_migrations_are_fetched_if_a_member_may_be_migrating(edge, policy, status, is_asked):
    boot(edge, edge.nova.add_group('web', policy, project_id=PROJECT), 'cmp-1', status=status)
    members(edge)
    assert bool(queries(edge, MIGRATIONS)) is is_asked


@pytest.mark.parametrize(
    ('kind', 'status', 'hours', 'host', 'left'),
    [
        ('live-migration', 'completed', 1, 'cmp-2', {'cmp-1'}),
        ('live-migration', 'completed', 25, 'cmp-2', set()),
        ('live-migration', 'completed', 23.9, 'cmp-2', {'cmp-1'}),
        ('live-migration', 'cancelled', 1, 'cmp-2', set()),
        ('live-migration', 'error', 1, 'cmp-2', set()),
        ('evacuation', 'completed', 1, 'cmp-2', set()),
        ('resize', 'confirmed', 1, 'cmp-2', set()),
        ('resize', 'reverted', 1, 'cmp-1', {'cmp-2'}),
        ('resize', 'reverted', 25, 'cmp-1', set()),
        ('resize', 'error', 1, 'cmp-1', set()),
        ('migration', 'reverted', 1, 'cmp-1', {'cmp-2'}),
    ],
)
def test_a_recent_migration_records_the_host_that_the_member_left(
    edge, group, kind, status, hours, host, left
):
    server = boot(edge, group, host)
    ended = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)
    earlier = ended - datetime.timedelta(hours=3)
    time = ended.strftime('%Y-%m-%dT%H:%M:%S.%f')
    edge.nova.migrations = [
        FakeMigration(server, 'cmp-1', 'cmp-2', status, kind, time),
        FakeMigration(server, 'cmp-2', 'cmp-1', status, kind, time),
        FakeMigration(server, 'cmp-1', 'cmp-2', status, kind, f'{earlier:%Y-%m-%dT%H:%M:%S.%f}'),
        FakeMigration(server, 'cmp-1', 'cmp-2', status, kind, '2026-01-01T00:00:00.000000'),
    ]
    members_found = members(edge)[server]
    assert members_found.left.keys() == left
    assert all(0 <= seconds - 3600 * hours < 600 for seconds in members_found.left.values())
    assert members_found.also_on == ()


def test_a_migration_in_the_future_has_just_ended(edge, group):
    """The clocks of a cloud differ."""
    server = boot(edge, group, 'cmp-2')
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=9)
    ended = FakeMigration(
        server, 'cmp-1', 'cmp-2', 'completed', 'live-migration', f'{time:%Y-%m-%dT%H:%M:%S}'
    )
    edge.nova.migrations = [ended]
    assert members(edge)[server].left == {'cmp-1': 0}


def test_an_unconfirmed_resize_after_the_first_page_is_found(edge, group):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
    edge.nova.migrations[:0] = [FakeMigration('x', 'a', 'b', 'done')] * 3
    edge.nova.migrations += [FakeMigration('x', 'a', 'b')] * 3
    edge.nova.longest_page = 3

    assert members(edge)[server].also_on == ('cmp-1', 'cmp-2')
    first, second = queries(edge, MIGRATIONS)
    assert second == {**first, 'status': 'finished'}


@pytest.mark.parametrize(
    ('offered', 'query'),
    [('2.79', {'limit': '1000'}), ('2.53', {'status': 'finished'})],
)
def test_migrations_of_older_clouds_are_read(offered, query):
    services = ('compute', 'placement')
    with Edge(offered, hosts=HOSTS, services=services, flavors=(), aggregates=()) as edge:
        group = edge.nova.add_group('web', project_id=PROJECT)
        server = edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
        assert members(edge)[server].also_on == ('cmp-1', 'cmp-2')
        assert queries(edge, MIGRATIONS) == [query]


def test_members_are_lost_if_migrations_are_forbidden(edge, group):
    """The other host of a migrating member is then unknown."""
    edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
    edge.fail('GET', MIGRATIONS, at_edge.FORBIDDEN)
    taken = snapshot.take(clients.of(edge.connection()), server_groups='web')
    assert taken.server_groups[0].has_lost_members
    assert at_edge.FORBIDDEN.words in taken.unavailable['members']


def test_members_are_lost_if_the_hosts_of_migrations_are_hidden(edge, group):
    """Without the right index:host, Nova shows migrations without their hosts."""
    server = edge.nova.move(group, 'cmp-1', 'cmp-2', project=PROJECT)
    edge.nova.migrations = [FakeMigration(server, None, None, 'migrating')]
    taken = snapshot.take(clients.of(edge.connection()), server_groups='web')
    assert taken.server_groups[0].has_lost_members
    assert 'os_compute_api:os-migrations:index:host' in taken.unavailable['members']


def test_soft_deleted_servers_are_listed_also_to_users_who_may_not_filter(edge, group):
    """Nova ignores "deleted" without the right allow_all_filters, but not changes-since."""
    boot(edge, group, 'cmp-1')
    members(edge)
    (query,) = (each for each in queries(edge, '/servers/detail') if 'status' in each)
    assert query['status'] == 'SOFT_DELETED'
    assert query['changes-since'] == '1970-01-01T00:00:00Z'


@pytest.mark.parametrize('wanted', ['web', None], ids=['one group', 'all groups'])
def test_a_member_without_a_host_is_not_lost(edge, group, wanted):
    boot(edge, group, 'cmp-1')
    for status in ('ERROR', 'SHELVED_OFFLOADED'):
        boot(edge, group, None, status=status)
    (members_found,) = snapshot.take(
        clients.of(edge.connection()), server_groups=wanted
    ).server_groups
    assert members_found.held() == {'cmp-1': 1}
    if wanted is None:
        query = {'all_tenants': '1', 'status': 'ERROR,SHELVED_OFFLOADED,BUILD', 'limit': '1000'}
        assert queries(edge, '/servers/detail')[0] == query
    assert not members_found.has_lost_members


@pytest.mark.parametrize('status', ['BUILD', 'UNKNOWN'])
def test_a_member_that_will_get_a_host_is_lost(edge, group, status):
    boot(edge, group, None, status=status)
    (members_found,) = snapshot.take(
        clients.of(edge.connection()), server_groups='web'
    ).server_groups
    assert members_found.has_lost_members


def test_a_soft_deleted_server_is_in_the_snapshot_and_in_no_group(edge, group):
    server = boot(edge, group, 'cmp-1', status='SOFT_DELETED')
    edge.nova.groups[0]['members'].remove(server)
    boot(edge, edge.nova.add_group('other', project_id='p'), 'cmp-2')

    taken = snapshot.take(clients.of(edge.connection()), server_groups='web')

    expected = Member(server, 'cmp-1', 'demo-id', None, 'nova', 'SOFT_DELETED', project=PROJECT)
    later = replace(expected, server=boot(edge, group, 'cmp-1', status='SOFT_DELETED'))
    assert taken.soft_deleted == (expected,)
    found = servers.soft_deleted(clients_compute(edge), taken.server_groups)
    assert found == tuple(sorted((expected, later), key=lambda each: each.server))
    assert not taken.server_groups[0].members
    assert queries(edge, '/servers/detail')[-1]['project_id'] == PROJECT


@pytest.mark.parametrize('policy', ['affinity', 'soft-affinity', 'soft-anti-affinity'])
def test_soft_deleted_servers_are_fetched_for_anti_affinity_only(edge, policy):
    edge.nova.add_group('web', policy, project_id=PROJECT)
    taken = snapshot.take(clients.of(edge.connection()), server_groups='web')
    assert taken.soft_deleted is None
    assert queries(edge, '/servers/detail') == []


def test_names_of_servers_are_read_one_by_one(edge):
    names = {'a': {'server': {'name': 'web'}}, 'b/c': None}
    compute = SimpleNamespace(
        get=lambda path, _what, version, *, may_be_missing: (
            version == (2, 1) and may_be_missing and names[unquote(path.rpartition('/')[2])]
        )
    )
    assert servers.names_of(compute, names) == {'a': 'web'}


def test_a_server_that_is_read_by_its_id_has_an_escaped_path():
    body = {'server': {'id': 'a/b', 'OS-EXT-SRV-ATTR:host': 'cmp-1'}}
    asked = []
    compute = SimpleNamespace(get=lambda path, *_words, **_query: asked.append(path) or body)
    known = Member('x', 'cmp-2')
    found = servers.by_ids(compute, ['a/b', 'x'], {'x': known, 'y': known})
    assert found == (known, Member('a/b', 'cmp-1'))
    assert asked == ['/servers/a%2Fb']


def test_one_anti_affinity_group_needs_the_soft_deleted_servers():
    one, other = (ServerGroup(policy, policy, policy) for policy in ('anti-affinity', 'affinity'))
    assert servers.has_anti_affinity([one, other])
    assert not servers.has_anti_affinity([other])
    assert servers.with_members([other, one], {}) == (other, one)
    assert servers.with_members([one, other], {}) == (other, one)
