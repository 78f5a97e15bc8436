"""Our validators agree with those of the real Nova, except for listed differences."""

import pytest
from hypothesis import given

from senlin_affinity.extra_specs import findings
from tests.support.nova_validators import (
    EDGES,
    FAMILIES,
    FILLERS,
    NAMES,
    REGISTRY,
    VALUES,
    WRONG_FILLERS,
    check,
    names,
    near_misses,
    values,
)
from tests.support.nova_validators import nova as nova


def test_every_validator_of_nova_has_a_counterpart(nova):
    """R4-12."""
    assert sorted(nova.words) == FAMILIES


@pytest.mark.parametrize('namespace', sorted({name.partition(':')[0] for name in FAMILIES}))
def test_every_validator_accepts_the_same_values(nova, namespace):
    """R4-02, R4-12, D4-08: for values near each limit, under each name."""
    found = set()
    families = [name for name in FAMILIES if name.partition(':')[0] == namespace]
    for family in families[:: len(families) // 50 + 1]:
        found |= {
            check(nova, name, value) for name in names(family) for value in values(nova, family)
        }
    listed = {'Q0-5'} if namespace == 'aggregate_instance_extra_specs' else set()
    assert found == {None} | listed


GROUPED = [name for name in FAMILIES if '{group}' in name]


@pytest.mark.parametrize('family', [*sorted({*FAMILIES} - {*GROUPED}), *GROUPED[::20]])
def test_similar_names_are_not_accepted(nova, family):
    """R4-05, D4-02, D4-10: names are literal outside of their placeholders."""
    for name in names(family):
        for near in near_misses(name):
            check(nova, near, 'required' if family in GROUPED else '1')


def test_invalid_placeholder_values_are_not_accepted(nova):
    """R4-03."""
    families = [name for name in FAMILIES if '{' in name]
    fillers = dict.fromkeys(FILLERS, WRONG_FILLERS)
    for family in (*families[:20], *families[-20:]):
        for name in names(family, fillers):
            check(nova, name, '1')


@pytest.mark.parametrize(
    ('name', 'value', 'expected'),
    [
        ('foo:bar', 'baz', 'D4-02'),
        ('foo', 'bar', 'D4-02'),
        ('Hw:cpu_policy', 'dedicated', 'D4-02'),
        ('powervm:min_mem', '1', 'D4-02'),
        ('hw:numa_cpusX0', '0-1', 'D4-10'),
        ('hw:numa_mem_1', '1', 'D4-10'),
        ('aggregate_instance_extra_specs:a', '<or> ! <or> 1', 'Q0-5'),
        ('reservation:resv-1', 'true', 'RX-05'),
        ('force_metadata_check', 'maybe', 'RX-05'),
        ('hw:cpu_policy', 'deddddicated', None),
        ('hw:cpu_pollicy', 'dedicated', None),
    ],
)
def test_the_listed_differences_exist(nova, name, value, expected):
    """Each listed difference exists."""
    assert check(nova, name, value) == expected
    assert nova.takes(name, value) is (expected is not None)


@given(name=NAMES, value=VALUES)
def test_generated_names_and_values_agree(nova, name, value):
    check(nova, name, value)


def check_sentence(nova, name):
    """Check what we say that Nova's API does with an unknown name; return whether it is unknown."""
    found = findings({name: '1'}, 'strict', REGISTRY)
    if REGISTRY.find(name) is not None or name.startswith('reservation:'):
        return False
    (finding,) = found
    says_rejected = any(each in finding.message for each in ('rejects', 'Nova allows', 'empty'))
    assert nova.takes(name, '1') is not says_rejected, (name, finding.message)
    return True


@pytest.mark.parametrize(
    'name',
    [
        'hw:maxphysaddr_mode', 'hw:maxphysaddr_bits', 'hw:max_cpu_cores', 'hw:foo', 'os:vram',
        'capabilities:boot_mode', 'trait:FOO', 'resources_a:FOO', 'trait{}:A', 'scs:cpu', 'hwx:a',
        'powervm:min_mem', 'hw_firmware_type', 'foo', 'foo\n', 'a b', 'a/b', 'é', '', ':', ':a',
        'a' * 255, 'a' * 256, 'hw:' + 'a' * 252, 'hw:' + 'a' * 253, 'a' * 255 + '\n',
    ],
)  # fmt: skip
def test_the_sentence_about_an_unknown_name_is_true(nova, name):
    """D4-02: Nova's API rejects the name, or does not."""
    assert check_sentence(nova, name)


@given(name=NAMES)
def test_the_sentence_about_a_generated_name_is_true(nova, name):
    check_sentence(nova, name)


def test_the_validators_of_novas_group_are_converted(nova):
    """Q4-4: each is converted, none takes precedence, and our own entry in it is ignored."""
    shadowed, added = nova.shadowed()
    assert sorted(shadowed) == FAMILIES
    assert added == []


@pytest.mark.parametrize('family', FAMILIES[::10])
def test_a_converted_validator_accepts_the_same_values(nova, family):
    """Q4-4: without our own validators."""
    for name in names(family):
        for value in EDGES:
            assert nova.converted(name, value) is nova.takes(name, value), (name, value)
