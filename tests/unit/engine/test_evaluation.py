"""An evaluation after a change equals that of a request which was never another one."""

import pytest

from senlin_affinity.engine.evaluation import evaluate
from senlin_affinity.model.cloud import Aggregate, Quota
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.scenario.columns import Columns
from tests.support.asked import resolve
from tests.support.small_cloud import CONSTRAINTS, host_of, request_of, rules_of, snapshot_of
from tests.support.values import replace

ROW = {
    'hosts': {'cmp-1': {'free': 2}, 'cmp-2': {'free': 3}},
    'quotas': {'instances': [10, 4]},
    'aggregates': {'ssd': {}},
}
OTHER_ZONE = tuple(host_of(name, {'zone': 'az-2'}) for name in ('cmp-1', 'cmp-2'))


@pytest.mark.parametrize(
    'changed',
    [
        lambda asked: asked.but(count=9),
        lambda asked: asked.but(availability_zone='nova'),
        lambda asked: asked.but(server_group=ServerGroup('g', 'web', 'anti-affinity')),
        lambda asked: of_cloud(asked, quotas={'instances': Quota(5, 4)}),
        lambda asked: of_cloud(asked, aggregates=(Aggregate('ssd', 'ssd', None, {'a': 'b'}),)),
        lambda asked: of_cloud(asked, hosts=OTHER_ZONE),
        lambda asked: of_cloud(asked, hosts=asked.cloud.hosts[1:]),
        lambda asked: of_hosts(asked, {1: host_of('cmp-2', {'free': 7}), 2: host_of('cmp-3', {})}),
        lambda asked: of_hosts(asked, {0: OTHER_ZONE[0]}),
    ],
)
def test_a_change_is_evaluated_as_if_nothing_was_evaluated_before(changed):
    asked = resolve(request_of(ROW), snapshot_of(ROW), rules_of(ROW))
    evaluate(*asked.planned, CONSTRAINTS)
    after = changed(asked)
    fresh = after.but(cloud=replace(after.cloud))
    of_both = [evaluate(*each.planned, CONSTRAINTS) for each in (after, fresh)]
    one, two = (
        [each.table.verdicts(index) for index in range(len(each.hosts))] for each in of_both
    )
    assert one == two
    assert of_both[0].total == of_both[1].total
    assert of_both[0].verdicts == of_both[1].verdicts


def of_cloud(asked, **parts):
    return asked.but(cloud=replace(asked.cloud, **parts))


def of_hosts(asked, hosts):
    return asked.but(cloud=Columns.of(asked.cloud).with_hosts(hosts).cloud)
