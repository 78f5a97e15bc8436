"""Laws of rules that answer for many hosts at once: they say the same as of each host alone."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.model.candidate_capacity import CandidateCapacity
from senlin_affinity.model.constraint import is_of_hosts
from senlin_affinity.model.host import Resource
from senlin_affinity.model.host_classes import CLASS_FIELDS
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.planner.resolution import resolve
from tests.property.cloud_strategies import clouds, hidden
from tests.property.cloud_strategies import hosts as generated
from tests.support.our_constraints import OURS

FIGURES = st.builds(
    Resource,
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from([None, None, 1, 600]),
    st.sampled_from([1, 1, 2]),
    st.sampled_from([False, False, True]),
    st.sampled_from([None, None, 'pool']),
)
NAMES = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_GPU')
RESOURCES = st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, FIGURES))
ODD = {
    'is_nested': st.booleans(),
    'is_partial': st.booleans(),
    'hypervisor_type': st.sampled_from(['QEMU', 'VMware vCenter Server']),
    'grants': st.sampled_from([None, (), (CandidateCapacity('resources=VCPU:1', 2, 1),)]),
    'resources': RESOURCES,
    'stale_aggregates': st.sampled_from([frozenset(), frozenset({'1'})]),
}
RULES = [
    rule
    for rule in (kind() for kind in OURS)
    if is_of_hosts(rule) and rule.name != ResourcesConstraint.name
]
#: From the usual filters only to all that rules of ours stand for.
COUNTS = st.integers(len(DEFAULT_FILTERS), 20)


@settings(max_examples=40)
@given(st.data())
def test_what_is_said_of_many_hosts_is_what_is_said_of_each(data):
    request, snapshot = data.draw(clouds(policies=None))
    hosts = []
    for host in snapshot.hosts:
        odd = data.draw(st.fixed_dictionaries({}, optional=ODD))
        hosts += [host, replace(host, **odd)]
    image = data.draw(st.sampled_from([None, {}]))
    snapshot = data.draw(hidden(replace(snapshot, hosts=tuple(hosts))))
    resolved = resolve(replace(request, image_properties=image), snapshot)
    hosts = snapshot.hosts or ()
    for rule in (*RULES, ResourcesConstraint()):
        alone = [rule.check_host(resolved, host) for host in hosts]
        assert [*rule.check_hosts(resolved, hosts)] == alone, rule.name


@settings(max_examples=40)
@given(st.data())
def test_what_is_said_follows_from_what_a_rule_reads(data):
    """Of a host that differs in anything else, but its names, the same is said."""
    request, snapshot = data.draw(clouds())
    filters = (*DEFAULT_FILTERS, *(name for rule in OURS for name in rule.filters))
    asked = ('one',) * data.draw(st.booleans())
    request = replace(request, member_of=asked, enabled_filters=filters[: data.draw(COUNTS)])
    resolved = resolve(request, snapshot)
    for host in snapshot.hosts:
        odd = data.draw(st.fixed_dictionaries({}, optional=ODD))
        other = replace(data.draw(generated(host.host)), **odd)
        for rule in RULES:
            read = {name: getattr(host, name) for name in rule.host_fields(resolved)}
            assert {*read} <= CLASS_FIELDS
            same = replace(other, **read, servers=host.servers)
            assert rule.check_host(resolved, same) == rule.check_host(resolved, host), rule.name
