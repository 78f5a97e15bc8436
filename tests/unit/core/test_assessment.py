"""Hosts that look alike are asked about once; those that differ in anything are asked apart."""

import dataclasses
from typing import ClassVar

import pytest

from senlin_affinity.core.grants import Grant
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.objects import CloudSnapshot, PlacementRequest, ResolvedRequest
from senlin_affinity.core.planning.assessment import assess
from senlin_affinity.core.reasons import Reason
from senlin_affinity.core.verdict import Verdict

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
    'up': False,
    'aggregates': frozenset({'one'}),
    'traits': frozenset({'CUSTOM_A'}),
    'resources': OTHER,
    'is_nested': True,
    'is_partial': True,
    'grants': (Grant('resources=VCPU:1', 2, 2),),
    'servers': 7,
    'unmirrored': frozenset({'one'}),
}


class Nosy:
    """A rule that looks at everything (but for the names, if it says so), and remembers whom."""

    name = 'nosy'
    order = 1
    summary = 'looks at everything'
    needs = ('hosts',)
    filters = ()
    reasons: ClassVar = {'nosy.seen': Reason('seen')}

    def __init__(self, is_by_name):
        self.is_by_name = is_by_name
        self.asked = []

    def check_host(self, resolved, host):
        self.asked.append(host)
        return Verdict.passed('nosy.seen', room=1, seen=self.shape(resolved, host))

    def shape(self, resolved, host):
        fields = (field.name for field in dataclasses.fields(host))
        return tuple(
            str(getattr(host, name)) for name in fields if self.is_by_name or name not in NAMES
        )


def said(table):
    """All that is said about each host."""
    return [table.verdicts(place) for place, _row in enumerate(table.rows)]


def test_every_field_of_a_host_has_another_value():
    assert set(OTHERS) == {field.name for field in dataclasses.fields(Host)}


@pytest.mark.parametrize('is_by_name', [True, False], ids=['by name', 'not by name'])
@pytest.mark.parametrize('name', OTHERS)
def test_hosts_that_differ_are_both_asked_about(name, is_by_name):
    other = dataclasses.replace(HOST, **{name: OTHERS[name]})
    nosy = Nosy(is_by_name)
    table = assess(QUESTION, [nosy], [HOST, other, HOST, other])
    alone = [assess(QUESTION, [Nosy(is_by_name)], [host]) for host in (HOST, other)]
    assert said(table) == [verdicts for each in alone for verdicts in said(each)] * 2
    assert [*table.rooms] == [room for each in alone for room in each.rooms] * 2
    assert len(nosy.asked) == (1 if name in NAMES and not is_by_name else 2)


def test_a_rule_that_says_nothing_of_names_is_taken_for_one_by_name():
    nosy = Nosy(is_by_name=True)
    del nosy.is_by_name
    nosy.shape = lambda _question, host: host.host
    for host in (HOST, dataclasses.replace(HOST, resources=None)):
        nosy.asked.clear()
        assess(QUESTION, [nosy], [dataclasses.replace(host, host=name) for name in ('a', 'b')])
        assert len(nosy.asked) == 2


@pytest.mark.parametrize('declared', [{'is_by_resources': True}, {'is_by_resources': False}, {}])
def test_hosts_with_other_resources_are_asked_about_if_these_count(declared):
    """Or if the rule does not say whether they do."""
    nosy = Nosy(is_by_name=False)
    nosy.shape = lambda _question, host: str(host.resources)
    vars(nosy).update(declared)
    assess(QUESTION, [nosy], [HOST, dataclasses.replace(HOST, resources=OTHER), HOST])
    assert len(nosy.asked) == (2 if declared.get('is_by_resources', True) else 1)


def test_a_rule_says_no_more_often_than_needed_what_it_looks_at():
    """Of each host where the name counts, and of those that differ in what else counts."""
    said = []

    def rule(is_by_name, is_by_resources):
        nosy = Nosy(is_by_name)
        nosy.is_by_resources = is_by_resources
        nosy.shape = lambda _question, host: said.append(nosy) or (is_by_name and host.host)
        nosy.check_host = lambda _question, _host: Verdict.passed('nosy.seen')
        return nosy

    rules = [rule(False, False), rule(True, False), rule(False, True)]
    other = dataclasses.replace(HOST, resources=OTHER)
    assess(QUESTION, rules, [HOST, other, dataclasses.replace(HOST, host='cmp-2')])
    assert [said.count(each) for each in rules] == [1, 1 + 3, 3]


@pytest.mark.parametrize(('more', 'numbers'), [({}, 2), ({'is_partial': True}, 3)])
def test_whether_resources_are_known_counts_for_every_rule(more, numbers):
    """And which classes, where that is not all; the figures do not."""
    nosy = Nosy(is_by_name=False)
    nosy.shape = lambda _question, host: str(host.resources)
    nosy.is_by_resources = False
    listed = [None, {'VCPU': Resource(4, 0)}, {'VCPU': Resource(4, 1)}, {'PCPU': Resource(4, 0)}]
    hosts = [dataclasses.replace(HOST, resources=each, **more) for each in listed]
    assess(QUESTION, [nosy], hosts)
    assert len(nosy.asked) == numbers


def test_hosts_that_look_alike_share_their_row():
    twins = [dataclasses.replace(HOST, host=f'cmp-{number}') for number in range(9)]
    first, *others = assess(QUESTION, [Nosy(is_by_name=False)], twins).rows
    assert all(row is first for row in others)


class Says(Nosy):
    """A rule that says what it is told to say."""

    def __init__(self, name, verdict):
        super().__init__(is_by_name=False)
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
    table = assess(QUESTION, says, [HOST])
    (found,) = table.rows
    numbers = *table.known_rooms, *table.certain, found.is_at_most, found.by, *table.frees
    assert numbers == row
    assert found.code == (f'{found.by}.x' if found.by else None)
