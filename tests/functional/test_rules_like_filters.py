"""Nova's real filters are the oracle for the constraints that model them, on random hosts.

If the verdict of a constraint is "at most" or unknown, the filter may still reject the host.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from senlin_affinity.constraints.flavor_aggregates import FlavorAggregatesConstraint
from senlin_affinity.constraints.image_aggregates import ImageAggregatesConstraint
from senlin_affinity.constraints.image_hypervisor import ImageHypervisorConstraint
from senlin_affinity.constraints.isolated_hosts import IsolatedHostsConstraint
from senlin_affinity.constraints.server_count import ServerCountConstraint
from senlin_affinity.constraints.tenant_isolation import TenantIsolationConstraint
from senlin_affinity.model.cloud import Aggregate, Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.image import Image
from tests.support.asked import Given, NamedRequest, with_values
from tests.support.nova_judge import Judge
from tests.support.small_cloud import flavor_of

CONSTRAINTS = (
    ServerCountConstraint,
    TenantIsolationConstraint,
    FlavorAggregatesConstraint,
    ImageAggregatesConstraint,
    IsolatedHostsConstraint,
)
NAMES = [f'cmp-{number}' for number in range(40)]


@pytest.fixture(scope='module')
def nova():
    with Judge() as judge:
        yield judge


_METADATA = """
    filter_tenant_id=p1 filter_tenant_id=p2,~p1 filter_tenant_id2=p3 filter_tenant_id=
    instance_type=small instance_type=large,~small instance_type=large instance_type=
    max_instances_per_host=1 max_instances_per_host=~3~ max_instances_per_host=x
    max_instances_per_host=2,3 max_instances_per_host=0 max_instances_per_host=-1
    os_distro=sles os_distro=sles,~ubuntu os_distro= os_type=linux os_type=windows,LINUX
    hw_pmu=True hw_pmu=true,false hw_numa_nodes=2 hw_numa_nodes=1,02 hw_architecture=x86_64
    hw_machine_type=q35 architecture=aarch64 ssd=true vmware_ostype=sles img_hv_type=qemu,kvm
"""
_PROPERTIES = """
    os_distro=sles os_distro=ubuntu os_distro= vmware_ostype=sles os_type=linux os_type=Windows
    hw_pmu=true hw_pmu=0 hw_pmu=maybe hw_numa_nodes=2 hw_numa_nodes=0 hw_numa_nodes=~1
    hw_architecture=amd64 hw_architecture=x86_64 architecture=aarch64 hw_machine_type=pc ssd=false
    hypervisor_type=qemu img_hv_type=vmware owner_specified=x
"""


def pairs_of(text):
    """Return the pairs of words like key=value; ~ stands for a space."""
    words = [word.partition('=') for word in text.split()]
    return [(key, value.replace('~', ' ')) for key, _is, value in words]


def some_of(text):
    return st.lists(st.sampled_from(pairs_of(text)), max_size=4).map(dict)


AGGREGATES = st.lists(some_of(_METADATA), min_size=1, max_size=6)
HOSTS = st.lists(
    st.tuples(st.integers(0, 4), st.frozensets(st.integers(0, 5), max_size=3)),
    min_size=len(NAMES),
    max_size=len(NAMES),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        'max_instances_per_host': st.integers(1, 4),
        'isolated_hosts': st.lists(st.sampled_from(NAMES), max_size=9),
        'isolated_images': st.lists(st.sampled_from(['i1', 'i2']), max_size=2),
        'restrict_isolated_hosts_to_isolated_images': st.booleans(),
        'aggregate_image_properties_isolation_namespace': st.sampled_from(['os', 'hw', 'x']),
        'aggregate_image_properties_isolation_separator': st.sampled_from(['_', '.']),
    },
)
IMAGES = st.builds(Image, st.sampled_from(['i1', 'i3']), properties=some_of(_PROPERTIES))
FLAVORS = st.sampled_from([flavor_of({}), flavor_of({'name': 'large'})])


@settings(max_examples=60)
@given(
    st.sampled_from(CONSTRAINTS),
    AGGREGATES,
    HOSTS,
    OPTIONS,
    IMAGES,
    FLAVORS,
    st.sampled_from('p1 p3 p9'.split()),
)
def test_the_constraint_and_the_filter_pass_equal_hosts(
    nova, constraint, metadata, drawn, options, image, flavor, project
):
    aggregates = [Aggregate(f'a{i}', f'a{i}', metadata=each) for i, each in enumerate(metadata)]
    hosts = [
        Host(name, name, servers=servers, aggregates=frozenset(f'a{i}' for i in sets))
        for name, (servers, sets) in zip(NAMES, drawn, strict=True)
    ]
    metadata_by_uuid = {each.uuid: each.metadata for each in aggregates}
    passing = nova(
        'passing',
        filters=constraint.filters,
        options=options,
        hosts=[
            {
                'name': host.host,
                'servers': host.servers,
                'aggregates': [
                    metadata_by_uuid[uuid] for uuid in host.aggregates if uuid in metadata_by_uuid
                ],
            }
            for host in hosts
        ],
        flavor=structs.asdict(flavor),
        image={'id': image.id, 'properties': image.properties},
        project=project,
    )
    assume(passing is not None)
    request = NamedRequest(
        1, 'f', image=image, project_id=project, enabled_filters=constraint.filters
    )
    rules = Given(options=options)
    resolved = with_values(request, Cloud(tuple(hosts), tuple(aggregates)), flavor, given=rules)
    verdicts = {host.host: constraint().check_host(*resolved, host) for host in hosts}
    assert set(passing) <= {name for name, verdict in verdicts.items() if verdict}
    certain = {
        name
        for name, verdict in verdicts.items()
        if verdict and verdict.bounds.is_known and not verdict.bounds.is_at_most
    }
    assert certain <= set(passing)


#: Hypervisors with their traits, and the ``supported_instances`` of Nova's drivers.
HYPERVISORS = (
    ('QEMU', 'HW_ARCH_X86_64 COMPUTE_ARCH_X86_64', 'x86_64,qemu x86_64,kvm i686,qemu i686,kvm'),
    ('QEMU', 'HW_ARCH_X86_64 COMPUTE_ARCH_AARCH64', 'x86_64,qemu aarch64,qemu'),
    ('QEMU', 'HW_ARCH_X86_64', 'x86_64,qemu x86_64,kvm aarch64,qemu'),
    ('QEMU', 'HW_ARCH_AARCH64 COMPUTE_ARCH_AARCH64', 'aarch64,qemu aarch64,kvm'),
    ('QEMU', '', 'x86_64,qemu x86_64,kvm'),
    ('VMware vCenter Server', 'HW_ARCH_X86_64', 'i686,vmware x86_64,vmware'),
    ('fake', '', 'x86_64,fake'),
    ('ironic', '', 'x86_64,baremetal'),
    ('ironic', '', ''),
    ('Parallels', 'HW_ARCH_X86_64', 'x86_64,parallels'),
)
_ASKING = """
    hw_architecture=amd64 hw_architecture=aarch64 architecture=i386 hw_architecture=ppc64le
    img_hv_type=qemu img_hv_type=kvm img_hv_type=vmware hypervisor_type=fake img_hv_type=baremetal
    hw_vm_mode=hvm hw_vm_mode=xen vm_mode=hv hw_vm_mode=exe img_hv_requested_version=>=6.0
    hw_maxphysaddr_bits=46
"""


@settings(max_examples=60)
@given(some_of(_ASKING), st.sampled_from([None, 'x86_64', 'aarch64']))
def test_the_constraint_and_the_filter_pass_equal_hypervisors(nova, properties, architecture):
    options = {'image_properties_default_architecture': architecture}
    hosts = {
        Host(f'cmp-{i}', f'cmp-{i}', kind, traits=frozenset(traits.split())): [
            (*each.split(','), 'hvm') for each in supports.split()
        ]
        for i, (kind, traits, supports) in enumerate(HYPERVISORS)
    }
    constraint = ImageHypervisorConstraint()
    passing = nova(
        'passing',
        filters=constraint.filters,
        options=options,
        hosts=[
            {'name': host.host, 'servers': 0, 'aggregates': [], 'supports': supports}
            for host, supports in hosts.items()
        ],
        flavor=structs.asdict(flavor_of({})),
        image={'id': 'i1', 'properties': properties},
        project='p1',
    )
    assume(passing is not None)
    request = NamedRequest(1, 'f', image_properties=properties, enabled_filters=constraint.filters)
    resolved = with_values(request, Cloud(tuple(hosts)), given=Given(options=options))
    verdicts = {host.host: constraint.check_host(*resolved, host) for host in hosts}
    rejected = {name for name, verdict in verdicts.items() if not verdict}
    certain = {name for name, verdict in verdicts.items() if not verdict.bounds.is_at_most}
    assert set(passing) & certain == certain - rejected
    assert rejected.isdisjoint(passing)
