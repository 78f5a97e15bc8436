"""A snapshot is fetched as an administrator, as a non-admin and from older clouds."""

import datetime
from collections import Counter

import pytest

from senlin_affinity.cloud import clients, snapshot, snapshot_file, whole_cloud
from senlin_affinity.model.cloud import Aggregate, Flavor, Quota
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.server_group import Member
from tests.support import edge as at_edge
from tests.support import preflight
from tests.support.asked import Given, NamedRequest
from tests.support.edge import Edge, Failure
from tests.support.fake_nova import FakeHost
from tests.support.fake_placement import SHARING, TRAITS, FakePlacement, FakeProvider
from tests.support.values import replace

GROUPS, HYPERVISORS = 'GET /os-server-groups', 'GET /os-hypervisors/detail'
#: A list of groups that is not empty may have another page.
LISTED = [GROUPS, GROUPS]
AGGREGATES, SERVICES, ZONES = 'GET /os-aggregates', 'GET /os-services', 'GET /os-availability-zone'
FLAVORS, LIMITS, SERVERS = 'GET /flavors/detail', 'GET /limits', 'GET /servers/detail'
MIGRATIONS = 'GET /os-migrations'
CANDIDATES = 'GET /allocation_candidates?resources='
BY_MEMORY, BY_CPU = f'{CANDIDATES}MEMORY_MB:1', f'{CANDIDATES}VCPU:1'
BY_DISK = f'{CANDIDATES}MEMORY_MB:1,DISK_GB:1'
SHARERS = f'GET /resource_providers?required={SHARING}'
CHECK = 'GET /resource_providers?resources=MEMORY_MB:1'
HOSTS = (
    FakeHost('cmp-1', vcpus=8, memory_mb=4096, disk_gb=100),
    FakeHost('cmp-2', zone='az1', status='disabled'),
    FakeHost('vc-1', 'domain-c7.b52f9a5e', state='down', kind='VMware vCenter Server'),
)
BOTH = ('compute', 'placement')

#: The administrator's project.
PROJECT = 'admin-project'
#: The quotas of the project and of the user.
OF_USER = f'GET /os-quota-sets/{PROJECT}/detail'
OWN = [LIMITS, OF_USER]


@pytest.fixture
def edge():
    """Yield three different hosts, with an administrator's connection."""
    with Edge(hosts=HOSTS, services=BOTH, flavors=(), aggregates=()) as edge:
        yield edge


def take(edge, **more):
    return snapshot.take(clients.of(edge.connection()), **more)


def hosts(edge, *, unknown=()):
    taken = take(edge)
    assert tuple(taken.unavailable) == unknown, taken.unavailable
    return {host.host: host for host in taken.hosts}


# -- as an administrator


def test_an_empty_cloud(edge):
    edge.nova.hosts = ()
    edge.placement.providers.clear()

    taken = take(edge)

    quotas, taken_at = taken.quotas, taken.taken_at
    assert taken == snapshot.Cloud(
        (),
        (),
        (),
        (),
        quotas,
        taken_at,
        frozenset(),
        'admin-id',
        'admin-project',
        closed_zones=frozenset(),
        nova_release=34,
    )
    assert edge.placement.asked == []


def test_the_requests_of_a_whole_snapshot(edge):
    """D1-12: hypervisors below 2.88, where Nova fetches every uptime and returns no sizes."""
    edge.nova.boot(edge.nova.add_group('web', project_id='p'), 'cmp-1')

    take(edge)

    assert edge.nova.requests() == [
        *LISTED, HYPERVISORS, AGGREGATES, SERVICES, MIGRATIONS, SERVERS, FLAVORS, *OWN
    ]  # fmt: skip
    assert edge.placement.asked == [SHARERS, BY_MEMORY]
    page, everywhere = {'limit': '1000'}, {'all_tenants': '1'}
    project = edge.nova.groups[0]['project_id']
    deleted = {'deleted': 'true', 'status': 'SOFT_DELETED', 'project_id': project}
    deleted['changes-since'] = '1970-01-01T00:00:00Z'
    assert [(each.microversion, each.query) for each in edge.nova.asked] == [
        ('2.64', {**page, 'offset': '0', 'all_projects': 'true'}),
        ('2.64', {**page, 'offset': '1', 'all_projects': 'true'}),
        ('2.53', {**page, 'with_servers': 'true'}),
        ('2.41', {}),
        ('2.1', {'binary': 'nova-compute'}),
        ('2.59', page),
        ('2.1', {**page, **everywhere, **deleted}),
        ('2.61', {**page, 'is_public': 'None'}),
        ('2.1', {}),
        ('2.1', {'user_id': 'admin-id'}),
    ]


def test_the_fields_of_a_host(edge):
    ssd = edge.nova.add_aggregate('ssd', ['cmp-1', 'cmp-2'], ssd='true')
    az1 = edge.nova.add_aggregate('az1', ['cmp-2'], availability_zone='az1')

    first, second, third = take(edge).hosts

    traits = frozenset({'COMPUTE_NODE', 'COMPUTE_VOLUME_EXTEND'})
    vc = ('vc-1', 'domain-c7.b52f9a5e', 'VMware vCenter Server')
    for host, made in (
        (first, Host('cmp-1', 'cmp-1', 'QEMU', 'nova', True, True, frozenset({ssd}), traits)),
        (second, Host('cmp-2', 'cmp-2', 'QEMU', 'az1', False, True, frozenset({ssd, az1}), traits)),
        (third, Host(*vc, 'nova', True, False, traits=traits)),
    ):
        assert replace(host, resources=None) == replace(made, servers=0)
    assert first.traits is third.traits


@pytest.mark.parametrize(
    ('reason', 'kept'), [('do not enable', 'do not enable'), ('', None), (None, None), (7, None)]
)
def test_the_disabled_reason_of_a_disabled_service_is_kept(edge, reason, kept):
    first, second, *others = HOSTS
    second = replace(second, disabled_reason=reason)
    edge.nova.hosts = (replace(first, disabled_reason='old'), second, *others)
    assert [host.disabled_reason for host in take(edge).hosts] == [None, kept, None]


def test_the_resources_of_a_host(edge):
    edge.nova.hosts = (replace(HOSTS[0], vcpus=1, disk_gb=0), *HOSTS[1:])
    found = hosts(edge)

    assert found['cmp-1'].resources == {
        'VCPU': Resource(32, 0, max_unit=1),
        'MEMORY_MB': Resource(4096, 0, max_unit=4096),
        'DISK_GB': Resource(100, 0, max_unit=None),
    }
    # A vSphere hypervisor reports the size of its cluster; a server fits on one ESXi host at most.
    assert found['vc-1'].resources['VCPU'] == Resource(256, 0, max_unit=None)


def test_aggregates_flavors_zones_and_quotas(edge):
    ssd = edge.nova.add_aggregate('ssd', ['cmp-1'], ssd='true')
    az1 = edge.nova.add_aggregate('az1', ['cmp-2'], availability_zone='az1')
    specs = {'hw:cpu_policy': 'shared'}
    edge.nova.add_flavor('small', vcpus=2, ram=512, disk=3, swap=64, extra_specs=specs)
    edge.nova.add_flavor('large', id='1', swap='', **{'OS-FLV-EXT-DATA:ephemeral': 5})

    taken = take(edge)

    assert taken.aggregates == (
        Aggregate(az1, 'az1', 'az1', {'availability_zone': 'az1'}),
        Aggregate(ssd, 'ssd', None, {'ssd': 'true'}),
    )
    assert taken.flavors == (
        Flavor('1', 'large', 1, 64, 1, 5, 0, {}),
        Flavor('small', 'small', 2, 512, 3, 0, 64, specs),
    )
    assert taken.availability_zones == {'nova', 'az1'}
    assert taken.quotas['server_groups'] == Quota(10, 0, of_user=Quota(10, 0))
    assert set(taken.quotas) == set(THEIRS)


def test_the_members_of_all_groups_come_with_the_hypervisors(edge):
    web, db = edge.nova.add_group('web'), edge.nova.add_group('db', 'affinity', project_id='p')
    first = edge.nova.boot(web, 'cmp-1')
    building = edge.nova.boot(web, status='BUILD')
    other = edge.nova.boot(db, 'vc-1', project='p')

    db_group, web_group = take(edge).server_groups

    built = Member(building, None, 'demo-id', zone='nova', state='BUILD')
    assert sorted(web_group.members, key=lambda each: each.host or '') == [
        built,
        Member(first, 'cmp-1'),
    ]
    assert db_group.members == (Member(other, 'vc-1'),)
    assert (db_group.policy, db_group.project_id) == ('affinity', 'p')


def test_servers_are_not_fetched_if_no_group_has_members(edge):
    edge.nova.add_group('web')
    take(edge)
    assert 'with_servers' not in edge.nova.asked[2].query


@pytest.mark.parametrize('by', ['name', 'id', 'both'])
def test_for_a_named_group_the_servers_of_its_project_are_listed(edge, by):
    web = edge.nova.add_group('web', project_id=PROJECT)
    edge.nova.boot(edge.nova.add_group('db'), 'cmp-2')
    server = edge.nova.boot(web, 'cmp-1', project=PROJECT, user='u')

    wanted = {'name': 'web', 'id': web, 'both': ('web', web)}[by]
    (group,) = take(edge, server_groups=wanted).server_groups

    assert group.members == (Member(server, 'cmp-1', 'u', zone='nova', state='ACTIVE'),)
    listed = [f'{GROUPS}/{web}'] if by == 'id' else LISTED
    assert edge.nova.requests() == [
        *listed, HYPERVISORS, AGGREGATES, SERVICES, SERVERS, MIGRATIONS, SERVERS, FLAVORS, *OWN
    ]  # fmt: skip
    *_, hypervisors, _, _, servers, _, deleted, _, _, _ = edge.nova.asked
    assert deleted.query['project_id'] == PROJECT
    assert servers.query == {'all_tenants': '1', 'project_id': PROJECT, 'limit': '1000'}
    assert 'with_servers' not in hypervisors.query


def test_for_groups_of_two_projects_all_servers_are_listed(edge):
    ids = [edge.nova.add_group('web', project_id=project) for project in 'pq']
    for group_id, project in zip(ids, 'pq', strict=True):
        edge.nova.boot(group_id, 'cmp-1', project=project)
    groups = take(edge, server_groups=ids).server_groups
    assert [member.host for group in groups for member in group.members] == ['cmp-1'] * 2
    assert edge.nova.asked[5].query == {'all_tenants': '1', 'limit': '1000'}


def test_a_name_finds_only_groups_of_the_own_project(edge):
    """As in an attach, although an administrator can list the groups of other projects."""
    theirs = edge.nova.add_group('web', project_id='p')
    assert take(edge, server_groups='web').server_groups == ()
    ours = edge.nova.add_group('web', project_id=PROJECT)

    def ids(*wanted):
        return {group.id for group in take(edge, server_groups=wanted).server_groups}

    assert ids('web') == {ours}
    assert ids('web', theirs) == {ours, theirs}


def test_a_snapshot_records_its_user_project_and_time(edge):
    taken = take(edge)
    assert (taken.user_id, taken.project_id) == ('admin-id', PROJECT)
    assert datetime.datetime.strptime(taken.taken_at, '%Y-%m-%dT%H:%M:%S%z')


def test_a_missing_group_is_left_out(edge):
    missing = '00000000-0000-4000-8000-000000000000'
    assert take(edge, server_groups=missing).server_groups == ()
    assert take(edge, server_groups=['web']).server_groups == ()


def test_groups_that_are_not_requested_are_unknown(edge):
    edge.nova.add_group('web')
    taken = take(edge, server_groups=())
    assert taken.server_groups is None
    assert taken.unavailable == {}
    assert GROUPS not in edge.nova.requests()


def test_all_pages_are_fetched(edge):
    edge.nova.longest_page = 2
    web = edge.nova.add_group('web', project_id=PROJECT)
    for number in range(5):
        edge.nova.add_flavor(f'flavor-{number}')
        edge.nova.boot(web, 'cmp-1', project=PROJECT)

    taken = take(edge, server_groups='web')

    assert len(taken.flavors) == 5
    assert [host.host for host in taken.hosts] == ['cmp-1', 'cmp-2', 'vc-1']
    assert [member.host for member in taken.server_groups[0].members] == ['cmp-1'] * 5
    pages = Counter(edge.nova.requests())
    assert (pages[FLAVORS], pages[HYPERVISORS], pages[SERVERS]) == (3, 2, 4)


def test_a_repeated_page_is_an_error(edge):
    body = {'flavors': [{'id': 'a'}], 'flavors_links': [{'rel': 'next', 'href': 'x'}]}
    edge.fail('GET', '/flavors/detail', Failure('loop', '', 200, body))
    with pytest.raises(CloudError, match="could not list the flavors: the answer lists 'a' twice"):
        take(edge)


def test_a_saved_snapshot_is_loaded_unchanged(edge):
    web = edge.nova.add_group('web', rules={'max_server_per_host': 3})
    edge.nova.boot(web, 'cmp-1')
    edge.nova.move(web, 'cmp-1', 'cmp-2')
    edge.nova.groups[0]['members'].remove(edge.nova.boot(web, 'cmp-2', status='SOFT_DELETED'))
    edge.nova.user_quotas['admin-id'] = {'instances': (-1, 1)}
    edge.nova.add_flavor('small')
    edge.nova.add_aggregate('ssd', ['cmp-1'], ssd='true')
    taken = take(edge)
    saved = snapshot_file.parse(''.join(snapshot_file.render(taken)))
    assert saved == replace(taken, roots=(), longest=0)
    assert replace(take(edge), taken_at=taken.taken_at) == taken


@pytest.mark.parametrize('failure', [at_edge.FORBIDDEN, at_edge.NOT_FOUND], ids=str)
def test_rx_07_the_quotas_of_the_user_are_fetched(edge, failure):
    edge.nova.user_quotas['admin-id'] = {'instances': (2, 1), 'server_group_members': (3, 0)}
    known = take(edge).quotas
    assert known['instances'].of_user == Quota(2, 1)
    assert known['server_group_members'].of_user == Quota(3)
    assert known['cores'].of_user == Quota(known['cores'].limit, known['cores'].used)

    edge.fail('GET', OF_USER.split()[1], failure)
    taken = take(edge)
    assert {quota.of_user for quota in taken.quotas.values()} == {None}
    assert taken.unavailable == {}


# -- of another project

THEIRS = {
    'instances': (16, 15),
    'cores': (-1, 30),
    'ram': (8192, 4096),
    'server_groups': (3, 1),
    'server_group_members': (12, 0),
    'metadata_items': (128, 0),
}
QUOTA_SET = 'GET /os-quota-sets/p/detail'
#: The other requests, in this order, if no group has a server.
USUAL = [HYPERVISORS, AGGREGATES, SERVICES, SERVERS, FLAVORS]


@pytest.fixture
def other(edge):
    """Create a group in another project with its own quotas, and return its id."""
    edge.nova.quota_sets['p'] = THEIRS
    return edge.nova.add_group('web', project_id='p', user_id='amy')


def test_rx_07_the_quotas_of_the_groups_project_are_fetched(edge, other):
    taken = take(edge, server_groups=other, is_project_of_group=True)

    assert edge.nova.requests() == [f'{GROUPS}/{other}', *USUAL, QUOTA_SET, QUOTA_SET]
    assert taken.unavailable == {}
    quotas = {
        **{name: Quota(*of) for name, of in THEIRS.items()},
        'cores': Quota(None, 30),
        'server_group_members': Quota(THEIRS['server_group_members'][0]),
        'metadata_items': Quota(128),
    }
    assert {name: replace(quota, of_user=None) for name, quota in taken.quotas.items()} == quotas
    assert (taken.project_id, taken.user_id) == ('p', 'amy')


def test_rx_07_in_another_project_the_user_is_the_creator_of_the_group(edge, other):
    """Nova counts the members and the quotas of the user who requests the servers."""
    edge.nova.user_quotas['amy'] = {'server_group_members': (3, 0)}
    edge.nova.user_quotas['u'] = {'server_group_members': (4, 0)}
    by_id = take(edge, server_groups=other, is_project_of_group=True)
    by_name = take(edge, server_groups='web', project_id='p')
    given = take(edge, server_groups=other, project_id='p', user_id='u')
    for taken, user, limit in ((by_id, 'amy', 3), (by_name, 'amy', 3), (given, 'u', 4)):
        assert taken.user_id == user
        assert taken.quotas['server_group_members'].of_user == Quota(limit)


def test_rx_07_the_user_of_another_project_may_be_unknown(edge, other):
    another = other[:-1] + ('0' if other.endswith('f') else 'f')
    edge.nova.groups.append({**edge.nova.groups[0], 'id': another, 'user_id': 'u'})
    every = [group['id'] for group in edge.nova.groups]
    for groups in ((), every, None):
        taken = take(edge, server_groups=groups, project_id='p')
        assert taken.user_id is None
        assert {quota.of_user for quota in taken.quotas.values()} == {None}


def test_rx_07_the_user_of_the_own_project_is_the_caller_or_given(edge):
    own = edge.nova.add_group('web', project_id=PROJECT)
    edge.nova.user_quotas['u'] = {'instances': (4, 1)}
    assert take(edge, server_groups=own).user_id == 'admin-id'
    taken = take(edge, server_groups=own, user_id='u')
    assert (taken.user_id, taken.quotas['instances'].of_user) == ('u', Quota(4, 1))


def test_reserved_quota_counts_as_used(edge, other):
    quotas = {name: {'limit': 9, 'in_use': 2, 'reserved': 3} for name in THEIRS}
    body = {'quota_set': {'id': 'p', **quotas}}
    edge.fail('GET', QUOTA_SET.split()[1], Failure('old', '', 200, body))
    taken = take(edge, project_id='p')
    assert taken.quotas['instances'] == Quota(9, 5)


@pytest.mark.parametrize('wanted', ['id', 'name', 'none'])
def test_naming_the_own_project_sends_no_other_request(edge, wanted):
    own = edge.nova.add_group('web', project_id=PROJECT)
    named = {'id': (own,), 'name': ('web',), 'none': ()}[wanted]
    take(edge, server_groups=named)
    before = edge.nova.requests()
    for more in ({'is_project_of_group': True}, {'project_id': PROJECT}):
        edge.nova.asked.clear()
        take(edge, server_groups=named, **more)
        assert edge.nova.requests() == before


def test_a_name_finds_a_group_of_the_named_project(edge, other):
    edge.nova.add_group('web', project_id=PROJECT)
    edge.nova.add_group('web', project_id='q')
    taken = take(edge, server_groups='web', project_id='p')
    assert [group.id for group in taken.server_groups] == [other]
    assert edge.nova.requests() == [*LISTED, *USUAL, QUOTA_SET, QUOTA_SET]
    assert edge.nova.asked[0].query['all_projects'] == 'true'


@pytest.mark.parametrize(
    ('more', 'project', 'last'),
    [
        ({'project_id': 'p'}, 'p', [QUOTA_SET, QUOTA_SET]),
        ({'project_id': PROJECT, 'is_project_of_group': True}, PROJECT, OWN),
        ({}, PROJECT, OWN),
    ],
    ids=['a named project', 'a named project over that of the group', 'the own project'],
)
def test_the_quotas_for_a_group_by_its_id(edge, other, more, project, last):
    """The project of the group is used only if the caller requests that."""
    taken = take(edge, server_groups=other, **more)
    assert edge.nova.requests() == [f'{GROUPS}/{other}', *USUAL, *last]
    assert taken.project_id == project


def test_groups_of_two_projects_leave_the_own_project(edge, other):
    ids = (other, edge.nova.add_group('db', project_id='q'))
    taken = take(edge, server_groups=ids, is_project_of_group=True)
    assert taken.project_id == PROJECT


@pytest.mark.parametrize('failure', [at_edge.FORBIDDEN, at_edge.SERVER_ERROR], ids=str)
def test_forbidden_quotas_of_another_project_are_unknown(edge, other, failure):
    edge.fail('GET', '/os-quota-sets/p/detail', failure)

    if failure is at_edge.SERVER_ERROR:
        with pytest.raises(CloudError, match='could not read the quotas of project p: '):
            take(edge, project_id='p')
        return
    taken = take(edge, project_id='p', server_groups=())
    assert failure.words in taken.unavailable['quotas']
    assert (taken.quotas, taken.project_id) == (None, 'p')


def test_rx_07_a_capacity_with_unknown_quotas_is_an_upper_bound():
    """The library's request names no project, but the snapshot does."""
    hosts = (FakeHost('cmp-1'), FakeHost('cmp-2'))
    with Edge(hosts=hosts, services=BOTH, flavors=(), aggregates=()) as edge:
        edge.nova.add_aggregate('theirs', ['cmp-1'], filter_tenant_id='p')
        edge.nova.add_aggregate('ours', ['cmp-2'], filter_tenant_id=PROJECT)
        edge.nova.add_flavor('small')
        edge.fail('GET', '/os-quota-sets/p/detail', at_edge.FORBIDDEN)
        taken = preflight.take_snapshot(edge.connection(), project_id='p', server_groups=())

    decision = preflight.plan(
        NamedRequest(1, 'small'), taken, rules=Given.of(are_tenants_limited=True)
    )
    assert "the project's quotas, which are not known" in decision.at_most
    codes = {host.host: host.code for host in decision.hosts}
    assert codes == {'cmp-1': None, 'cmp-2': 'reservations.other_tenant'}


@pytest.mark.parametrize('body', [{}, {'quota_set': {}}, {'quota_set': {'id': 'p'}}])
def test_a_malformed_quota_set_is_an_error(edge, body):
    edge.fail('GET', '/os-quota-sets/p/detail', Failure('malformed', '', 200, body))
    with pytest.raises(CloudError, match='the quotas of project p: (the answer|a value)'):
        take(edge, project_id='p')


def test_a_project_id_is_quoted_in_the_path(edge):
    with pytest.raises(CloudError):
        take(edge, project_id='../limits')
    assert edge.nova.requests()[-1] == 'GET /os-quota-sets/..%2Flimits/detail'


def test_an_unknown_project_is_invalid(edge):
    """Nova asks Keystone. A group may outlive its project."""
    with pytest.raises(InvalidSpec, match='Project ID gone is not a valid project') as caught:
        take(edge, project_id='gone')
    assert caught.value.path == 'project'
    group = edge.nova.add_group('web', project_id='gone')
    taken = take(edge, server_groups=group, is_project_of_group=True)
    assert 'Project ID gone is not a valid project' in taken.unavailable['quotas']
    assert (taken.quotas, taken.project_id) == (None, 'gone')


def test_a_name_without_a_group_is_no_error(edge, other):
    """An administrator lists all groups, so an unknown name does not exist."""
    taken = take(edge, server_groups='wbe', project_id='p')
    assert (taken.server_groups, taken.unavailable) == ((), {})


def test_a_name_among_the_groups_implies_the_own_project(edge, other):
    """An attach would look for the group there, and create it there."""
    taken = take(edge, server_groups=('new', other), is_project_of_group=True)
    assert taken.project_id == PROJECT
    assert edge.nova.requests()[-2:] == OWN


def test_an_old_nova_hides_the_groups_of_another_project():
    with Edge('2.12', hosts=HOSTS, services=BOTH, flavors=(), aggregates=()) as edge:
        edge.nova.quota_sets['p'] = THEIRS
        edge.nova.add_group('web', project_id='p')
        taken = take(edge, server_groups='web', project_id='p')
    assert taken.server_groups is None
    assert '2.13 is needed' in taken.unavailable['server_groups']


def test_a_non_admin_reads_no_data_of_another_project(member_edge):
    member_edge.nova.add_group('web', project_id='p')
    member_edge.nova.add_group('web', project_id='demo-project')

    taken = take(member_edge, server_groups='web', project_id='p')

    assert (taken.server_groups, taken.quotas) == (None, None)
    assert taken.unavailable['server_groups'] == (
        'Nova shows the groups of another project to administrators only'
    )
    assert 'os-quota-sets:detail' in taken.unavailable['quotas']
    assert take(member_edge, server_groups='wbe').server_groups == (), 'no such group'


# -- full hosts


FULL = {'VCPU': (8, 8), 'MEMORY_MB': (64, 64), 'DISK_GB': (10, 10)}


def set_resources(edge, **resources):
    named = {name.replace('_', '-'): amounts for name, amounts in resources.items()}
    edge.placement = FakePlacement.of(edge.nova, named)


@pytest.mark.parametrize(
    ('amounts', 'queries'),
    [
        ({**FULL, 'MEMORY_MB': (64, 0)}, [SHARERS, BY_MEMORY]),
        ({**FULL, 'VCPU': (8, 7)}, [SHARERS, BY_MEMORY, BY_CPU]),
    ],
    ids=['memory is free', 'a VCPU is free'],
)
def test_a_host_that_is_full_in_one_class_is_queried_by_another(edge, amounts, queries):
    set_resources(edge, cmp_1=amounts)
    found = hosts(edge)['cmp-1'].resources
    assert edge.placement.asked == queries
    assert {name: (has.capacity, has.used) for name, has in found.items()} == amounts


@pytest.mark.parametrize('left', [(10, 10), (10, 9)], ids=['nothing is free', 'disk is free'])
def test_without_free_memory_and_vcpus_other_resources_are_unknown(edge, left):
    """So a flavor that requests neither is not rejected."""
    set_resources(edge, cmp_1={**FULL, 'DISK_GB': left})
    host = hosts(edge)['cmp-1']
    assert (host.resources, host.is_partial) == ({'MEMORY_MB': Resource(0, 0)}, True)
    assert edge.placement.asked == [SHARERS, BY_MEMORY, BY_CPU, CHECK]


@pytest.mark.parametrize('is_ironic', [False, True], ids=['no provider', 'a custom resource class'])
def test_a_host_without_a_candidate_has_no_free_memory(edge, is_ironic):
    """A node of Ironic has only a resource of a custom class."""
    edge.placement.providers[:1] = []
    if is_ironic:
        set_resources(edge, cmp_1={'CUSTOM_BAREMETAL': (1, 0)})
    host = hosts(edge)['cmp-1']
    assert (host.resources, host.is_partial) == ({'MEMORY_MB': Resource(0, 0)}, True)


def test_a_host_missing_from_a_truncated_answer_is_not_full(edge):
    edge.placement.cut = 2

    taken = take(edge)

    assert [host.resources is None for host in taken.hosts] == [False, False, True]
    assert taken.unavailable == {
        'resources': "Placement's answers lack 1 of 3 hosts "
        '(if Placement truncates its answers, raise max_allocation_candidates)'
    }
    assert edge.placement.asked == [SHARERS, BY_MEMORY, BY_CPU, CHECK]


@pytest.mark.parametrize('is_shared', [False, True], ids=['nothing shared', 'shared storage'])
@pytest.mark.parametrize('is_named', [False, True], ids=['all groups', 'one group'])
def test_a_snapshot_takes_at_most_fifteen_requests(edge, is_named, is_shared):
    edge.placement.cut = 1
    if is_shared:
        share(edge, {'DISK_GB': (5000, 7)}, 0)
    web = edge.nova.add_group('web', project_id=PROJECT)
    edge.nova.boot(web, None, project=PROJECT, status='ERROR')
    edge.nova.move(web, 'cmp-1', 'cmp-2', project=PROJECT)

    found = {
        host.host: host for host in take(edge, server_groups='web' if is_named else None).hosts
    }

    last = [] if is_named and is_shared else [CHECK]
    third = [BY_DISK] if is_shared else [] if is_named else [BY_CPU]
    assert edge.placement.asked == [SHARERS, BY_MEMORY, *third, *last]
    number = 14 if is_named else 15
    assert len(edge.nova.asked) + len(edge.placement.asked) == number
    assert found['vc-1'].resources is None


# -- trees and shared storage


def test_a_provider_tree_is_one_host(edge):
    root = edge.nova.hypervisor_id(0)
    set_resources(edge, cmp_1={'MEMORY_MB': (4096, 64), 'DISK_GB': (100, 1)})
    numa = FakeProvider('numa-1', {'VCPU': (16, 1)}, ('HW_NUMA_ROOT',), parent=root)
    edge.placement.providers.append(numa)

    host = hosts(edge)['cmp-1']

    assert host.is_nested
    assert host.resources == {
        'MEMORY_MB': Resource(4096, 64, max_unit=4096),
        'DISK_GB': Resource(100, 1, max_unit=100),
        'VCPU': Resource(16, 1, max_unit=8),
    }
    assert host.traits == {'COMPUTE_NODE', 'COMPUTE_VOLUME_EXTEND', 'HW_NUMA_ROOT'}
    assert edge.placement.asked == [SHARERS, BY_MEMORY]


def test_overuse_of_a_provider_does_not_reduce_another(edge):
    root = edge.nova.hypervisor_id(0)
    edge.placement.providers += [
        FakeProvider('gpu-1', {'VGPU': (2, 8)}, parent=root),
        FakeProvider('gpu-2', {'VGPU': (4, 1)}, parent=root),
    ]
    assert hosts(edge)['cmp-1'].resources['VGPU'] == Resource(6, 3, is_sum=True)


WITHOUT_DISK = {'VCPU': (32, 0), 'MEMORY_MB': (4096, 0)}


def share(edge, amounts, *numbers, traits=(), uuid='shared'):
    """Add a provider that shares resources with the hosts of these numbers."""
    roots = tuple(edge.nova.hypervisor_id(number) for number in numbers)
    edge.placement.providers.append(
        FakeProvider(uuid, amounts, (SHARING, *traits), shares_with=roots)
    )


def test_shared_storage_counts_only_for_the_hosts_that_share_it(edge):
    set_resources(edge, cmp_1=WITHOUT_DISK, cmp_2=WITHOUT_DISK)
    share(edge, {'DISK_GB': (5000, 7)}, 0)

    found = hosts(edge)

    assert edge.placement.asked == [SHARERS, BY_MEMORY, BY_DISK]
    assert found['cmp-1'].resources['DISK_GB'] == Resource(5000, 7, pool='shared')
    assert SHARING not in found['cmp-1'].traits
    assert not found['cmp-1'].is_nested
    assert 'DISK_GB' not in found['cmp-2'].resources
    assert found['vc-1'].resources['DISK_GB'] == Resource(2000, 0)
    assert not any(host.is_partial for host in found.values())


def test_an_overused_pool_is_full(edge):
    set_resources(edge, cmp_1=WITHOUT_DISK, vc_1=WITHOUT_DISK)
    share(edge, {'DISK_GB': (50, 7), 'CUSTOM_LICENSE': (4, 9)}, 0, 2)

    taken = take(edge)

    pool = {'DISK_GB': Resource(50, 7), 'CUSTOM_LICENSE': Resource(4, 4)}
    assert taken.pools == {'shared': pool}
    for host in (taken.hosts[0], taken.hosts[2]):
        assert {name: replace(host.resources[name], pool=None) for name in pool} == pool
        assert host.resources['DISK_GB'].pool == 'shared'
    saved = snapshot_file.parse(''.join(snapshot_file.render(taken)))
    assert saved == replace(taken, roots=(), longest=0)


def test_a_trait_of_a_pool_alone_makes_a_host_nested(edge):
    """Placement returns such a trait only for candidates that allocate from the pool."""
    set_resources(edge, cmp_1=WITHOUT_DISK, cmp_2=WITHOUT_DISK)
    share(edge, {'DISK_GB': (5000, 7)}, 0, traits=('CUSTOM_GOLD',))
    share(edge, {'DISK_GB': (5000, 7)}, 1, traits=TRAITS, uuid='other')
    found = hosts(edge)
    assert [found[name].is_nested for name in ('cmp-1', 'cmp-2')] == [True, False]
    assert found['cmp-1'].resources['DISK_GB'].pool == 'shared'


def test_two_sharing_providers_are_summed(edge):
    set_resources(edge, cmp_1=WITHOUT_DISK)
    share(edge, {'DISK_GB': (5000, 7)}, 0)
    share(edge, {'DISK_GB': (50, 1), 'CUSTOM_LICENSE': (4, 0)}, 0, uuid='other')
    taken = take(edge)
    assert taken.hosts[0].resources['DISK_GB'] == Resource(5050, 8, is_sum=True)
    assert taken.hosts[0].is_nested
    assert list(taken.pools) == ['other']


def test_shared_storage_and_a_local_disk_are_summed(edge):
    share(edge, {'DISK_GB': (5000, 7)}, 0)
    taken = take(edge)
    found = {host.host: host for host in taken.hosts}
    assert taken.pools == {}
    assert found['cmp-1'].resources['DISK_GB'] == Resource(5100, 7, is_sum=True)
    assert found['cmp-2'].resources['DISK_GB'].capacity == 2000


def test_a_host_that_shares_its_disk_keeps_its_own_capacity(edge):
    set_resources(edge, cmp_2={'VCPU': (32, 0), 'MEMORY_MB': (4096, 0)})
    first = edge.placement.providers[0]
    edge.placement.providers[0] = replace(
        first, traits=(*first.traits, SHARING), shares_with=(edge.nova.hypervisor_id(1),)
    )

    found = hosts(edge)

    assert found['cmp-2'].resources['DISK_GB'] == Resource(100, 0, is_sum=True)
    assert found['cmp-1'].resources['DISK_GB'] == Resource(100, 0, max_unit=100)
    assert not found['cmp-1'].is_nested


def test_hosts_are_partial_if_a_full_disk_is_shared(edge):
    """The response contains the host for its memory, and another provider shares as well."""
    set_resources(edge, cmp_1={**FULL, 'MEMORY_MB': (64, 0)})
    first = edge.placement.providers[0]
    edge.placement.providers[0] = replace(first, traits=(*first.traits, SHARING))
    share(edge, {'DISK_GB': (5000, 7)}, 2)
    assert all(host.is_partial for host in hosts(edge).values())


@pytest.mark.parametrize(
    'amounts', [{'CUSTOM_LICENSE': (5, 0)}, {'DISK_GB': (50, 50)}], ids=['another class', 'full']
)
def test_resources_of_a_hidden_sharing_provider_are_unknown(edge, amounts):
    """Its amounts and its hosts are unknown, but it does not share disk."""
    set_resources(
        edge,
        cmp_1={'VCPU': (32, 0), 'MEMORY_MB': (4096, 0), 'CUSTOM_LICENSE': (1, 0)},
        cmp_2={**FULL, 'VCPU': (8, 0)},
    )
    share(edge, amounts, 0)

    found = hosts(edge)

    assert all(host.is_partial for host in found.values())
    none = Resource(0, 0)
    assert found['cmp-1'].resources == {
        'VCPU': Resource(32, 0, max_unit=8),
        'MEMORY_MB': Resource(4096, 0, max_unit=4096),
        'DISK_GB': none,
        'PCPU': none,
    }
    assert found['cmp-2'].resources == {'MEMORY_MB': none}
    assert found['vc-1'].resources['DISK_GB'] == Resource(2000, 0)


def test_a_class_of_a_provider_that_shares_disk_is_known(edge):
    share(edge, {'DISK_GB': (5000, 7), 'CUSTOM_LICENSE': (5, 0)}, 0)
    found = hosts(edge)
    assert found['cmp-1'].resources['CUSTOM_LICENSE'] == Resource(5, 0, pool='shared')
    assert found['cmp-1'].is_nested
    assert 'CUSTOM_LICENSE' not in found['cmp-2'].resources
    assert not found['cmp-2'].is_partial


def test_disk_missing_from_a_truncated_answer_is_unknown(edge):
    """Three hosts have memory, and the response has three pairs of memory and disk: perhaps more
    exist.
    """
    own = dict.fromkeys(('VCPU', 'MEMORY_MB', 'CUSTOM_LICENSE', 'CUSTOM_OWN'), (32, 0))
    set_resources(edge, vc_1=own)
    share(edge, {'DISK_GB': (5000, 7), 'CUSTOM_LICENSE': (5, 0)}, 0, 2)
    edge.placement.cut = 3
    host = hosts(edge)['vc-1']
    assert host.is_partial
    assert set(host.resources) == {'VCPU', 'MEMORY_MB', 'PCPU', 'CUSTOM_OWN'}


# -- as a non-admin


@pytest.fixture
def member_edge():
    """Yield the same cloud, with a project member's connection."""
    with Edge(hosts=HOSTS, services=BOTH, user='demo', flavors=(), aggregates=()) as edge:
        yield edge


OF_DEMO = [LIMITS, 'GET /os-quota-sets/demo-project/detail']


def test_the_snapshot_of_a_non_admin(member_edge):
    member_edge.nova.add_flavor('small')
    web = member_edge.nova.add_group('web')
    servers = [member_edge.nova.boot(web, host) for host in ('cmp-1', 'cmp-1', 'cmp-2', None)]

    taken = take(member_edge)

    assert taken.hosts is None
    assert taken.aggregates is None
    assert taken.availability_zones == {'nova', 'az1'}
    assert [flavor.name for flavor in taken.flavors] == ['small']
    assert taken.quotas['server_groups'] == Quota(10, 1, of_user=Quota(10, 1))
    (group,) = taken.server_groups
    by_server = {member.server: member for member in group.members}
    first, second, third, building = (by_server[server] for server in servers)
    assert {member.host for member in group.members} == {None}
    assert {member.user for member in group.members} == {'demo-id'}
    assert first.host_id == second.host_id != third.host_id
    assert building.host_id is None
    assert member_edge.nova.requests() == [
        *LISTED, HYPERVISORS, AGGREGATES, ZONES, SERVERS, FLAVORS, *OF_DEMO
    ]  # fmt: skip
    assert member_edge.placement.asked == []


def test_forbidden_zones_are_unknown(member_edge):
    member_edge.fail('GET', '/os-availability-zone', at_edge.FORBIDDEN)
    assert at_edge.FORBIDDEN.words in take(member_edge).unavailable['availability_zones']


def test_zones_without_an_available_host_are_closed(member_edge):
    zones = [{'zoneName': name, 'zoneState': {'available': name == 'a'}} for name in 'ab']
    body = {'availabilityZoneInfo': zones}
    member_edge.fail('GET', '/os-availability-zone', Failure('zones', '', 200, body))
    taken = take(member_edge)
    assert (taken.availability_zones, taken.closed_zones) == ({'a', 'b'}, {'b'})


def test_zones_whose_compute_services_are_all_disabled_are_closed(edge):
    """As in Nova, a service that is down counts as available."""
    shape = [('a', 'disabled', 'up'), ('a', 'enabled', 'down'), ('b', 'disabled', 'up')]
    services = [
        {'host': f'h{number}', 'zone': zone, 'status': status, 'state': state}
        for number, (zone, status, state) in enumerate(shape)
    ]
    edge.fail('GET', '/os-services', Failure('services', '', 200, {'services': services}))
    taken = take(edge)
    assert (taken.availability_zones, taken.closed_zones) == ({'a', 'b'}, {'b'})


def test_the_reasons_of_parts_hidden_from_a_non_admin(member_edge):
    words = "could not list the {}: Nova answered 403: Policy doesn't allow os_compute_api:{} to be"
    assert take(member_edge).unavailable == {
        'hosts': f'{words} performed.'.format('hypervisors', 'os-hypervisors:list-detail'),
        'aggregates': f'{words} performed.'.format('aggregates', 'os-aggregates:index'),
    }


# -- failures


PARTS = {
    '/os-server-groups': 'server_groups',
    '/os-hypervisors/detail': 'hosts',
    '/os-aggregates': 'aggregates',
    '/os-services': 'availability_zones',
    '/allocation_candidates': 'resources',
    '/flavors/detail': 'flavors',
    '/limits': 'quotas',
}


@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
@pytest.mark.parametrize('url', PARTS)
def test_a_403_makes_a_part_unknown_and_other_failures_are_errors(edge, url, failure):
    edge.fail('GET', url, failure)

    if failure is at_edge.FORBIDDEN:
        taken = take(edge)
        assert failure.words in taken.unavailable[PARTS[url]]
    else:
        with pytest.raises(CloudError, match='could not (list|read) the') as caught:
            take(edge)
        assert failure.words in str(caught.value)


@pytest.mark.parametrize('failure', [at_edge.FORBIDDEN, at_edge.SERVER_ERROR], ids=str)
def test_forbidden_servers_make_the_members_unknown(member_edge, failure):
    server = member_edge.nova.boot(member_edge.nova.add_group('web'), 'cmp-1')
    member_edge.fail('GET', '/servers/detail', failure)

    if failure is at_edge.SERVER_ERROR:
        with pytest.raises(CloudError, match='could not list the servers: '):
            take(member_edge)
        return
    taken = take(member_edge)
    assert failure.words in taken.unavailable['members']
    assert taken.server_groups[0].members == (Member(server),)


def test_without_placements_answer_the_resources_are_unknown(edge):
    edge.fail('GET', '/allocation_candidates', at_edge.FORBIDDEN)
    found = hosts(edge, unknown=('resources',))
    assert {host.resources for host in found.values()} == {None}
    assert {host.traits for host in found.values()} == {frozenset()}


def test_a_cloud_without_placement_is_an_error():
    with Edge(hosts=HOSTS) as edge, pytest.raises(CloudError, match='could not find Placement'):
        take(edge)


@pytest.mark.parametrize(
    ('url', 'body'),
    [
        ('/os-hypervisors/detail', {'hypervisors': [{'id': 'x', 'service': None}]}),
        ('/os-services', {'services': [{'host': 'cmp-1'}]}),
        ('/os-aggregates', {'aggregates': [{'uuid': 'x'}]}),
        ('/flavors/detail', {'flavors': [{'id': 'x', 'extra_specs': {}}]}),
        ('/allocation_candidates', {}),
        ('/allocation_candidates', {'provider_summaries': []}),
        ('/allocation_candidates', {'provider_summaries': {'x': {}}}),
        ('/os-hypervisors/detail', []),
    ],
)
def test_malformed_answers_are_errors(edge, url, body):
    edge.fail('GET', url, Failure('malformed', '', 200, body))
    with pytest.raises(CloudError, match='could not list the '):
        take(edge)


def test_hidden_extra_specs_make_the_flavors_unknown(edge):
    body = {'flavors': [{'id': 'x', 'name': 'small'}]}
    edge.fail('GET', '/flavors/detail', Failure('hidden', '', 200, body))
    taken = take(edge)
    assert taken.flavors is None
    assert taken.unavailable == {'flavors': 'Nova does not show their extra specs'}


# -- older clouds


@pytest.mark.parametrize(
    ('offered', 'unknown'),
    [
        ('2.61', ()),
        ('2.60', ('flavors',)),
        ('2.53', ('flavors',)),
        ('2.52', ('hosts', 'flavors')),
        ('2.40', ('hosts', 'aggregates', 'flavors')),
        ('2.1', ('hosts', 'aggregates', 'flavors')),
        ('', ('hosts', 'aggregates', 'flavors')),
    ],
)
def test_parts_that_an_older_nova_lacks_are_unknown(offered, unknown):
    with Edge(offered, hosts=HOSTS, services=BOTH, flavors=(), aggregates=()) as edge:
        edge.nova.boot(edge.nova.add_group('web'), 'cmp-1')
        taken = take(edge)

    assert tuple(taken.unavailable) == unknown
    for part in unknown:
        assert getattr(taken, part) is None
        assert 'is needed' in taken.unavailable[part]
    assert taken.quotas is not None
    assert taken.availability_zones == {'nova', 'az1'}


def test_an_older_placement_makes_the_resources_unknown(edge):
    edge.placement.newest = '1.28'
    found = hosts(edge, unknown=('resources',))
    assert found['cmp-1'].resources is None
    assert edge.placement.asked == []


@pytest.mark.parametrize(('newest', 'is_empty'), [('1.35', False), ('1.39', True)])
def test_candidates_need_hosts_and_a_recent_placement(edge, newest, is_empty):
    edge.placement.newest = newest
    taken = take(edge)
    if is_empty:
        taken = replace(taken, hosts=())
    edge.placement.asked.clear()
    operator = clients.OperatorClient(edge.connection())
    assert snapshot.with_candidates(operator, taken, 'resources=VCPU%3A1') == taken
    assert edge.placement.asked == []


#: A query that forbids a trait which does not exist.
WRONG = 'resources=VCPU%3A1&required=%21CUSTOM_NOPE'


def test_a_rejected_query_is_kept_with_the_names_that_exist(edge):
    operator, taken = clients.OperatorClient(edge.connection()), take(edge)
    found = snapshot.with_candidates(operator, taken, WRONG)
    assert found.rejected == {WRONG: 'No such trait(s): CUSTOM_NOPE.'}
    assert found.traits == {'COMPUTE_NODE', 'COMPUTE_VOLUME_EXTEND'}
    assert found.resource_classes == {'VCPU', 'MEMORY_MB', 'DISK_GB'}
    assert (found.hosts, found.answered) == (taken.hosts, frozenset())


def test_a_rejected_query_is_kept_without_hidden_names(edge):
    operator, taken = clients.OperatorClient(edge.connection()), take(edge)
    edge.fail('GET', '/traits', at_edge.FORBIDDEN)
    found = snapshot.with_candidates(operator, taken, WRONG)
    assert (len(found.rejected), found.traits, found.resource_classes) == (1, None, None)


def test_only_a_snapshot_for_any_question_has_the_names(edge):
    known = whole_cloud.fetch(clients.of(edge.connection()))
    assert known.traits >= {*TRAITS}
    assert known.resource_classes >= {'VCPU'}
    named = snapshot.take(clients.of(edge.connection()), server_groups=())
    assert (named.traits, named.resource_classes) == (None, None)


@pytest.mark.parametrize(
    ('url', 'skip', 'wanted', 'part'),
    [
        ('/os-services', 0, None, 'availability_zones'),
        ('/servers/detail', 0, None, 'members'),
        ('/servers/detail', 0, 'web', 'members'),
        ('/servers/detail', 1, 'web', 'members'),
        ('/os-aggregates', 0, None, 'aggregates'),
        ('/flavors/detail', 0, None, 'flavors'),
        ('/limits', 0, None, 'quotas'),
        ('/os-server-groups', 0, None, 'server_groups'),
    ],
)
def test_a_forbidden_part_is_named(edge, url, skip, wanted, part):
    group = edge.nova.add_group('web', project_id=PROJECT)
    edge.nova.boot(group, 'cmp-1', project=PROJECT)
    edge.nova.boot(group, None, status='BUILD', project=PROJECT)
    edge.fail('GET', url, at_edge.FORBIDDEN, skip=skip)
    taken = take(edge, server_groups=wanted)
    assert [*taken.unavailable] == [part]
    assert at_edge.FORBIDDEN.words in taken.unavailable[part]


@pytest.mark.parametrize('is_forbidden', [False, True])
def test_servers_of_hints_are_unknown_without_the_migrations(edge, is_forbidden):
    server = edge.nova.boot(edge.nova.add_group('web', project_id=PROJECT), 'cmp-1')
    if is_forbidden:
        edge.fail('GET', '/os-migrations', at_edge.FORBIDDEN)
    taken = take(edge, server_groups=(), servers=[server])
    if is_forbidden:
        assert taken.servers is None
        assert taken.unavailable['servers'] == taken.unavailable['members']
        assert at_edge.FORBIDDEN.words in taken.unavailable['servers']
    else:
        assert [each.host for each in taken.servers] == ['cmp-1']
        assert 'servers' not in taken.unavailable
