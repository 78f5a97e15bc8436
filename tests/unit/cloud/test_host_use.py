"""The reserved amounts of a host, and its consumers that are not servers."""

import pytest

from senlin_affinity.cloud import clients, host_use
from senlin_affinity.cloud.host_use import HostUse
from senlin_affinity.model.errors import CloudError
from senlin_affinity.model.host import Host, Leftover, Resource
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost
from tests.support.fake_placement import FakeProvider
from tests.support.values import replace

LOST, MOVED = '5c000000-0000-4000-8000-000000000001', '5c000000-0000-4000-8000-000000000002'


@pytest.fixture
def edge():
    """Yield two hosts, one of whose names contains that of the other."""
    hosts = (FakeHost('cmp-1'), FakeHost('cmp-10'))
    with Edge(hosts=hosts, services=('compute', 'placement'), aggregates=()) as edge:
        yield edge


def fetch(edge, name='cmp-1'):
    return host_use.fetch(clients.of(edge.connection()), name)


def let(edge, number=0, **changed):
    edge.placement.providers[number] = replace(edge.placement.providers[number], **changed)


def test_a_host_without_other_consumers(edge):
    server = edge.nova.boot(edge.nova.add_group('web', project_id='p'), 'cmp-1')
    let(edge, reserved={'MEMORY_MB': 512}, consumers={server: {'VCPU': 1}})
    let(edge, 1, reserved={'MEMORY_MB': 7}, consumers={LOST: {'VCPU': 1}})
    use = fetch(edge)
    assert {name: number for name, number in use.reserved.items() if number} == {'MEMORY_MB': 512}
    assert (use.consumers, use.servers) == ((), 1)
    assert 'GET /os-migrations' not in edge.nova.requests()
    assert len(edge.placement.asked) == 3


def test_amounts_of_a_consumer_are_added_over_the_tree(edge):
    root = edge.nova.hypervisor_id(0)
    gpus = FakeProvider('gpus', {'VGPU': (4, 1)}, parent=root, consumers={LOST: {'VGPU': 1}})
    edge.placement.providers.append(gpus)
    let(edge, consumers={LOST: {'VCPU': 2}})
    assert fetch(edge).consumers == (Leftover(LOST, {'VCPU': 2, 'VGPU': 1}),)


def test_consumers_of_migrations_are_named(edge):
    """The migration holds the resources of the source; a moving server those of the destination."""
    listed = {'migrations': [
        {'uuid': MOVED, 'instance_uuid': 'server-1', 'status': 'running'},
        {'uuid': 'other', 'instance_uuid': LOST, 'status': 'running'},
    ]}  # fmt: skip
    edge.answer('/os-migrations', lambda _query: listed)
    let(edge, consumers={MOVED: {'VCPU': 1}, LOST: {'VCPU': 2}})
    assert {each.consumer: each.server for each in fetch(edge).consumers} == {
        LOST: LOST,
        MOVED: 'server-1',
    }


def test_a_partial_host_gets_the_classes_of_its_provider(edge):
    """Placement is asked about CPUs, memory and disk of every host, which a node does not offer."""
    let(edge, resources={'CUSTOM_GOLD': (1, 0)})
    use = fetch(edge)
    node = Host('cmp-1', 'cmp-1', resources={'MEMORY_MB': Resource(0, 0)}, is_partial=True)
    whole = use.complete(node)
    assert {name: each.capacity for name, each in (whole.resources or {}).items()} == {
        'CUSTOM_GOLD': 1,
        'MEMORY_MB': 0,
    }
    assert not whole.is_partial
    other = Host('cmp-1', 'cmp-1', resources={'VCPU': Resource(4, 0)})
    assert use.complete(other) is other


def test_a_tree_does_not_complete_a_host(edge):
    root = edge.nova.hypervisor_id(0)
    edge.placement.providers.append(FakeProvider('gpus', {'VGPU': (4, 1)}, parent=root))
    assert fetch(edge).resources == {}


def test_a_host_that_is_gone(edge):
    with pytest.raises(CloudError, match="there is no hypervisor 'cmp'"):
        fetch(edge, 'cmp')


def test_a_value_without_consumers():
    assert HostUse({}) == HostUse({}, ())
