"""Nova requests PCPU for pinned CPUs, then VCPU: the capacity is the number that it places."""

import pytest

from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.functional.test_remedies_carried_out import decide, place
from tests.support.asked import Given, NamedRequest
from tests.support.remedying import Operator
from tests.support.sandbox import SandboxCloud

VCPU, PCPU = {'total': 4, 'allocation_ratio': 1.0}, {'total': 6}
HOSTS = {
    'cmp-1': {'memory_mb': 8192, 'inventory': {'VCPU': VCPU, 'PCPU': PCPU}},
    'cmp-2': {'memory_mb': 8192, 'inventory': {'VCPU': {**VCPU, 'total': 3}}},
}
SPECS = {'hw:cpu_policy': 'dedicated'}
FLAVORS = {'pinned': {'id': 'pinned', 'ram': 128, 'vcpus': 2, 'extra_specs': SPECS}}


@pytest.mark.long
@pytest.mark.parametrize(
    ('is_strict', 'of_hosts'), [(False, {'cmp-1': 5, 'cmp-2': 1}), (True, {'cmp-1': 3, 'cmp-2': 0})]
)
def test_the_capacity_is_the_number_that_nova_places(is_strict, of_hosts):
    options = {'workarounds': {'disable_fallback_pcpu_query': is_strict}}
    request = NamedRequest(20, 'pinned', enabled_filters=DEFAULT_FILTERS, image_properties={})
    with SandboxCloud(HOSTS, flavors=FLAVORS, quotas={}, nova_options=options) as cloud:
        operator = Operator(cloud)
        found = decide(operator, request, Given.of(is_pinning_strict=is_strict))
        assert {each.host: each.room or 0 for each in found.hosts} == of_hosts
        assert found.capacity_is_upper_bound
        assert place(operator, request, found.capacity) == found.capacity == sum(of_hosts.values())
