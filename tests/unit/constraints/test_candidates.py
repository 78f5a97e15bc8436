"""The constraint candidates, row by row: whether Nova considers all hosts."""

from dataclasses import replace

import pytest

from senlin_affinity.constraints.candidates import LIMIT, CandidatesConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.model.reason import sentence
from senlin_affinity.model.request import PlacementRequest, ResolvedRequest, Rules
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.planner import planner
from tests.support.small_cloud import (
    aggregates_of,
    flavor_of,
    group_of,
    hosts_of,
    request_of,
    rules_of,
)
from tests.support.tables import rows

HOSTS = {
    'cmp-1': {'zone': 'az-1', 'aggregates': ['one']},
    'cmp-2': {'zone': 'az-1', 'aggregates': ['one']},
    'cmp-3': {'zone': 'az-1', 'aggregates': ['one'], 'down': True},
    'cmp-4': {'zone': 'az-2', 'aggregates': ['two']},
    'cmp-5': {'zone': 'az-2', 'aggregates': ['two'], 'disabled': True},
}
SNAPSHOT = CloudSnapshot(
    hosts_of(HOSTS), aggregates_of({'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}})
)


@pytest.mark.parametrize('row', rows('candidates'))
def test_row(row):
    rules = rules_of(row)
    rules = Rules(is_pinned=rules.is_pinned, options={LIMIT.key: row['limit']})
    flavor, group = flavor_of(row.get('flavor')), group_of(row.get('group'))
    snapshot = replace(SNAPSHOT, hosts=hosts_of({**HOSTS, **row.get('hosts', {})}))
    asked = ResolvedRequest(request_of(row), snapshot, flavor, group, rules)
    rule = CandidatesConstraint()
    verdict = rule.check_request(asked)
    assert verdict.outcome.value == 'SKIP'
    assert (verdict.code, verdict.facts) == (row['code'], row.get('facts', {}))
    assert sentence(verdict, rule.reasons) == row['sentence']
    assert len(list(rule.caveats(asked))) == (row['code'] == 'candidates.cut')


def test_the_plan_has_the_verdict():
    request = PlacementRequest(1, 'f', enabled_filters=('NumInstancesFilter',))
    asked = ResolvedRequest(request, SNAPSHOT, flavor_of({}), rules=Rules.of(**{LIMIT.key: 3}))
    rules = [ResourcesConstraint(), CandidatesConstraint()]
    (words,) = planner.decide(asked, rules).at_most[1:]
    assert words.startswith('max_placement_results (3)')
