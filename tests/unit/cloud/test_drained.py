"""The fetch of what the moves of the servers of hosts depend on, and its requests."""

import pytest

from senlin_affinity import api
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.server_group import Member
from tests.support.edge import FORBIDDEN, SERVER_ERROR, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost
from tests.support.values import replace
from tests.unit.cloud.test_servers import body

HINTED = '0f3d6c55-6b1f-4c64-9a3e-2f6f0b7f7a11'


@pytest.fixture
def edge():
    hosts = tuple(FakeHost(f'cmp-{n}', f'cmp-{n}.example.org') for n in (1, 2, 3))
    glance = FakeGlance(FakeImage('cirros', uuid='i'))
    services = 'compute', 'placement'
    with Edge(hosts=hosts, services=services, aggregates=(), glance=glance) as edge:
        yield edge


def fetch(edge, bodies, *names):
    """Return the view of a cloud whose Nova lists these servers."""

    def answer(query):
        host, name = query.get('host'), query.get('uuid')
        return {
            'servers': [
                each
                for each in bodies
                if host in (None, each['OS-EXT-SRV-ATTR:host']) and name in (None, each['id'])
            ]
        }

    edge.answer('/servers/detail', answer)
    return api.fetch(edge.connection(), servers_on=names)


def sent(edge, path):
    return [each for each in edge.nova.asked if each.path == path]


def test_the_servers_of_named_hosts(edge):
    found = fetch(edge, [body(), body(2, 'cmp-2'), body(3, 'cmp-3')], 'cmp-1', 'cmp-2.example.org')
    by_host = found.servers_by_host
    assert {host: [each.id for each in servers] for host, servers in by_host.items()} == {
        'cmp-1': ['s1'],
        'cmp-2': ['s2'],
    }
    assert found.unavailable == {}
    # For each host: its servers; in Placement, its provider and the allocations.
    assert len(sent(edge, '/servers/detail')) == 2
    of_allocations = [each for each in edge.placement.asked if 'name=' in each or '/alloc' in each]
    assert len([each for each in of_allocations if 'candidates' not in each]) == 4


def test_a_host_that_does_not_exist_has_no_list(edge):
    assert fetch(edge, [], 'cmp-9').servers_by_host == {}
    assert sent(edge, '/servers/detail') == []


def test_all_servers_take_one_list_and_no_allocations(edge):
    found = fetch(edge, [body(), body(2, 'cmp-2')], '*').servers_by_host
    assert {host: len(servers) for host, servers in found.items()} == {
        'cmp-1': 1,
        'cmp-2': 1,
        'cmp-3': 0,
    }
    assert len(sent(edge, '/servers/detail')) == 1
    assert not any('/allocations' in each for each in edge.placement.asked)


def test_no_request_is_sent_for_a_server(edge):
    fetch(edge, [body(number) for number in range(1, 6)], 'cmp-1')
    few = len(edge.nova.asked), len(edge.placement.asked)
    edge.nova.asked.clear()
    edge.placement.asked.clear()
    fetch(edge, [body(number) for number in range(1, 101)], 'cmp-1')
    assert (len(edge.nova.asked), len(edge.placement.asked)) == few


def test_the_allocation_of_a_server_is_compared(edge):
    first = edge.placement.providers[0]
    edge.placement.providers[0] = replace(first, consumers={'s1': {'VCPU': 9}})
    (server,) = fetch(edge, [body()], 'cmp-1').servers_by_host['cmp-1']
    assert server.allocated == {'VCPU': 9}


@pytest.mark.parametrize('failure', [FORBIDDEN, SERVER_ERROR])
def test_allocations_that_cannot_be_read(edge, failure):
    edge.fail('GET', '/allocations', failure, times=None)
    found = fetch(edge, [body()], 'cmp-1')
    assert "could not read the servers' allocations" in found.unavailable['allocations']
    assert len(found.servers_by_host['cmp-1']) == 1


def test_the_servers_of_hints_are_located(edge):
    hints = {'different_host': [HINTED], 'same_host': ['s2']}
    other = body(9, 'cmp-3', id=HINTED)
    found = fetch(edge, [body(scheduler_hints=hints), other], 'cmp-1')
    edge.answer('/servers/[^/]*', lambda _query: {'server': other})
    found = fetch(edge, [body(scheduler_hints=hints), other], 'cmp-1')
    assert found.servers == (Member(HINTED, 'cmp-3', 'u', zone='az-1', state='ACTIVE'),)


def test_a_hinted_server_that_is_listed_needs_no_request(edge):
    bodies = [body(scheduler_hints={'same_host': [HINTED]}), body(9, id=HINTED)]
    found = fetch(edge, bodies, 'cmp-1')
    assert [each.server for each in found.servers] == [HINTED]
    assert sent(edge, f'/servers/{HINTED}') == []


def test_a_user_who_may_not_list_all_servers(edge):
    edge.fail('GET', '/servers/detail', FORBIDDEN, times=None)
    with pytest.raises(CloudError, match='could not list the servers of all projects: Nova'):
        api.fetch(edge.connection(), servers_on=['cmp-1'])


def test_a_user_who_may_not_list_hosts():
    with Edge(user='demo', services=('compute', 'placement')) as other:
        found = api.fetch(other.connection(), servers_on=['cmp-1'])
    assert found.hosts is None
    assert found.servers_by_host == {}


@pytest.mark.parametrize('is_shown', [True, False])
def test_the_traits_of_an_image_are_those_of_glance(edge, is_shown):
    """Nova shows the other properties, as they were at the request."""
    own = {'hw_vif_model': 'virtio', 'trait:CUSTOM_FAST': 'required', 'os_type': 'windows'}
    edge.glance.images = (FakeImage('fast', own, uuid='i'),) if is_shown else ()
    image = {'id': 'i', 'properties': {'os_type': 'linux'}}
    found = fetch(edge, [body(image=image), body(2, image=image)], 'cmp-1')
    one, two = found.servers_by_host['cmp-1']
    assert one.image_properties == two.image_properties
    assert one.image_properties == {**(own if is_shown else {}), 'os_type': 'linux'}
    assert ('image_traits' in one.unknown) is not is_shown
    assert edge.glance.asked == ['GET /v2/images']


def test_images_that_cannot_be_read(edge):
    edge.fail('GET', '/v2/images', SERVER_ERROR)
    found = fetch(edge, [body()], 'cmp-1')
    assert 'images' in found.unavailable
    assert 'image_traits' in found.servers_by_host['cmp-1'][0].unknown
