"""Hosts and requests that the constraint resources evaluates together."""

import pytest

from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.scenario.scenario import Scenario
from tests.support.asked import resolve
from tests.support.small_cloud import granted, request_of, rules_of, snapshot_of
from tests.support.values import replace

#: Placement grants neither host; it has the second one in an aggregate of the requested zone.
HOSTS = {
    'h1': {'zone': 'z1', 'aggregates': ['a1'], 'grants': []},
    'h2': {'zone': 'z1', 'aggregates': ['a1'], 'stale': ['a2'], 'grants': []},
}
AGGREGATES = {'a1': {'zone': 'z1'}, 'a2': {'zone': 'z2'}}


def question(names, **changes):
    hosts = {name: HOSTS[name] for name in names}
    request = {'count': 1, 'availability_zone': 'z2'}
    row = {'aggregates': AGGREGATES, 'request': request, 'hosts': hosts}
    snapshot = snapshot_of(row)
    resources = snapshot.hosts[0].resources
    snapshot = replace(snapshot, hosts=tuple(h.but(resources=resources) for h in snapshot.hosts))
    return granted(resolve(replace(request_of(row), **changes), snapshot, rules_of(row)), hosts)


@pytest.mark.parametrize('names', [('h1', 'h2'), ('h2', 'h1')])
def test_the_order_of_hosts_is_irrelevant(names):
    asked, rule = question(names), ResourcesConstraint()
    hosts = asked.cloud.hosts
    column = rule.column(asked.request, Scenario.of(asked.cloud))
    found = [column.verdict(index) for index in range(len(hosts))]
    assert found == [rule.check_host(*asked, host) for host in hosts]
