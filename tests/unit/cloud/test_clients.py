"""Who is asked by whom: what an owner named by the owner's eyes, the hosts by the cloud's."""

import inspect
import re
from pathlib import Path

import pytest

import senlin_affinity.cloud
from senlin_affinity import api
from senlin_affinity.cloud import whole_cloud
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from tests.support import edge as at_edge
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost

PROJECT = 'demo-project'
HOSTS = tuple(FakeHost(f'cmp-{number}') for number in (1, 2, 3))
#: What the cloud's eyes may ask for in Nova.
OF_THE_CLOUD = {'/os-hypervisors/detail', '/os-aggregates', '/os-services', '/os-migrations'}


@pytest.fixture
def edge():
    glance = FakeGlance(FakeImage('cirros'))
    with Edge(hosts=HOSTS, services=('compute', 'placement'), glance=glance) as edge:
        yield edge


@pytest.fixture
def group(edge):
    return edge.nova.add_group('web', project_id=PROJECT)


def clients(edge, owner='demo', cloud='admin'):
    return Clients(OwnerClient(edge.connection(owner)), OperatorClient(edge.connection(cloud)))


def see(edge, number=1, group='web', **who):
    profile = {'type': 'os.nova.server', 'properties': {'flavor': 'm1.tiny', 'image': 'cirros'}}
    question = api.Question(number, server_group=group, profile=profile)
    seen = whole_cloud.fetch(
        clients(edge, **who), api.FetchScope((group,), image='cirros', question=question)
    )
    return seen, api.answer(question, seen)


def asked(edge, user):
    return [each for each in edge.nova.asked if each.user == user]


def members(seen):
    (group,) = seen.snapshot.server_groups
    return {member.server: member for member in group.members}


def test_a_plain_users_question_is_answered_by_what_the_cloud_has(edge, group):
    edge.nova.boot(group, 'cmp-1')
    seen, said = see(edge, 3)
    assert (said.fits, said.capacity, said.certain) == (False, 2, False)
    assert not seen.owner_sees_hosts
    assert set(seen.unavailable) == set()


def test_what_the_owner_named_is_asked_of_his_eyes_and_the_hosts_of_the_clouds(edge, group):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2')
    edge.nova.asked.clear()
    see(edge)
    clouds = asked(edge, 'admin')
    paths = {each.path for each in clouds}
    assert paths >= OF_THE_CLOUD
    assert paths <= OF_THE_CLOUD | {'/servers/detail'}
    sent = ' '.join(f'{each.path} {each.query}' for each in clouds)
    assert not [name for name in ('web', group, server, 'tiny', 'cirros') if name in sent]
    assert {each.method for each in clouds} == {'GET'}
    owners = {each.path for each in asked(edge, 'demo')}
    assert owners == {
        '/os-server-groups',
        '/os-hypervisors/detail',
        '/servers/detail',
        '/flavors/detail',
        '/limits',
        f'/os-quota-sets/{PROJECT}/detail',
    }


@pytest.mark.parametrize(
    ('owner', 'cloud', 'owner_sees_hosts'),
    [('demo', 'admin', False), ('admin', 'admin', True), ('admin', 'demo', True)],
)
def test_who_may_list_the_hosts_may_be_told_all(edge, owner, cloud, owner_sees_hosts):
    edge.nova.add_group('web', project_id=f'{owner}-project')
    assert see(edge, owner=owner, cloud=cloud)[0].owner_sees_hosts is owner_sees_hosts


def test_own_eyes_are_not_asked_whether_they_see(edge):
    own = edge.connection('demo')
    assert whole_cloud.fetch(api.clients_of(own), api.FetchScope(())).owner_sees_hosts
    hypervisors = [each for each in edge.nova.asked if each.path == '/os-hypervisors/detail']
    assert len(hypervisors) == 1


def test_members_are_on_the_hosts_that_their_owner_sees_no_name_of(edge, group):
    first, second = edge.nova.boot(group, 'cmp-1'), edge.nova.boot(group, 'cmp-2')
    failed = edge.nova.boot(group, None, status='ERROR')
    found = members(see(edge)[0])
    assert {name: each.host for name, each in found.items()} == {
        first: 'cmp-1',
        second: 'cmp-2',
        failed: None,
    }
    assert {each.host_id for each in found.values()} == {None}
    assert found[failed].is_nowhere


def test_a_member_on_a_host_that_is_gone_keeps_what_its_owner_sees(edge, group):
    server = edge.nova.boot(group, 'cmp-9')
    found = members(see(edge)[0])[server]
    assert found.host is None
    assert found.host_id


def test_a_member_that_its_owner_does_not_see_is_lost(edge, group):
    server = edge.nova.boot(group, 'cmp-2', project='other')
    seen, said = see(edge, 2)
    assert members(seen)[server].host is None
    assert (said.capacity, said.capacity_is_upper_bound) == (3, True)


def test_what_moves_counts_on_both_hosts(edge, group):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2')
    seen, said = see(edge, 2)
    assert members(seen)[server].also_on == ('cmp-1', 'cmp-2')
    assert said.capacity == 1


def test_of_the_clouds_eyes_what_is_refused_is_not_known(edge, group):
    seen, said = see(edge, cloud='demo', owner='demo')
    assert said.fits is None
    assert at_edge.FORBIDDEN.words[:6] in seen.unavailable['hosts']


def test_drs_hosts_are_looked_for_by_the_clouds_eyes(edge):
    seen = whole_cloud.fetch(clients(edge), api.FetchScope(drs_pattern='MP-1'))
    assert [host.host for host in seen.snapshot.hosts] == ['cmp-1']
    assert [each.query for each in asked(edge, 'demo')] == [{'limit': '1'}]
    assert not seen.owner_sees_hosts


def test_nothing_but_these_makes_eyes_of_a_connection():
    """mypy keeps the types apart; here is where somebody could make one of the other."""
    makes = re.compile(r'\b(?:OwnerRest|OperatorRest|OwnerClient|OperatorClient)\(')
    package = Path(inspect.getfile(senlin_affinity)).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob('*.py')
        if makes.search(re.sub(r'class \w+\(?', '', path.read_text(encoding='utf-8')))
    }
    assert found == {'cloud/connection.py', 'cloud/clients.py', 'plugins/senlin/clients.py'}
    takers = {
        str(path.relative_to(package))
        for path in package.rglob('*.py')
        if re.search(r': Rest\b', path.read_text(encoding='utf-8'))
    }
    assert takers == {'cloud/answers.py', 'cloud/members.py', 'cloud/snapshot.py'}
