"""Zones, quotas, flavors, aggregates and DRS hosts are fetched from Nova."""

import pytest

from senlin_affinity.cloud.inventory import NovaInventory as Inventory
from senlin_affinity.model.cloud import Aggregate, Flavor, Quota
from senlin_affinity.model.errors import CloudError
from tests.support import edge as at_edge
from tests.support.edge import Edge, Failure
from tests.support.fake_nova import RECORDED_HOSTS, FakeAggregate, FakeFlavor, FakeHost, newest

SERVICES = 'GET /os-services'
HYPERVISORS = 'GET /os-hypervisors/detail'
VERSIONS = ['', '2.1', '2.14', '2.52', '2.53', '2.63', '2.64', newest()]


def hosts(pattern='drs', offered=None, found=RECORDED_HOSTS):
    with Edge(offered, hosts=found) as edge:
        return edge.ports.inventory.hosts_named_like(pattern), edge.nova


# -- DRS


@pytest.mark.parametrize('offered', VERSIONS)
@pytest.mark.parametrize('pattern', ['drs', 'nowhere'])
def test_drs_hosts_match_by_host_or_hypervisor_name(offered, pattern):
    found, nova = hosts(pattern, offered)
    has_pattern = offered in VERSIONS[4:]

    assert nova.requests() == [SERVICES, HYPERVISORS]
    services, hypervisors = nova.asked
    assert (services.query, services.microversion) == ({'binary': 'nova-compute'}, '2.1')
    assert hypervisors.microversion == ('2.53' if has_pattern else '2.1')
    assert hypervisors.query == ({'hypervisor_hostname_pattern': pattern} if has_pattern else {})
    two = [('kvm-3', 'KVM-DRS-3', True, True), ('vsphere-drs-1', '', True, True)]
    assert [(host.host, host.hypervisor_hostname, host.up, host.enabled) for host in found] == (
        two if pattern == 'drs' else []
    )


@pytest.mark.parametrize('offered', ['2.1', newest()])
@pytest.mark.parametrize('pattern', ['drs', 'DRS', 'Drs'])
def test_drs_hosts_match_without_case(offered, pattern):
    found, _ = hosts(
        pattern, offered, [FakeHost('vSphere_DRS_1', 'domain-c7'), FakeHost('a', 'x-dRs')]
    )
    assert [host.host for host in found] == ['a', 'vSphere_DRS_1']


@pytest.mark.parametrize('offered', ['2.1', newest()])
def test_a_host_that_matches_by_both_names_is_listed_once(offered):
    found, _ = hosts('drs', offered, [FakeHost('drs-1'), FakeHost('other')])
    assert [(host.host, host.hypervisor_hostname) for host in found] == [('drs-1', 'drs-1')]
    assert found[0].hypervisor_type == 'QEMU'


@pytest.mark.parametrize('offered', ['2.1', newest()])
@pytest.mark.parametrize(
    ('state', 'status'), [('up', 'enabled'), ('down', 'enabled'), ('up', 'disabled')]
)
@pytest.mark.parametrize('names', [('cmp', 'x-drs'), ('drs', 'x')], ids=['hypervisor', 'service'])
def test_a_drs_host_is_up_and_enabled_as_in_nova(offered, state, status, names):
    (found,), _ = hosts('drs', offered, [FakeHost(*names, state=state, status=status)])
    assert (found.up, found.enabled) == (state == 'up', status == 'enabled')


def test_hosts_found_by_the_hypervisor_name_come_first():
    found, _ = hosts(
        found=[
            FakeHost('drs-z', 'z'),
            FakeHost('b', 'drs-b'),
            FakeHost('drs-a', 'a'),
            FakeHost('a', 'drs-a'),
        ]
    )

    assert [host.host for host in found] == ['b', 'a', 'drs-z', 'drs-a']


def test_a_pattern_with_special_characters_is_sent_unchanged():
    found, nova = hosts('d%&r s', found=[FakeHost('x', 'y-D%&R s')])
    assert len(found) == 1
    assert nova.asked[1].query == {'hypervisor_hostname_pattern': 'd%&r s'}


def test_a_hypervisor_without_a_service_is_an_error(edge):
    body = '{"hypervisors": [{"id": "a", "hypervisor_hostname": "x-drs", "service": null}]}'
    edge.fail('GET', '/os-hypervisors/detail', Failure('malformed', '', 200, text=body))
    with pytest.raises(CloudError, match="could not list the hypervisors: 'x-drs' has no service"):
        edge.ports.inventory.hosts_named_like('drs')


@pytest.mark.parametrize(
    ('url', 'key'), [('/os-services', 'services'), ('/os-hypervisors/detail', 'hypervisors')]
)
@pytest.mark.parametrize('text', ['{}', '[]', '"no"'])
def test_a_malformed_list_is_an_error(edge, url, key, text):
    edge.fail('GET', url, Failure('malformed', '', 200, text=text))
    with pytest.raises(CloudError, match=f'the answer contains no list of {key}'):
        edge.ports.inventory.hosts_named_like('drs')


STEPS = {
    '/os-services': 'could not list the compute services: ',
    '/os-hypervisors/detail': 'could not list the hypervisors: ',
}


@pytest.mark.parametrize('url', STEPS)
@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
def test_a_failed_search_names_the_action(edge, url, failure):
    edge.fail('GET', url, failure)
    if failure is at_edge.NOT_FOUND and url == '/os-hypervisors/detail':
        found = edge.ports.inventory.hosts_named_like('drs')
        assert [host.host for host in found] == ['vsphere-drs-1'], (
            'a 404 means that no hypervisor matches'
        )
        return

    with pytest.raises(CloudError) as caught:
        edge.ports.inventory.hosts_named_like('drs')

    assert str(caught.value).startswith(STEPS[url])
    assert failure.words in str(caught.value)


def test_below_2_53_a_404_of_the_hypervisors_is_an_error():
    with Edge('2.52') as edge:
        edge.fail('GET', '/os-hypervisors/detail', at_edge.NOT_FOUND)
        with pytest.raises(CloudError, match='could not list the hypervisors: Nova answered 404'):
            edge.ports.inventory.hosts_named_like('drs')


# -- zones


@pytest.mark.parametrize('offered', VERSIONS)
def test_availability_zones(offered):
    with Edge(offered, hosts=[FakeHost('a', zone='az1'), FakeHost('b')], user='demo') as edge:
        assert edge.ports.inventory.availability_zones() == {'az1', 'nova'}
    assert edge.nova.requests() == ['GET /os-availability-zone']


def test_a_zone_is_available_unless_nova_denies_it(edge):
    states = {'a': {'available': True}, 'b': {'available': False}, 'c': None, 'd': {}}
    zones = [{'zoneName': name, 'zoneState': state} for name, state in states.items()]
    edge.fail('GET', '/os-availability-zone', Failure('', '', 200, {'availabilityZoneInfo': zones}))
    assert edge.ports.inventory.zones() == {'a': True, 'b': False, 'c': True, 'd': True}


FETCHES = {
    '/os-availability-zone': (Inventory.availability_zones, 'list the availability zones'),
    '/limits': (Inventory.quotas, 'read the limits of the project'),
    '/os-aggregates': (Inventory.aggregates, 'list the aggregates'),
}


@pytest.mark.parametrize('url', FETCHES)
@pytest.mark.parametrize('failure', at_edge.FAILURES, ids=str)
def test_a_failed_fetch_names_the_action(edge, url, failure):
    edge.fail('GET', url, failure)
    fetch, action = FETCHES[url]
    with pytest.raises(CloudError, match=f'could not {action}: ') as caught:
        fetch(edge.ports.inventory)
    assert failure.words in str(caught.value)


# -- quotas


@pytest.mark.parametrize('offered', VERSIONS)
@pytest.mark.parametrize(('quota', 'limit'), [(10, 10), (0, 0), (-1, None)])
def test_quotas(offered, quota, limit):
    with Edge(offered, quota=quota, user='demo') as edge:
        edge.nova.add_group('one')
        edge.nova.add_group('two')

        assert edge.ports.inventory.quotas() == {
            'server_groups': Quota(limit, 2),
            'server_group_members': Quota(None),
            'instances': Quota(None, 0),
            'cores': Quota(None, 0),
            'ram': Quota(None, 0),
            'metadata_items': Quota(128),
        }
    assert edge.nova.requests() == ['GET /limits']


@pytest.mark.parametrize(
    'text',
    [
        '{}',
        '[]',
        'null',
        '{"limits": {"absolute": {}}}',
        '{"limits": {"absolute": {"maxServerGroups": "x", "totalServerGroupsUsed": 0}}}',
        '{"limits": {"absolute": {"maxServerGroups": 1, "totalServerGroupsUsed": null}}}',
    ],
)
def test_malformed_limits_are_an_error(edge, text):
    edge.fail('GET', '/limits', Failure('malformed', '', 200, text=text))
    with pytest.raises(CloudError, match='could not read the limits of the project: '):
        edge.ports.inventory.quotas()


def test_quotas_that_nova_does_not_list_are_left_out(edge):
    groups = {'maxServerGroups': 3, 'totalServerGroupsUsed': 1, 'maxServerGroupMembers': 4}
    body = {'limits': {'absolute': groups}}
    edge.fail('GET', '/limits', Failure('few', '', 200, body))
    quotas = {'server_groups': Quota(3, 1), 'server_group_members': Quota(4)}
    assert edge.ports.inventory.quotas() == quotas


@pytest.mark.parametrize('ids', [(None, 'u'), ('p', None)])
def test_the_quotas_of_a_user_need_a_project_and_a_user(edge, ids):
    quotas = {'cores': Quota(4, 1)}
    assert edge.ports.inventory.with_user(quotas, *ids) == quotas
    assert edge.nova.requests() == []


def test_the_quotas_of_a_user_complete_those_of_the_project(edge):
    edge.nova.user_quotas['u'] = {'cores': (2, 1)}
    quotas = {'cores': Quota(4, 1), 'unknown': Quota(3)}
    assert edge.ports.inventory.with_user(quotas, 'p', 'u') == {
        'cores': Quota(4, 1, of_user=Quota(2, 1)),
        'unknown': Quota(3),
    }
    assert edge.ports.inventory.with_user(quotas, 'a/b', 'u') == quotas
    first, second = edge.nova.asked
    assert (first.path, first.query) == ('/os-quota-sets/p/detail', {'user_id': 'u'})
    assert second.path == '/os-quota-sets/a%2Fb/detail'


def test_a_failed_fetch_of_the_quotas_of_a_user_is_an_error(edge):
    edge.fail('GET', '/os-quota-sets/p/detail', at_edge.SERVER_ERROR)
    with pytest.raises(CloudError, match='could not read the quotas of the user: '):
        edge.ports.inventory.with_user({}, 'p', 'u')


# -- rights


@pytest.mark.parametrize(('user', 'is_shown'), [('admin', True), ('demo', False)])
def test_only_an_administrator_lists_hypervisors(user, is_shown):
    with Edge(user=user) as edge:
        assert edge.ports.inventory.shows_hosts() is is_shown
    (request,) = edge.nova.asked
    assert (str(request), request.query) == (HYPERVISORS, {'limit': '1'})
    assert request.microversion == '2.53'


@pytest.mark.parametrize(
    ('failure', 'may_choose'),
    [
        (Failure('400', '', 400, {'badRequest': {'message': 'no flavor'}}), True),
        (at_edge.FORBIDDEN, False),
        (at_edge.CONFLICT, None),
        (Failure('202', '', 202, {'server': {'id': 's'}}), None),
    ],
    ids=str,
)
def test_a_server_that_no_cloud_can_create_shows_who_may_choose_hosts(edge, failure, may_choose):
    edge.fail('POST', '/servers', failure)
    inventory = edge.ports.inventory
    if may_choose is None:
        words = 'could not find out whether the owner may choose the hosts of servers: '
        with pytest.raises(CloudError, match=words) as caught:
            inventory.lets_choose_hosts()
        assert failure.words in str(caught.value)
    else:
        assert inventory.lets_choose_hosts() is may_choose
    (request,) = edge.nova.asked
    nothing = '5e7f1a00-0000-4000-8000-000000000000'
    assert request.body == {
        'server': {
            'name': 'senlin-affinity',
            'imageRef': nothing,
            'flavorRef': nothing,
            'availability_zone': f'nova:{nothing}',
        }
    }


# -- flavors

FLAVOR, FLAVORS = 'GET /flavors/{}', 'GET /flavors/detail'
OLD = VERSIONS[: VERSIONS.index('2.63')]


@pytest.mark.parametrize('offered', [*VERSIONS, '2.60', '2.61'])
@pytest.mark.parametrize('name', ['tiny', 'm1.tiny'])
def test_a_flavor_is_found_by_its_id_or_name(offered, name):
    with Edge(offered) as edge:
        found = edge.ports.inventory.flavor(name)

    specs = {'hw:cpu_policy': 'shared'}
    assert found == Flavor('tiny', 'm1.tiny', vcpus=1, ram=64, disk=1, extra_specs=specs)
    assert found.extra_specs == specs
    by_name = [FLAVORS] if name == 'm1.tiny' else []
    separate = ['GET /flavors/tiny/os-extra_specs'] if offered in (*OLD, '2.60') else []
    assert edge.nova.requests() == [FLAVOR.format(name), *by_name, *separate]


@pytest.mark.parametrize('offered', VERSIONS)
def test_an_unknown_flavor_is_none(offered):
    with Edge(offered) as edge:
        assert edge.ports.inventory.flavor('large') is None
    assert edge.nova.requests() == [FLAVOR.format('large'), FLAVORS]


@pytest.mark.parametrize(('name', 'pages'), [('m1.4', 3), ('m1.5', 3), ('m1.3', 2)])
def test_a_flavor_on_a_later_page_is_found(name, pages):
    flavors = [FakeFlavor(f'id-{number}', f'm1.{number}') for number in range(5)]
    with Edge(flavors=flavors, longest_page=2) as edge:
        found = edge.ports.inventory.flavor(name)
    assert (found and found.id) == (None if name == 'm1.5' else f'id-{name[-1]}')
    assert edge.nova.requests().count(FLAVORS) == pages


def test_a_full_last_page_is_followed_by_another_request():
    with Edge(flavors=[FakeFlavor('a', 'm1.a')], longest_page=1) as edge:
        assert edge.ports.inventory.flavor('m1.b') is None
    assert edge.nova.requests().count(FLAVORS) == 2


@pytest.mark.parametrize('name', ['one / two?', 'a/os-extra_specs', '.', '..', 'detail'])
def test_a_name_that_is_not_a_valid_path_is_searched_in_the_list(name):
    """Nova's router responds with 404 or another resource; tests/functional verifies that."""
    with Edge(flavors=[FakeFlavor('a', name)]) as edge:
        assert edge.ports.inventory.flavor(name).id == 'a'
    assert edge.nova.requests() == [FLAVORS]


@pytest.mark.parametrize(
    ('body', 'why'),
    [
        ({}, "the answer lacks 'flavor'"),
        ({'flavor': {'id': 'tiny'}}, "the answer lacks '"),
        ({'flavor': []}, 'a value in the answer has the wrong type'),
    ],
    ids=str,
)
def test_a_malformed_flavor_is_an_error(body, why):
    words = f"could not read the flavor 'tiny': {why}"
    with Edge() as edge:
        edge.fail('GET', '/flavors/tiny', Failure('malformed', 'malformed', status=200, body=body))
        with pytest.raises(CloudError, match=words):
            edge.ports.inventory.flavor('tiny')


# -- aggregates

A_UUID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'


@pytest.mark.parametrize('offered', ['2.53', '2.63', newest()])
def test_aggregates_may_share_a_name(offered):
    found = [
        FakeAggregate('ssd', ('cmp-1',), {'ssd': 'true', 'reservation:r1': ''}, A_UUID),
        FakeAggregate('ssd'),
    ]
    with Edge(offered, aggregates=found) as edge:
        assert edge.ports.inventory.aggregates() == (
            Aggregate(A_UUID, 'ssd', metadata=found[0].metadata),
            Aggregate(found[1].id, 'ssd'),
        )
    (request,) = edge.nova.asked
    assert (str(request), request.microversion, request.query) == ('GET /os-aggregates', '2.41', {})


@pytest.mark.parametrize('offered', ['', '2.1', '2.40'])
def test_aggregates_below_2_41_have_no_uuid(offered):
    with Edge(offered) as edge, pytest.raises(CloudError, match=r'microversion 2\.41'):
        edge.ports.inventory.aggregates()
    assert edge.nova.requests() == []


@pytest.mark.parametrize(
    'text',
    [
        '{}',
        '{"aggregates": [{}]}',
        '{"aggregates": [{"uuid": "x", "name": "y", "metadata": null}]}',
        '{"aggregates": [{"uuid": "x", "name": "y", "metadata": "z"}]}',
    ],
)
def test_malformed_aggregates_are_an_error(edge, text):
    edge.fail('GET', '/os-aggregates', Failure('malformed', '', 200, text=text))
    with pytest.raises(CloudError, match='could not list the aggregates: '):
        edge.ports.inventory.aggregates()


@pytest.mark.parametrize(('offered', 'release'), [('2.64', 24), ('2.90', 24), ('2.95', 27)])
def test_the_release_is_the_oldest_with_the_microversion(offered, release):
    with Edge(offered) as edge:
        assert edge.ports.inventory.release() == release
