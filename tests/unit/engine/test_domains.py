"""Constraints on domains, and the planner's results with them."""

from typing import ClassVar

import pytest

from senlin_affinity.model.errors import PluginError
from senlin_affinity.model.verdict import Outcome, Reason, Verdict
from senlin_affinity.scenario.constraint import Constraint, Domain
from tests.support.asked import plan
from tests.support.small_cloud import CONSTRAINTS, request_of, snapshot_of

ROOM = Verdict.passed('row.room', room=2)
UNKNOWN = Verdict.unknown('row.unknown', room=3)


class Rows(Constraint):
    """A constraint with minimal declarations on the rows of hosts, by their aggregates."""

    name, order, summary, needs, filters = 'row', 50, 'rows', (), ()
    reasons: ClassVar = {f'row.{code}': Reason(code) for code in ('room', 'full', 'unknown')}

    def __init__(self, said):
        self.said = said

    def domains(self, request, scenario, host):
        return [Domain('row', name) for name in sorted(host.aggregates)]

    def check_domains(self, request, scenario, rooms):
        return {domain: self.said[domain.name] for domain in rooms if domain.name in self.said}


def answer(said, count=9, **row):
    row.setdefault('hosts', {'cmp-1': {'aggregates': ['a']}, 'cmp-2': {'aggregates': ['b']}})
    asked = {'count': count, **row.pop('request', {})}
    row = {'request': asked, **row}
    return plan(request_of(row), snapshot_of(row), (*CONSTRAINTS, Rows(said)))


@pytest.mark.parametrize(
    ('said', 'capacity', 'placed'),
    [
        (Verdict.passed('row.room'), 12, 9),
        (ROOM, 4, 4),
        (Verdict(Outcome.REJECT, 'row.full'), 2, 2),
        (UNKNOWN, 5, 2),
    ],
)
def test_the_verdict_about_a_row(said, capacity, placed):
    decision = answer({'a': said, 'b': ROOM})
    assert (decision.capacity, len(decision.placements)) == (capacity, placed)
    assert bool(decision.at_most) is not said.bounds.is_known


@pytest.mark.parametrize('policy', ['soft-anti-affinity', 'affinity'])
def test_servers_are_placed_in_the_row_with_a_certain_room(policy):
    assert answer({'a': UNKNOWN, 'b': UNKNOWN}, 1, group={'policy': policy}).fits is None
    decision = answer({'a': UNKNOWN, 'b': ROOM}, 2, group={'policy': policy})
    assert decision.capacity == (3 if policy == 'affinity' else 5)
    assert [placed.host for placed in decision.placements] == ['cmp-2', 'cmp-2']


def test_overlapping_rows_limit_each_other():
    hosts = {'cmp-1': {'aggregates': ['a', 'b']}, 'cmp-2': {'aggregates': ['b']}}
    hosts['cmp-3'] = {'aggregates': ['c']}
    decision = answer(dict.fromkeys('abc', ROOM), hosts=hosts)
    assert (decision.capacity, len(decision.placements)) == (14, 4)
    assert decision.at_most == ('domains that limit each other (row)',)


def test_a_constraint_without_a_verdict_about_a_row():
    with pytest.raises(PluginError) as caught:
        answer({'a': ROOM})
    assert 'constraint row: check_domains failed on row a, b: ' in str(caught.value)


class RowsAndHosts(Rows):
    """It also limits each host."""

    def check(self, _asked, _host, _cloud):
        return ROOM


@pytest.mark.parametrize(
    ('lower', 'certain', 'at_most'), [(3, 3, ()), (2, 2, ('constraint row (room)',))]
)
def test_a_caveat_of_a_row_counts_beside_exact_hosts(lower, certain, at_most):
    row = {'hosts': {f'cmp-{n}': {'aggregates': ['a']} for n in range(2)}}
    row['request'] = {'count': 3}
    rows = RowsAndHosts({'a': Verdict.passed('row.room', room=3, least=lower)})
    decision = plan(request_of(row), snapshot_of(row), (*CONSTRAINTS, rows))
    assert (decision.capacity, decision.capacity_certain) == (3, certain)
    assert decision.at_most == at_most
