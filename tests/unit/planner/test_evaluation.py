"""An evaluation reuses the verdicts of a previous one as far as the question is the same."""

import pytest

from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.snapshot import Aggregate, Quota
from senlin_affinity.planner.evaluation import evaluate
from senlin_affinity.planner.resolution import resolve
from tests.support.small_cloud import CONSTRAINTS, host_of, request_of, rules_of, snapshot_of
from tests.support.values import replace

ROW = {
    'hosts': {'cmp-1': {'free': 2}, 'cmp-2': {'free': 3}},
    'quotas': {'instances': [10, 4]},
    'aggregates': {'ssd': {}},
}


@pytest.fixture
def before():
    asked = resolve(request_of(ROW), snapshot_of(ROW), rules_of(ROW))
    return evaluate(asked, CONSTRAINTS)


def of_snapshot(before, **changes):
    resolved = before.resolved
    return replace(resolved, snapshot=replace(resolved.snapshot, **changes))


def test_without_another_host_the_verdicts_are_reused(before):
    resolved = before.resolved
    more = replace(resolved, request=replace(resolved.request, count=9))
    assert evaluate(more, CONSTRAINTS, before).matrix is before.matrix
    quotas = of_snapshot(before, quotas={'instances': Quota(5, 4)})
    after = evaluate(quotas, CONSTRAINTS, before)
    assert after.matrix is before.matrix
    assert (before.capacity, after.capacity) == (5, 1)


@pytest.mark.parametrize(
    'changes',
    [
        {'aggregates': (Aggregate('ssd', 'ssd', None, {'fast': 'true'}),)},
        {'availability_zones': frozenset({'nova'})},
        {'project_id': 'other'},
        {'hosts': tuple(host_of(name, {'zone': 'az-2'}) for name in ('cmp-1', 'cmp-2'))},
    ],
    ids=lambda each: ', '.join(each),
)
def test_another_cloud_is_evaluated_again(before, changes):
    other = of_snapshot(before, **changes)
    matrix = evaluate(other, CONSTRAINTS, before).matrix
    assert not {*map(id, matrix.rows)} & {*map(id, before.matrix.rows)}


@pytest.mark.parametrize(
    'changed',
    [
        lambda resolved: {'request': replace(resolved.request, availability_zone='nova')},
        lambda _resolved: {'server_group': ServerGroup('g', 'web', 'anti-affinity')},
        lambda _resolved: {'placed': {'cmp-1': 1}},
    ],
    ids=['zone', 'server group', 'placed servers'],
)
def test_another_request_is_evaluated_again(before, changed):
    other = replace(before.resolved, **changed(before.resolved))
    matrix = evaluate(other, CONSTRAINTS, before).matrix
    assert not {*map(id, matrix.rows)} & {*map(id, before.matrix.rows)}


def test_only_changed_and_new_hosts_are_evaluated(before):
    one, _two = before.hosts
    other, new = host_of('cmp-2', {'free': 7}), host_of('cmp-3', {'free': 1})
    after = evaluate(of_snapshot(before, hosts=(one, other, new)), CONSTRAINTS, before)
    assert after.matrix.room == (2, 7, 1)
    assert after.matrix.host_rows[0] is before.matrix.host_rows[0]
    assert after.matrix.host_rows[1] is not before.matrix.host_rows[1]


def test_fewer_hosts_are_evaluated_again(before):
    after = evaluate(of_snapshot(before, hosts=before.hosts[1:]), CONSTRAINTS, before)
    assert after.matrix.room == (3,)
    assert after.matrix.host_rows[0] is not before.matrix.host_rows[1]
