"""The fields of a host and the names of hosts that constraints declare to read."""

import pytest

from senlin_affinity.constraints.availability_zone import _READ as of_zones
from senlin_affinity.constraints.traits import _READ as of_traits
from senlin_affinity.planner.resolution import resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import request_of, rules_of, snapshot_of

SERVER = '10000000-0000-4000-8000-000000000001'
ROW = {
    'hosts': {'cmp-1': {'zone': 'az-1', 'aggregates': ['one']}, 'cmp-2': {}},
    'aggregates': {'one': {'zone': 'az-1', 'metadata': {'rack': 'r1'}}},
    'group': {'policy': 'anti-affinity', 'members': ['cmp-1']},
    'servers': {SERVER: {'host': 'cmp-2', 'state': 'ACTIVE'}},
}
BY_NAME = {each.name: each() for each in OURS}


def asked(request=(), **more):
    row = {**ROW, **more, 'request': dict(request)}
    return resolve(request_of(row), snapshot_of(row), rules_of(row))


def of_filter(name, **more):
    return {'request': {'enabled_filters': [name], **more}}


@pytest.mark.parametrize(
    ('name', 'question', 'fields'),
    [
        ('aggregate_metadata', {}, []),
        ('aggregate_metadata', of_filter('AggregateInstanceTypeFilter'), ['aggregates']),
        ('availability_zone', {}, []),
        ('availability_zone', {'request': {'availability_zone': 'nova'}}, ['availability_zone']),
        ('availability_zone', {'request': {'availability_zone': 'az-1'}}, sorted(of_zones)),
        ('traits', {}, []),
        ('traits', {'flavor': {'extra_specs': {'trait:CUSTOM_A': 'required'}}},
         sorted(of_traits)),
        ('availability_zone', of_filter('AvailabilityZoneFilter', availability_zone='az-1'),
         sorted(of_zones)),
        ('availability_zone', {'request': {'spread': [{'by': 'availability_zone'}]}},
         sorted(of_zones)),
        ('flavor_aggregates', {}, []),
        ('flavor_aggregates', of_filter('AggregateTypeAffinityFilter'), ['aggregates']),
        ('image_aggregates', {}, []),
        ('image_aggregates', of_filter('AggregateImagePropertiesIsolation'), ['aggregates']),
        ('image_hypervisor', {}, []),
        ('image_hypervisor', {'request': {'image_properties': {'hw_architecture': 'x86_64'}}},
         ['hypervisor_type', 'traits']),
        ('member_of', {}, []),
        ('member_of', {'request': {'member_of': ['one']}}, ['aggregates']),
        ('spread', {}, []),
        ('spread', {'request': {'spread': [{'by': 'rack'}]}}, ['aggregates', 'availability_zone']),
        ('tenant_isolation', {}, []),
        ('tenant_isolation', of_filter('AggregateMultiTenancyIsolation'), ['aggregates']),
    ],
)  # fmt: skip
def test_only_fields_that_matter_to_the_request_are_read(name, question, fields):
    assert sorted(BY_NAME[name].host_fields(asked(**question))) == fields


@pytest.mark.parametrize(
    ('name', 'question', 'hosts'),
    [
        ('drs', {}, []),
        ('drs', {'rules': {'is_drs_required': True}}, None),
        ('isolated_hosts', {'rules': {'isolated_hosts': ['cmp-2']}}, []),
        ('isolated_hosts', {**of_filter('IsolatedHostsFilter'),
                            'rules': {'isolated_hosts': ['cmp-2']}}, ['cmp-2']),
        ('scheduler_hints', {}, []),
        ('scheduler_hints', of_filter('SameHostFilter', scheduler_hints={'same_host': SERVER}),
         ['cmp-2']),
        ('server_count', {}, []),
        ('server_count', of_filter('NumInstancesFilter'), None),
        ('server_group', {}, ['cmp-1']),
    ],
)  # fmt: skip
def test_only_hosts_that_matter_to_the_request_are_told_apart(name, question, hosts):
    found = BY_NAME[name].specific_hosts(asked(**question))
    assert (found if found is None else sorted(found)) == hosts


def test_without_a_server_group_no_host_is_told_apart():
    row = {**ROW, 'request': {}}
    del row['group']
    resolved = resolve(request_of(row), snapshot_of(row), rules_of(row))
    assert [*BY_NAME['server_group'].specific_hosts(resolved)] == []
