"""Nova's own ImageMetaProps is the oracle for the definitions of image properties."""

import random
import re
import string
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nova import exception
from nova.image import glance
from nova.objects.image_meta import ImageMetaProps

from senlin_affinity.extra_specs.image_properties import registry
from senlin_affinity.nova.image_fields import OLD_NAMES

REGISTRY = registry()
#: The field of each name that differs from it.
FIELDS = {'hw_numa_cpus.{num}': 'hw_numa_cpus', 'hw_numa_mem.{num}': 'hw_numa_mem'}
FIELDS |= {'trait:{trait}': 'traits_required'}
#: Read by other parts of Nova: nova-api, and nova-compute when it stops a server.
ELSEWHERE = {'kernel_id', 'os_shutdown_timeout', 'ramdisk_id'}
#: Nova ignores other values instead of converting them.
IGNORED = 'trait:{trait}'
NAMES = sorted({each.name for each in REGISTRY.own} - ELSEWHERE - {IGNORED})
VALUES = [each.value for each in REGISTRY.own]
WORDS = sorted({word for each in VALUES for word in (*each.enum, *(each.aliases or ()))})
EDGES = [
    '', ' ', '0', '1', '-1', '+1', '1_0', '1.0', ' 7 ', '٣', '\x1c1', '\u212aVM', 'qemu\u017f', 'İ',
    'true', 'enabled', 'None', '0-3', '0-3,^1', '3-0',
    '^1', '^0-1', ',', '1,,2', '-1', '1--1', '0--0', '^ 1', '^-1',
    '1-', '0x1', '>=1.0', '>= 1.0, <2', '=1', '==1.*', '>1!2.0.dev1', '>=1 2', '>=x', '[]', '{}',
    '[{}]', '[{"a": null}]', '[{"a": [1]}]', '[{"a": 1.5}]', '[{"a": {}}]', '["a"]', '[[]]', 'null',
    '"a"', '[', '7', '0df3de41-8a2c-4cd3-8a3c-7ff9a1b0c6d1', 'no-uuid', '9' * 5000,
]  # fmt: skip
FORMS = st.one_of(
    st.sampled_from(EDGES + WORDS),
    st.sampled_from(WORDS).map(str.upper),
    st.sampled_from(WORDS).map(str.title),
    st.integers().map(str),
    st.text(),
    st.text('0123456789^-, _+', max_size=12),
    st.text('<>=!., 0123456789abcpostdev*+', max_size=12),
    st.text('[]{}:," 1an\tul', max_size=12),
)


def nova_takes(name, value):
    """Convert one property as Nova does: from Glance's text, then to the field's type."""
    properties = {re.sub(r'\{num}', '0', name): value}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # for values that are not UUIDs
        try:
            read = glance._convert_from_string({'properties': properties})
            ImageMetaProps.from_dict(read['properties'])
        except (ValueError, exception.Invalid):
            return False
    return True


def agree(name, value):
    complaint = REGISTRY.find(name.replace('{num}', '0')).complaint(value)
    assert (complaint is None) is nova_takes(name, value), (name, value, complaint)


def test_every_field_of_nova_has_a_definition():
    names = {each.name for each in REGISTRY.own}
    old = {*ImageMetaProps._legacy_property_map, 'vmware_adaptertype'}
    fields = {FIELDS.get(each, each) for each in names - old}
    assert fields == {*ImageMetaProps.fields} | ELSEWHERE
    assert names >= old
    assert {**ImageMetaProps._legacy_property_map} == {**OLD_NAMES}


@pytest.mark.parametrize('name', NAMES)
def test_the_same_values_are_valid(name):
    generator = random.Random(name)
    for value in (*EDGES, *WORDS, *map(str.upper, WORDS)):
        agree(name, value)
    for word in WORDS:
        place = generator.randrange(len(word) + 1)
        agree(name, word[:place] + generator.choice(string.ascii_letters) + word[place:])


@given(st.sampled_from(NAMES), FORMS)
@example('hw_numa_cpus.{num}', '0-99999')
def test_generated_values_agree(name, value):
    if re.search(r'\d{6}', value) and name == 'hw_numa_cpus.{num}':
        value = value[:5]  # Nova would store every CPU of the range
    agree(name, value)


def test_the_values_that_nova_ignores_are_invalid():
    for value in ('required', 'forbidden', 'Required', ''):
        read = ImageMetaProps.from_dict({'trait:HW_X': value})
        is_valid = REGISTRY.find('trait:HW_X').complaint(value) is None
        assert is_valid is (read.get('traits_required') == ['HW_X'])


@pytest.mark.parametrize('number', ['0', '9', '10', '99', '127', '128', '00', '٣', 'x'])
def test_the_numa_nodes_are_those_of_nova(number):
    lower = {f'hw_numa_mem.{each}': '1' for each in range(128) if str(each) != number}
    name = f'hw_numa_mem.{number}'
    read = ImageMetaProps.from_dict({**lower, name: '77'})
    is_read = 77 in read.get('hw_numa_mem', [])
    assert (REGISTRY.find(name) is not None) is is_read


@pytest.mark.parametrize('word', ['enabled', '', '2', 'yes', ' OFF ', 'false'])
def test_an_unusual_boolean_has_a_note(word):
    """The note is correct: Nova parses the value as false."""
    read = ImageMetaProps.from_dict({'hw_pmu': word}).hw_pmu
    note = REGISTRY.find('hw_pmu').note(word)
    assert (note is None) is (word in ('yes', ' OFF ', 'false'))
    assert note is None or (not read and note.startswith('Nova reads'))
