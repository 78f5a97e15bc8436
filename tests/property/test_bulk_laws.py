"""A constraint gives the same verdicts for many hosts at once as for each host alone."""

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
from tests.support.values import replace

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
UNUSUAL_FIELDS = {
    'is_nested': st.booleans(),
    'is_partial': st.booleans(),
    'hypervisor_type': st.sampled_from(['QEMU', 'VMware vCenter Server']),
    'grants': st.sampled_from([None, (), (CandidateCapacity('resources=VCPU:1', 2, 1),)]),
    'resources': RESOURCES,
    'stale_aggregates': st.sampled_from([frozenset(), frozenset({'1'})]),
}
CONSTRAINTS = [
    constraint
    for constraint in (kind() for kind in OURS)
    if is_of_hosts(constraint) and constraint.name != ResourcesConstraint.name
]
#: The number of enabled filters: from the default ones to all that our constraints model.
COUNTS = st.integers(len(DEFAULT_FILTERS), 20)


@settings(max_examples=40)
@given(st.data())
def test_verdicts_for_many_hosts_equal_those_for_each_host(data):
    request, snapshot = data.draw(clouds(policies=None))
    hosts = []
    for host in snapshot.hosts:
        changes = data.draw(st.fixed_dictionaries({}, optional=UNUSUAL_FIELDS))
        hosts += [host, replace(host, **changes)]
    image = data.draw(st.sampled_from([None, {}]))
    snapshot = data.draw(hidden(replace(snapshot, hosts=tuple(hosts))))
    resolved = resolve(replace(request, image_properties=image), snapshot)
    hosts = snapshot.hosts or ()
    for constraint in (*CONSTRAINTS, ResourcesConstraint()):
        alone = [constraint.check_host(resolved, host) for host in hosts]
        assert [*constraint.check_hosts(resolved, hosts)] == alone, constraint.name


@settings(max_examples=40)
@given(st.data())
def test_a_verdict_depends_only_on_the_declared_fields(data):
    """Hosts that differ only in other fields have equal verdicts."""
    request, snapshot = data.draw(clouds())
    filters = (*DEFAULT_FILTERS, *(name for constraint in OURS for name in constraint.filters))
    member_of = ('one',) * data.draw(st.booleans())
    request = replace(request, member_of=member_of, enabled_filters=filters[: data.draw(COUNTS)])
    resolved = resolve(request, snapshot)
    for host in snapshot.hosts:
        changes = data.draw(st.fixed_dictionaries({}, optional=UNUSUAL_FIELDS))
        other = replace(data.draw(generated(host.host)), **changes)
        for constraint in CONSTRAINTS:
            read = {name: getattr(host, name) for name in constraint.host_fields(resolved)}
            assert {*read} <= CLASS_FIELDS
            same = replace(other, **read, servers=host.servers)
            assert constraint.check_host(resolved, same) == constraint.check_host(resolved, host), (
                constraint.name
            )
