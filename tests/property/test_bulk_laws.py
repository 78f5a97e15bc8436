"""Evaluating a constraint once for each class of hosts equals evaluating each host alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from senlin_affinity.model.host import CandidateCapacity, Resource
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.spread import Spread
from senlin_affinity.scenario.columns import Columns
from senlin_affinity.scenario.constraint import is_of_hosts, is_of_requests
from senlin_affinity.scenario.scenario import Scenario
from tests.property.cloud_strategies import FLAVORS, NAMES, clouds, hidden
from tests.support.asked import Given, resolve
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
CLASSES = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_GPU')
RESOURCES = st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(CLASSES, FIGURES))
UNUSUAL_FIELDS = {
    'is_nested': st.booleans(),
    'is_partial': st.booleans(),
    'hypervisor_type': st.sampled_from(['QEMU', 'VMware vCenter Server']),
    'grants': st.sampled_from([None, (), (CandidateCapacity('resources=VCPU:1', 2, 1),)]),
    'resources': RESOURCES,
    'servers': st.none() | st.integers(0, 3),
    'stale_aggregates': st.sampled_from([frozenset(), frozenset({'1'})]),
}
CONSTRAINTS = [constraint for constraint in (kind() for kind in OURS) if is_of_hosts(constraint)]
FILTERS = (*DEFAULT_FILTERS, *(name for constraint in OURS for name in constraint.filters))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        'isolated_hosts': st.just(NAMES[:2]),
        'isolated_images': st.just(('an-image',)),
        'max_instances_per_host': st.integers(1, 4),
        'drs_pattern': st.just('1'),
    },
)
#: The number of enabled filters: from the default ones to all that our constraints model.
COUNTS = st.integers(len(DEFAULT_FILTERS), len(FILTERS))
IMAGES = st.sampled_from([None, {}, {'hw_architecture': 'x86_64', 'os_type': 'linux'}])
METADATA = st.sampled_from(
    [{}, {'rack': 'r1'}, {'rack': 'r1,r2', 'max_instances_per_host': '2', 'os_type': 'windows'}]
)


@st.composite
def requests(draw):
    """Generate a resolved request to which many constraints apply."""
    request, snapshot = draw(clouds())
    hosts = []
    for host in snapshot.hosts:
        hosts += [host, replace(host, **draw(st.fixed_dictionaries({}, optional=UNUSUAL_FIELDS)))]
    aggregates = [replace(each, metadata=draw(METADATA)) for each in snapshot.aggregates]
    criteria = ['availability_zone', *(['rack'] if 'rack' in aggregates[0].metadata else ())]
    snapshot = draw(hidden(replace(snapshot, hosts=tuple(hosts), aggregates=tuple(aggregates))))
    request = replace(
        request,
        image_properties=draw(IMAGES),
        member_of=('one',) * draw(st.booleans()),
        enabled_filters=FILTERS[: draw(COUNTS)],
        spread=draw(st.sampled_from([(), *((Spread(by),) for by in criteria)])),
    )
    options, is_drs_required = draw(OPTIONS), draw(st.booleans())
    return resolve(request, snapshot, Given.of(is_drs_required=is_drs_required, **options))


@settings(max_examples=60)
@given(requests())
def test_verdicts_by_class_equal_those_for_each_host(resolved):
    hosts, scenario = resolved.cloud.hosts or (), Scenario.of(resolved.cloud)
    for constraint in CONSTRAINTS:
        column = constraint.column(resolved.request, scenario)
        by_class = [column.verdict(index) for index in range(len(hosts))]
        alone = [constraint.check_host(*resolved, host) for host in hosts]
        assert by_class == alone, constraint.name


@settings(max_examples=60)
@given(requests(), st.data())
def test_verdicts_about_changed_hosts_equal_those_of_another_cloud(resolved, data):
    """The verdicts about the hosts before the change are kept."""
    hosts = resolved.cloud.hosts or ()
    if not hosts:
        return
    for constraint in CONSTRAINTS:
        constraint.column(resolved.request, Scenario.of(resolved.cloud))
    index = data.draw(st.integers(0, len(hosts) - 1))
    changes = data.draw(st.fixed_dictionaries({}, optional=UNUSUAL_FIELDS))
    changed = {index: replace(hosts[index], enabled=False, aggregates={'2'}, **changes)}
    columns = Columns.of(resolved.cloud).with_hosts(changed)
    after = resolved.but(cloud=columns.cloud)
    afresh = resolved.but(cloud=replace(resolved.cloud, hosts=columns.cloud.hosts))
    for constraint in CONSTRAINTS:
        kept = constraint.column(after.request, Scenario(columns))
        new = constraint.column(afresh.request, Scenario.of(afresh.cloud))
        for at in range(len(hosts)):
            assert kept.verdict(at) == new.verdict(at), constraint.name


@settings(max_examples=60)
@given(requests(), FLAVORS)
def test_a_constraint_answers_alike_for_flavors_with_equal_fields_that_it_reads(resolved, flavor):
    request, cloud = resolved.request, resolved.cloud
    scenario = Scenario.of(cloud)
    for constraint in (kind() for kind in OURS):
        fields = constraint.reads_flavor
        if fields is None:
            continue
        kept = {name: getattr(request.flavor, name) for name in fields} if request.flavor else {}
        other = replace(request, flavor=replace(flavor, **kept))
        if request.flavor is None:
            continue
        for ask in (constraint.assumptions, constraint.caveats):
            assert [*ask(request, cloud)] == [*ask(other, cloud)], constraint.name
        if is_of_requests(constraint):
            verdicts = [constraint.check_request(each, cloud) for each in (request, other)]
            assert verdicts[0] == verdicts[1], constraint.name
        if is_of_hosts(constraint):
            columns = [constraint.column(each, scenario).plain() for each in (request, other)]
            assert columns[0] == columns[1], constraint.name
