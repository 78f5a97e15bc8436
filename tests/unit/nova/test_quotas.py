"""All exceeded quotas are in the verdict of the first one."""

from senlin_affinity.model.cloud import Quota
from senlin_affinity.model.verdict import Verdict
from senlin_affinity.nova import quotas
from senlin_affinity.nova.quotas import Resized
from tests.support.asked import plan
from tests.support.small_cloud import CONSTRAINTS, request_of, rules_of, snapshot_of


def test_each_of_three_exceeded_quotas_is_listed_once():
    row = {
        'hosts': {'cmp-1': {}},
        'flavor': {'vcpus': 4},
        'group': {'policy': 'soft-anti-affinity', 'members': ['cmp-1', 'cmp-1']},
        'quotas': {'instances': [10, 9], 'cores': [20, 10], 'server_group_members': [2, None]},
        'request': {'count': 4},
    }
    decision = plan(request_of(row), snapshot_of(row), CONSTRAINTS, rules_of(row))
    found = [each.code for each in quotas.exceeded(decision.request['quota'])]
    assert sorted(found) == ['quota.cores', 'quota.instances', 'quota.server_group_members']


def test_another_constraint_may_have_a_fact_of_this_name():
    verdict = Verdict.rejected('licence.none', also='db-1')
    assert [*quotas.exceeded(verdict)] == [verdict]


def test_a_resize_needs_the_difference_of_the_flavors():
    """With unified limits, Nova counts other amounts, which the quota's usage does not have."""
    costs = {'cores': {quotas.Cost(8, 8), quotas.Cost(2, 2)}}
    known = {'cores': Resized.of(Quota(20, 23), 4)}
    verdict = quotas.room_for_servers(known, costs, 1)
    assert (verdict.facts['needed'], verdict.facts['left']) == (4, 0)
