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


@pytest.mark.parametrize(
    ('known', 'code'),
    [
        (None, 'resources.unknown'),
        (frozenset({'VCPU', 'CUSTOM_GOLD'}), 'resources.unknown'),
        (frozenset({'VCPU'}), 'resources.not_offered'),
    ],
)
def test_no_host_offers_a_class_that_does_not_exist(known, code):
    """A partial host may offer further classes, but only those that Placement has."""
    zeros = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    row = {
        'flavor': {'extra_specs': {**zeros, 'resources:CUSTOM_GOLD': '1'}},
        'hosts': {'bm-1': {'partial': True, 'resources': {'MEMORY_MB': [0, 0]}}},
    }
    cloud = replace(snapshot_of(row), resource_classes=known)
    asked = resolve(request_of(row), cloud, rules_of(row))
    column = ResourcesConstraint().column(asked.request, Scenario.of(asked.cloud))
    assert column.verdict(0).code == code
