"""A server that does not need what few hosts have moves, if another host certainly takes it."""

import pytest

from senlin_affinity import api
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import AFFINITY, Member, ServerGroup
from senlin_affinity.model.value import Texts
from senlin_affinity.nova.actions import SAME_HOST, Action, ServerAction
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.server_action import asking, question_of
from tests.support.small_cloud import CONSTRAINTS
from tests.support.values import replace

SMALL = Flavor('1', 'small', 1, 1_024, 1)
LARGE = Flavor('2', 'large', 4, 8_192, 1)
GPU = Flavor('3', 'gpu', 1, 1_024, 1, extra_specs={'resources:VGPU': '1'})
ZONE = Aggregate('8bbcc3c4-1da2-4437-a48a-000000000000', 'az-1', 'az-1')


def uuid(number):
    return f'{number:08x}-1da2-4437-a48a-000000000000'


def host(name, used, gpus=0, **fields):
    """Return a host with 16 GiB of memory."""
    resources = {
        'VCPU': Resource(16, 0, 16),
        'MEMORY_MB': Resource(16_384, used, 16_384),
        'DISK_GB': Resource(100, 0, 100),
    }
    if gpus:
        resources['VGPU'] = Resource(gpus, 0, gpus)
    more = {'hypervisor_type': 'QEMU', **fields}
    where = {'availability_zone': 'az-1', 'aggregates': frozenset([ZONE.uuid])}
    return Host(name, resources=resources, **where, **more)


def server(number, flavor, at='gpu-1', status='ACTIVE', **fields):
    return Server(uuid(number), f's{number}', status, host=at, flavor=flavor, **fields)


def cloud_of(servers, hosts=None, groups=()):
    """Return a cloud whose only host with GPUs is full."""
    hosts = hosts or (host('gpu-1', 16_384, gpus=2), host('cmp-1', 0))
    by_host = {at.host: tuple(each for each in servers if each.host == at.host) for at in hosts}
    return Cloud(
        hosts=tuple(hosts),
        aggregates=(ZONE,),
        flavors=(SMALL, LARGE, GPU),
        server_groups=groups,
        servers=(),
        soft_deleted=(),
        servers_by_host=by_host,
    )


def answer(servers, hosts=None, groups=(), **asked):
    """Ask for a server with a GPU, whose only host is full."""
    cloud = cloud_of(servers, hosts, groups)
    hints = (*DEFAULT_FILTERS, 'SameHostFilter', 'DifferentHostFilter')
    question = api.Question(1, flavor='gpu', enabled_filters=hints, **asked)
    return api.answer(question, cloud)


def moved(*args, **more):
    """Return the moves of the remedy, as text; None without the remedy."""
    found = [each for each in answer(*args, **more).remedies if each.code == 'moved_server']
    assert len(found) <= 1
    for remedy in found:
        (value,) = remedy.data['moved_servers']
        return f'{value["kind"]} {value["name"]} {value["from"]} {value["to"]}'
    return None


def test_the_smallest_server_that_suffices_moves_before_the_gpu_is_given_up():
    remedies = answer([server(1, LARGE), server(2, SMALL), server(3, GPU)]).remedies
    assert [each.code for each in remedies] == ['moved_server', 'rule_given_up', 'hosts']
    assert str(remedies[0]) == (
        'server s2 (flavor small, which does not require resources:VGPU=1) migrated live from '
        'gpu-1 to cmp-1 (capacity 1)'
    )
    assert remedies[0].commands == (
        'openstack --os-compute-api-version 2.30 server migrate --live-migration --wait --host '
        f'cmp-1 {uuid(2)}',
    )


def test_a_stopped_server_moves_cold_and_is_confirmed():
    (remedy, *_others) = answer([server(1, SMALL, status='SHUTOFF')]).remedies
    assert remedy.change.endswith(' migrated cold from gpu-1 to cmp-1')
    assert remedy.commands == (
        f'openstack --os-compute-api-version 2.56 server migrate --wait --host cmp-1 {uuid(1)}',
        f'openstack server migration confirm {uuid(1)}',
    )


def test_another_server_moves_for_one_that_exists_but_this_one_does_not():
    def moves(action, of, servers):
        asked = ServerAction(action, of)
        view = cloud_of(servers)
        question = Question(1, 'gpu', options={SAME_HOST.key: True})
        request = asking(asked, question_of(asked, question), view)
        remedies = request.decide(CONSTRAINTS).remedies
        return [each['name'] for one in remedies for each in one.data.get('moved_servers', ())]

    shelved = server(9, GPU, at=None, status='SHELVED_OFFLOADED')
    small, other = server(1, SMALL), server(2, SMALL)
    assert moves(Action.UNSHELVE, shelved, [small]) == ['s1']
    assert moves(Action.RESIZE, small, [small]) == []
    assert moves(Action.RESIZE, small, [small, other]) == ['s2']


def test_a_server_that_frees_too_little_stays():
    full = host('gpu-1', 17_408, gpus=1)
    hosts = (full, host('cmp-1', 0))
    assert moved([server(1, SMALL), server(2, LARGE)], hosts) == 'live s2 gpu-1 cmp-1'
    assert moved([server(1, SMALL)], hosts) is None


def test_all_gpus_in_use_are_no_matter_of_other_servers():
    busy = host('gpu-1', 0, gpus=1)
    busy = busy.but(resources={**busy.resources, 'VGPU': Resource(1, 1, 1)})
    assert moved([server(1, SMALL)], (busy, host('cmp-1', 0))) is None


def test_the_server_stays_in_its_zone_if_a_host_there_takes_it():
    far = host('cmp-1', 0).but(availability_zone='nova', aggregates=frozenset())
    hosts = (host('gpu-1', 16_384, gpus=2), far)
    assert moved([server(1, SMALL)], hosts) == 'live s1 gpu-1 cmp-1'
    (remedy, *_others) = answer([server(1, SMALL)], hosts).remedies
    assert remedy.change.endswith(' from gpu-1 to cmp-1, in zone nova')
    assert moved([server(1, SMALL)], (*hosts, host('cmp-2', 8_192))) == 'live s1 gpu-1 cmp-2'


def test_of_equal_servers_one_that_stays_in_its_zone_moves():
    """One of another flavor, which is larger, does not."""
    where = {'availability_zone': 'az-2', 'aggregates': frozenset()}
    hosts = (
        host('gpu-1', 16_384, gpus=2),
        host('cmp-1', 0).but(availability_zone='nova', aggregates=frozenset()),
        host('gpu-2', 16_384, gpus=2).but(**where),
        host('cmp-2', 0).but(**where),
    )
    twin = Flavor('4', 'twin', 1, 1_024, 1)
    servers = [server(1, SMALL), server(2, twin, at='gpu-2')]
    assert moved(servers, hosts) == 'live s2 gpu-2 cmp-2'
    assert moved([server(1, SMALL), server(2, LARGE, at='gpu-2')], hosts) == 'live s1 gpu-1 cmp-1'


SSD = 'aggregate_instance_extra_specs:ssd'


def test_a_label_of_aggregates_is_given_up_before_a_server_moves():
    """A flavor of at least three quarters of each amount; a smaller one comes after the move."""
    label = Aggregate(uuid(4), 'ssd', metadata={'ssd': 'true'})
    ssd = replace(LARGE, name='ssd', id='ssd', extra_specs={SSD: 'true'})
    full = host('ssd-1', 16_384)
    full = full.but(aggregates=frozenset([ZONE.uuid, label.uuid]))
    for other, first in ((LARGE, 'rule_given_up'), (SMALL, 'moved_server')):
        cloud = Cloud(
            hosts=(full, host('cmp-1', 0)),
            aggregates=(ZONE, label),
            flavors=(other, ssd),
            server_groups=(),
            servers=(),
            soft_deleted=(),
            servers_by_host={'ssd-1': (server(1, LARGE, at='ssd-1'),), 'cmp-1': ()},
        )
        filters = (*DEFAULT_FILTERS, 'AggregateInstanceExtraSpecsFilter')
        question = api.Question(1, flavor='ssd', enabled_filters=filters)
        remedies = api.answer(question, cloud).remedies
        assert {each.code for each in remedies} >= {'rule_given_up', 'moved_server'}
        assert remedies[0].code == first


@pytest.mark.parametrize(
    'fields',
    [
        {'status': 'ERROR'},
        {'task_state': 'resize_prep'},
        {'pinned_zone': 'az-2'},
        {'unknown': Texts(['pinned_zone'])},
        {'unknown': Texts(['server_group'])},
        {'allocated': {'MEMORY_MB': 512}},
        {'server_group': uuid(9)},
        {'hints': {'same_host': uuid(7)}},
    ],
    ids=str,
)
def test_a_server_that_may_have_to_stay_is_not_proposed(fields):
    assert moved([server(1, SMALL)]) == 'live s1 gpu-1 cmp-1'
    assert moved([server(1, SMALL, **fields)]) is None


@pytest.mark.parametrize(
    'target',
    [
        host('cmp-1', 15_872),
        host('cmp-1', 0, enabled=False),
        host('cmp-1', 0, up=False),
        host('cmp-1', 0, hypervisor_type='LXC'),
        host('cmp-1', 0).but(resources=None),
    ],
    ids=['full', 'disabled', 'down', 'of another hypervisor', 'unknown'],
)
def test_the_target_certainly_takes_the_server(target):
    assert moved([server(1, SMALL)], (host('gpu-1', 16_384, gpus=2), target)) is None


def test_servers_that_the_request_names_stay():
    group = ServerGroup(uuid(9), 'db', AFFINITY, members=(Member(uuid(1), 'gpu-1'),))
    member = server(1, SMALL, server_group=uuid(9))
    assert moved([member], groups=(group,), server_group='db') is None
    hints = {'different_host': [uuid(1)]}
    assert moved([server(1, SMALL)], scheduler_hints=hints) is None


def test_without_servers_nothing_is_proposed():
    assert moved([]) is None
