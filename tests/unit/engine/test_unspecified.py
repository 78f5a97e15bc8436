"""The lower bound if nova.conf may enable more than Nova's defaults, row by row."""

import pytest

from senlin_affinity.constraints.base import Option
from senlin_affinity.model.errors import ConstraintError
from senlin_affinity.model.verdict import Verdict
from tests.support.asked import Given, plan
from tests.support.our_constraints import OURS
from tests.support.small_cloud import Fence, request_of, snapshot_of
from tests.support.tables import rows
from tests.support.values import replace

CONSTRAINTS = tuple(constraint() for constraint in OURS)
CODE = 'nova.unspecified'


def decision_of(row, constraints=CONSTRAINTS):
    rules = Given.of(**row.get('rules', {}))
    rules = replace(rules, explicit=frozenset(row.get('specified', ())))
    return plan(request_of(row), snapshot_of(row), constraints, rules)


@pytest.mark.parametrize('row', rows('unspecified'))
def test_the_number_with_what_is_unspecified_is_certain(row):
    decision = decision_of(row)
    head, _colon, _rest = decision.line().partition(': ')
    assert (head, decision.capacity) == (row['outcome'], row['capacity'])
    found = [each for each in decision.at_most if 'not enabled' in each]
    assumed = [each for each in decision.assumptions if each.code == CODE]
    assert len(found) == len(assumed) == ('words' in row)
    if 'words' in row:
        assert found == [f'what nova.conf may enable ({row["words"]})']
        assert decision.capacity_certain == row['certain']
        assert decision.capacity_is_upper_bound
        assert not decision.certain


def test_the_assumption_names_both_numbers():
    assumed = decision_of(rows('unspecified')[0].values[0]).assumptions
    words = [each.text for each in assumed if each.code == CODE]
    assert words == ['no AggregateInstanceExtraSpecsFilter (1 fit without, 0 with it)']


def test_a_remedy_is_at_most_where_the_number_is():
    row = {
        'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
        'hosts': {'cmp-1': {'free': 1}, 'cmp-2': {'free': 5, 'disabled': True}},
        'request': {'count': 3},
    }
    remedies = decision_of(row).remedies
    assert remedies
    assert all(remedy.capacity_is_upper_bound for remedy in remedies)
    untouched = decision_of({**row, 'specified': ['enabled_filters']}).remedies
    assert not any(remedy.capacity_is_upper_bound for remedy in untouched)


@pytest.mark.parametrize(('aggregates', 'is_bound'), [([], True), (['ssd'], False)])
def test_a_remedy_is_at_most_where_planning_again_gives_an_upper_bound(aggregates, is_bound):
    """Nothing fits before, with the filter or without."""
    row = {
        'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
        'aggregates': {'ssd': {'metadata': {'ssd': 'true'}}},
        'hosts': {'cmp-1': {'free': 2, 'disabled': True, 'aggregates': aggregates}},
    }
    remedies = {each.code: each for each in decision_of(row).remedies}
    assert remedies['started_hosts'].capacity_is_upper_bound == is_bound


@pytest.mark.parametrize(
    ('changes', 'hosts'),
    [
        ({'count': 2}, ['ssd-1', 'ssd-1']),
        # More than fit with the filter.
        ({'count': 4}, ['hdd-1', 'ssd-1'] * 2),
        # With the filter, other domains count.
        ({'count': 2, 'spread': [{'by': 'rack'}]}, ['hdd-1', 'ssd-1']),
        ({'count': 2, 'spread': [{'by': 'rack', 'mode': 'soft'}]}, ['hdd-1', 'ssd-1']),
        ({'count': 2, 'server_group': 'g'}, ['hdd-1', 'ssd-1']),
    ],
)
def test_servers_go_to_hosts_that_the_filter_accepts_if_all_fit_there(changes, hosts):
    """A spread and a soft policy come first."""
    row = {
        'flavor': {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'}},
        'aggregates': {
            'ssd': {'metadata': {'ssd': 'true', 'rack': '1'}},
            'hdd': {'metadata': {'rack': '2'}},
        },
        'group': {'policy': 'soft-anti-affinity'},
        'hosts': {
            'hdd-1': {'free': 8, 'aggregates': ['hdd']},
            'ssd-1': {'free': 2, 'aggregates': ['ssd']},
        },
        'request': {'server_group': None, **changes},
    }
    assert [each.host for each in decision_of(row).placements] == hosts


class Theirs(Fence):
    """A constraint of another package that a filter or an option may enforce."""

    answer = 'FenceFilter'
    switch = Option('is_fenced', False, 'Whether there are fences.')

    def assumptions(self, request, cloud):
        yield self.answer

    def prepare(self, request, cloud):
        is_on = request.is_enforced('FenceFilter') or request.option(self.switch)
        return None if is_on else Verdict.skipped('fence.open')


@pytest.mark.parametrize(
    ('answer', 'name'), [('FenceFilter', 'FenceFilter'), (Theirs.switch, 'is_fenced')]
)
def test_a_constraint_of_another_package_names_a_filter_or_an_option(answer, name):
    theirs = Theirs()
    theirs.answer = answer
    row = {'hosts': {'cmp-1': {'free': 2, 'aggregates': ['fenced']}, 'cmp-2': {'free': 1}}}
    decision = decision_of(row, (*CONSTRAINTS, theirs))
    assert f'(3 fit if {name} is not enabled, 1 if it is)' in decision.line()


@pytest.mark.parametrize('answer', [7, Option('most', 0, 'The most servers.')])
def test_an_answer_that_cannot_be_enabled_is_an_error(answer):
    theirs = Theirs()
    theirs.answer = answer
    with pytest.raises(ConstraintError, match='fence.*assumptions.*a filter, or an Option that is'):
        decision_of({'hosts': {'cmp-1': {}}}, (*CONSTRAINTS, theirs))
