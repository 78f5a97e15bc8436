"""What attach, detach and the hook cost in compute requests, with 10,000 hypervisors.

Counted at a real socket; discovery is not counted, and each page of groups beyond the first is one
more.
"""

from collections import Counter
from dataclasses import replace

import openstack.resource
import pytest

from senlin_affinity import preflight
from senlin_affinity.cloud import snapshot
from senlin_affinity.cloud.connection import ports
from senlin_affinity.plugins import senlin_preflight
from senlin_affinity.policy import affinity, planned, properties
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.request import Asked
from tests.functional.http_cloud import HttpCloud
from tests.support.fake_nova import FakeHost, FakeNova, newest

HYPERVISORS = 10_000
GROUPS = '/os-server-groups'
LIST, LIMITS, CREATE = f'GET {GROUPS}', 'GET /limits', f'POST {GROUPS}'
DRS_SEARCH = ['GET /os-services', 'GET /os-hypervisors/detail']
CLUSTER = affinity.Cluster('c1')


def many_hosts(*special):
    plain = (FakeHost(f'cmp-{number}') for number in range(HYPERVISORS - len(special)))
    return (*plain, *special)


LAST_IS_DRS = many_hosts(FakeHost('vsphere-drs-1', 'domain-c7.b52f9a5e'))
LAST_IS_DRS_BY_HYPERVISOR = many_hosts(FakeHost('cmp-last', 'kvm-DRS'))
NONE_IS_DRS = many_hosts()


@pytest.fixture(autouse=True)
def no_sdk_objects(monkeypatch):
    """Long lists are raw JSON: one object for each row would take seconds."""

    def refuse(self, *_arguments, **_more):
        raise AssertionError(f'an object of openstacksdk was made: {type(self).__name__}')

    monkeypatch.setattr(openstack.resource.Resource, '__init__', refuse)


@pytest.fixture
def cloud():
    with HttpCloud(FakeNova(hosts=LAST_IS_DRS)) as cloud:
        yield cloud


def spec(is_drs=False, **group):
    wanted = {'servergroup': group, 'enable_drs_extension': is_drs}
    return properties.load(
        {'type': 'senlin.policy.affinity', 'version': '1.1', 'properties': wanted}
    )


def attach(cloud, cluster=CLUSTER, **group):
    found = ports(cloud.connection())
    return affinity.attach(spec(**group), cluster, found.server_groups, found.inventory)


def detach(cloud, group_id, *, is_inherited=False):
    binding = Binding(group_id, is_inherited)
    return affinity.detach(binding, CLUSTER, lambda: ports(cloud.connection()).server_groups)


def place(cloud, *, is_drs, count=3):
    wanted = replace(spec(is_drs), preflight='off')
    growth = planned.Growth(Asked(count), wanted, Binding('XYZ-ABCD', is_inherited=True))
    seen = senlin_preflight.look(planned.needs(growth), cloud.connection)
    return planned.decide(growth, seen).answer


# -- the hook


@pytest.mark.parametrize('offered', ['2.53', '2.64', newest()])
@pytest.mark.parametrize(
    ('hosts', 'zone'),
    [
        (LAST_IS_DRS, 'nova:vsphere-drs-1'),
        (LAST_IS_DRS_BY_HYPERVISOR, 'nova:cmp-last'),
        (NONE_IS_DRS, None),
    ],
    ids=['service host', 'hypervisor', 'none'],
)
def test_drs_is_two_requests_and_never_pages_the_hypervisors(hosts, zone, offered):
    with HttpCloud(FakeNova(offered, hosts=hosts)) as cloud:
        answer = place(cloud, is_drs=True)

    assert cloud.nova.requests() == DRS_SEARCH
    services, hypervisors = cloud.nova.asked
    assert services.query == {'binary': 'nova-compute'}
    assert hypervisors.query == {'hypervisor_hostname_pattern': 'drs'}
    if zone is None:
        assert answer.status_reason == 'No suitable vSphere host is available.'
    else:
        assert answer.zone == zone


@pytest.mark.parametrize('offered', ['2.1', '2.52'])
def test_drs_below_2_53_is_two_requests_too(offered):
    with HttpCloud(FakeNova(offered, hosts=LAST_IS_DRS_BY_HYPERVISOR)) as cloud:
        answer = place(cloud, is_drs=True)
    assert answer.zone == 'nova:cmp-last'
    assert cloud.nova.requests() == DRS_SEARCH


def test_the_pattern_query_brings_one_hypervisor_over_the_wire():
    with HttpCloud(FakeNova(hosts=LAST_IS_DRS_BY_HYPERVISOR)) as cloud:
        ports(cloud.connection()).inventory._hypervisors('drs')
    assert cloud.bytes_sent < 2000


@pytest.mark.parametrize(('is_drs', 'count'), [(False, 3), (False, 0), (True, 0)])
def test_the_plain_hook_and_an_empty_one_ask_nothing(cloud, is_drs, count):
    assert len(place(cloud, is_drs=is_drs, count=count).entries()) == count
    assert cloud.nova.requests() == []


def hook(cloud, *, count, **wanted):
    """The hook with the preflight, of a group with two members; which requests were the cloud's."""
    nova = cloud.nova
    group = nova.add_group('web', 'soft-anti-affinity', project_id='p')
    for _ in range(2):
        nova.boot(group, nova.hosts[0].host, project='p')
    connection = cloud.connection()
    asked = Asked(count, profile={'properties': {'flavor': 'm1.tiny'}})
    read = properties.load({'type': properties.TYPE, 'version': '1.1', 'properties': wanted})
    bound = Binding(group, is_inherited=True)
    growth = planned.Growth(asked, read, bound, preflight.load_constraints())
    outcome = planned.decide(
        growth, senlin_preflight.look(planned.needs(growth), lambda: connection)
    )
    assert (outcome.warning, outcome.note) == (None, None)
    return outcome.answer, [request.replace(group, 'ID') for request in nova.requests()]


@pytest.mark.parametrize('wanted', [{}, {'pin_hosts': True}], ids=['plain', 'pinned'])
@pytest.mark.parametrize('count', [1, 50])
def test_rx_02_the_preflight_asks_a_constant_number_besides_pages(wanted, count):
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, asked = hook(cloud, count=count, **wanted)

    assert len(answer.entries()) == count
    pages = HYPERVISORS // 1000 + 1  # a full one has a link to the next
    assert Counter(asked) == {
        'GET /os-server-groups/ID': 1,
        'GET /os-hypervisors/detail': pages,
        'GET /os-aggregates': 1,
        'GET /os-services': 1,
        'GET /servers/detail': 1,
        'GET /flavors/detail': 1,
        LIMITS: 1,
    }
    assert len(cloud.placement.asked) == 2


@pytest.mark.parametrize('project', ['admin-project', 'p'], ids=['own', 'another'])
def test_rx_07_a_plan_costs_the_same_whosever_the_group_is(cloud, project):
    nova = cloud.nova
    nova.quota_sets['p'] = {}
    group = nova.add_group('web', project_id=project)
    taken = snapshot.take(cloud.connection(), server_groups=(group,), is_project_of_group=True)

    assert taken.snapshot.project_id == project
    pages = HYPERVISORS // 1000 + 1  # a full one has a link to the next
    assert Counter(request.replace(group, 'ID') for request in nova.requests()) == {
        'GET /os-server-groups/ID': 1,
        'GET /os-hypervisors/detail': pages,
        'GET /os-aggregates': 1,
        'GET /os-services': 1,
        'GET /flavors/detail': 1,
        LIMITS if project == 'admin-project' else 'GET /os-quota-sets/p/detail': 1,
    }


# -- attach


def test_attach_that_creates_a_group_of_its_own(cloud):
    attach(cloud)
    assert cloud.nova.requests() == [LIST, LIMITS, CREATE]


def test_attach_that_takes_up_what_a_crash_left_behind(cloud):
    left_behind = cloud.nova.add_group('senlin-affinity-c1')
    attached = attach(cloud)
    assert (attached.group.id, attached.binding.is_inherited) == (left_behind, False)
    assert cloud.nova.requests() == [LIST]


def test_attach_that_creates_a_group_of_a_given_name(cloud):
    attach(cloud, name='web', rules={'max_server_per_host': 3})
    assert cloud.nova.requests() == [LIST, LIMITS, CREATE, LIST]


def test_attach_that_inherits_a_group_by_its_name(cloud):
    cloud.nova.add_group('web')
    assert attach(cloud, name='web').binding.is_inherited
    assert cloud.nova.requests() == [LIST]


def test_attach_that_inherits_a_group_by_its_id(cloud):
    group_id = cloud.nova.add_group('web')
    assert attach(cloud, name=group_id).binding.is_inherited
    assert cloud.nova.requests() == [f'GET {GROUPS}/{group_id}']


@pytest.mark.parametrize('is_id', [True, False], ids=['id', 'name'])
def test_attach_that_inherits_the_group_of_the_profile(cloud, is_id):
    group_id = cloud.nova.add_group('web')
    hint = group_id if is_id else 'web'
    assert attach(cloud, affinity.Cluster('c1', group_hint=hint)).binding.is_inherited
    assert cloud.nova.requests() == [f'GET {GROUPS}/{group_id}' if is_id else LIST]


@pytest.mark.parametrize(('groups', 'pages'), [(49, 1), (50, 2), (1000, 2), (2500, 4)])
def test_attach_in_a_project_of_many_groups_reads_their_pages(groups, pages):
    with HttpCloud(FakeNova(quota=-1)) as cloud:
        for number in range(groups):
            cloud.nova.add_group(f'group-{number}')
        attach(cloud)
    assert cloud.nova.requests() == [*[LIST] * pages, LIMITS, CREATE]


@pytest.mark.parametrize(
    ('name', 'asked'),
    [
        ('tiny', ['GET /flavors/tiny']),
        ('m1.tiny', ['GET /flavors/m1.tiny', 'GET /flavors/detail']),
        (None, []),
    ],
)
def test_attach_that_checks_a_flavor(cloud, name, asked):
    """R4-07: before the group."""
    attach(cloud, affinity.Cluster('c1', flavor=name))
    assert cloud.nova.requests() == [*asked, LIST, LIMITS, CREATE]


# -- detach


def test_detach_that_deletes(cloud):
    group_id = cloud.nova.add_group('web')
    detach(cloud, group_id)
    assert cloud.nova.requests() == [f'GET {GROUPS}/{group_id}', f'DELETE {GROUPS}/{group_id}']
    assert cloud.nova.groups == []


def test_detach_of_a_group_that_is_gone(cloud):
    detach(cloud, 'XYZ-ABCD')
    assert cloud.nova.requests() == [f'GET {GROUPS}/XYZ-ABCD']


def test_detach_of_a_group_that_others_use(cloud):
    group_id = cloud.nova.add_group('web', members=['foreign'])
    detach(cloud, group_id)
    assert cloud.nova.requests() == [f'GET {GROUPS}/{group_id}']
    assert len(cloud.nova.groups) == 1


def test_detach_of_an_inherited_group_asks_nothing(cloud):
    group_id = cloud.nova.add_group('web')
    detach(cloud, group_id, is_inherited=True)
    assert cloud.nova.requests() == []
