"""The constraint candidates, row by row: does Placement accept the query, and with all hosts?"""

import pytest

from senlin_affinity import engine
from senlin_affinity.constraints.candidates import LIMIT, CandidatesConstraint
from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import CandidateCapacity
from senlin_affinity.model.verdict import sentence
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.demand import STANDARD_CLASSES
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.small_cloud import (
    aggregates_of,
    flavor_of,
    group_of,
    hosts_of,
    request_of,
    rules_of,
)
from tests.support.tables import rows
from tests.support.values import replace

DISABLED = 'COMPUTE_STATUS_DISABLED'
HOSTS = {
    'cmp-1': {'zone': 'az-1', 'aggregates': ['one']},
    'cmp-2': {'zone': 'az-1', 'aggregates': ['one']},
    'cmp-3': {'zone': 'az-1', 'aggregates': ['one'], 'down': True},
    'cmp-4': {'zone': 'az-2', 'aggregates': ['two']},
    'cmp-5': {'zone': 'az-2', 'aggregates': ['two'], 'disabled': True, 'traits': [DISABLED]},
}
SNAPSHOT = Cloud(hosts_of(HOSTS), aggregates_of({'one': {'zone': 'az-1'}, 'two': {'zone': 'az-2'}}))


@pytest.mark.parametrize('row', rows('candidates'))
def test_row(row):
    rules = rules_of(row)
    rules = Given(is_pinned=rules.is_pinned, options={LIMIT.key: row['limit']})
    flavor, group = flavor_of(row.get('flavor')), group_of(row.get('group'))
    snapshot = replace(SNAPSHOT, hosts=hosts_of({**HOSTS, **row.get('hosts', {})}))
    asked = with_values(request_of(row), snapshot, flavor, group, rules)
    rule = CandidatesConstraint()
    verdict = rule.check_request(*asked)
    assert verdict.outcome.value == 'SKIP'
    assert (verdict.code, verdict.facts) == (row['code'], row.get('facts', {}))
    assert sentence(verdict, rule.reasons) == row['sentence']
    assert len(list(rule.caveats(*asked))) == (row['code'] == 'candidates.cut')


def rejected_of(row):
    """Return the request of a row, with the names that exist in Placement."""
    names = {'CUSTOM_HAS', 'CUSTOM_IS', 'COMPUTE_STATUS_DISABLED'}
    resources = {'VCPU': [9, 0], 'MEMORY_MB': [9999, 0], 'DISK_GB': [9, 0], 'CUSTOM_BM': [9, 0]}
    hosts = hosts_of({'cmp-1': {'traits': ['CUSTOM_HAS'], 'resources': resources}})
    flavor = flavor_of({'extra_specs': row.get('specs', {})})
    snapshot = Cloud(
        hosts,
        flavors=(flavor,),
        traits=frozenset(names) if row.get('traits', ()) is not None else None,
        resource_classes=STANDARD_CLASSES | {'CUSTOM_BM'}
        if row.get('classes', ()) is not None
        else None,
    )
    request = NamedRequest(1, 'f', image_properties=row.get('image', {}))
    asked = with_values(request, snapshot, flavor)
    if 'message' in row:
        snapshot = replace(snapshot, rejected={candidate_query.query(*asked): row['message']})
    return asked.but(cloud=snapshot)


@pytest.mark.parametrize('row', rows('candidates_rejected'))
def test_row_of_a_rejected_request(row):
    asked, rule = rejected_of(row), CandidatesConstraint()
    verdict = rule.check_request(*asked)
    code = row.get('code', 'candidates.all')
    assert verdict.code == code
    assert bool(verdict) is ('code' not in row)
    assert verdict.facts == ({'names': row['names'], 'flavor': 'small'} if 'code' in row else {})
    assert row.get('sentence') in (None, sentence(verdict, rule.reasons))
    assert candidate_query.uncertain_traits(*asked) == tuple(row.get('uncertain', ()))
    assert len(list(rule.caveats(*asked))) == ('uncertain' in row)


@pytest.mark.parametrize(
    'row', [row for row in rows('candidates_rejected') if 'code' in row.values[0]]
)
def test_the_remedies_of_a_rejected_request(row):
    asked = rejected_of(row)
    decision = engine.plan(
        *asked.planned, [ResourcesConstraint(), TraitsConstraint(), CandidatesConstraint()]
    )
    assert (decision.fits, decision.capacity, decision.certain) == (False, 0, True)
    found = [[each.code, each.change, *each.commands] for each in decision.remedies]
    assert row.get('remedies') in (None, found)
    assert row.get('useless') not in [each.code for each in decision.remedies]
    # A tenant, who does not see the hosts, reads no command.
    hidden = asked.but(cloud=replace(asked.cloud, hosts=None))
    decision = engine.plan(*hidden.planned, [ResourcesConstraint(), CandidatesConstraint()])
    assert (decision.fits, decision.remedies) == (False, ())


def test_a_query_that_placement_answered_is_accepted():
    """It may have been changed since the names were read."""
    (row,) = (row.values[0] for row in rows('candidates_rejected') if 'trait of lower' in row.id)
    asked = rejected_of(row)
    answered = frozenset([candidate_query.query(*asked)])
    asked = asked.but(cloud=replace(asked.cloud, answered=answered))
    assert candidate_query.rejection(*asked) is None


def test_a_trait_in_an_answered_query_exists():
    row = {'specs': {'trait:CUSTOM_NOPE': 'forbidden', 'resources:VCPU': '2'}, 'traits': None}
    asked = rejected_of(row)
    assert candidate_query.uncertain_traits(*asked) == ('CUSTOM_NOPE',)
    other = rejected_of({'specs': {'trait:CUSTOM_NOPE': 'forbidden'}, 'traits': None})
    query = candidate_query.query(*other)
    for room, uncertain in ((1, ()), (0, ('CUSTOM_NOPE',))):
        (host,) = asked.cloud.hosts
        hosts = (host.but(grants=(CandidateCapacity(query, room, room),)),)
        again = asked.but(cloud=replace(asked.cloud, hosts=hosts))
        assert candidate_query.uncertain_traits(*again) == uncertain


def test_the_plan_has_the_verdict():
    request = NamedRequest(1, 'f', enabled_filters=('NumInstancesFilter',))
    asked = with_values(request, SNAPSHOT, flavor_of({}), given=Given.of(**{LIMIT.key: 3}))
    rules = [ResourcesConstraint(), CandidatesConstraint()]
    (words,) = engine.plan(*asked.planned, rules).at_most[1:]
    assert words.startswith('max_placement_results (3)')
