"""Each stage sends few requests, and leaves undecided requests to the whole cloud."""

from typing import ClassVar

import pytest

from senlin_affinity.answers import disclosure, hook
from senlin_affinity.cloud import clients, fetch, whole_cloud
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient, RecentReads
from senlin_affinity.constraints.base import Constraint
from senlin_affinity.model.cloud import OtherHosts
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.numbers import at_most
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.policy.properties import TYPE
from senlin_affinity.policy.senlin_data import Placement, Refusal
from senlin_affinity.preflight import candidates, sample
from senlin_affinity.preflight.question import Question
from tests.support.edge import FORBIDDEN, SERVER_ERROR, TIMEOUT, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeAggregate, FakeHost, FakeMigration
from tests.support.fake_placement import SHARING, FakeProvider
from tests.support.our_constraints import OURS
from tests.support.values import replace

OWNER, ADMIN = 'demo', 'admin'
#: A sample has ten spare hosts.
HOSTS = tuple(FakeHost(f'cmp-{number}') for number in range(14))
ZONE = FakeAggregate('one', tuple(each.host for each in HOSTS), {'availability_zone': 'az1'})
CONSTRAINTS = tuple(constraint() for constraint in OURS)
RARE = 'CUSTOM_RARE'
FILTER = 'AggregateInstanceExtraSpecsFilter'
AMOUNTS = {'VCPU': (64, 0), 'MEMORY_MB': (4096, 0), 'DISK_GB': (99, 0)}
#: The query for the flavor m1.tiny.
FOR_TINY = (
    'resources=DISK_GB%3A1%2CMEMORY_MB%3A64%2CVCPU%3A1&root_required=%21COMPUTE_STATUS_DISABLED'
)
PROFILE = {'properties': {'flavor': 'm1.tiny', 'image': 'cirros'}}
RESERVED = {
    'reservations_enforced_by': 'nova',
    'required_member_prefix': 'reservation:',
    'forbidden_member_prefixes': ('reservation:',),
}


@pytest.fixture
def cloud():
    with make() as edge:
        yield edge


def make(**more):
    images = FakeGlance(FakeImage('cirros'))
    given = {'hosts': HOSTS, 'services': ('compute', 'placement'), 'glance': images}
    return Edge(**given | more)


def scale(
    cloud,
    count=2,
    *,
    members=(),
    who=OWNER,
    project=None,
    flavor='m1.tiny',
    policy='anti-affinity',
    group=None,
    profile=None,
    **wanted,
):
    """Return the request for more nodes of a cluster whose group has members on these hosts."""
    own = f'{who}-project'
    group = group or cloud.nova.add_group('web', policy, project_id=own)
    for host in members:
        cloud.nova.boot(group, host, project=own)
    question = Question(
        count,
        server_group=group,
        policy={'type': TYPE, 'version': '1.1', 'properties': wanted},
        profile={'properties': {'flavor': flavor, **(profile or {'image': 'cirros'})}},
        project_id=project or own,
    )
    return question


def clients_of(cloud, who=OWNER):
    """Return the clients of an administrator, or of another owner beside the operator."""
    if who == ADMIN:
        return clients.of(cloud.connection(who))
    return Clients(OwnerClient(cloud.connection(who)), OperatorClient(cloud.connection(ADMIN)))


def fetched(cloud, request, who=OWNER, constraints=CONSTRAINTS, **more):
    return fetch.fetch(request, constraints, clients_of(cloud, who), **more)


def placed(request, found, constraints=CONSTRAINTS):
    return hook.place_nodes(request, constraints, found)


def accepts(found):
    return found.rest is OtherHosts.UNKNOWN and bool(found.hosts)


def rejects_by_quota(found):
    return found.rest is OtherHosts.UNKNOWN and found.hosts is None


def reason(request, view):
    answer = placed(request, view).answer
    assert isinstance(answer, Refusal), answer
    return answer.reason


def rare_request(cloud, count=9, *, hosts=4, **more):
    """Return a request with a flavor that requires the trait of a few hosts."""
    cloud.nova.add_flavor('rare', extra_specs={f'trait:{RARE}': 'required'})
    providers = cloud.placement.providers
    for number in range(hosts):
        providers[number] = replace(providers[number], traits=(RARE,))
    return scale(cloud, count, flavor='rare', **more)


def fill(cloud, *numbers, left=0):
    """Leave this much memory on the hosts."""
    for number in numbers:
        one = cloud.placement.providers[number]
        memory = {'MEMORY_MB': (left + 1, 1)}
        cloud.placement.providers[number] = replace(one, resources={**one.resources, **memory})


# --- a sample


@pytest.mark.parametrize('who', [ADMIN, OWNER])
def test_a_sample_is_enough_to_accept(cloud, who):
    view = fetched(cloud, scale(cloud, 2, members=['cmp-1'], who=who), who)
    assert accepts(view)
    assert len(view.hosts) == 2 + 1 + 10
    assert view.quotas['instances'].of_user is not None


def test_a_sample_in_a_zone_is_restricted_to_its_aggregate(cloud):
    cloud.nova.aggregates = (ZONE,)
    assert accepts(fetched(cloud, scale(cloud, availability_zone='az1')))
    assert ZONE.id in cloud.placement.asked[0]


def test_a_sample_accepts_without_the_quota_of_the_user(cloud):
    request = scale(cloud)
    cloud.fail('GET', f'/os-quota-sets/{OWNER}-project/detail', FORBIDDEN)
    assert accepts(fetched(cloud, request))


@pytest.mark.parametrize('who', [ADMIN, OWNER])
@pytest.mark.parametrize(('member', 'count'), [('cmp-0', 2), ('cmp-13', 3)])
def test_a_sample_of_all_candidates_is_enough_beside_members(cloud, who, member, count):
    request = rare_request(cloud, count, hosts=13, members=[member, 'cmp-13'], who=who)
    assert accepts(fetched(cloud, request, who))
    of_project = {'all_tenants': '1', 'project_id': f'{OWNER}-project'}
    servers, deleted = (each for each in cloud.nova.asked if each.path == '/servers/detail')
    assert servers.query == {'limit': '1000', **(of_project if who == OWNER else {})}
    assert deleted.query['status'] == 'SOFT_DELETED'
    (listed,) = (each.path for each in cloud.nova.asked if 'hypervisors' in each.path)
    assert listed == '/os-hypervisors/detail'


@pytest.mark.parametrize('status', ['VERIFY_RESIZE', 'SOFT_DELETED'])
def test_a_sample_is_not_enough_if_nova_may_count_more_hosts_of_members(cloud, status):
    request = rare_request(cloud, 3, hosts=13, members=['cmp-13'])
    cloud.nova.boot(cloud.nova.groups[0]['id'], 'cmp-13', project=f'{OWNER}-project', status=status)
    if status == 'SOFT_DELETED':  # no group shows it
        cloud.nova.groups[0]['members'].pop()
    assert fetched(cloud, request).rest is OtherHosts.NONE


def test_a_sample_is_not_enough_if_the_operator_may_not_list_the_servers(cloud):
    request = rare_request(cloud, 3, hosts=13, members=['cmp-13'])
    cloud.fail('GET', '/servers/detail', FORBIDDEN, times=1)
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('name', ['cmp-13.example.com', 'domain-c7.b52f', 'cmp-2'])
def test_a_sample_finds_the_host_of_a_member_by_the_id_of_its_hypervisor(name):
    with make(hosts=(*HOSTS[:13], FakeHost('cmp-13', name))) as cloud:
        request = rare_request(cloud, 3, hosts=13, members=['cmp-13'])
        assert accepts(fetched(cloud, request))


def test_a_member_is_on_a_candidate_whose_provider_has_another_name(cloud):
    request = rare_request(cloud, 3, hosts=13, members=['cmp-12'])
    cloud.placement.providers[12] = replace(cloud.placement.providers[12], name='old')
    assert fetched(cloud, request).rest is OtherHosts.NONE


def test_a_sample_is_not_enough_if_a_member_is_on_a_needed_host(cloud):
    request = rare_request(cloud, 3, hosts=13, members=['cmp-12'])
    assert fetched(cloud, request).rest is OtherHosts.NONE


def test_a_member_without_a_host_may_be_on_any_candidate(cloud):
    request = rare_request(cloud, 3, hosts=13, members=[None])
    assert fetched(cloud, request).rest is OtherHosts.NONE


def test_members_are_not_told_apart_on_a_service_host_with_two_candidates():
    """Nova compares service hosts, and the sample has providers."""
    nodes = FakeHost('cmp-13', 'node-1'), FakeHost('cmp-13', 'node-2')
    with make(hosts=(*HOSTS[:11], *nodes)) as cloud:
        request = rare_request(cloud, 3, hosts=13, members=['cmp-12'])
        assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize(('policy', 'fits'), [('anti-affinity', False), ('soft-affinity', True)])
def test_nodes_of_ironic_share_a_service_host(policy, fits):
    """Each service host of two takes one member, however many nodes it has."""
    nodes = [FakeHost(f'ironic-{number % 2}', f'node-{number}') for number in range(20)]
    with make(hosts=nodes) as cloud:
        cloud.placement.providers = [
            replace(each, resources={'CUSTOM_NODE': (1, 0)}) for each in cloud.placement.providers
        ]
        none = {f'resources:{name}': '0' for name in AMOUNTS}
        cloud.nova.add_flavor('node', extra_specs={**none, 'resources:CUSTOM_NODE': '1'})
        request = scale(cloud, 3, flavor='node', policy=policy)
        answer = placed(request, fetched(cloud, request)).answer
    assert isinstance(answer, Placement if fits else Refusal)


def test_an_older_nova_does_not_identify_the_candidates(cloud):
    cloud.nova.newest = '2.52'
    request = rare_request(cloud, 3, hosts=13, members=['cmp-13'])
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('who', [ADMIN, OWNER])
@pytest.mark.parametrize(('instances', 'asked'), [(1, 0), (3, 1)], ids=['nothing', 'some'])
def test_a_sample_is_enough_to_reject_by_the_quota(cloud, who, instances, asked):
    cloud.nova.limits |= {'maxTotalInstances': instances, 'totalInstancesUsed': 1}
    request = scale(cloud, 5, who=who)
    view = fetched(cloud, request, who)
    assert rejects_by_quota(view)
    assert len(cloud.placement.asked) == asked
    expected = f'{at_most(instances - 1, 5)}; the project has 1 of {instances} instances'
    assert expected in reason(request, view)
    known = 'the hosts accept what the quota allows' if asked else 'no host was read'
    assert placed(request, view).for_operators.endswith(f'; {known}')


@pytest.mark.parametrize('instances', [-1, 0, 3])
def test_a_lasting_answer_depends_neither_on_free_capacity_nor_on_quotas(cloud, instances):
    cloud.nova.limits |= {'maxTotalInstances': instances, 'totalInstancesUsed': 0}
    view = fetched(cloud, rare_request(cloud), is_lasting=True)
    assert view.rest is OtherHosts.NONE


@pytest.mark.parametrize(('count', 'members', 'limits'), [(30, 0, [30, 40]), (2, 3, [12])])
def test_a_larger_sample_follows_one_that_may_lack_hosts(cloud, count, members, limits):
    """Each host accepts one server; without a limit per host, 20 hosts are requested first."""
    cloud.nova.hosts = tuple(FakeHost(f'cmp-{number}', vcpus=1) for number in range(60))
    cloud.placement.providers = [
        FakeProvider(
            cloud.nova.hypervisor_id(n), {'VCPU': (1, 0), 'MEMORY_MB': (99, 0), 'DISK_GB': (9, 0)}
        )
        for n in range(60)
    ]
    policy = 'soft-anti-affinity'
    request = scale(
        cloud, count, policy=policy, members=['cmp-1'] * members, servergroup={'policies': policy}
    )
    assert accepts(fetched(cloud, request))
    assert [int(each.rpartition('=')[2]) for each in cloud.placement.asked] == limits


# --- all candidates

# the hosts that differ, the hosts of the members, the number of wanted and of fitting servers
REJECTED = [
    ('no members', {}, (), 9, 4),
    ('members on candidates and elsewhere', {}, ('cmp-1', 'cmp-1', 'cmp-9'), 9, 3),
    ('members on all candidates', {}, ('cmp-0', 'cmp-1', 'cmp-2', 'cmp-3'), 1, 0),
    ('a host that is down', {1: {'state': 'down'}}, (), 4, 3),
    ('a disabled host', {1: {'status': 'disabled'}}, ('cmp-2',), 3, 2),
    ('a hypervisor with a domain', {1: {'hypervisor_hostname': 'cmp-1.domain'}}, ('cmp-1',), 4, 3),
]


@pytest.mark.parametrize('who', [ADMIN, OWNER])
@pytest.mark.parametrize(('name', 'change', 'members', 'count', 'fits'), REJECTED)
def test_all_candidates_are_enough_to_reject(name, change, members, count, fits, who):
    hosts = [replace(host, **change.get(number, {})) for number, host in enumerate(HOSTS)]
    with make(hosts=hosts) as cloud:
        request = rare_request(cloud, count, members=members, who=who)
        view = fetched(cloud, request, who)
        assert view.rest is OtherHosts.NOT_OFFERED
        assert {host.host for host in view.hosts} == {f'cmp-{n}' for n in range(4)}
        assert reason(request, view).startswith(f'does not fit: {at_most(fits, count)}; ')
        result = placed(request, view)
        log = result.answer.reason if who == ADMIN else result.refusal
        assert f'of the 4 host(s) that Placement offers: does not fit: {fits} of' in log
        assert 'candidates.not_offered' in log


@pytest.mark.parametrize('who', [ADMIN, OWNER])
def test_many_candidates_reject_without_their_hypervisors(cloud, who):
    """Each of 11 hosts takes one server, wherever the members are."""
    request = rare_request(cloud, 12, hosts=11, members=['cmp-1', 'cmp-13'], who=who)
    before = len(cloud.nova.asked)
    view = fetched(cloud, request, who)
    assert view.rest is OtherHosts.NOT_OFFERED
    assert not any('hypervisors' in each.path for each in cloud.nova.asked[before:])
    assert reason(request, view).startswith(f'does not fit: {at_most(11, 12)}; ')
    known = 'of the 11 host(s) that Placement offers: does not fit: 11 of 12 placed'
    assert known in placed(request, view).for_operators


@pytest.mark.parametrize(
    ('number', 'change'),
    [(11, {}), (11, {'state': 'down'}), (11, {'status': 'disabled'})],
    ids=['a member', 'a host that is down', 'a disabled host'],
)
def test_many_candidates_of_which_a_state_decides_need_the_cloud(number, change):
    hosts = [replace(HOSTS[0], **change), *HOSTS[1:]]
    with make(hosts=hosts) as cloud:
        members = [] if change else ['cmp-0']
        request = rare_request(cloud, number, hosts=number, members=members)
        view = fetched(cloud, request)
        assert view.rest is OtherHosts.NONE
        assert at_most(number - 1, number) in reason(request, view)


def test_all_candidates_are_enough_to_accept(cloud):
    request = rare_request(cloud, 3, members=['cmp-1'])
    view = fetched(cloud, request)
    assert view.rest is OtherHosts.NOT_OFFERED
    assert isinstance(placed(request, view).answer, Placement)


def test_a_candidate_is_a_host_with_its_resources_and_grants(cloud):
    size = {'VCPU': 64, 'MEMORY_MB': 131072, 'DISK_GB': 2000}
    providers = cloud.placement.providers
    used = {name: (size[name] + number, number) for number, name in enumerate(size)}
    providers[1] = replace(providers[1], resources=used)
    request = rare_request(cloud, 9, hosts=2, members=['cmp-1', 'cmp-9'])
    snapshot = fetched(cloud, request)
    assert (snapshot.user_id, snapshot.project_id) == ('demo-id', 'demo-project')
    query = f'required={RARE}&{FOR_TINY}'
    assert snapshot.hosts[1] == Host(
        'cmp-1',
        'cmp-1',
        'QEMU',
        traits=frozenset({RARE}),
        resources={
            name: Resource(capacity, use, max_unit=size[name])
            for name, (capacity, use) in used.items()
        },
        grants=(CandidateCapacity(query, 64, 64),),
        servers=1,
    )
    assert (snapshot.answered, snapshot.closed_zones) == ({query}, frozenset())
    (group,) = snapshot.server_groups
    elsewhere = next(each for each in group.members if each.host != 'cmp-1')
    assert elsewhere.host == elsewhere.host_id
    assert snapshot.soft_deleted == ()


def test_no_request_for_all_candidates_grows_with_the_cloud(cloud):
    request = rare_request(cloud, members=['cmp-1'])
    before = len(cloud.nova.requests())
    assert fetched(cloud, request).rest is OtherHosts.NOT_OFFERED
    asked = [each.split('?')[0] for each in cloud.nova.requests()[before:]]
    ids = [cloud.nova.hypervisor_id(number) for number in range(4)]
    hosts = [each for each in asked if 'hypervisors' in each]
    assert sorted(hosts) == sorted(f'GET /os-hypervisors/{each}' for each in ids)
    assert not {'GET /os-services', 'GET /os-aggregates'} & {*asked}
    assert len(cloud.placement.asked) == 2
    assert cloud.placement.asked[1].endswith('&limit=5')  # one more than all candidates


def test_a_provider_without_a_hypervisor_is_not_a_host(cloud):
    request, providers = rare_request(cloud), cloud.placement.providers
    providers[0] = replace(providers[0], uuid='7d1d4b4c-0f8f-4d3b-a8ea-2f1f1ed0e1c1')
    assert len(fetched(cloud, request).hosts) == 3


@pytest.mark.parametrize(
    'limits',
    [{'maxTotalCores': 2, 'totalCoresUsed': 0}, {'maxServerGroupMembers': 3}],
    ids=['cores', 'members of the group'],
)
def test_a_quota_limits_the_candidates_further(cloud, limits):
    cloud.nova.limits |= limits
    request = rare_request(cloud, 9, hosts=14, members=['cmp-13'])
    assert 'at most 2 of 9' in reason(request, fetched(cloud, request))


@pytest.mark.parametrize('name', ['cmp-1', 'cmp-1.domain'])
def test_a_constraint_on_aggregates_restricts_the_candidates(cloud, name):
    with make(hosts=(HOSTS[0], replace(HOSTS[1], hypervisor_hostname=name), *HOSTS[2:])) as cloud:
        request = by_aggregates(cloud)
        view = fetched(cloud, request)
        assert view.rest is OtherHosts.NOT_OFFERED
        assert len(view.hosts) == 3
        assert 'at most 3 of 4' in reason(request, view)


def by_aggregates(cloud, hosts=3):
    """Return a request with a flavor for the hosts of one aggregate."""
    cloud.nova.add_flavor('fast', extra_specs={'disk': 'fast'})
    cloud.nova.add_aggregate('fast', [host.host for host in HOSTS[:hosts]], disk='fast')
    request = scale(cloud, 4, flavor='fast')
    return replace(request, enabled_filters=(*DEFAULT_FILTERS, FILTER))


@pytest.mark.parametrize('is_known', [True, False])
def test_migrations_and_deleted_servers_count_if_the_operator_may_read_them(cloud, is_known):
    request = rare_request(cloud, members=['cmp-1'])
    if not is_known:
        cloud.fail('GET', '/os-migrations', FORBIDDEN)
        cloud.fail('GET', '/servers/detail', FORBIDDEN, skip=1, times=1)  # the owner's succeeds
    view = fetched(cloud, request)
    assert (view.soft_deleted is not None) == is_known
    assert view.rest is OtherHosts.NOT_OFFERED


@pytest.mark.parametrize('who', [ADMIN, OWNER])
def test_a_migration_of_a_member_elsewhere_counts_on_a_candidate(cloud, who):
    request = rare_request(cloud, 4, members=['cmp-9'], who=who)
    cloud.nova.migrations = [FakeMigration(cloud.nova.servers[-1].id, 'cmp-1', 'cmp-9')]
    assert 'at most 3 of 4' in reason(request, fetched(cloud, request, who))


def test_hypervisors_missing_from_a_page_are_fetched(cloud):
    """A hypervisor without a service is left out, and the page has no link to the next one."""
    cloud.nova.hosts = tuple(FakeHost(f'cmp-{number}') for number in range(40))
    cloud.placement.providers = [
        FakeProvider(cloud.nova.hypervisor_id(n), {**AMOUNTS}, (RARE,) * (n % 8 == 0))
        for n in range(40)
    ]
    request = rare_request(cloud, 5, hosts=0)
    send = cloud.nova.send

    def without_one(*arguments):
        reply = send(*arguments)
        if arguments[2] == '/os-hypervisors/detail':
            reply.body['hypervisors'] = reply.body['hypervisors'][1:]
            reply.body.pop('hypervisors_links', None)
        return reply

    cloud.nova.send = without_one
    view = fetched(cloud, request)
    assert len(view.hosts) == 5
    assert isinstance(placed(request, view).answer, Placement)


def test_a_host_that_only_nova_has_in_a_reserved_aggregate_is_a_candidate(cloud):
    request = by_aggregates(cloud)
    cloud.nova.add_aggregate('fast-b', ['cmp-3'], disk='fast')
    uuid = cloud.nova.add_aggregate('reserved', ['cmp-3', 'cmp-9'], **{'reservation:x': '1'})
    members = cloud.placement._members
    cloud.placement._members = lambda each: (
        members(each) - ({cloud.nova.hypervisor_id(3)} if each == f'in:{uuid}' else set())
    )
    view = fetched(cloud, replace(request, options=RESERVED))
    assert isinstance(placed(request, view).answer, Placement)


class Licensed(Constraint):
    """A constraint of another package, on an aggregate or a trait."""

    name, order, summary = 'licence', 300, 'licensed hosts'
    needs, reads = ('hosts', 'aggregates'), ('aggregates', 'traits')
    reasons: ClassVar = {'licence.ok': Reason('licensed'), 'licence.no': Reason('no licence')}

    def check(self, asked, host, cloud):
        is_licensed = host.aggregates or RARE in host.traits
        return Verdict.passed('licence.ok') if is_licensed else Verdict.rejected('licence.no')


def test_a_constraint_on_aggregates_and_traits_does_not_restrict_the_candidates(cloud):
    cloud.nova.add_aggregate('licensed', ['cmp-0', 'cmp-1'])
    request = rare_request(cloud, 5, hosts=8)
    request, rules = replace(request, profile=PROFILE), (*CONSTRAINTS, Licensed())
    view = fetched(cloud, request, constraints=rules)
    assert isinstance(placed(request, view, rules).answer, Placement)


MALFORMED = [
    ('/allocation_candidates', 'allocation_requests', None),
    ('/allocation_candidates', 'provider_summaries', []),
    ('/resource_providers', 'resource_providers', [{'uuid': 'a', 'name': None}]),
]


@pytest.mark.parametrize(('path', 'key', 'value'), MALFORMED)
def test_a_malformed_answer_of_placement_is_an_error_of_the_cloud(cloud, path, key, value):
    request = by_aggregates(cloud)
    send = cloud.placement.send

    def malformed(*arguments):
        reply = send(*arguments)
        if arguments[1] == path:
            reply.body[key] = value
        return reply

    cloud.placement.send = malformed
    with pytest.raises(CloudError, match='the answer'):
        fetched(cloud, request)


# --- changes with which Placement offers other hosts


def test_a_smaller_flavor_is_named_if_a_sample_shows_that_all_servers_fit(cloud, monkeypatch):
    monkeypatch.setattr(sample, 'SPARE', 2)
    for flavor, ram in (('large', 512), ('small', 400), ('less', 390)):
        cloud.nova.add_flavor(flavor, extra_specs={f'trait:{RARE}': 'required'}, ram=ram)
    request = replace(rare_request(cloud, 8, hosts=14), profile={'properties': {'flavor': 'large'}})
    fill(cloud, *range(4), left=512)
    fill(cloud, *range(4, 13), left=395)
    fill(cloud, 13)
    text = reason(request, fetched(cloud, request))
    assert 'flavor: less (8 of 8)' in text
    assert 'flavor: small' not in text


@pytest.mark.parametrize('spare', [2, 6])
def test_another_zone_is_named_if_a_sample_shows_that_all_servers_fit(cloud, monkeypatch, spare):
    hosts = [replace(host, zone='az1' if n < 3 else 'az2') for n, host in enumerate(HOSTS)]
    cloud.nova.hosts = tuple(hosts)
    for zone in ('az1', 'az2'):
        found = [host.host for host in hosts if host.zone == zone]
        cloud.nova.add_aggregate(zone, found, availability_zone=zone)
    monkeypatch.setattr(sample, 'SPARE', spare)
    request = scale(cloud, 9, availability_zone='az1')
    view = fetched(cloud, request)
    assert view.rest is OtherHosts.NOT_OFFERED
    text = reason(request, view)
    assert 'the servers must be in zone az1' in text
    assert ('no availability_zone (9 of 9)' in text) == (spare == 2)


@pytest.mark.parametrize(
    ('offered', 'is_hidden', 'names'),
    [('2.60', False, {'rare'}), ('2.61', False, {'rare', 'm1.tiny'}), (None, True, set())],
)
def test_all_flavors_are_known_if_their_extra_specs_are(offered, is_hidden, names):
    with make(newest_microversion=offered) as cloud:
        if is_hidden:
            cloud.nova.send = without_specs(cloud.nova.send)
        view = fetched(cloud, rare_request(cloud))
    assert {each.name for each in view.flavors or ()} == names


def without_specs(send):
    """Return ``send`` of a Nova that hides the extra specs of flavors."""

    def hiding(*arguments):
        reply = send(*arguments)
        if '/flavors/' in arguments[2]:
            for each in reply.body.get('flavors', [reply.body.get('flavor', {})]):
                each.pop('extra_specs', None)
        return reply

    return hiding


# --- an affinity group with members


def test_a_shelved_member_of_an_affinity_group_is_on_no_host(cloud):
    request = scale(cloud, 3, policy='affinity', members=['cmp-1'])
    group = request.server_group
    cloud.nova.boot(group, None, status='SHELVED_OFFLOADED', project=f'{OWNER}-project')
    view = fetched(cloud, request)
    assert view.rest is OtherHosts.NOT_OFFERED
    assert [host.host for host in view.hosts] == ['cmp-1']
    asked = [each for each in cloud.nova.asked if each.path.startswith('/os-hypervisors')]
    assert [each.query for each in asked] == [{'hypervisor_hostname_pattern': 'cmp-1'}]


@pytest.mark.parametrize('who', [ADMIN, OWNER])
@pytest.mark.parametrize('left', [0, 600, 9999])
def test_affinity_needs_the_host_of_the_members_only(cloud, left, who):
    cloud.nova.add_flavor('small', ram=512)
    members = ('cmp-1', 'cmp-1')
    request = scale(cloud, 3, policy='affinity', members=members, flavor='small', who=who)
    fill(cloud, 1, left=left)
    view = fetched(cloud, request, who)
    assert view.rest is OtherHosts.NOT_OFFERED
    assert f'&in_tree={cloud.nova.hypervisor_id(1)}&limit=' in cloud.placement.asked[0]
    if left == 9999:
        assert placed(request, view).answer == hook.scheduler_chooses(request)
    else:
        expected = f'{at_most(left // 512, 3)}; the servers of server group web must share'
        assert expected in reason(request, view)


def other_driver(cloud):
    cloud.nova.hosts = tuple(replace(each, kind='ironic') for each in HOSTS)


def other_name(cloud):
    cloud.nova.hosts = tuple(replace(each, hypervisor_hostname='other') for each in HOSTS)


def two_hypervisors(cloud):
    cloud.nova.hosts = (*cloud.nova.hosts[:-1], FakeHost('cmp-1', 'cmp-1.more'))


@pytest.mark.parametrize('change', [other_driver, other_name, two_hypervisors])
def test_an_affinity_group_on_an_unknown_hypervisor_needs_the_cloud(cloud, change):
    change(cloud)
    request = scale(cloud, policy='affinity', members=['cmp-1'])
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('members', [('cmp-1', 'cmp-2'), (None,), ('cmp-1', None)])
def test_an_affinity_group_not_on_one_host_needs_the_cloud(cloud, members):
    request = scale(cloud, policy='affinity', members=members)
    assert fetched(cloud, request).rest is OtherHosts.NONE


# --- the whole cloud

UNDECIDED = [
    ('a group that does not exist', {'group': '7d1d4b4c-0f8f-4d3b-a8ea-2f1f1ed0e1c1'}),
    ('another project', {'project': 'another'}),
    ('an unknown flavor', {'flavor': 'm1.none'}),
    ('no flavor', {'flavor': ''}),
    ('a required DRS host', {'enable_drs_extension': True}),
    ('a spread', {'spread': [{'by': 'rack'}]}),
    ('a spread over zones', {'spread': [{'by': 'availability_zone'}]}),
    ('a host in the profile', {'profile': {'availability_zone': 'nova:cmp-1'}}),
]


@pytest.mark.parametrize(('name', 'more'), UNDECIDED, ids=[row[0] for row in UNDECIDED])
def test_no_candidates_are_fetched_if_they_decide_nothing(cloud, name, more):
    request = scale(cloud, **more)
    assert fetched(cloud, request).rest is OtherHosts.NONE
    assert not [each for each in cloud.placement.asked if 'limit=' in each]


def test_two_spreads_need_the_cloud(cloud):
    cloud.nova.add_aggregate('one', [each.host for each in HOSTS], rack='r', power='p')
    request = scale(cloud, 1, spread=[{'by': 'rack'}, {'by': 'power'}])
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('url', ['/flavors/m1.tiny', '/limits', '/allocation_candidates'])
@pytest.mark.parametrize('failure', [FORBIDDEN, SERVER_ERROR], ids=str)
def test_the_whole_cloud_follows_a_request_that_fails(cloud, url, failure):
    request = scale(cloud)
    cloud.fail('GET', url, failure, times=1)
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('who', [ADMIN, OWNER])
def test_placement_s_rejection_is_explained_to_operators(cloud, who):
    """A tenant learns nothing about the traits that exist."""
    cloud.nova.add_flavor('nope', extra_specs={f'trait:{RARE}': 'forbidden'})
    request = scale(cloud, 2, flavor='nope', who=who)
    view = fetched(cloud, request, who)
    assert view.rest is OtherHosts.NONE
    assert cloud.placement.asked[-2:] == ['GET /traits?', 'GET /resource_classes?']
    assert view.rejected == {}  # the names explain it
    found = placed(request, view)
    why = f'Placement answers 400 for flavor nope: trait {RARE} does not exist'
    assert f'candidates.unknown_traits ({why})' in found.for_operators
    if who == OWNER:
        assert found.for_owner == f'does not fit: none of 2; {disclosure.NO_ROOM}'
    cloud.placement.created.add(RARE)
    assert accepts(fetched(cloud, request, who))


def test_placement_s_message_is_shown_if_the_names_are_hidden(cloud):
    cloud.nova.add_flavor('nope', extra_specs={f'trait:{RARE}': 'forbidden'})
    cloud.fail('GET', '/traits', FORBIDDEN)
    request = scale(cloud, 2, flavor='nope', who=ADMIN)
    why = f'Placement answers 400 for flavor nope: No such trait(s): {RARE}.'
    assert f'candidates.query_rejected ({why})' in reason(request, fetched(cloud, request, ADMIN))


def test_a_rejection_by_the_flavor_alone_is_explained_to_its_owner(cloud):
    groups = {'resources1:VCPU': '1', 'resources2:VCPU': '1'}
    cloud.nova.add_flavor('groups', extra_specs=groups)
    request = scale(cloud, 2, flavor='groups')
    answer = 'does not fit: none of 2; Placement rejects the request for flavor groups'
    assert reason(request, fetched(cloud, request)) == answer


def test_a_group_that_no_longer_exists_is_the_only_request(cloud):
    request = scale(cloud)
    cloud.nova.groups.clear()
    view = fetched(cloud, request)
    assert (view.server_groups, view.hosts) == ((), None)
    paths = [each.path for each in cloud.nova.asked]
    assert paths == [f'/os-server-groups/{request.server_group}']
    assert not cloud.placement.asked


def test_a_service_that_times_out_is_requested_once(cloud):
    request = scale(cloud)
    cloud.fail('GET', '/allocation_candidates', TIMEOUT)
    with pytest.raises(CloudError, match='timed out'):
        fetched(cloud, request)


def test_an_image_that_cannot_be_fetched_is_requested_once(cloud):
    request = scale(cloud)
    cloud.fail('GET', '/v2/images', TIMEOUT, times=2)  # with its retry
    assert 'timed out' in fetched(cloud, request).unavailable['image']


def test_an_older_placement_is_not_queried_for_candidates(cloud):
    cloud.placement.newest = '1.35'
    assert fetched(cloud, scale(cloud)).rest is OtherHosts.NONE


def shared(cloud, _request):
    one = cloud.placement.providers[1]
    cloud.placement.providers[1] = replace(one, traits=(RARE, SHARING))


def nested(cloud, _request):
    root = cloud.placement.providers[1].uuid
    gpu = FakeProvider('gpu', {'CUSTOM_GPU': (4, 0)}, parent=root, name='gpu')
    cloud.placement.providers.append(gpu)


def truncated(cloud, _request):
    cloud.placement.cut = 4


def without_memory(cloud, request):
    """Leave only nodes of Ironic, in a truncated answer that hides hosts with free memory."""
    cloud.placement.cut = 4
    cloud.placement.providers = [
        replace(each, resources={'CUSTOM_NODE': (1, 0)}) for each in cloud.placement.providers
    ]
    none = {f'resources:{name}': '0' for name in AMOUNTS}
    cloud.nova.add_flavor('node', extra_specs={**none, 'resources:CUSTOM_NODE': '1'})
    request.profile['properties']['flavor'] = 'node'


def hidden(cloud, _request):
    cloud.fail('GET', '/os-hypervisors/[0-9a-f-]{36}', FORBIDDEN)


def volume(_cloud, request):
    request.profile['properties'].pop('image')
    request.profile['properties']['block_device_mapping_v2'] = []


@pytest.mark.parametrize('change', [shared, nested, truncated, without_memory, hidden, volume])
def test_candidates_that_do_not_decide_need_the_cloud(cloud, change):
    request = rare_request(cloud)
    change(cloud, request)
    assert fetched(cloud, request).rest is OtherHosts.NONE


def test_the_log_contains_the_reason_of_a_missing_check(cloud):
    cloud.fail('GET', '/os-hypervisors.*', FORBIDDEN)
    request = rare_request(cloud)
    result = placed(request, fetched(cloud, request))
    assert isinstance(result.answer, Placement)
    assert 'could not list the hypervisors' in result.warning


def test_a_warning_counts_the_candidates(cloud):
    request = rare_request(cloud, preflight='warn')
    result = placed(request, fetched(cloud, request))
    assert isinstance(result.answer, Placement)
    assert 'of the 4 host(s) that Placement offers' in result.warning


def test_too_many_candidates_need_the_cloud(cloud, monkeypatch):
    monkeypatch.setattr(candidates, 'MOST', 3)
    assert fetched(cloud, rare_request(cloud)).rest is OtherHosts.NONE
    monkeypatch.setattr(candidates, 'MOST', 4)
    assert fetched(cloud, scale(cloud, 9, flavor='rare')).rest is OtherHosts.NOT_OFFERED


def test_an_enforced_scheduler_hint_needs_the_cloud(cloud):
    hints = {'different_host': ['5c0f0000-0000-4000-8000-000000000001']}
    filters = (*DEFAULT_FILTERS, 'DifferentHostFilter')
    request = replace(rare_request(cloud), scheduler_hints=hints, enabled_filters=filters)
    assert fetched(cloud, request).rest is OtherHosts.NONE
    assert not [each for each in cloud.placement.asked if f'limit={candidates.MOST + 1}' in each]


def test_aggregates_with_the_most_hosts_are_compared(cloud, monkeypatch):
    monkeypatch.setattr(fetch, '_MOST_MIRRORED', 3)
    assert fetched(cloud, by_aggregates(cloud)).rest is OtherHosts.NOT_OFFERED


@pytest.mark.parametrize('most', [2, 1000])
def test_aggregates_that_differ_in_placement_need_the_cloud(cloud, monkeypatch, most):
    """So are aggregates with too many hosts to compare."""
    monkeypatch.setattr(fetch, '_MOST_MIRRORED', most)
    request = by_aggregates(cloud)
    if most > 2:
        cloud.placement.lost.add('cmp-1')
    assert fetched(cloud, request).rest is OtherHosts.NONE


@pytest.mark.parametrize('is_full', [False, True])
def test_a_candidate_in_an_aggregate_is_compared_by_the_id_of_its_hypervisor(cloud, is_full):
    """A provider with another name that is no candidate needs the cloud."""
    request = replace(by_aggregates(cloud), count=5)
    cloud.placement.providers[1] = replace(cloud.placement.providers[1], name='old')
    fill(cloud, *([1] if is_full else []))
    view = fetched(cloud, request)
    assert view.rest is (OtherHosts.NONE if is_full else OtherHosts.NOT_OFFERED)
    assert at_most(3 - is_full, 5) in reason(request, view)


def test_a_provider_in_a_zone_may_have_another_name(cloud):
    names = [each.host for each in HOSTS]
    cloud.nova.add_aggregate('one', names[:7], availability_zone='az1')
    cloud.nova.add_aggregate('two', names[7:], availability_zone='az2')
    cloud.nova.hosts = [replace(each, zone=f'az{1 + (each.host in names[7:])}') for each in HOSTS]
    cloud.placement.providers = [
        replace(each, name=f'old-{each.name}') for each in cloud.placement.providers
    ]
    request = scale(cloud, 4, spread=[{'by': 'availability_zone'}])
    assert isinstance(placed(request, fetched(cloud, request)).answer, Placement)


def test_a_host_in_the_zone_only_in_placement_needs_the_cloud(cloud):
    uuid = cloud.nova.add_aggregate('az1', ['cmp-1', 'cmp-2'], availability_zone='az1')
    cloud.nova.hosts = tuple(
        replace(host, zone='az1') if host.host in ('cmp-1', 'cmp-2') else host for host in HOSTS
    )
    cloud.placement.stale['cmp-5'] = {uuid}
    request = scale(cloud, 6, availability_zone='az1')
    view = fetched(cloud, request)
    assert view.rest is OtherHosts.NONE
    assert 'at most 3 of 6' in reason(request, view)


# --- data that are cached for a minute


class Minutes:
    """Operations of one owner, whose operator's client keeps what it read."""

    def __init__(self, cloud):
        self.cloud, self.now = cloud, 0.0
        connection = cloud.connection(ADMIN)
        self._operator = OperatorClient(connection, recent=RecentReads(lambda: self.now))

    def run(self, request):
        """Return the view, and the paths of the requests to Nova."""
        before = len(self.cloud.nova.asked)
        both = Clients(OwnerClient(self.cloud.connection(OWNER)), self._operator)
        view = fetch.fetch(request, CONSTRAINTS, both)
        return view, [each.path for each in self.cloud.nova.asked[before:]]


def test_an_acceptance_reads_the_aggregates_once_a_minute(cloud):
    cloud.nova.aggregates = (ZONE,)
    request, minutes = scale(cloud, availability_zone='az1'), Minutes(cloud)
    for seconds, number in ((0, 1), (59, 0), (1, 1)):
        minutes.now += seconds
        view, asked = minutes.run(request)
        assert accepts(view)
        assert asked.count('/os-aggregates') == number


def test_a_rejection_reads_the_aggregates_again(cloud):
    cloud.nova.aggregates = (ZONE,)
    few, minutes = scale(cloud, availability_zone='az1'), Minutes(cloud)
    many = replace(few, count=20)
    minutes.run(few)
    view, asked = minutes.run(many)
    assert view.rest is OtherHosts.NOT_OFFERED
    assert asked.count('/os-aggregates') == 1
    assert asked.count('/limits') == 1
    other = FakeAggregate('two', ZONE.hosts, {'availability_zone': 'az2'})
    cloud.nova.aggregates = (other,)
    with pytest.raises(InvalidSpec, match='az1'):
        placed(many, minutes.run(many)[0])


def test_a_rejection_by_a_quota_reads_the_aggregates_again(cloud):
    cloud.nova.aggregates = (ZONE,)
    request, minutes = scale(cloud, 3, availability_zone='az1'), Minutes(cloud)
    minutes.run(replace(request, count=1))
    cloud.nova.limits['maxTotalInstances'] = 2
    view, asked = minutes.run(request)
    assert rejects_by_quota(view)
    assert asked.count('/os-aggregates') == 1


# --- hidden hosts


@pytest.mark.parametrize('has_read_before', [False, True])
def test_hosts_that_nobody_may_read_cost_one_request(cloud, has_read_before):
    request, own = scale(cloud), cloud.connection(OWNER)
    both = Clients(OwnerClient(own), OperatorClient(own, recent=RecentReads()))
    if has_read_before:
        fetch.fetch(request, CONSTRAINTS, both)
    before = len(cloud.nova.asked), len(cloud.placement.asked)
    view = fetch.fetch(request, CONSTRAINTS, both)
    paths = [each.path.split('/')[1] for each in cloud.nova.asked[before[0] :]]
    assert [each for each in paths if each != 'flavors'] == [
        *('os-server-groups', 'limits', 'os-quota-sets', 'os-hypervisors')
    ]
    assert len(cloud.placement.asked) == before[1] + 1
    assert 'hosts' in view.unavailable
    whole = whole_cloud.fetch(both, request)
    assert placed(request, view) == placed(request, whole)


def test_hosts_that_nova_shows_count_without_placement(cloud):
    cloud.fail('GET', '/allocation_candidates', FORBIDDEN)
    view = fetched(cloud, scale(cloud, who=ADMIN), ADMIN)
    assert len(view.hosts) == len(HOSTS)


def test_an_exceeded_quota_rejects_without_hosts(cloud):
    request, own = scale(cloud, 3), clients.of(cloud.connection(OWNER))
    cloud.nova.limits['maxTotalInstances'] = 2
    assert 'quota.instances' in reason(request, fetch.fetch(request, CONSTRAINTS, own))


@pytest.mark.parametrize('name', ['a-flavor', 'm1.named'])
@pytest.mark.parametrize('is_cached', [False, True])
def test_a_flavor_with_hidden_extra_specs_needs_the_cloud(cloud, name, is_cached):
    cloud.nova.add_flavor('m1.named', id='a-flavor')
    request, minutes = scale(cloud, flavor=name), Minutes(cloud)
    if is_cached:
        minutes.run(request)
    cloud.nova.send = without_specs(cloud.nova.send)
    assert minutes.run(request)[0].rest is OtherHosts.NONE


def test_an_acceptance_uses_the_cached_id_of_a_named_flavor(cloud):
    cloud.nova.add_flavor('m1.named', id='a-flavor')
    request, minutes = scale(cloud, flavor='m1.named'), Minutes(cloud)
    assert '/flavors/detail' in minutes.run(request)[1]
    view, asked = minutes.run(request)
    assert (accepts(view), view.flavors[0].id) == (True, 'a-flavor')
    assert '/flavors/detail' not in asked
    cloud.nova.flavors = [replace(each, name='renamed') for each in cloud.nova.flavors]
    cloud.nova.add_flavor('m1.named', id='another-flavor')
    view, asked = minutes.run(request)
    assert view.flavors[0].id == 'another-flavor'
    cloud.nova.limits['maxTotalInstances'] = 1
    view, asked = minutes.run(request)
    assert rejects_by_quota(view)
    assert '/flavors/detail' in asked


@pytest.mark.parametrize(
    'wanted', [{'pin_hosts': True}, {'member_of': ['one']}, {'spread': [{'by': 'rack'}]}]
)
def test_chosen_hosts_need_the_cloud(cloud, wanted):
    cloud.nova.aggregates = (ZONE,)
    view = fetched(cloud, scale(cloud, 2, **wanted))
    assert (view.rest, len(view.hosts)) == (OtherHosts.NONE, 14)


def test_a_reserved_host_among_the_candidates_needs_the_cloud(cloud):
    """Nova queries Placement, which does not have the host in the reserved aggregate."""
    cloud.nova.add_aggregate('reserved', ['cmp-0'], **{'reservation:x': '1'})
    cloud.placement.lost.add('cmp-0')
    request = replace(rare_request(cloud, 4), options=RESERVED)
    view = fetched(cloud, request)
    assert view.rest is OtherHosts.NONE
    assert isinstance(placed(request, view).answer, Placement)


@pytest.mark.parametrize('is_hidden', [False, True], ids=['shown', 'forbidden'])
@pytest.mark.parametrize(
    ('who', 'wanted'),
    [(ADMIN, {'availability_zone': 'az1'}), (OWNER, {}), (OWNER, {'pin_hosts': True})],
)
def test_no_request_is_sent_twice(cloud, who, wanted, is_hidden):
    cloud.nova.aggregates = (ZONE,)
    cloud.placement.cut = 4  # so the whole cloud follows
    request = scale(cloud, 15, members=['cmp-1'], who=who, **wanted)
    if is_hidden:
        cloud.fail('GET', '/os-migrations', FORBIDDEN)
    before, _ = len(cloud.nova.asked), cloud.placement.asked.clear()
    assert fetched(cloud, request, who).rest is OtherHosts.NONE
    sent = [*map(repr, cloud.nova.asked[before:]), *cloud.placement.asked]
    assert sum('/os-migrations' in each for each in sent) == 1
    assert {each: sent.count(each) for each in sent} == dict.fromkeys(sent, 1)


def test_migrations_are_read_once_for_a_group_and_a_hint(cloud):
    other = cloud.nova.add_group('other', 'affinity', project_id=f'{OWNER}-project')
    server = cloud.nova.boot(other, 'cmp-2', project=f'{OWNER}-project')
    hints = {'image': 'cirros', 'scheduler_hints': {'different_host': server}}
    request = scale(cloud, members=['cmp-1'], profile=hints)
    before = len(cloud.nova.asked)
    filters = (*DEFAULT_FILTERS, 'DifferentHostFilter')
    view = fetched(cloud, replace(request, enabled_filters=filters))
    assert (view.rest, len(view.servers)) == (OtherHosts.NONE, 1)
    asked = [each.path for each in cloud.nova.asked[before:]]
    assert asked.count('/os-migrations') == 1
