"""Nova's own code and its request filters are the oracle for the query to Placement."""

from collections import Counter
from urllib.parse import parse_qsl

import os_traits
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from senlin_affinity.nova import candidate_query, flavor_features
from tests.functional.test_nova_agrees import FLAVORS, some_of, values_of
from tests.functional.test_nova_agrees import PROPERTIES as OTHER_PROPERTIES
from tests.support.nova_judge import QUERY_OPTIONS, Judge
from tests.support.tables import rows
from tests.unit.nova.test_candidate_query import resolved_of, uuid_of

_SPECS = """
    hw:tpm_version=1.2 hw:tpm_version=2.0 hw:tpm_model=tpm-crb hw:tpm_model=tpm-tis
    hw:tpm_secret_security=user hw:tpm_secret_security=deployment hw:mem_encryption=yes
    hw:mem_encryption=0 hw:mem_encryption_model=amd-sev-es hw:mem_encryption_model=intel-tdx
    hw:pmem=4GB hw:pmem=a,b,a hw:virtio_packed_ring=true hw:virtio_packed_ring=False
    hw:ephemeral_encryption=true hw:ephemeral_encryption_format=luksv2 hw:sound_model=virtio
    hw:sound_model=usb accel:device_profile=fpga hw:pci_numa_affinity_policy=required
    hw:cpu_policy=dedicated hw:cpu_policy=mixed hw:cpu_dedicated_mask=0 hw:cpu_dedicated_mask=^0,^1
    hw:cpu_realtime=true hw:cpu_realtime_mask=0-1,^1 hw:cpu_realtime_mask=^0
    hw:cpu_thread_policy=prefer hw:cpu_thread_policy=require hw:emulator_threads_policy=isolate
    group_policy=none group_policy=isolate group_policy=x kept:a=x kept:c=x
"""
_PROPERTIES = """
    hw_tpm_version=2.0 hw_tpm_model=tpm-crb hw_mem_encryption=true hw_firmware_type=uefi
    hw_mem_encryption_model=amd-sev-snp hw_firmware_stateless=true hw_virtio_packed_ring=true
    hw_ephemeral_encryption=true hw_ephemeral_encryption_format=plain hw_sound_model=virtio
    hw_maxphysaddr_mode=passthrough hw_cpu_policy=dedicated hw_cpu_policy=mixed
    hw_cpu_realtime_mask=^0 hw_cpu_thread_policy=isolate hw_pci_numa_affinity_policy=socket
    hw_disk_bus=virtio hw_disk_bus=lxc hw_cdrom_bus=sata hw_video_model=none hw_vif_model=e1000
    hw_vif_model=ne2k_pci hw_vif_model=spapr-vlan hw_architecture=i486 architecture=ppc64
    hw_emulation_architecture=x86_64 hw_viommu_model=auto vmware_adaptertype=ide
    kept:b=x trait:CUSTOM_A=required trait:HW_CPU_X86_AVX2=required trait:COMPUTE_NODE=forbidden
"""
SPECS, PROPERTIES = values_of(_SPECS), OTHER_PROPERTIES | values_of(_PROPERTIES)
METADATA = st.dictionaries(
    st.sampled_from(['trait:CUSTOM_A', 'trait:COMPUTE_SECURITY_TPM_2_0', 'filter_tenant_id'])
    | st.sampled_from(['availability_zone', 'kept:a', 'kept:b']),
    st.sampled_from(['required', 'p1', 'p2', 'az1']),
    max_size=2,
)
ROWS = st.fixed_dictionaries(
    {
        'flavor': st.builds(
            lambda flavor, more: {
                **structs.asdict(flavor),
                'extra_specs': {**flavor.extra_specs, **more},
            },
            FLAVORS,
            some_of(SPECS, 3),
        ),
        'image': some_of(PROPERTIES, 4),
        'disk_format': st.sampled_from(['raw', 'qcow2', 'vhdx', 'docker']),
        'zone': st.sampled_from([None, 'az1']),
        'aggregates': st.dictionaries(st.sampled_from('abcd'), METADATA, max_size=3),
        'options': st.lists(st.sampled_from(QUERY_OPTIONS), unique=True),
        'is_volume_booted': st.booleans(),
        'prefix': st.sampled_from([None, None, 'trait:CUSTOM_', 'kept:']),
    }
)


@pytest.fixture(scope='module')
def nova():
    with Judge() as judge:
        yield judge


def novas_queries(nova, row, resolved):
    """Return Nova's queries; None if its API rejects the server, () if the scheduler does.

    With isolated aggregates, Nova may enforce reservations without our request filter.
    """
    is_isolating = 'scheduler.enable_isolated_aggregate_filtering' in row.get('options', ())
    found = nova(
        'queries',
        flavor=structs.asdict(resolved.request.flavor),
        image=row.get('image') or {},
        disk_format=row.get('disk_format', 'raw'),
        is_volume_booted=row.get('is_volume_booted', False),
        aggregates={uuid_of(name): each for name, each in row.get('aggregates', {}).items()},
        project='p1',
        zone=row.get('zone') or row.get('default_zone'),
        options=row.get('options', ()),
        prefix=None if is_isolating else row.get('prefix'),
    )
    if isinstance(found, list):
        return tuple(found)
    by_filter = 'No hosts available', 'no aggregate carries the reservation'
    return () if any(words in found['refused'] for words in by_filter) else None


@pytest.mark.parametrize(
    'row', [row for row in rows('candidate_query') if 'missing' not in row.values[0]]
)
def test_the_query_of_a_row_equals_novas(nova, row):
    resolved = resolved_of(row)
    assert candidate_query.queries(*resolved) == novas_queries(nova, row, resolved)


@given(ROWS)
def test_a_generated_query_equals_novas(nova, row):
    resolved = resolved_of(row)
    found = novas_queries(nova, row, resolved)
    assume(found is not None)
    assert candidate_query.queries(*resolved) == found


PINNED = ('resources', 'PCPU')


def contents(text):
    """Count the parts of a query; a resource counts with its amount."""
    found = Counter()
    for name, values in parse_qsl(text, keep_blank_values=True):
        for value in values.split(',') if name != 'member_of' else [values]:
            name_or_value, _colon, amount = value.partition(':')
            is_amount = name.startswith('resources')
            found[name, name_or_value if is_amount else value] = (
                int(amount or 0) if is_amount else 1
            )
    return found


@given(ROWS)
def test_a_query_without_an_image_is_part_of_novas(nova, row):
    """It contains nothing that Nova omits for some image.

    These hosts have no pinned CPUs, so an image that requires them has no candidates.
    """
    found = novas_queries(nova, row, resolved_of(row))
    assume(found)
    novas = list(map(contents, found))
    unknown = candidate_query.queries(*resolved_of(row | {'image': None}))
    assert unknown
    for ours in map(contents, unknown):
        comparable = [each for each in novas if ours[PINNED] or not each[PINNED]]
        assert not comparable or any(ours <= each for each in comparable)


def test_the_traits_of_images_are_complete():
    """Nova checks whether os-traits has a trait of the name."""
    for key, prefix, known in flavor_features.NAMED:
        novas = {name.removeprefix(f'{prefix}_') for name in os_traits.get_traits(f'{prefix}_')}
        if key != 'hw_viommu_model':
            assert set(known.split()) == novas, key
    novas = {
        name.removeprefix('COMPUTE_IMAGE_TYPE_')
        for name in os_traits.get_traits('COMPUTE_IMAGE_TYPE_')
    }
    assert novas == flavor_features.FORMATS
