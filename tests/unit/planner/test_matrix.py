"""The matrix: one evaluation per class of hosts, and the numbers that follow from verdicts."""

import dataclasses
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
from senlin_affinity.planner.matrix import evaluate_hosts, numbered, patched

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
        fields = (field.name for field in dataclasses.fields(host))
        read = [
            str(getattr(host, name))
            for name in fields
            if self.is_host_specific or name not in NAMES
        ]
        return Verdict.passed('nosy.read', room=1, read=read)


def verdicts(matrix):
    """All verdicts about each host."""
    return [matrix.verdicts(index) for index in range(len(matrix.row_of))]


def test_every_field_of_a_host_has_another_value():
    assert {*OTHERS} == {field.name for field in dataclasses.fields(Host)}
    assert {*OTHERS} - {*NAMES} == CLASS_FIELDS


@pytest.mark.parametrize('uses_resources', [True, False])
@pytest.mark.parametrize('is_host_specific', [True, False])
@pytest.mark.parametrize('name', OTHERS)
def test_a_constraint_is_evaluated_for_hosts_that_differ_in_what_it_reads(
    name, is_host_specific, uses_resources
):
    other = dataclasses.replace(HOST, **{name: OTHERS[name]})
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
    hosts = [dataclasses.replace(HOST, host=name) for name in ('a', 'b')]
    matrix = evaluate_hosts(QUESTION, [nosy], hosts)
    assert [each['nosy'].facts['host'] for each in verdicts(matrix)] == ['a', 'b']


def test_only_named_hosts_are_evaluated_by_name():
    nosy = Nosy(is_host_specific=True)
    nosy.specific_hosts = lambda _resolved: {'cmp-2'}
    hosts = [dataclasses.replace(HOST, host=f'cmp-{number}') for number in range(9)]
    matrix = evaluate_hosts(QUESTION, [nosy], hosts)
    assert [host.host for host in nosy.asked] == ['', 'cmp-2']
    assert len(matrix.rows) == 2
    assert [index for index, row in enumerate(matrix.row_of) if row] == [2]


@pytest.mark.parametrize('fields', [(), ('up',), ('up', 'aggregates'), ('grants',)])
def test_a_constraint_is_evaluated_once_for_equal_fields(fields):
    nosy = Nosy(is_host_specific=False)
    nosy.host_fields = lambda _resolved: fields
    hosts = [HOST, *(dataclasses.replace(HOST, **{name: OTHERS[name]}) for name in OTHERS)]
    matrix = evaluate_hosts(QUESTION, [nosy], hosts)
    assert len(nosy.asked) == 1 + len(fields)
    assert len(verdicts(matrix)) == len(hosts)


def test_classes_tell_resource_classes_apart_and_not_their_figures():
    listed = [
        None,
        {},
        {'VCPU': Resource(4, 0)},
        {'VCPU': Resource(4, 1)},
        {'PCPU': Resource(4, 0)},
    ]
    hosts = [dataclasses.replace(HOST, resources=each) for each in listed]
    assert HostClasses.of(hosts).numbers == [0, 1, 2, 2, 3]


def test_a_snapshot_with_other_hosts_has_the_classes_of_these():
    hosts = [dataclasses.replace(HOST, host=f'cmp-{number}') for number in range(4)]
    cloud = CloudSnapshot(tuple(hosts))
    other = cloud.with_hosts({1: HOST.but(up=False), 4: HOST})
    assert cloud.host_classes.numbers == [0, 0, 0, 0]
    assert other.host_classes.numbers == [0, 1, 0, 0, 0]
    assert other.hosts == (hosts[0], HOST.but(up=False), *hosts[2:], HOST)
    assert other == CloudSnapshot(other.hosts)
    assert pickle.loads(pickle.dumps(other)) == other


def test_hosts_with_equal_verdicts_share_their_row():
    twins = [dataclasses.replace(HOST, host=f'cmp-{number}') for number in range(9)]
    first, *others = evaluate_hosts(QUESTION, [Nosy(is_host_specific=False)], twins).host_rows
    assert all(row is first for row in others)


def test_numbers_are_given_in_the_order_of_appearance():
    assert numbered('baab') == ([0, 1, 1, 0], [0, 1])
    assert numbered('') == ([], [])


def test_patched_items_may_go_on_after_the_end():
    assert patched('abc', (1, 3, 4), 'xyz') == ['a', 'x', 'c', 'y', 'z']


def test_a_patched_matrix_is_that_of_the_other_hosts():
    hosts = [HOST, dataclasses.replace(HOST, up=False), HOST.but(servers=1)]
    nosy = Nosy(is_host_specific=False, uses_resources=True)
    before, other = (evaluate_hosts(QUESTION, [nosy], each) for each in (hosts[:2], hosts[1:]))
    after = before.patched((0, 2), other)
    whole = evaluate_hosts(QUESTION, [nosy], [hosts[1], hosts[1], hosts[2]])
    assert verdicts(after) == verdicts(whole)


class Says(Nosy):
    """A constraint with a fixed verdict."""

    def __init__(self, name, verdict):
        super().__init__(is_host_specific=False, uses_resources=True)
        self.name = name
        self._verdict = verdict

    def check_host(self, resolved, host):
        return self._verdict


@pytest.mark.parametrize(
    ('verdicts', 'row'),
    [
        ([Verdict.passed('a.x', room=3), Verdict.passed('b.x', room=2)], (2, 2, False, None, 2)),
        ([Verdict.passed('a.x', room=2), Verdict.passed('b.x', room=3)], (2, 2, False, None, 2)),
        ([Verdict.passed('a.x')], (None, 0, True, None, 0)),
        # a rule on resources names no room
        ([Verdict.passed('a.x', room=3), Verdict.passed('b.x')], (3, 3, True, None, 3)),
        ([Verdict.passed('a.x', room=3), Verdict.unknown('b.x')], (3, 0, False, None, 3)),
        ([Verdict.passed('a.x', room=3, is_at_most=True), Verdict.skipped('b.x')],
         (3, 3, True, None, 3)),
        # the first REJECT, whatever is not known
        ([Verdict.unknown('a.x'), Verdict.rejected('b.x'), Verdict.rejected('c.x')],
         (0, 0, False, 'b', 0)),
    ],
    ids=['the least', 'the first', 'no room', 'of resources', 'not known', 'at most', 'rejected'],
)  # fmt: skip
def test_what_follows_from_the_verdicts(verdicts, row):
    says = [Says(verdict.code[0], verdict) for verdict in verdicts]
    matrix = evaluate_hosts(QUESTION, says, [HOST])
    (found,) = matrix.rows
    numbers = *matrix.room, *matrix.expected, found.is_at_most, found.rejected_by, *matrix.free
    assert numbers == row
    assert found.code == (f'{found.rejected_by}.x' if found.rejected_by else None)
