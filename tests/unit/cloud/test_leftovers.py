"""What uses a full host besides its servers is read for a few hosts that decide."""

import uuid
from dataclasses import replace

import pytest
from msgspec import structs

from senlin_affinity import api
from senlin_affinity.cloud import host_use
from senlin_affinity.model.host import Leftover
from senlin_affinity.nova import host_status
from senlin_affinity.nova.host_status import DISABLED
from tests.support.edge import FORBIDDEN, Edge
from tests.support.fake_glance import FakeGlance, FakeImage
from tests.support.fake_nova import FakeHost, FakeMigration, FakeServer
from tests.support.fake_placement import FakePlacement, FakeProvider
from tests.unit.cloud.test_servers import body

FULL = {'VCPU': (16, 2), 'MEMORY_MB': (16384, 16384), 'DISK_GB': (100, 0)}
LEAK = {'MEMORY_MB': 12288, 'VCPU': 1}
QUESTION = api.Question(1, flavor='m1.tiny')


@pytest.fixture
def edge():
    hosts = tuple(FakeHost(f'cmp-{number}') for number in range(3))
    glance = FakeGlance(FakeImage('cirros', uuid='i'))
    services = 'compute', 'placement'
    with Edge(hosts=hosts, services=services, aggregates=(), glance=glance) as edge:
        edge.nova.add_flavor('f')
        yield edge


def boot(edge, host, **more):
    edge.nova.servers.append(FakeServer(str(uuid.uuid4()), host, **more))
    return edge.nova.servers[-1].id


def full(edge, names=('cmp-0', 'cmp-1', 'cmp-2'), **consumers):
    """Let hosts be full; return the ids of their servers."""
    edge.placement = FakePlacement.of(edge.nova, dict.fromkeys(names, FULL))
    servers = {name: boot(edge, name) for name in names}
    edge.placement.consumers = {
        name: {servers[name]: {'MEMORY_MB': 4096}, **consumers.get(name.replace('-', '_'), {})}
        for name in names
    }
    return servers


def read(edge, question=QUESTION):
    """Return the view with leftovers, the decision about it, and the requests for them."""
    view = api.fetch(edge.connection(), question)
    before = len(edge.placement.asked)
    decision = api.answer(question, view, remedies=False)
    view = api.with_leftovers(edge.connection(), view, decision)
    found = [each.partition('?')[0] for each in edge.placement.asked[before:]]
    return view, api.answer(question, view), [each for each in found if 'resource_prov' in each]


def of(view):
    return {host.host: host.leftovers for host in view.hosts}


def test_a_consumer_that_is_no_server_is_named_and_its_removal_is_a_remedy(edge):
    full(edge, cmp_1={'gone': LEAK})
    view, decision, requests = read(edge)
    assert of(view) == {'cmp-0': (), 'cmp-1': (Leftover('gone', LEAK),), 'cmp-2': ()}
    assert len(requests) == 6
    assert [*host_status.differences(view)] == [
        'cmp-1: a consumer that is no server of this host uses 12288 MEMORY_MB, 1 VCPU: '
        'nova-manage placement audit'
    ]
    (remedy,) = [each for each in decision.remedies if each.code == 'removed_consumers']
    assert remedy.change == (
        'leftover allocations removed from 1 host (cmp-1: 12288 MEMORY_MB, 1 VCPU)'
    )
    assert (remedy.data, remedy.capacity >= 1) == ({'removed_consumers': ['cmp-1']}, True)
    assert [each.code for each in decision.remedies].index('hosts') > decision.remedies.index(
        remedy
    )


def test_servers_that_are_created_or_moved_are_no_leftovers(edge):
    full(edge, cmp_0={'new': LEAK}, cmp_1={'moved': LEAK, 'migration-0': LEAK}, cmp_2={'x': LEAK})
    edge.placement.consumers['cmp-0'] = {boot(edge, None, status='BUILD'): LEAK}
    edge.nova.migrations.append(FakeMigration('moved', 'cmp-1', 'cmp-0', 'running'))
    view, decision, _requests = read(edge)
    assert of(view) == {
        'cmp-0': (),
        'cmp-1': (Leftover('migration-0', LEAK, 'moved'),),
        'cmp-2': (Leftover('x', LEAK),),
    }
    assert next(host_status.differences(view)) == (
        'cmp-1: a migration or resize of server moved uses 12288 MEMORY_MB, 1 VCPU: confirm or '
        'revert it'
    )
    (remedy,) = [each for each in decision.remedies if each.code == 'removed_consumers']
    assert remedy.data == {'removed_consumers': ['cmp-2']}


def test_a_host_to_which_a_server_has_just_moved_has_no_orphans(edge):
    """The hypervisor counts the server only after a minute, but Nova lists it there."""
    servers = full(edge, ['cmp-0'])
    view = api.fetch(edge.connection(), QUESTION)
    late = tuple(
        host.but(grants=host.grants, servers=0) if host.host == 'cmp-0' else host
        for host in view.hosts
    )
    view = structs.replace(view, hosts=late)
    assert 'counts no servers' in next(host_status.differences(view))
    decision = api.answer(QUESTION, view)
    assert decision.fits
    view = api.with_leftovers(edge.connection(), view, decision)
    assert of(view)['cmp-0'] == ()
    assert [*host_status.differences(view)] == []
    assert servers


def test_what_uses_a_full_host_is_split(edge):
    full(edge, cmp_1={'gone': LEAK})
    edge.placement.reserved = {'cmp-2': {'MEMORY_MB': 512}}
    view, _decision, _requests = read(edge)
    assert [host_status.consumption(host, 'MEMORY_MB') for host in view.hosts] == [
        '',
        'cmp-1: of MEMORY_MB, servers use 4096, other consumers 12288, and 0 is reserved',
        'cmp-2: of MEMORY_MB, servers use 16384, other consumers 0, and 512 is reserved',
    ]


def test_gpus_of_a_consumer_are_on_another_provider(edge):
    """A host whose resources are those of a tree is read with all its providers."""
    edge.placement = FakePlacement.of(edge.nova, {'cmp-0': {**FULL, 'MEMORY_MB': (16384, 0)}})
    root = edge.nova.hypervisor_id(0)
    used = {'gone': {'VGPU': 2}}
    gpus = FakeProvider('gpus', {'VGPU': (2, 2)}, parent=root, consumers=used)
    edge.placement.providers.append(gpus)
    edge.nova.add_flavor('gpu', extra_specs={'resources:VGPU': '1'})
    view, decision, _requests = read(edge, api.Question(1, flavor='gpu'))
    assert of(view)['cmp-0'] == (Leftover('gone', {'VGPU': 2}),)
    (remedy,) = [each for each in decision.remedies if each.code == 'removed_consumers']
    assert remedy.change == 'leftover allocations removed from 1 host (cmp-0: 2 VGPU)'


def test_at_most_ten_hosts_are_read():
    hosts = tuple(FakeHost(f'cmp-{number:02}') for number in range(30))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        full(edge, [host.host for host in hosts])
        view, _decision, requests = read(edge)
        assert len(requests) == 2 * host_use.MOST == 20
        assert sum(each is not None for each in of(view).values()) == 10


def test_a_request_that_fits_reads_nothing_more(edge):
    view, _decision, requests = read(edge)
    assert requests == []
    assert set(of(view).values()) == {None}


def test_a_reserved_class_is_found_in_the_inventory(edge):
    """Placement's candidates show no provider that has none of a class."""
    edge.placement = FakePlacement.of(edge.nova, {'cmp-0': {'MEMORY_MB': (0, 0)}})
    edge.placement.reserved = {'cmp-0': {'CUSTOM_GOLD': 1}}
    specs = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    edge.nova.add_flavor('bm', extra_specs={**specs, 'resources:CUSTOM_GOLD': '1'})
    view, decision, requests = read(edge, api.Question(1, flavor='bm'))
    (host,) = [each for each in decision.hosts if each.host == 'cmp-0']
    assert host.code == 'resources.reserved'
    assert host.verdicts['resources'].facts['reserved'] == 1
    assert len(requests) == 2


def test_a_disabled_node_is_read_because_placement_does_not_offer_it(edge):
    """So that enabling it is a remedy: the hypervisor shows none of its classes."""
    first, *others = edge.nova.hosts
    edge.nova.hosts = (replace(first, status='disabled'), *others)
    edge.placement = FakePlacement.of(edge.nova, {'cmp-0': {'CUSTOM_GOLD': (1, 0)}})
    node = edge.placement.providers[0]
    edge.placement.providers[0] = replace(node, traits=(*node.traits, DISABLED))
    specs = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    edge.nova.add_flavor('bm', extra_specs={**specs, 'resources:CUSTOM_GOLD': '1'})
    _view, decision, requests = read(edge, api.Question(1, flavor='bm'))
    assert {'enabled_hosts': ['cmp-0']} in [each.data for each in decision.remedies]
    assert len(requests) == 2


def test_a_host_that_cannot_be_read_stays_as_it_is(edge):
    full(edge)
    view = api.fetch(edge.connection(), QUESTION)
    decision = api.answer(QUESTION, view, remedies=False)
    first, _gone, last = edge.nova.hosts
    edge.nova.hosts = (first, FakeHost('other'), last)
    view = api.with_leftovers(edge.connection(), view, decision)
    assert of(view) == {'cmp-0': (), 'cmp-1': None, 'cmp-2': ()}


GPU = api.Question(1, flavor='gpu')


def with_gpus(edge, *names):
    """Let these full hosts have GPUs, all other hosts room, and no server unknown fields."""
    gpus = {name: {**FULL, 'VGPU': (1, 0)} for name in names}
    edge.placement = FakePlacement.of(edge.nova, gpus)
    edge.nova.add_flavor('gpu', extra_specs={'resources:VGPU': '1'})
    bodies = [body(number, name) for number, name in enumerate(names)]
    of_host = {each['OS-EXT-SRV-ATTR:host']: [each] for each in bodies}
    edge.answer('/servers/detail', lambda query: {'servers': of_host.get(query.get('host'), [])})


def servers_read(edge, question=GPU):
    """Return the service hosts whose servers are read, and the requests for them.

    Placement gets no request twice.
    """
    before = len(edge.nova.asked)
    view, _decision, requests = read(edge, question)
    assert sorted({*requests}) == sorted(requests)
    asked = [each for each in edge.nova.asked[before:] if each.path == '/servers/detail']
    return [*view.servers_by_host], [each for each in asked if 'host' in each.query]


def test_the_servers_of_the_few_hosts_with_gpus_are_read(edge):
    """Another host may take one of them."""
    with_gpus(edge, 'cmp-1')
    names, asked = servers_read(edge)
    assert names == ['cmp-1']
    assert len(asked) == 1


def test_the_servers_of_hosts_for_any_server_are_not_read(edge):
    full(edge)
    assert servers_read(edge, QUESTION) == ([], [])


def test_no_servers_are_known_if_these_cannot_be_read(edge):
    with_gpus(edge, 'cmp-1')
    edge.fail('GET', '/servers/detail', FORBIDDEN, times=None)
    assert servers_read(edge)[0] == []


def test_the_servers_of_many_hosts_with_gpus_are_not_read():
    hosts = tuple(FakeHost(f'cmp-{number:02}') for number in range(12))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        with_gpus(edge, *(each.host for each in hosts[:11]))
        assert servers_read(edge) == ([], [])
