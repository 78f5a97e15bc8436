"""The free capacity of hosts, computed for all hosts at once."""

import pytest
from msgspec import structs

from senlin_affinity.model.host import Resource
from senlin_affinity.nova.plain_rooms import plain_rooms
from senlin_affinity.planner.resolution import resolve
from tests.support.small_cloud import request_of, rules_of, snapshot_of

GOLD = 'CUSTOM_GOLD'
AMPLE = {'MEMORY_MB': [10**6, 0], 'DISK_GB': [10**6, 0]}


def rooms(hosts, flavor=None, **row):
    row = {'hosts': hosts, 'flavor': flavor or {'vcpus': 2}, **row}
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    return list(plain_rooms(asked, asked.snapshot.hosts))


def of_vcpu(*numbers, **more):
    return {'resources': {**AMPLE, 'VCPU': {**structs.asdict(Resource(*numbers)), **more}}}


@pytest.mark.parametrize(
    ('host', 'expected'),
    [
        pytest.param(of_vcpu(16, 1), 7, id='the free amount is divided'),
        pytest.param(of_vcpu(16, 1, max_unit=2), 7, id='a server may use max_unit'),
        pytest.param(of_vcpu(16, 1, max_unit=1), 0, id='max_unit is too small'),
        pytest.param(of_vcpu(16, 1, step_size=2), 7, id='the amount is a multiple of step_size'),
        pytest.param(of_vcpu(16, 1, step_size=3), 0, id='the amount is no multiple of step_size'),
        pytest.param(of_vcpu(16, 1, is_sum=True), 0, id='several providers'),
        pytest.param(of_vcpu(16, 1, pool='nfs'), 0, id='a sharing provider'),
        pytest.param({**of_vcpu(16, 1), 'nested': True}, 0, id='a provider tree'),
        pytest.param({**of_vcpu(16, 1), 'partial': True}, 0, id='partly known'),
        pytest.param({**of_vcpu(16, 1), 'type': 'VMware'}, 0, id='a vSphere cluster'),
        pytest.param({'resources': None}, 0, id='unknown'),
        pytest.param({'resources': AMPLE}, 0, id='a class is missing'),
    ],
)
def test_the_room_of_one_host(host, expected):
    assert rooms({'cmp-1': host}) == [expected]


def test_the_scarcest_class_decides_for_each_host():
    scarce = {'resources': {**AMPLE, 'VCPU': [16, 0], 'MEMORY_MB': [1024, 0]}}
    assert rooms({'cmp-1': scarce, 'cmp-2': of_vcpu(8, 0)}) == [2, 4]


@pytest.mark.parametrize(
    ('amount', 'max_unit', 'expected'),
    [
        pytest.param(1, None, 4, id='one unit always fits an unknown max_unit'),
        pytest.param(2, None, 0, id='an unknown max_unit could be 1'),
        pytest.param(2, 2, 2, id='a known max_unit'),
    ],
)
def test_an_unknown_max_unit_matters_for_custom_classes_only(amount, max_unit, expected):
    gold = structs.asdict(Resource(4, 0, max_unit))
    resources = {**AMPLE, 'VCPU': [100, 0], GOLD: gold}
    flavor = {'extra_specs': {f'resources:{GOLD}': str(amount)}}
    assert rooms({'cmp-1': {'resources': resources}}, flavor) == [expected]


def test_a_host_with_pcpu_is_left_out_if_the_image_may_pin_cpus():
    pinned = {'resources': {**AMPLE, 'VCPU': [8, 0], 'PCPU': [8, 0]}}
    hosts = {'cmp-1': of_vcpu(8, 0), 'cmp-2': pinned}
    assert rooms(hosts) == [4, 4]
    assert rooms(hosts, request={'image_properties': None}) == [4, 0]


@pytest.mark.parametrize('flavor', [{'vcpus': 0, 'ram': 0, 'disk': 0}, None])
def test_there_is_no_room_if_the_flavor_is_unknown_or_requests_nothing(flavor):
    row = {'hosts': {'cmp-1': of_vcpu(8, 0)}, 'flavor': flavor}
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    assert plain_rooms(asked, asked.snapshot.hosts) == [0]


def test_an_odd_amount_does_not_fit_a_step_size_of_2():
    assert rooms({'cmp-1': of_vcpu(16, 1, step_size=2)}, {'vcpus': 3}) == [0]


def test_hosts_of_another_list_are_computed_separately():
    row = {'hosts': {'cmp-1': of_vcpu(8, 0), 'cmp-2': of_vcpu(4, 0)}, 'flavor': {'vcpus': 2}}
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    assert plain_rooms(asked, asked.snapshot.hosts) == [4, 2]
    assert plain_rooms(asked, asked.snapshot.hosts) is plain_rooms(asked, asked.snapshot.hosts)
    assert plain_rooms(asked, asked.snapshot.hosts[1:]) == [2]
    assert plain_rooms(asked, ()) == []
