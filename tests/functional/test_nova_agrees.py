"""Nova's own code is the oracle for the demand of a flavor and the input of its filters."""

import os_resource_classes
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from senlin_affinity.constraints.server_group import ServerGroupConstraint
from senlin_affinity.engine import scheduler_filters
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.server_group import POLICIES, Member, ServerGroup
from senlin_affinity.nova.demand import STANDARD_CLASSES, demand, demand_of
from tests.support.asked import NamedRequest, with_values
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


def ask_nova(nova, about, flavor, image, **more):
    return nova(about, flavor=structs.asdict(flavor), image=image, **more)


# --- the demand of a flavor


def check_demand(nova, flavor, image, is_volume_booted):
    """Check that the demand equals Nova's if all is modelled, and never exceeds it."""
    novas = ask_nova(nova, 'demand', flavor, image, is_volume_booted=is_volume_booted)
    if 'refused' in novas:
        return False
    ours = demand(flavor, image, is_volume_booted=is_volume_booted)
    for name, amount in ours.amounts.items():
        assert amount <= novas['amounts'].get(name, 0), name
    assert ours.required <= set(novas['required'])
    assert ours.forbidden <= set(novas['forbidden'])
    if not (ours.unmodelled or ours.fallback):
        assert dict(ours.amounts) == novas['amounts']
        assert sorted(ours.required) == novas['required']
        assert sorted(ours.forbidden) == novas['forbidden']
        assert not novas['is_numa']
    return True


@pytest.mark.parametrize('row', rows('flavor_demand'))
def test_the_demand_of_a_row_agrees_with_nova(nova, row):
    flavor = flavor_of(row.get('flavor'))
    assert check_demand(nova, flavor, row.get('image'), row.get('is_volume_booted', False))


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
    """Return the values of each key from words like key=value; ~ stands for a space."""
    found = {}
    for word in text.split():
        key, _is, value = word.partition('=')
        found.setdefault(key, []).append(value.replace('~', ' '))
    return found


OTHERS, PROPERTIES = values_of(_OTHERS), values_of(_PROPERTIES)


def some_of(words, most):
    """Generate a few of these keys, each with one of its values."""
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
def test_a_generated_demand_agrees_with_nova(nova, flavor, image, is_volume_booted):
    """RX-01: a demand above Nova's would cause false rejections."""
    assume(check_demand(nova, flavor, image, is_volume_booted))


def test_the_standard_resource_classes_are_complete():
    assert set(os_resource_classes.STANDARDS) == STANDARD_CLASSES


# --- the input of the filters


def test_every_filter_of_nova_has_a_row(nova):
    """A new filter needs a decision: modelled, harmless, or "at most"."""
    assert set(nova('filters')) <= {row['filter'] for row in read('filters')}
    assert set(DEFAULT_FILTERS) <= set(nova('filters'))


@pytest.mark.parametrize('row', [row for row in rows('filters') if 'nova' in row.values[0]])
def test_the_filter_of_a_row_agrees_with_nova(nova, row):
    """A filter without effect passes even the most unsuitable host."""
    flavor = flavor_of(row.get('flavor'))
    passes = ask_nova(nova, 'passes', flavor, row.get('image'), filter=row['filter'])
    assert passes is (row['nova'] == 'passes')
    assert passes or row['outcome'] == 'at most'


@given(st.sampled_from(READING), FLAVORS, IMAGES)
def test_a_filter_without_effect_passes_every_host(nova, name, flavor, image):
    """Unless the result is "at most", the filter passes every host."""
    request = NamedRequest(1, 'f', image_properties=image, enabled_filters=(name,))
    resolved = with_values(request, Cloud(), flavor)
    assume(
        not scheduler_filters.unmodelled(resolved.request, ())
        and not demand_of(resolved.request).unmodelled
    )
    assert ask_nova(nova, 'passes', flavor, image, filter=name) in (True, None)


def test_every_host_attribute_counts_as_a_capability(nova):
    """A key without a namespace is a capability if nova-scheduler has an attribute of that name."""
    request = NamedRequest(1, 'f', enabled_filters=('ComputeCapabilitiesFilter',))
    for name in nova('attributes'):
        resolved = with_values(request, Cloud(), flavor_of({'extra_specs': {name: 'x'}}))
        assert scheduler_filters.unmodelled(resolved.request, ()), name


# --- the filters of server groups


@given(
    st.sampled_from(POLICIES),
    st.none() | st.integers(1, 3),
    st.lists(st.sampled_from([HOST, HOST, 'cmp-2']), max_size=4),
    st.booleans(),
)
def test_the_server_group_constraint_agrees_with_novas_filters(
    nova, policy, limit, hosts, has_others
):
    """R2-12: both filters together."""
    rules = {} if limit is None or policy != 'anti-affinity' else {'max_server_per_host': limit}
    members = tuple(Member(f's{number}', host) for number, host in enumerate(hosts))
    group = ServerGroup('g', 'web', policy, rules, members)
    resolved = with_values(NamedRequest(1, 'f', 'g'), Cloud(), server_group=group)
    verdict = ServerGroupConstraint().check_host(*resolved, Host(HOST, HOST))
    group_data = {
        'policy': policy,
        'rules': rules,
        'members': [member.server for member in members],
        'hosts': sorted(set(hosts)),
        'here': [member.server for member in members if member.host == HOST],
    }
    if has_others:
        group_data['here'].append('of-nobody')
    assert bool(verdict) is all(
        ask_nova(nova, 'passes', flavor_of({}), None, filter=name, group=group_data)
        for name in ('ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter')
    )
