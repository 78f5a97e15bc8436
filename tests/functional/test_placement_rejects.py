"""The real Placement is the oracle for the requests that it rejects, and Nova for the queries.

The names of extra specs and image properties are any that nova-api below 2.86 and Glance accept.
"""

import re
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from senlin_affinity.constraints.resources import ResourcesConstraint
from senlin_affinity.constraints.traits import TraitsConstraint
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.nova import candidate_query
from senlin_affinity.nova.provider_tree import Provider
from tests.functional.test_candidate_query import novas_queries
from tests.support.nova_judge import Judge
from tests.support.tables import rows
from tests.support.values import replace
from tests.unit.nova.test_candidate_query import resolved_of, uuid_of

#: Nova sends 1.36; its releases before Train sent lower ones.
VERSIONS = ('1.29', '1.30', '1.31', '1.32', '1.33', '1.34', '1.35', '1.36', '1.37', '1.38')
EQUIPPED = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'CUSTOM_BM')
EXISTING = {'traits': ('CUSTOM_HAS', 'CUSTOM_IS'), 'resource_classes': ('CUSTOM_BM',)}
#: What nova-api below 2.86 accepts as the name of an extra spec.
KEY = re.compile(r'[a-zA-Z0-9_:. -]{1,255}')

SUFFIXES = st.sampled_from(['', '', '1', '2', '_b', '-', '0', '01', 'a' * 64, 'a' * 65, ' '])
KINDS = st.sampled_from(['trait', 'resources', 'traits', 'resource', 'Trait', ' trait'])
_TRAITS_AND_CLASSES = """
    CUSTOM_HAS CUSTOM_IS CUSTOM_BM CUSTOM_NOPE CUSTOM_ CUSTOM_has CUSTOM HW_CPU_X86_AVX2
    HW_CPU_HYPERTHREADING HW_CPU_X86_NEW VCPU MEMORY_MB DISK_GB PCPU VGPU vcpu : in: in:CUSTOM_HAS
    ~CUSTOM_HAS CUSTOM_HAS~ CUSTOM_BM:2 CUSTOM_BM~ ~CUSTOM_BM CUSTOM~BM CUSTOM-BM CUSTOM.BM - . ~
"""
_STATES = """
    required forbidden required forbidden Required ~required ~ 0 1 2 -1 -0 +1 1.0 1_0 ~1~ ٣ x
    2147483647
"""


def words_of(text):
    """Return the words, with blanks for ~, and the empty one."""
    return ['', *(word.replace('~', ' ') for word in text.split())]


NAMES = st.sampled_from(words_of(_TRAITS_AND_CLASSES)) | st.text('AC_:. -', max_size=4)
VALUES = st.sampled_from(words_of(_STATES))
SPECS = st.dictionaries(st.builds('{}{}:{}'.format, KINDS, SUFFIXES, NAMES), VALUES, max_size=4)
_FEATURES = """
    hw:tpm_version hw:tpm_model hw:tpm_secret_security hw:mem_encryption hw:mem_encryption_model
    hw:pmem hw:virtio_packed_ring hw:ephemeral_encryption hw:ephemeral_encryption_format
    hw:sound_model accel:device_profile hw:pci_numa_affinity_policy hw:cpu_policy
    hw:cpu_thread_policy hw:cpu_dedicated_mask hw:cpu_realtime hw:cpu_realtime_mask
    hw:emulator_threads_policy hw:maxphysaddr_mode os:secure_boot
"""
FEATURES = st.dictionaries(
    st.sampled_from(_FEATURES.split()),
    st.sampled_from(['', ' ', ',', '0', 'x', ' true']),
    max_size=2,
)
ZEROS = st.fixed_dictionaries(
    {}, optional={f'resources:{name}': st.just('0') for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
)
POLICIES = st.fixed_dictionaries(
    {}, optional={'group_policy': st.sampled_from(['none', 'isolate', '', 'None'])}
)
#: Glance accepts any text.
PROPERTIES = st.dictionaries(
    NAMES.map('trait:{}'.format)
    | st.sampled_from(['trait:!CUSTOM_HAS', 'trait:!', 'trait:,', 'trait:CUSTOM_HAS,CUSTOM_IS'])
    | st.sampled_from(['trait:!!CUSTOM_NOPE', 'trait: !CUSTOM_IS', 'trait:CUSTOM_HAS,!CUSTOM_HAS'])
    | st.just('trait1:CUSTOM_NOPE'),
    st.sampled_from(['required', 'required', 'forbidden', '']),
    max_size=2,
)
ROWS = st.builds(
    lambda specs, features, zeros, policy, image, zone: {
        'flavor': {'extra_specs': {**specs, **features, **zeros, **policy}},
        'image': image,
        'zone': 'az1' if zone else None,
        'aggregates': {'one': {'availability_zone': 'az1'}} if zone else {},
    },
    SPECS,
    FEATURES,
    ZEROS,
    POLICIES,
    PROPERTIES,
    st.booleans(),
)


@pytest.fixture(scope='module')
def nova():
    with Judge() as judge:
        yield judge


@pytest.fixture(scope='module')
def known(judge):
    """Create the names, and return all traits and resource classes of Placement."""
    for kind, names in EXISTING.items():
        for name in names:
            judge.create(kind, name)
    return judge.existing()


def of_release(query, version):
    """Return the query as a Nova sends it that uses this microversion; None if none does."""
    minor = int(version.partition('.')[2])
    pairs = parse_qsl(query, keep_blank_values=True)
    suffixes = {key.removeprefix('resources') for key, _value in pairs if 'resources' in key}
    if minor < 33 and not all(re.fullmatch('([1-9][0-9]*)?', each) for each in suffixes):
        return None
    return urlencode([pair for pair in pairs if minor >= 35 or pair[0] != 'root_required'])


@pytest.fixture(scope='module')
def placement(judge, known):
    """Return Placement with one provider, which has enough of everything."""
    judge.build([Provider('cn1', aggregates=frozenset({uuid_of('one')}))])
    judge.equip('cn1', EQUIPPED, ['CUSTOM_HAS'])
    yield judge
    judge.build([])


def check(placement, known, resolved, versions):
    """Compare with Placement's answers; return whether it rejects Nova's query.

    Placement may find no candidates for one group before it reads the next one.
    """
    traits, classes = known
    snapshot = replace(resolved.cloud, traits=traits, resource_classes=classes)
    found = candidate_query.rejection(*resolved.but(cloud=snapshot))
    answers = [
        placement.status(query, version)
        for whole in candidate_query.queries(*resolved)
        for version in versions
        if (query := of_release(whole, version)) is not None
    ]
    if found is None:
        assert any(status == 200 for status, _body in answers), answers
    for status, body in answers:
        assert status == 400 or (status == 200 and not (found and body['allocation_requests']))
    return all(status == 400 for status, _body in answers)


@pytest.mark.parametrize(
    'row',
    [
        row
        for row in rows('candidates_rejected')
        if row.values[0].keys().isdisjoint(('message', 'traits', 'classes'))
    ],
)
def test_a_row_agrees_with_placement(placement, known, row):
    resolved = resolved_of(
        {'flavor': {'extra_specs': row.get('specs', {})}, 'image': row.get('image', {})}
    )
    assert check(placement, known, resolved, VERSIONS) is ('code' in row)


@given(ROWS)
def test_a_generated_query_equals_novas(nova, row):
    """RX-01: also for names and values that are degenerate."""
    assume(all(map(KEY.fullmatch, row['flavor']['extra_specs'])))
    resolved = resolved_of(row)
    found = novas_queries(nova, row, resolved)
    assume(found is not None)
    assert candidate_query.queries(*resolved) == found


@settings(deadline=None)
@given(ROWS)
def test_a_generated_request_agrees_with_placement(placement, known, row):
    assume(all(map(KEY.fullmatch, row['flavor']['extra_specs'])))
    check(placement, known, resolved_of(row), ('1.36',))


@settings(deadline=None)
@given(ROWS)
def test_a_host_is_not_rejected_if_placement_offers_it(placement, known, row):
    """R-01: neither for its resources nor for its traits."""
    assume(all(map(KEY.fullmatch, row['flavor']['extra_specs'])))
    resolved = resolved_of(row)
    statuses = [placement.status(query) for query in candidate_query.queries(*resolved)]
    assume(any(status == 200 and body['allocation_requests'] for status, body in statuses))
    resources = {name: Resource(1000, 0) for name in EQUIPPED}
    host = Host('cn1', 'cn1', traits=frozenset({'CUSTOM_HAS'}), resources=resources)
    for constraint in (ResourcesConstraint(), TraitsConstraint()):
        assert constraint.check_host(*resolved, host)
