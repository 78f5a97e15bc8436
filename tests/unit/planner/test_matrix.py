"""The matrix: one evaluation per class of hosts, and the numbers that result from the verdicts."""

import pickle
from typing import ClassVar

import pytest

from senlin_affinity.model.candidate_capacity import CandidateCapacity
from senlin_affinity.model.constraint import Constraint
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.host_classes import CLASS_FIELDS, HostClasses
from senlin_affinity.model.reason import Reason
from senlin_affinity.model.request import PlacementRequest, ResolvedRequest
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.planner.matrix import evaluate_hosts
from senlin_affinity.planner.row import row_of
from tests.support.values import replace

QUESTION = ResolvedRequest(PlacementRequest(1, 'f'), CloudSnapshot())
#: What only a rule by name reads: how many servers a host holds, too.
NAMES = ('host', 'hypervisor_hostname', 'servers')
HOST = Host('cmp-1', 'node-1', 'QEMU', resources={'VCPU': Resource(4, 0)})
OTHER = {'VCPU': Resource(4, 1)}
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
    'resources': OTHER,
    'is_nested': True,
    'is_partial': True,
    'grants': (CandidateCapacity('resources=VCPU:1', 2, 2),),
    'servers': 7,
    'unmirrored': frozenset({'one'}),
    'stale_aggregates': frozenset({'one'}),
}


class Nosy(Constraint):
    """A constraint that reads every field, perhaps except the names, and records the hosts."""

    name = 'nosy'
    order = 1
    summary = 'reads everything'
    needs = ('hosts',)
    reasons: ClassVar = {'nosy.read': Reason('read')}

    def __init__(self, *, is_host_specific, uses_resources=False):
        self.is_host_specific, self.uses_resources = is_host_specific, uses_resources
        self.asked = []

    def check_host(self, resolved, host):
        self.asked.append(host)
        fields = host.__struct_fields__
        read = [
            str(getattr(host, name))
            for name in fields
            if self.is_host_specific or name not in NAMES
        ]
        return Verdict.passed('nosy.read', room=1, read=read)


def verdicts(matrix):
    """Return all verdicts about each host."""
    return [matrix.verdicts(index) for index in range(len(matrix.row_of))]


def test_every_field_of_a_host_has_another_value():
    assert {*OTHERS} == {*Host.__struct_fields__}
    assert {*OTHERS} - {*NAMES} == CLASS_FIELDS


@pytest.mark.parametrize('uses_resources', [True, False])
@pytest.mark.parametrize('is_host_specific', [True, False])
@pytest.mark.parametrize('name', OTHERS)
def test_a_constraint_is_evaluated_for_hosts_that_differ_in_what_it_reads(
    name, is_host_specific, uses_resources
):
    other = replace(HOST, **{name: OTHERS[name]})
    nosy = Nosy(is_host_specific=is_host_specific, uses_resources=uses_resources)
    matrix = evaluate_hosts(QUESTION, [nosy], [HOST, other, HOST, other])
    is_class = not (is_host_specific or uses_resources)
    assert len(nosy.asked) == (4 if not is_class else 1 if name in (*NAMES, 'resources') else 2)
    if not is_class or name != 'resources':  # the figures do not matter to this one
        of_both = [nosy.check_host(QUESTION, host) for host in (HOST, other)]
        assert [each['nosy'] for each in verdicts(matrix)] == of_both * 2


def test_a_constraint_without_declarations_is_evaluated_for_each_host():
    nosy = Nosy(is_host_specific=False)
    del nosy.is_host_specific, nosy.uses_resources  # the defaults of the class remain
    nosy.check_host = lambda _resolved, host: Verdict.passed('nosy.read', host=host.host)
    hosts = [replace(HOST, host=name) for name in ('a', 'b')]
    matrix = evaluate_hosts(QUESTION, [nosy], hosts)
    assert [each['nosy'].facts['host'] for each in verdicts(matrix)] == ['a', 'b']


def test_only_named_hosts_are_evaluated_by_name():
    nosy = Nosy(is_host_specific=True)
    nosy.specific_hosts = lambda _resolved: {'cmp-2'}
    hosts = [replace(HOST, host=f'cmp-{number}') for number in range(9)]
    other = Nosy(is_host_specific=False)
    other.name = 'other'
    matrix = evaluate_hosts(QUESTION, [nosy, other], hosts)
    assert [host.host for host in nosy.asked] == ['', 'cmp-2']
    assert len(other.asked) == 1
    assert len(matrix.rows) == 2
    assert [index for index, row in enumerate(matrix.row_of) if row] == [2]


@pytest.mark.parametrize('fields', [(), ('up',), ('up', 'aggregates'), ('grants',)])
def test_a_constraint_is_evaluated_once_for_equal_fields(fields):
    nosy = Nosy(is_host_specific=False)
    nosy.host_fields = lambda _resolved: fields
    hosts = [HOST, *(replace(HOST, **{name: OTHERS[name]}) for name in OTHERS)]
    matrix = evaluate_hosts(QUESTION, [nosy], hosts)
    assert len(nosy.asked) == 1 + len(fields)
    assert len(verdicts(matrix)) == len(hosts)


def test_only_a_host_that_is_just_full_is_eligible():
    full, other = Nosy(is_host_specific=False), Nosy(is_host_specific=False)
    full.is_capacity_rule = True
    constraints, no = {'full': full, 'other': other}, Verdict.rejected('nosy.read')
    assert row_of({'full': no}, constraints).is_eligible
    assert row_of({'full': no, 'other': no}, constraints).is_eligible is False


def test_classes_tell_resource_classes_apart_and_not_their_figures():
    listed = [
        None,
        {},
        {'VCPU': Resource(4, 0)},
        {'VCPU': Resource(4, 1)},
        {'PCPU': Resource(4, 0)},
    ]
    hosts = [replace(HOST, resources=each) for each in listed]
    assert HostClasses.of(hosts).numbers == [0, 1, 2, 2, 3]


def test_classes_tell_hosts_apart_that_grant_no_server():
    rooms = [0, 1, 2]
    hosts = [HOST.but(grants=(CandidateCapacity('q', room, room),)) for room in rooms]
    assert HostClasses.of(hosts).numbers == [0, 1, 1]


def test_a_snapshot_with_other_hosts_keeps_the_numbers_of_the_classes():
    hosts = [replace(HOST, host=f'cmp-{number}') for number in range(4)]
    cloud = CloudSnapshot(tuple(hosts))
    other = cloud.with_hosts({0: HOST.but(up=False), 4: HOST})
    assert cloud.host_classes.numbers == [0, 0, 0, 0]
    assert other.host_classes.numbers == [1, 0, 0, 0, 0]
    assert other.hosts == (HOST.but(up=False), *hosts[1:], HOST)
    assert other == CloudSnapshot(other.hosts)
    assert pickle.loads(pickle.dumps(other)) == other
