"""A response about another object, or a list with a duplicate id, is an error."""

from types import SimpleNamespace

import pytest

from senlin_affinity.cloud import clients, flavors, hosts, images, members, paging, projects, senlin
from senlin_affinity.cloud.connection import clouds_compute, compute
from senlin_affinity.groups.audit import FOREIGN
from senlin_affinity.model.errors import CloudError
from tests.support.edge import Edge, Failure
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeFlavor, FakeHost

ID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'
GROUP = {'id': ID, 'name': 'web', 'policy': 'anti-affinity', 'rules': {}, 'members': []}
OTHER = {**GROUP, 'id': ID.replace('5', '6')}
FLAVOR = {
    'id': 'b', 'name': 'b', 'vcpus': 1, 'ram': 1, 'disk': 1, 'OS-FLV-EXT-DATA:ephemeral': 0,
    'swap': '', 'extra_specs': {},
}  # fmt: skip
QUOTAS = {
    name: {'limit': 9, 'in_use': 0, 'reserved': 0}
    for name in ('instances', 'cores', 'ram', 'server_groups', 'server_group_members')
}
IMAGE = {'id': ID, 'name': 'cirros'}
PROJECT = {'id': 'p', 'name': 'web'}


def nova(edge):
    owner = clients.of(edge.connection())
    return clouds_compute(owner, compute(owner.owner))


def hypervisor(key):
    return {
        'id': key, 'hypervisor_hostname': 'cmp-1', 'hypervisor_type': 'QEMU', 'status': 'enabled',
        'state': 'up', 'service': {'host': 'cmp-1'},
    }  # fmt: skip


def owner(edge):
    return clients.OwnerClient(edge.connection())


FETCHES = {
    'server group': (
        lambda edge: edge.ports.server_groups.get(ID),
        f'/os-server-groups/{ID}',
        {'server_group': OTHER},
    ),
    'server groups, twice': (
        lambda edge: edge.ports.server_groups.named('web'),
        '/os-server-groups',
        {'server_groups': [GROUP, GROUP]},
    ),
    'flavor': (
        lambda edge: edge.ports.inventory.flavor('a'),
        '/flavors/a',
        {'flavor': FLAVOR},
    ),
    'flavors, twice': (
        lambda edge: edge.ports.inventory.flavor('c'),
        '/flavors/detail',
        {'flavors': [FLAVOR, FLAVOR]},
    ),
    'quotas': (
        lambda edge: edge.ports.inventory.quotas_of('p'),
        '/os-quota-sets/p/detail',
        {'quota_set': {'id': 'q', **QUOTAS}},
    ),
    'quotas of a user': (
        lambda edge: edge.ports.inventory.with_user({}, 'p', 'u'),
        '/os-quota-sets/p/detail',
        {'quota_set': {'id': 'q', **QUOTAS}},
    ),
    'hypervisor': (
        lambda edge: hosts.hypervisor(nova(edge), ID),
        f'/os-hypervisors/{ID}',
        {'hypervisor': hypervisor(OTHER['id'])},
    ),
    'hypervisors, twice': (
        lambda edge: hosts.hypervisors(nova(edge)),
        '/os-hypervisors/detail',
        {'hypervisors': [hypervisor(ID), hypervisor(ID)]},
    ),
    'hypervisors of a name, twice': (
        lambda edge: hosts.hypervisor_of(nova(edge), 'cmp-1'),
        '/os-hypervisors/detail',
        {'hypervisors': [hypervisor(ID), hypervisor(ID)]},
    ),
    'DRS hosts, twice': (
        lambda edge: edge.ports.inventory.hosts_named_like('cmp'),
        '/os-hypervisors/detail',
        {'hypervisors': [hypervisor(ID), hypervisor(ID)]},
    ),
    'aggregates, twice': (
        lambda edge: hosts.aggregates(nova(edge)),
        '/os-aggregates',
        {'aggregates': 2 * [{'uuid': ID, 'name': 'ssd'}]},
    ),
    'servers, twice': (
        lambda edge: members.own_servers(nova(edge)),
        '/servers/detail',
        {'servers': 2 * [{'id': ID}]},
    ),
    'image': (lambda edge: images.find(owner(edge), OTHER['id']), '/images/.*', IMAGE),
    'image of a name': (
        lambda edge: images.find(owner(edge), 'windows'),
        '/images',
        {'images': [IMAGE]},
    ),
    'images, twice': (
        lambda edge: images.find(owner(edge), 'cirros'),
        '/images',
        {'images': [IMAGE, IMAGE]},
    ),
    'project': (
        lambda edge: projects.find(owner(edge), 'other'),
        '/projects',
        {'projects': [PROJECT]},
    ),
    'projects, twice': (
        lambda edge: projects.find(owner(edge), 'web'),
        '/projects',
        {'projects': [PROJECT, PROJECT]},
    ),
}


@pytest.mark.parametrize('kind', FETCHES)
def test_a_response_about_another_object_is_an_error(kind):
    read, path, body = FETCHES[kind]
    with Edge(glance=FakeGlance(FakeImage('cirros')), projects={}) as edge:
        edge.fail('GET', path, Failure('other', '', 200, body))
        with pytest.raises(CloudError) as caught:
            read(edge)
    expected = 'twice' if 'twice' in kind else 'the answer is about another object'
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    'body',
    [
        {**GROUP, 'name': 'other'},
        {**GROUP, 'policy': 'affinity'},
        {**GROUP, 'rules': {'max_server_per_host': 2}},
        {**GROUP, 'members': ['server']},
    ],
    ids=['name', 'policy', 'rules', 'members'],
)
def test_a_response_about_another_created_group_is_an_error(body):
    with Edge() as edge:
        edge.fail('POST', '/os-server-groups', Failure('other', '', 200, {'server_group': body}))
        with pytest.raises(CloudError, match='the answer is about another server group') as caught:
            edge.ports.server_groups.create('web', 'anti-affinity', {})
    assert caught.value.is_uncertain, 'the group may have been created'


def test_ids_are_compared_without_case():
    with Edge(flavors=[FakeFlavor('M1.Tiny', 'tiny')]) as edge:
        body = {'flavor': {**FLAVOR, 'id': 'M1.Tiny'}}
        edge.fail('GET', '/flavors/m1.tiny', Failure('found', '', 200, body))
        assert edge.ports.inventory.flavor('m1.tiny').id == 'M1.Tiny'


def test_a_server_may_be_on_two_pages_while_it_is_created():
    """Nova lists a build request first, and in the usual order once the server is in a cell."""
    link = [{'rel': 'next', 'href': 'x'}]
    pages = [
        {'servers': [{'id': 'a', 'status': 'BUILD'}], 'servers_links': link},
        {'servers': [{'id': 'b'}, {'id': 'a', 'status': 'ACTIVE'}]},
    ]
    client = SimpleNamespace(get=lambda *_words, **_options: pages.pop(0))
    assert [each['id'] for each in members.own_servers(client)] == ['a', 'b', 'a']


def test_a_flavor_on_two_pages_is_an_error():
    link = [{'rel': 'next', 'href': 'x'}]
    pages = [{'flavors': [FLAVOR], 'flavors_links': link}, {'flavors': [FLAVOR]}]
    client = SimpleNamespace(get=lambda *_words, **_options: pages.pop(0))
    with pytest.raises(CloudError, match="the answer lists 'b' twice"):
        flavors.flavors(client)


def test_malformed_links_are_an_error():
    page = {'flavors': [FLAVOR], 'flavors_links': ['next']}
    client = SimpleNamespace(get=lambda *_words, **_options: page)
    with pytest.raises(CloudError, match='a value in the answer has the wrong type'):
        flavors.flavors(client)


@pytest.mark.parametrize(
    'zone', [{'zoneState': {'available': True}}, {'zoneName': 'a', 'zoneState': 'up'}]
)
def test_a_malformed_zone_is_an_error(zone):
    with Edge() as edge:
        body = {'availabilityZoneInfo': [zone]}
        edge.fail('GET', '/os-availability-zone', Failure('other', '', 200, body))
        with pytest.raises(CloudError, match='could not list the availability zones'):
            edge.ports.inventory.zones()


class Senlin:
    """Return lists from a table for GET requests; ``bindings`` are those of each cluster."""

    def __init__(self, bindings=(), **lists):
        self.lists = {'clusters': [{'id': 'c', 'name': 'c', 'project': 'p'}], **lists}
        self.bindings = bindings

    def get(self, path, what, _microversion=None, params=None):
        if path.endswith('/policies') and path != '/policies':
            return {'cluster_policies': [*self.bindings]}
        key = path.strip('/')
        return {key: self.lists.get(key, [])}


POLICY = {'id': 'p1', 'type': 'senlin.policy.affinity-1.1', 'project': 'p', 'data': None}


@pytest.mark.parametrize('kind', ['clusters', 'policies', 'nodes', 'profiles'])
def test_a_senlin_list_with_a_duplicate_id_is_an_error(kind):
    twice = [{**POLICY, 'physical_id': None, 'spec': {}, 'name': 'x'}] * 2
    with pytest.raises(CloudError, match="the answer lists 'p1' twice"):
        senlin.fetch(Senlin(**{kind: twice}), 'p')


def test_a_service_of_senlin_without_a_state_is_an_error():
    service = {'binary': senlin.ENGINE, 'host': 'a', 'id': '1'}
    with pytest.raises(CloudError, match="the answer lacks 'state'"):
        senlin.engines(Senlin(services=[service]))


def test_a_binding_of_another_cluster_is_an_error():
    bindings = [{'cluster_id': 'd', 'policy_id': 'p1', 'data': None}]
    with pytest.raises(CloudError, match='the answer is about another object'):
        senlin.fetch(Senlin(bindings, policies=[POLICY]), 'p')


class Tenants(Senlin):
    """Return two clusters to an administrator (``status`` 200), and one of them to a tenant."""

    def __init__(self, status):
        every = [{'id': each, 'name': each, 'project': each} for each in 'pq']
        super().__init__(clusters=every)
        self.status, self.number = status, 0

    def get(self, path, what, _microversion=None, params=None):
        self.number += 1
        if 'global_project' in params and self.status >= 400:
            raise CloudError('Senlin rejected global_project', self.status)
        return super().get(path, what, params=params)


@pytest.mark.parametrize(
    ('status', 'shown', 'is_complete'),
    [(200, {'p': 'p', 'q': FOREIGN}, True), (403, {'p': 'p'}, False)],
)
def test_foreign_clusters_are_left_out_if_senlin_forbids_to_list_them(status, shown, is_complete):
    found = senlin.fetch(Tenants(status), 'p', with_foreign_users=True)
    assert (found.uses.clusters, found.is_complete) == (shown, is_complete)


@pytest.mark.parametrize(('status', 'project'), [(500, 'p'), (403, None)])
def test_other_failures_to_list_all_clusters_are_errors(status, project):
    tenants = Tenants(status)
    with pytest.raises(CloudError, match='Senlin rejected global_project'):
        senlin.fetch(tenants, project, with_foreign_users=True)
    assert tenants.number == 1


def test_hypervisors_after_a_page_without_a_link_are_fetched():
    """Nova omits the link if it drops a hypervisor without a service from the page."""
    with Edge(hosts=[FakeHost(f'cmp-{number}') for number in range(150)]) as edge:
        edge.nova.longest_page = 60
        send = edge.nova.send

        def without_one_hypervisor(*arguments):
            reply = send(*arguments)
            if arguments[2] == '/os-hypervisors/detail' and 'hypervisors_links' in reply.body:
                del reply.body['hypervisors'][7], reply.body['hypervisors_links']
            return reply

        edge.nova.send = without_one_hypervisor
        assert len(hosts.hypervisors(nova(edge))) == 150 - 2
        edge.nova.hosts = edge.nova.hosts[:40]
        before = len(edge.nova.asked)
        assert len(hosts.hypervisors(nova(edge))) == 40
        assert len(edge.nova.asked) - before == 1, 'a short page is the last one'


SERVERS = {'servers': [{'id': 'a'}], 'servers_links': [{'rel': 'next', 'href': 'x'}]}


def test_a_page_that_repeats_the_previous_one_is_an_error():
    """Only servers may be on two pages."""
    compute = SimpleNamespace(get=lambda *_words, **_options: SERVERS)
    words = 'could not list: the page after a repeats the previous page'
    with pytest.raises(CloudError, match=words):
        [*paging.by_marker(compute, '/servers', 'servers', 'list', (2, 1))]


@pytest.mark.parametrize('circle', ['ab', 'abc'])
def test_pages_in_a_circle_are_an_error(circle):
    asked = []

    def get(*_words, params):
        asked.append(params)
        key = circle[(len(asked) - 1) % len(circle)]
        return {**SERVERS, 'servers': [{'id': key}]}

    words = f'could not list: the page after {circle[-1]} repeats an earlier page'
    with pytest.raises(CloudError, match=words):
        [*paging.by_marker(SimpleNamespace(get=get), '/servers', 'servers', 'list', (2, 1))]
    assert len(asked) == len(circle) + 1


def test_a_full_page_of_servers_without_a_link_is_the_last_one():
    asked = []
    page = {'servers': [{'id': str(number)} for number in range(50)]}
    compute = SimpleNamespace(get=lambda *_words, params: asked.append(params) or page)
    assert len([*paging.by_marker(compute, '/servers', 'servers', 'list', (2, 1), name='x')]) == 50
    assert asked == [{'name': 'x', 'limit': 1000}]
