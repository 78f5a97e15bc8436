"""Hypervisors are fetched with few requests, and converted field by field."""

import pytest

from senlin_affinity.cloud import hosts
from senlin_affinity.cloud.hosts import Hypervisor
from senlin_affinity.model.errors import CloudError

DETAIL = '/os-hypervisors/detail'


def raw(number, **more):
    """Return the JSON of a hypervisor."""
    service = {'host': f'cmp-{number}', 'disabled_reason': None}
    sizes = {'vcpus': 8, 'memory_mb': 1, 'local_gb': 0}
    return {
        'id': f'h{number}', 'hypervisor_hostname': f'cmp-{number}.domain',
        'hypervisor_type': 'QEMU', 'service': service, 'status': 'enabled', 'state': 'up',
        'running_vms': 0, **sizes, **more,
    }  # fmt: skip


def built(number, **more):
    made = Hypervisor(
        f'h{number}', f'cmp-{number}.domain', 'QEMU', f'cmp-{number}', True, True,
        {'VCPU': 8, 'MEMORY_MB': 1}, (), 0, None,
    )  # fmt: skip
    return made._replace(**more)


class Compute:
    """A Nova that lists these hypervisors, and has these others."""

    def __init__(self, listed=(), others=()):
        self.listed = listed
        self.by_path = {f'/os-hypervisors/{each["id"]}': each for each in (*listed, *others)}
        self.asked = []

    def get(self, path, what, microversion, *, params=None, may_be_missing=False):
        assert (what, microversion) == ('list the hypervisors', (2, 53))
        self.asked.append((path, params))
        if 'marker' in (params or {}):
            return {'hypervisors': []}
        if path == DETAIL:
            assert may_be_missing or self.listed is not None
            return {'hypervisors': list(self.listed)} if self.listed is not None else None
        assert may_be_missing
        found = self.by_path.get(path)
        return None if found is None else {'hypervisor': found}


def test_up_to_four_hypervisors_are_read_one_by_one():
    compute = Compute([], [raw(number) for number in range(3)])
    found = hosts.hypervisors_of(compute, [f'h{number}' for number in range(4)])
    assert found == tuple(built(number) for number in range(3))
    assert compute.asked == [(f'/os-hypervisors/h{number}', None) for number in range(4)]


@pytest.mark.parametrize(('number', 'limit'), [(5, 20), (101, 400)])
def test_more_hypervisors_are_listed_and_the_missing_ones_are_read(number, limit):
    compute = Compute([raw(0), raw(999), *map(raw, range(2, number))], [raw(1)])
    found = hosts.hypervisors_of(compute, [f'h{each}' for each in range(number)])
    assert found == (built(0), *map(built, range(2, number)), built(1))
    assert compute.asked == [(DETAIL, {'limit': limit}), ('/os-hypervisors/h1', None)]


def test_a_list_with_the_same_hypervisor_twice_is_an_error():
    with pytest.raises(CloudError, match="the answer lists 'h0' twice"):
        hosts.hypervisors_of(Compute([raw(0), raw(0)]), list('abcde'))


def test_an_id_is_escaped_and_another_hypervisor_is_an_error():
    compute = Compute()
    assert hosts.hypervisor(compute, 'a/b') is None
    assert compute.asked == [('/os-hypervisors/a%2Fb', None)]
    compute.by_path['/os-hypervisors/h1'] = raw(2)
    with pytest.raises(CloudError, match='the answer is about another object'):
        hosts.hypervisor(compute, 'h1')


@pytest.mark.parametrize(
    ('listed', 'found'),
    [
        ([raw(1), raw(10)], built(1)),
        ([raw(1, hypervisor_type='KVM')], built(1, kind='KVM')),
        ([raw(1, hypervisor_type='ironic')], None),
        ([raw(1), raw(2, service={'host': 'cmp-1'})], None),
        ([raw(10)], None),
        ([], None),
        (None, None),
    ],
)
def test_the_only_hypervisor_of_a_service_host(listed, found):
    compute = Compute()
    compute.listed = listed
    assert hosts.hypervisor_of(compute, 'cmp-1') == found
    assert compute.asked == [(DETAIL, {'hypervisor_hostname_pattern': 'cmp-1'})]


@pytest.mark.parametrize(
    ('more', 'fields'),
    [
        ({'status': 'disabled'}, {'is_enabled': False}),
        ({'state': 'down'}, {'is_up': False}),
        ({'running_vms': 3}, {'running': 3}),
        ({'running_vms': -1}, {'running': None}),
        ({'running_vms': None}, {'running': None}),
        ({'vcpus': None}, {'largest': {'MEMORY_MB': 1}}),
        ({'vcpus': -1, 'local_gb': 2}, {'largest': {'MEMORY_MB': 1, 'DISK_GB': 2}}),
        ({'hypervisor_type': 'VMware vCenter'}, {'kind': 'VMware vCenter', 'largest': {}}),
        ({'service': {'host': 'x', 'disabled_reason': ''}}, {'service_host': 'x'}),
        (
            {'service': {'host': 'x', 'disabled_reason': 'why'}},
            {'service_host': 'x', 'disabled_reason': 'why'},
        ),
        ({'servers': [{'uuid': 's'}]}, {'servers': ()}),
    ],
)
def test_the_fields_of_a_hypervisor(more, fields):
    assert hosts.hypervisor(Compute([], [raw(1, **more)]), 'h1') == built(1, **fields)


def test_only_the_wanted_servers_of_hypervisors_are_kept():
    servers = [{'uuid': name} for name in 'abc']
    compute = Compute([raw(1, servers=servers), raw(2, servers=None)])
    assert hosts.hypervisors(compute, {'a', 'c'}) == (built(1, servers=('a', 'c')), built(2))
    assert compute.asked == [(DETAIL, {'with_servers': 'true', 'limit': 1000})]


@pytest.mark.parametrize(('number', 'markers'), [(49, [None]), (50, [None, 'h49'])])
def test_a_full_page_of_hypervisors_may_have_lost_its_link(number, markers):
    compute = Compute([raw(each) for each in range(number)])
    assert len(hosts.hypervisors(compute)) == number
    assert [params.get('marker') for _path, params in compute.asked] == markers


def test_hypervisors_are_sorted_by_their_host_and_name():
    first, second = built(2, service_host='a'), built(1)
    third = built(1, name='z')
    assert hosts.in_order([third, second, first]) == (first, second, third)


class Listing:
    """A Nova with this response to every request."""

    def __init__(self, body):
        self.body, self.asked = body, []

    def get(self, path, _what, microversion, *, params=None):
        self.asked.append((path, microversion, params))
        return self.body


def test_a_zone_is_open_if_one_of_its_services_is_enabled():
    rows = [('a', 'az1', 'disabled'), ('b', 'az1', 'enabled'), ('c', 'az2', 'disabled')]
    keys = ('host', 'zone', 'status')
    nova = Listing({'services': [dict(zip(keys, row, strict=True)) for row in rows]})
    zone_of, is_open = hosts.zones_of(nova)
    assert zone_of == {'a': 'az1', 'b': 'az1', 'c': 'az2'}
    assert is_open == {'az1': True, 'az2': False}
    assert nova.asked == [('/os-services', (2, 1), {'binary': 'nova-compute'})]
