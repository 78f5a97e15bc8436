"""What attach, detach and the hook cost in compute requests, with 10,000 hypervisors.

Counted at a real socket; discovery is not counted. Where there are groups, a list of them is two
requests, as no page says that it is the last.
"""

from collections import Counter
from dataclasses import replace

import openstack.resource
import pytest

from senlin_affinity.cloud import eyes
from senlin_affinity.cloud.connection import ports
from senlin_affinity.conf.installed import load_constraints
from senlin_affinity.plugins import senlin_preflight
from senlin_affinity.policy import affinity, hook, properties
from senlin_affinity.policy.binding import Binding
from senlin_affinity.policy.question import Question
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
    found = ports(eyes.of(cloud.connection()))
    return affinity.attach(spec(**group), cluster, found.server_groups, found.inventory)


def detach(cloud, group_id, *, is_inherited=False):
    binding = Binding(group_id, is_inherited)
    return affinity.detach(
        binding, CLUSTER, lambda: ports(eyes.of(cloud.connection())).server_groups
    )


def place(cloud, *, is_drs, count=3):
    wanted = replace(spec(is_drs), preflight='off')
    growth = hook.Growth(Question(count, policy=wanted), Binding('XYZ-ABCD', True))
    seen = senlin_preflight.look(hook.needs(growth), lambda: eyes.of(cloud.connection()))
    return hook.decide(growth, seen).answer


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


def hooked(cloud, *, count, **wanted):
    """The hook with the preflight, of a group with two members; which requests were the cloud's."""
    nova = cloud.nova
    group = nova.add_group('web', 'soft-anti-affinity', project_id='p')
    for _ in range(2):
        nova.boot(group, nova.hosts[0].host, project='p')
    connection = cloud.connection()
    policy = {'type': properties.TYPE, 'version': '1.1', 'properties': wanted}
    profile = {'properties': {'flavor': 'm1.tiny'}}
    own = connection.session.get_project_id()
    question = Question(count, server_group=group, policy=policy, profile=profile, project_id=own)
    bound = Binding(group, is_inherited=True)
    growth = hook.Growth(question, bound, load_constraints())
    outcome = hook.decide(
        growth, senlin_preflight.look(hook.needs(growth), lambda: eyes.of(connection))
    )
    assert outcome.warning is None
    asked = [each.replace(group, 'ID').replace(own, 'OWN') for each in nova.requests()]
    return outcome.answer, asked


@pytest.mark.parametrize('count', [1, 50])
def test_rx_02_the_preflight_asks_a_constant_number(count):
    """A few, and small ones: what is answered does not grow with the cloud."""
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, asked = hooked(cloud, count=count)

    assert len(answer.entries()) == count
    assert asked == [
        'GET /os-server-groups/ID',
        'GET /flavors/m1.tiny',  # it is called by its name
        'GET /flavors/detail',
        LIMITS,
        'GET /os-quota-sets/OWN/detail',
    ]
    (candidates,) = cloud.placement.asked
    assert candidates.endswith(f'&limit={count + 12}')  # two members, and ten more
    assert cloud.bytes_sent < 100_000


@pytest.mark.parametrize('count', [1, 50])
def test_rx_02_who_chooses_hosts_asks_a_constant_number_besides_pages(count):
    with HttpCloud(FakeNova(hosts=many_hosts())) as cloud:
        answer, asked = hooked(cloud, count=count, pin_hosts=True)

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
        'GET /os-quota-sets/OWN/detail': 1,
    }
    assert len(cloud.placement.asked) == 3  # the last of them is about the flavor


# -- attach


ONE = f'GET {GROUPS}/ID'


@pytest.mark.parametrize(
    ('there', 'wanted', 'hint', 'asked'),
    [
        (None, {}, None, [LIST, LIMITS, CREATE]),
        ('senlin-affinity-c1', {}, None, [LIST, LIST]),
        (
            None,
            {'name': 'web', 'rules': {'max_server_per_host': 3}},
            None,
            [LIST, LIMITS, CREATE, LIST, LIST],
        ),
        ('web', {'name': 'web'}, None, [LIST, LIST]),
        ('web', {'name': 'ID'}, None, [ONE]),
        ('web', {}, 'ID', [ONE]),
        ('web', {}, 'web', [LIST, LIST]),
    ],
    ids=['its own', 'left by a crash', 'a name', 'by name', 'by id', 'hint of an id', 'hint'],
)
def test_attach_that_creates_or_inherits(cloud, there, wanted, hint, asked):
    """What a note names is the cluster's own; any other group that is there is inherited."""
    group_id = there and cloud.nova.add_group(there)
    given = {key: group_id if value == 'ID' else value for key, value in wanted.items()}
    noted = () if there in (None, 'web') else (there,)
    group_hint = group_id if hint == 'ID' else hint
    cluster = affinity.Cluster('c1', group_hint=group_hint, pending=noted)

    attached = attach(cloud, cluster, **given)

    assert attached.binding.is_inherited == (there == 'web')
    assert [item['id'] for item in cloud.nova.groups] == [attached.group.id]
    requests = [request.replace(attached.group.id, 'ID') for request in cloud.nova.requests()]
    assert requests == asked


# -- detach


@pytest.mark.parametrize(
    ('members', 'is_inherited', 'asked'),
    [
        ([], False, [ONE, 'DELETE /os-server-groups/ID']),
        (['foreign'], False, [ONE]),
        ([], True, []),
    ],
    ids=['deleted', 'used by others', 'inherited'],
)
def test_detach(cloud, members, is_inherited, asked):
    group_id = cloud.nova.add_group('web', members=members)
    detach(cloud, group_id, is_inherited=is_inherited)
    assert [request.replace(group_id, 'ID') for request in cloud.nova.requests()] == asked
    assert len(cloud.nova.groups) == (0 if len(asked) == 2 else 1)
