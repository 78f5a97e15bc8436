"""Nova's own code is the judge of what a flavor asks for, and of what its filters read."""

import dataclasses

import os_resource_classes
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS, PlacementRequest, ResolvedRequest
from senlin_affinity.model.server_group import POLICIES, Member, ServerGroup
from senlin_affinity.model.snapshot import CloudSnapshot
from senlin_affinity.nova.demand import STANDARD_CLASSES, demand
from senlin_affinity.planner import scheduler_filters
from tests.support.nova_judge import HOST, Judge
from tests.support.small_cloud import flavor_of
from tests.support.tables import read, rows

READING = (
    'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter',
    'AggregateImagePropertiesIsolation',
    'NUMATopologyFilter',
    'PciPassthroughFilter',
)


@pytest.fixture(scope='module')
def nova():
    with Judge() as judge:
        yield judge


def ask(nova, about, given, image, **more):
    return nova(about, flavor=dataclasses.asdict(given), image=image, **more)


# --- what a flavor asks for


def check_demand(nova, given, image, is_volume_booted):
    """Equal where all is modelled, and never more than Nova's."""
    theirs = ask(nova, 'demand', given, image, is_volume_booted=is_volume_booted)
    if 'refused' in theirs:
        return False
    ours = demand(given, image, is_volume_booted=is_volume_booted)
    for name, amount in ours.amounts.items():
        assert amount <= theirs['amounts'].get(name, 0), name
    assert ours.required <= set(theirs['required'])
    assert ours.forbidden <= set(theirs['forbidden'])
    if not (ours.unmodelled or ours.fallback):
        assert dict(ours.amounts) == theirs['amounts']
        assert sorted(ours.required) == theirs['required']
        assert sorted(ours.forbidden) == theirs['forbidden']
        assert not theirs['is_numa']
    return True


@pytest.mark.parametrize('row', rows('flavor_demand'))
def test_a_row_s_demand(nova, row):
    given = flavor_of(row.get('flavor'))
    assert check_demand(nova, given, row.get('image'), row.get('is_volume_booted', False))


CLASSES = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_GPU', 'CUSTOM_', 'GPU', 'vcpu')
GROUPS = ('', '1', '_net', '-a', '0')
AMOUNTS = st.sampled_from(['0', '1', '7', '-1', '-0', '+2', ' 3', '1_0', '1.5', 'x', '', '٣'])
TRAITS = st.sampled_from(['CUSTOM_A', 'HW_CPU_X86_AVX2', 'COMPUTE_NODE'])
_OTHERS = """
    hw:cpu_policy=shared hw:cpu_policy=dedicated hw:cpu_policy=mixed hw:cpu_dedicated_mask=0
    hw:cpu_thread_policy=require hw:cpu_thread_policy=isolate hw:emulator_threads_policy=isolate
    hw:emulator_threads_policy=share hw:numa_nodes=1 hw:numa_nodes=2 hw:mem_page_size=large
    hw:mem_encryption=true hw:pmem=128G hw:tpm_version=2.0 hw:maxphysaddr_bits=46
    hw:maxphysaddr_mode=emulate hw:maxphysaddr_mode=passthrough hw:pci_numa_affinity_policy=socket
    hw:cpu_sockets=1 hw:watchdog_action=reset hw:vif_multiqueue_enabled=true
    os:secure_boot=required pci_passthrough:alias=gpu:1 quota:cpu_shares=9
    capabilities:cpu_info:arch=x86_64 free_ram_mb=>=~1 num_vm_active=<=~5 _lock_name=x ssd=true
"""
_PROPERTIES = """
    hw_cpu_policy=dedicated hw_cpu_policy=shared hw_firmware_type=uefi hw_machine_type=q35
    hw_mem_encryption=true hw_architecture=aarch64 hw_architecture=x86_64 hw_numa_nodes=1
    hw_maxphysaddr_bits=46 os_secure_boot=required os_type=linux os_type=windows
    hypervisor_type=qemu hypervisor_type=vmware img_hv_requested_version=>=6.0 vm_mode=hvm
    trait:CUSTOM_IMAGE=required trait:CUSTOM_IMAGE=forbidden owner_specified=x
"""


def values_of(text):
    """The values of each key, of words like key=value; a ~ is a blank."""
    found = {}
    for word in text.split():
        key, _is, value = word.partition('=')
        found.setdefault(key, []).append(value.replace('~', ' '))
    return found


OTHERS, PROPERTIES = values_of(_OTHERS), values_of(_PROPERTIES)


def some_of(words, most):
    """A few of these keys, each with one of its values."""
    chosen = st.lists(st.sampled_from(sorted(words)), unique=True, max_size=most)
    return chosen.flatmap(
        lambda keys: st.fixed_dictionaries({key: st.sampled_from(words[key]) for key in keys})
    )


KEYS = st.builds('resources{}:{}'.format, st.sampled_from(GROUPS), st.sampled_from(CLASSES))
TRAIT_KEYS = st.builds('trait{}:{}'.format, st.sampled_from(GROUPS), TRAITS)
SPECS = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()},
    st.dictionaries(KEYS, AMOUNTS, max_size=4),
    st.dictionaries(TRAIT_KEYS, st.sampled_from(['required', 'forbidden', 'maybe']), max_size=2),
    some_of(OTHERS, 2),
)
FLAVORS = st.builds(
    lambda **figures: flavor_of(figures),
    vcpus=st.integers(1, 4),
    ram=st.sampled_from([64, 512]),
    disk=st.integers(0, 3),
    ephemeral=st.integers(0, 2),
    swap=st.sampled_from([0, 1, 1023, 1024, 1025]),
    extra_specs=SPECS,
)
IMAGES = st.none() | some_of(PROPERTIES, 3)


@given(FLAVORS, IMAGES, st.booleans())
def test_any_demand(nova, given, image, is_volume_booted):
    """RX-01: a false refusal would begin with asking for more than Nova does."""
    assume(check_demand(nova, given, image, is_volume_booted))


def test_the_standard_classes():
    assert set(os_resource_classes.STANDARDS) == STANDARD_CLASSES


# --- what the filters read


def test_every_filter_of_nova_has_a_row(nova):
    """So that a new one is not overlooked: is it modelled, harmless, or "at most"?"""
    assert set(nova('filters')) <= {row['filter'] for row in read('filters')}
    assert set(DEFAULT_FILTERS) <= set(nova('filters'))


@pytest.mark.parametrize('row', [row for row in rows('filters') if 'nova' in row.values[0]])
def test_a_row_s_filter(nova, row):
    """A filter that is called harmless passes even the worst host there can be."""
    given = flavor_of(row.get('flavor'))
    passes = ask(nova, 'passes', given, row.get('image'), filter=row['filter'])
    assert passes is (row['nova'] == 'passes')
    assert passes or row['outcome'] == 'at most'


@given(st.sampled_from(READING), FLAVORS, IMAGES)
def test_any_request_of_a_filter(nova, name, given, image):
    """Where nothing is marked "at most", the filter passes every host."""
    request = PlacementRequest(1, 'f', image_properties=image, enabled_filters=(name,))
    resolved = ResolvedRequest(request, CloudSnapshot(), given)
    assume(not scheduler_filters.unmodelled(resolved, ()) and not resolved.demand.unmodelled)
    assert ask(nova, 'passes', given, image, filter=name) in (True, None)


def test_every_attribute_of_a_host_may_be_asked_for(nova):
    """A key without a namespace is a capability where nova-scheduler knows something so called."""
    request = PlacementRequest(1, 'f', enabled_filters=('ComputeCapabilitiesFilter',))
    for name in nova('attributes'):
        resolved = ResolvedRequest(
            request, CloudSnapshot(), flavor_of({'extra_specs': {name: 'x'}})
        )
        assert scheduler_filters.unmodelled(resolved, ()), name


# --- what the filters of server groups say


@given(
    st.sampled_from(POLICIES),
    st.none() | st.integers(1, 3),
    st.lists(st.sampled_from([HOST, HOST, 'cmp-2']), max_size=4),
    st.booleans(),
)
def test_any_server_group(nova, policy, limit, hosts, has_others):
    """R2-12: the constraint says about a host what both filters together say."""
    rules = {} if limit is None or policy != 'anti-affinity' else {'max_server_per_host': limit}
    members = tuple(Member(f's{number}', host) for number, host in enumerate(hosts))
    group = ServerGroup('g', 'web', policy, rules, members)
    resolved = ResolvedRequest(PlacementRequest(1, 'f', 'g'), CloudSnapshot(), server_group=group)
    verdict = ServerGroupConstraint().check_host(resolved, Host(HOST, HOST))
    given = {
        'policy': policy,
        'rules': rules,
        'members': [member.server for member in members],
        'hosts': sorted(set(hosts)),
        'here': [member.server for member in members if member.host == HOST],
    }
    if has_others:
        given['here'].append('of-nobody')
    assert bool(verdict) is all(
        ask(nova, 'passes', flavor_of({}), None, filter=name, group=given)
        for name in ('ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter')
    )
