"""The requests for which constraints have one verdict about all hosts, and tell none apart."""

import pytest

from senlin_affinity.model.verdict import Verdict
from tests.support.asked import resolve
from tests.support.our_constraints import OURS
from tests.support.small_cloud import request_of, rules_of, snapshot_of

ROW = {
    'hosts': {'cmp-1': {'zone': 'az-1', 'aggregates': ['one']}, 'cmp-2': {}},
    'aggregates': {'one': {'zone': 'az-1', 'metadata': {'rack': 'r1'}}},
}
FLAVORS = {'one': {'metadata': {'instance_type': 'small'}}}
FORCED = {'one': {'metadata': {'force_metadata_check': 'true'}}}
RESERVED = {'one': {'metadata': {'reservation:r1': ''}}}
TENANTS = {'one': {'metadata': {'filter_tenant_id': 'p1'}}}
SSD, WITH_A = {'extra_specs': {'ssd': 'true'}}, {'extra_specs': {'trait:CUSTOM_A': 'required'}}
OF_OURS = {'request': {'enabled_filters': ['AggregateInstanceTypeFilter']}}
OF_NOVA = {'request': {'enabled_filters': ['AggregateInstanceExtraSpecsFilter']}}
OF_FLAVORS = {'request': {'enabled_filters': ['AggregateTypeAffinityFilter']}}
OF_TENANTS = {'request': {'enabled_filters': ['AggregateMultiTenancyIsolation']}}
ISOLATED = {'rules': {'is_isolation_enforced': True}}
RESERVING = {'rules': {'forbidden_member_prefixes': ('reservation:',)}}
LIMITED = {'rules': {'are_tenants_limited': True, 'is_tenant_aggregate_required': True}}
OF_IMAGES = {'request': {'enabled_filters': ['AggregateImagePropertiesIsolation']}}
OF_LINUX = {'request': {**OF_IMAGES['request'], 'image_properties': {'os_type': 'linux'}}}
WINDOWS = {'one': {'metadata': {'os_type': 'windows'}}}
X86 = {'image_properties': {'hw_architecture': 'x86_64'}}
OF_COUNTS = {'request': {'enabled_filters': ['AggregateNumInstancesFilter']}}
OWNER = {'hosts': {'cmp-1': {'traits': ['OWNER_NOVA']}}}


@pytest.mark.parametrize(
    ('name', 'row', 'code'),
    [
        ('aggregate_metadata', {}, 'aggregate_metadata.not_enforced'),
        ('aggregate_metadata', OF_OURS, 'aggregate_metadata.nothing_asked'),
        ('aggregate_metadata', {**OF_OURS, 'aggregates': None}, 'aggregate_metadata.unknown'),
        ('aggregate_metadata', {**OF_OURS, 'aggregates': FORCED}, None),
        ('aggregate_metadata', {**OF_OURS, 'flavor': SSD}, None),
        ('aggregate_metadata', OF_NOVA, 'aggregate_metadata.nova_matches'),
        ('aggregate_metadata', {**OF_NOVA, 'flavor': SSD}, None),
        ('availability_zone', {}, 'availability_zone.any'),
        ('availability_zone', {'request': {'availability_zone': 'nova'}}, None),
        ('availability_zone', {'request': {'spread': [{'by': 'availability_zone'}]}}, None),
        ('availability_zone', {'rules': {'is_pinned': True}}, None),
        ('drs', {}, 'drs.not_asked'),
        ('drs', {'rules': {'is_drs_required': True}}, None),
        ('flavor_aggregates', {}, 'flavor_aggregates.not_enforced'),
        ('flavor_aggregates', OF_FLAVORS, 'flavor_aggregates.every'),
        ('flavor_aggregates', {**OF_FLAVORS, 'flavor': None}, 'flavor_aggregates.unknown'),
        ('flavor_aggregates', {**OF_FLAVORS, 'aggregates': FLAVORS}, None),
        ('host_state', {}, None),
        ('image_aggregates', {}, 'image_aggregates.not_enforced'),
        ('image_aggregates', OF_IMAGES, 'image_aggregates.matches'),
        ('image_aggregates', {**OF_IMAGES, 'aggregates': None}, 'image_aggregates.unknown'),
        ('image_aggregates', OF_LINUX, 'image_aggregates.matches'),
        ('image_aggregates', {**OF_LINUX, 'aggregates': WINDOWS}, None),
        ('image_hypervisor', {}, 'image_hypervisor.nothing'),
        ('image_hypervisor', {'request': X86}, None),
        ('image_hypervisor', {'request': X86 | OF_IMAGES['request']}, 'image_hypervisor.unknown'),
        ('member_of', {}, 'member_of.none'),
        ('member_of', {'request': {'member_of': ['one']}}, None),
        ('reservations', {}, 'reservations.none'),
        ('reservations', ISOLATED, 'reservations.admitted'),
        ('reservations', {**ISOLATED, 'flavor': None}, 'reservations.unknown'),
        ('reservations', LIMITED, 'reservations.unknown'),
        ('reservations', {**LIMITED, 'project': 'p1'}, 'reservations.no_tenant_aggregate'),
        ('reservations', {**RESERVING, 'aggregates': RESERVED}, None),
        ('server_count', {}, 'server_count.not_enforced'),
        ('server_count', OF_COUNTS, None),
        ('server_count', {**OF_COUNTS, 'aggregates': None}, 'server_count.unknown'),
        ('spread', {}, 'spread.none'),
        ('spread', {'request': {'spread': [{'by': 'rack', 'mode': 'soft'}]}}, 'spread.none'),
        ('spread', {'request': {'spread': [{'by': 'rack'}]}}, None),
        ('tenant_isolation', {}, 'tenant_isolation.not_enforced'),
        ('tenant_isolation', OF_TENANTS, 'tenant_isolation.everybody'),
        ('tenant_isolation', {**OF_TENANTS, 'aggregates': None}, 'tenant_isolation.unknown'),
        ('tenant_isolation', {**OF_TENANTS, 'aggregates': TENANTS}, None),
        ('traits', {}, 'traits.none'),
        ('traits', {'flavor': None}, 'traits.unknown'),
        ('traits', {'flavor': WITH_A}, None),
        ('traits', OWNER, None),
    ],
)  # fmt: skip
def test_hosts_are_told_apart_only_if_verdicts_differ(name, row, code):
    row = {**ROW, 'request': {}, **row}
    asked = resolve(request_of(row), snapshot_of(row), rules_of(row))
    constraint = next(each for each in OURS if each.name == name)()
    found = constraint.prepare(*asked)
    assert (found.code if isinstance(found, Verdict) else None) == code
    assert isinstance(found, Verdict) or hash(found) == hash(constraint.prepare(*asked))
