"""The owner's client fetches what the owner names; the operator's client fetches the hosts."""

import inspect
import re
from pathlib import Path

import pytest

import senlin_affinity.cloud
from senlin_affinity import api
from senlin_affinity.cloud import snapshot, whole_cloud
from senlin_affinity.cloud.clients import Clients, OperatorClient, OwnerClient
from senlin_affinity.cloud.clients import of as clients_of
from tests.support.edge import Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost

PROJECT = 'demo-project'
HOSTS = tuple(FakeHost(f'cmp-{number}') for number in (1, 2, 3))
#: The paths that the operator's client may request from Nova.
OPERATOR_PATHS = {'/os-hypervisors/detail', '/os-aggregates', '/os-services', '/os-migrations'}


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


def view_and_decision(edge, number=1, group='web', **who):
    profile = {'type': 'os.nova.server', 'properties': {'flavor': 'm1.tiny', 'image': 'cirros'}}
    question = api.Question(number, server_group=group, profile=profile)
    view = whole_cloud.fetch(clients(edge, **who), question)
    return view, api.answer(question, view)


def requests_of(edge, user):
    return [each for each in edge.nova.asked if each.user == user]


def members(view):
    (group,) = view.server_groups
    return {member.server: member for member in group.members}


def test_the_request_of_a_non_admin_is_decided_from_all_hosts(edge, group):
    edge.nova.boot(group, 'cmp-1')
    view, decision = view_and_decision(edge, 3)
    assert (decision.fits, decision.capacity, decision.certain) == (False, 2, False)
    assert not view.owner_sees_hosts
    assert set(view.unavailable) == set()


def test_each_client_sends_only_its_own_requests(edge, group):
    server = edge.nova.move(group, 'cmp-1', 'cmp-2')
    edge.nova.asked.clear()
    view_and_decision(edge)
    operator_requests = requests_of(edge, 'admin')
    paths = {each.path for each in operator_requests}
    assert paths >= OPERATOR_PATHS
    assert paths <= OPERATOR_PATHS | {'/servers/detail'}
    sent = ' '.join(f'{each.path} {each.query}' for each in operator_requests)
    assert not [name for name in ('web', group, server, 'tiny', 'cirros') if name in sent]
    assert {each.method for each in operator_requests} == {'GET'}
    owner_paths = {each.path for each in requests_of(edge, 'demo')}
    assert owner_paths == {
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
def test_an_owner_who_may_list_hosts_sees_them(edge, owner, cloud, owner_sees_hosts):
    edge.nova.add_group('web', project_id=f'{owner}-project')
    assert view_and_decision(edge, owner=owner, cloud=cloud)[0].owner_sees_hosts is owner_sees_hosts


def test_a_single_client_is_not_checked_for_access(edge):
    own = edge.connection('demo')
    assert snapshot.take(api.clients_of(own), server_groups=()).owner_sees_hosts
    hypervisors = [each for each in edge.nova.asked if each.path == '/os-hypervisors/detail']
    assert len(hypervisors) == 1


def test_members_are_located_on_hosts_hidden_from_their_owner(edge, group):
    first, second = edge.nova.boot(group, 'cmp-1'), edge.nova.boot(group, 'cmp-2')
    failed = edge.nova.boot(group, None, status='ERROR')
    found = members(view_and_decision(edge)[0])
    assert {name: each.host for name, each in found.items()} == {
        first: 'cmp-1',
        second: 'cmp-2',
        failed: None,
    }
    assert {each.host_id for each in found.values()} == {None}
    assert found[failed].is_nowhere


def test_a_member_on_a_removed_host_keeps_its_host_id(edge, group):
    server = edge.nova.boot(group, 'cmp-9')
    found = members(view_and_decision(edge)[0])[server]
    assert found.host is None
    assert found.host_id


def test_a_member_hidden_from_the_owner_is_lost(edge, group):
    server = edge.nova.boot(group, 'cmp-2', project='other')
    view, decision = view_and_decision(edge, 2)
    assert members(view)[server].host is None
    assert (decision.capacity, decision.capacity_is_upper_bound) == (3, True)


def test_drs_hosts_are_searched_with_the_operators_client(edge):
    view = whole_cloud.fetch_drs_hosts(clients(edge), 'MP-1')
    assert [host.host for host in view.hosts] == ['cmp-1']
    assert [each.query for each in requests_of(edge, 'demo')] == [{'limit': '1'}]
    assert not view.owner_sees_hosts


def test_only_these_modules_create_clients():
    """mypy distinguishes the clients; only these modules may convert a connection into one."""
    constructors = re.compile(r'\b(?:OwnerRest|OperatorRest|OwnerClient|OperatorClient)\(')
    package = Path(inspect.getfile(senlin_affinity)).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob('*.py')
        if constructors.search(re.sub(r'class \w+\(?', '', path.read_text(encoding='utf-8')))
    }
    assert found == {'cloud/connection.py', 'cloud/clients.py', 'plugins/senlin/clients.py'}
    users = {
        str(path.relative_to(package))
        for path in package.rglob('*.py')
        if re.search(r': Rest\b', path.read_text(encoding='utf-8'))
    }
    assert users == {'cloud/paging.py', 'cloud/members.py', 'cloud/snapshot.py'}


def test_recalled_responses_are_those_of_both_clients_and_are_not_changed():
    both = clients_of(object())
    assert both.recalling().owner.responses == both.recalling().operator.responses == {}
    both = both.remembering()
    both.owner.responses['a'], both.operator.responses['b'] = 1, 2
    recalled = both.recalling()
    assert (recalled.owner.responses, recalled.operator.responses) == ({'a': 1}, {'b': 2})
    with pytest.raises(TypeError):
        recalled.operator.responses['c'] = 3
