"""The table: one evaluation per class of hosts, and the numbers that result from the verdicts."""

from typing import ClassVar

import pytest

from senlin_affinity.engine.table import evaluate_hosts, row_of
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.verdict import Reason, Verdict
from senlin_affinity.scenario.constraint import Constraint
from tests.support.asked import NamedRequest, with_values
from tests.support.values import replace

HOST = Host('cmp-1', 'node-1', 'QEMU', resources={'VCPU': Resource(4, 0)})
#: A host that differs in one field, by the field.
OTHERS = {
    'host': 'cmp-2',
    'hypervisor_hostname': 'node-2',
    'hypervisor_type': 'VMware',
    'availability_zone': 'az',
    'enabled': False,
    'disabled_reason': 'firmware',
    'up': False,
    'aggregates': frozenset({'one'}),
    'traits': frozenset({'CUSTOM_A'}),
    'is_nested': True,
    'is_partial': True,
    'grants': (CandidateCapacity('resources=VCPU:1', 2, 2),),
    'servers': 7,
    'unmirrored': frozenset({'one'}),
    'stale_aggregates': frozenset({'one'}),
}


class Nosy(Constraint):
    """A constraint that repeats the fields that it reads, and records the hosts."""

    name = 'nosy'
    order = 1
    summary = 'reads everything'
    needs = ('hosts',)
    reasons: ClassVar = {'nosy.read': Reason('read')}

    asked = None
    hosts: ClassVar = []

    def prepare(self, request, cloud):
        return self.asked

    def check(self, asked, host, _cloud):
        self.hosts.append(host)
        read = [str(getattr(host, name)) for name in self.reads]
        return Verdict.passed('nosy.read', room=1, read=read)


def nosy_of(*reads, asked=None):
    """Return an instance without attributes, of a class of its own."""
    return type('Nosy', (Nosy,), {'reads': reads, 'asked': asked, 'hosts': []})()


def question(*hosts):
    return with_values(NamedRequest(1, 'f'), Cloud(hosts))


def table_of(constraints, resolved):
    return evaluate_hosts(resolved.request, constraints, resolved.scenario)


def read(table):
    return [table.verdicts(index)['nosy'].facts['read'] for index in range(len(table.row_of))]


@pytest.mark.parametrize('name', OTHERS)
def test_a_constraint_is_evaluated_once_for_hosts_that_agree_in_what_it_reads(name):
    other = replace(HOST, **{name: OTHERS[name]})
    reader, blind = nosy_of(name), nosy_of()
    resolved = question(HOST, other, HOST, other)
    assert (
        read(table_of([reader], resolved)) == [[str(getattr(h, name))] for h in (HOST, other)] * 2
    )
    assert read(table_of([blind], resolved)) == [[]] * 4
    assert len(blind.hosts) == 1
    if name not in ('host', 'hypervisor_hostname', 'servers'):
        assert len(reader.hosts) == 2
        table_of([reader], resolved)  # the verdicts are known
        changed = replace(resolved.cloud, hosts=(*resolved.cloud.hosts, HOST))
        table_of([reader], question(*changed.hosts))
        assert len(reader.hosts) == 4


def test_the_free_amounts_are_those_of_each_host():
    other = replace(HOST, host='cmp-2', resources={'VCPU': Resource(4, 1)})
    unknown = replace(HOST, host='cmp-3', resources=None)
    resolved = question(HOST, other, HOST, unknown)
    expected = [["{'VCPU': 4}"], ["{'VCPU': 3}"], ["{'VCPU': 4}"], ['None']]
    assert read(table_of([nosy_of('free')], resolved)) == expected


def test_what_is_asked_is_part_of_what_is_known():
    resolved = question(HOST)
    for asked in ('a', 'b', ['not hashable']):
        nosy = nosy_of(asked=asked)
        table_of([nosy], resolved)
        assert len(nosy.hosts) == 1


def test_the_verdicts_of_an_instance_with_attributes_are_not_kept():
    resolved, nosy = question(HOST), nosy_of('up')
    nosy.limit = 3
    table_of([nosy], resolved)
    table_of([nosy], resolved)
    assert len(nosy.hosts) == 2


def test_hosts_with_equal_verdicts_share_a_row():
    down = replace(HOST, up=False)
    table = table_of([nosy_of('up')], question(HOST, down, down, HOST))
    assert [*table.row_of] == [0, 1, 1, 0]
    assert len(table.rows) == 2


def test_only_a_host_that_is_just_full_is_eligible():
    full, other = nosy_of(), nosy_of()
    full.is_capacity_rule = True
    constraints, no = {'full': full, 'other': other}, Verdict.rejected('nosy.read')
    assert row_of({'full': no}, constraints).is_eligible
    assert row_of({'full': no, 'other': no}, constraints).is_eligible is False
