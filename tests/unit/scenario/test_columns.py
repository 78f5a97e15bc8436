"""The columns of a cloud: arrays, classes, and the columns of a cloud with other hosts."""

import pytest

from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.nova.host_status import DISABLED, enabled
from senlin_affinity.scenario.columns import INFINITE, Columns
from senlin_affinity.scenario.scenario import Scenario
from tests.support.values import replace

HOST = Host('cmp-1', resources={'VCPU': Resource(8, 2, 4, 2)}, servers=3)
GRANT = CandidateCapacity('q', 5, 4)


def columns_of(*hosts, **parts):
    return Columns.of(Cloud(hosts, **parts))


def test_inventories_have_an_element_for_each_host():
    pool = replace(HOST, resources={'VCPU': Resource(10**40, 0, pool='p')})
    none = replace(HOST, resources={})
    has = columns_of(HOST, pool, none, replace(HOST, resources=None)).inventories('VCPU')
    assert [*has.is_listed] == [True, True, False, False]
    assert [*has.free] == [6, INFINITE - 1, 0, 0]
    assert [*has.max_unit] == [4, INFINITE, 0, 0]
    assert [*has.step_size] == [2, 1, 1, 1]
    assert [*has.is_pooled] == [False, True, False, False]


def test_grants_are_those_of_one_query():
    other = HOST.but(grants=(replace(GRANT, query='other'),))
    found = columns_of(HOST, HOST.but(grants=(GRANT,)), other).grants('q')
    assert [*found.is_asked] == [False, True, True]
    assert [*found.is_listed] == [False, True, False]
    assert ([*found.room], [*found.certain]) == ([0, 5, 0], [0, 4, 0])


def test_classes_are_numbered_as_they_appear():
    classes = columns_of(HOST, replace(HOST, up=False), HOST).classes(('up', 'enabled'))
    assert [*classes.of_host] == [0, 1, 0]
    assert classes.values == [(True, True), (False, True)]


@pytest.mark.parametrize('changed', [{}, {1: 'other'}, {0: 'other', 2: 'new', 3: 'newer'}])
def test_columns_with_other_hosts_equal_those_of_such_a_cloud(changed):
    """Whether or not an array was read before."""
    before = columns_of(HOST, replace(HOST, host='cmp-2', up=False))
    resources = {'VCPU': Resource(99, 1)}
    hosts = {
        index: replace(HOST, host=name, enabled=False, resources=resources, grants=(GRANT,))
        for index, name in changed.items()
    }
    for is_read in (False, True):
        if is_read:
            before.classes(('up', 'enabled')), before.inventories('VCPU'), before.flags('up')
        after = before.with_hosts(hosts)
        fresh = Columns(after.cloud)
        assert [host.host for host in after.hosts] == [host.host for host in fresh.hosts]
        for name in ('up', 'enabled'):
            assert [*after.flags(name)] == [*fresh.flags(name)]
        for one, two in zip(
            (*after.inventories('VCPU'), *after.grants('q')),
            (*fresh.inventories('VCPU'), *fresh.grants('q')),
            strict=True,
        ):
            assert [*one] == [*two]
        of_both = [
            [each.values[number] for each in (columns.classes(('up', 'enabled')),)
             for number in each.of_host]
            for columns in (after, fresh)
        ]  # fmt: skip
        assert of_both[0] == of_both[1]
        for fields in ((), ('host',), ('traits',)):
            assert len(after.classes(fields).of_host) == len(fresh.hosts)
        assert before.with_hosts({}).hosts == before.hosts


def test_verdicts_are_shared_only_while_nothing_but_the_hosts_differs():
    before = columns_of(HOST, aggregates=(Aggregate('a', 'one'),))
    before.verdicts_by_class('key')['class'] = 'verdict'
    assert before.with_hosts({0: replace(HOST, up=False)}).verdicts_by_class('key')
    assert not before.with_hosts({0: replace(HOST, availability_zone='b')}).verdicts_by_class('key')
    other = replace(before.cloud, aggregates=())
    assert not Columns(other, before).verdicts_by_class('key')


def test_the_cache_of_verdicts_is_bounded():
    columns = columns_of(HOST)
    for number in range(10_000):
        columns.verdicts_by_class(number)
    assert len(columns.verdicts) < 1000


def test_servers_count_for_their_request_and_its_group():
    group, other = (ServerGroup(name, name, 'anti-affinity') for name in ('g', 'other'))
    alone, one, two = Request(1), Request(1, server_group=group), Request(2, server_group=group)
    after = Scenario.of(Cloud((HOST,))).place(alone, {0: 3}).place(one, {0: 1})
    after = after.place(two, {0: 2})
    assert [after.placed_for(each) for each in (alone, one, two)] == [
        {'cmp-1': 3},
        {'cmp-1': 3},
        {'cmp-1': 3},
    ]
    assert after.place(two, {0: 1}).placed_for(one) == {'cmp-1': 4}
    assert after.place(alone, {0: 1}).placed_for(alone) == {'cmp-1': 4}
    assert [{**after.placed_for(Request(1, server_group=each))} for each in (None, other)] == [
        {}
    ] * 2
    assert after.placed[0] == 6


def test_a_disabled_host_is_enabled_again():
    before = Scenario.of(Cloud((HOST, HOST.but(host='cmp-2'))))
    after = before.disable(['cmp-2'])
    assert [(each.enabled, DISABLED in each.traits) for each in after.hosts] == [
        (True, False),
        (False, True),
    ]
    assert [*after.change(['cmp-2'], enabled).hosts] == [*before.hosts]


def test_placed_servers_use_what_they_request():
    cloud = Cloud((HOST, HOST.but(grants=(GRANT,))))
    before = Scenario.of(cloud)
    bare, large = (Request(1, Flavor('f', 'f', 2, 0, disk)) for disk in (0, 1))
    after = before.place(bare, {0: 2, 1: 1}).place(large, {0: 1})
    assert [*after.free('VCPU')] == [0, 4]
    assert after.free_on(1) == {'VCPU': 4}
    assert [after.servers_on(index) for index in range(2)] == [6, 4]
    assert [*after.grants('q').room] == [0, 4]
    assert [*before.free('VCPU')] == [6, 6]


@pytest.mark.parametrize('is_read', [False, True])
def test_copies_equal_hosts_that_are_added_one_by_one(is_read):
    before = Scenario.of(Cloud((HOST, replace(HOST, host='cmp-2', up=False))))
    new = replace(HOST, host='new', enabled=False, resources={'VCPU': Resource(99, 1)})
    if is_read:
        before.columns.classes(('up', 'host')), before.columns.inventories('VCPU')
    names = [f'new-{number}' for number in range(3)]
    copies = before.add_copies(new, names)
    every = before.add([replace(new, host=name) for name in names])
    assert copies.hosts == every.hosts
    for fields in (('up', 'host'), ('up', 'enabled')):
        one, two = (each.columns.classes(fields) for each in (copies, every))
        assert [one.values[at] for at in one.of_host] == [two.values[at] for at in two.of_host]
    for one, two in zip(
        *(each.columns.inventories('VCPU') for each in (copies, every)), strict=True
    ):
        assert one.tolist() == two.tolist()
    assert copies.columns.flags('enabled').tolist() == [True, True, False, False, False]
    assert copies.columns.indexes_by_name == every.columns.indexes_by_name
    assert copies.columns.indexes_by_name['new-2'] == (4,)


def test_what_was_derived_before_a_change_stays_if_the_change_does_not_concern_it():
    before = columns_of(HOST, replace(HOST, host='cmp-2', up=False))
    after = before.with_hosts({1: replace(HOST, host='cmp-2')})
    assert before.known('key', lambda: 1) == 1
    assert after.known('key', lambda: 2, ('enabled', 'resource_classes')) == 1
    assert after.known('key', lambda: 2, ('enabled', 'up')) == 2


def test_what_depends_on_no_field_is_derived_again_for_more_hosts():
    before = columns_of(HOST)
    assert before.known('size', lambda: len(before.hosts), ()) == 1
    after = before.with_hosts({1: HOST.but(host='cmp-2')})
    assert after.known('size', lambda: len(after.hosts), ()) == 2


def test_unknown_hosts_stay_unknown_with_other_parts():
    """Otherwise, a larger quota would be evaluated without any host."""
    unknown = Scenario.of(Cloud()).with_parts(quotas={})
    assert (unknown.cloud.hosts, unknown.cloud.quotas) == (None, {})
