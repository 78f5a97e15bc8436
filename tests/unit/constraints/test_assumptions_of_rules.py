"""The assumptions of constraints without information from nova.conf, row by row."""

import pytest

from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.verdict import Assumption
from tests.support.asked import with_values
from tests.support.our_constraints import OURS
from tests.support.small_cloud import aggregates_of, flavor_of, host_of, request_of, rules_of
from tests.support.tables import rows
from tests.support.values import replace

RULES = {rule.name: rule for rule in OURS}


@pytest.mark.parametrize('row', rows('assumptions_of_rules'))
def test_assumed(row):
    nothing = [[]] * len(row['zones'])
    each = zip(row['zones'], row.get('traits', nothing), row.get('hosts_in', nothing), strict=True)
    hosts = tuple(
        host_of(f'cmp-{i}', {'zone': zone, 'traits': has, 'aggregates': of})
        for i, (zone, has, of) in enumerate(each)
    )
    snapshot = Cloud(hosts, aggregates_of(row.get('aggregates', {})))
    specified = row.get('specified', {})
    rules = rules_of(row)
    rules = replace(rules, options={**rules.options, **specified}, explicit=frozenset(specified))
    asked = with_values(request_of(row), snapshot, flavor_of(row.get('flavor')), given=rules)
    every = RULES[row['rule']]().assumptions(*asked)
    found = [item for item in every if isinstance(item, Assumption)]
    assert [assumption.code for assumption in found] == row.get('assumed', [])
    assert all(assumption.text for assumption in found)
