"""The quick reader of a snapshot's hosts says what the careful one says, or leaves it to that.

It reads some hosts at once, or one after the other: what is said is the same.
"""

import json
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.cloud import snapshot_columns, snapshot_forms
from senlin_affinity.cloud.snapshot_fields import Hosts
from senlin_affinity.cloud.snapshot_file import parse, render
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.objects import CloudSnapshot
from tests.property.strategies import nearly
from tests.property.test_snapshot_laws import SNAPSHOTS
from tests.unit.cloud.test_snapshot_file import DOCUMENT

#: Characters, where each host is to be a piece of its own.
LITTLE = 450
#: Some of what no number is, or not for every parser.
ODD = {
    'zeros before a number': '007',
    'no digit of these': '\u0663',
    'not a number': 'NaN',
    'too large a float': '1E400',
    'minus zero': '-0',
    'a whole float': '1.0',
    'more than 64 bits': f'{2**64}',
    'too many digits': '9' * 5000,
    'too deep': '[' * 2000 + ']' * 2000,
    'half of a character': r'"\ud800"',
}


def plain(number, **more):
    """A host as most are, in the JSON of a file."""
    return {
        'host': f'cmp-{number}',
        'hypervisor_hostname': f'cmp-{number}.example.org',
        'hypervisor_type': 'QEMU',
        'availability_zone': 'nova:1',
        'enabled': True,
        'up': True,
        'aggregates': ['5BBCC3C4-1da2-4437-a48a-000000000001'],
        'traits': ['COMPUTE_NODE', 'CUSTOM_A'],
        'resources': {'VCPU': {'capacity': 8, 'used': number}},
        **more,
    }


HOSTS = [plain(1), plain(2), plain(3, servers=4), plain(4, grants=[]), plain(5, is_nested=True)]
ALIKE = {'format': 1, 'taken_at': '2026-01-01T00:00:00Z', 'hosts': HOSTS}


def outcome(text):
    try:
        return parse(text)
    except InvalidSpec as error:
        return str(error)


def in_pieces(read, text):
    """What is read where each host is a piece of its own."""
    with mock.patch.object(snapshot_forms, 'SIZE', LITTLE):
        return read(text)


def check_alike(text, careful):
    """In pieces, as a whole and with care the answer is the same."""
    answer = outcome(careful)
    assert outcome(text) == answer
    assert in_pieces(outcome, text) == answer
    return answer


def check_perhaps_broken(text):
    """What is no JSON is left to the careful reader."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        assert quick(text) is in_pieces(quick, text) is None
        assert 'JSON' in check_alike(text, text)
    else:
        check_alike(text, spelled(text))


def spelled(text):
    """The same text, of which one key is spelled in a way that only the careful reader reads."""
    return text.replace('"host":', r'"\u0068ost":', 1)


def quick(text):
    return snapshot_columns.document(text, dict, Hosts())


@given(SNAPSHOTS)
def test_what_is_right_is_read_alike(snapshot):
    text = ''.join(render(snapshot))
    assert check_alike(text, spelled(text)) == snapshot


@given(nearly([ALIKE, DOCUMENT]))
def test_what_is_nearly_right_is_answered_alike(document):
    text = json.dumps(document)
    check_alike(text, spelled(text))


@given(st.sampled_from([ALIKE, DOCUMENT]), st.data())
def test_what_is_no_json_any_more_is_left_to_the_careful_reader(document, data):
    text = json.dumps(document, indent=data.draw(st.none() | st.integers(0, 2)))
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin, min(begin + 3, len(text))))
    broken = text[:begin] + data.draw(st.text('{}[]",: \n0\\a', max_size=3)) + text[end:]
    check_perhaps_broken(broken)


@pytest.mark.parametrize('text', ODD.values(), ids=ODD)
def test_an_odd_number_is_answered_alike(text):
    hosts = [plain(1, servers=1), plain(2, servers='HERE'), plain(3, servers=3)]
    document = json.dumps({'format': 1, 'hosts': hosts}).replace('"HERE"', text)
    check_perhaps_broken(document)


def test_lists_that_are_right_only_together_are_left_to_the_careful_reader():
    """Behind a comma they are one list, of strings that hold the brackets."""
    hosts = [plain(number, traits=[f'CUSTOM_{number}', 'CUSTOM_B']) for number in range(100)]
    text = json.dumps({'format': 1, 'hosts': hosts})
    broken = text.replace('["CUSTOM_7", "CUSTOM_B"]', '["CUSTOM_7]')
    broken = broken.replace('["CUSTOM_8", "CUSTOM_B"]', '[", "CUSTOM_B"]')
    assert quick(text)
    check_perhaps_broken(broken)


@pytest.mark.parametrize(('ways', 'is_quick'), [(8, True), (9, False)])
def test_hosts_are_read_quickly_that_are_written_in_few_ways(ways, is_quick):
    hosts = [
        plain(number, resources={f'CUSTOM_{number % ways}': {'capacity': 8, 'used': number}})
        for number in range(40)
    ]
    text = json.dumps({'format': 1, 'hosts': hosts})
    found = quick(text)
    assert bool(found) == is_quick
    assert check_alike(text, spelled(text)).hosts == (
        found['hosts'] if found else parse(text).hosts
    )


@pytest.mark.parametrize(('spaces', 'is_quick'), [(1000, True), (100_000, False)])
def test_long_hosts_are_left_to_the_careful_reader(spaces, is_quick):
    text = json.dumps(ALIKE).replace('{"host":', '{' + ' ' * spaces + '"host":')
    assert bool(quick(text)) == is_quick
    check_alike(text, spelled(text))


def test_most_files_are_read_quickly():
    for indent in (None, 1):
        found = quick(json.dumps(ALIKE, indent=indent))
        assert [type(each) for each in found['hosts']] == [Host] * 5
        assert found['hosts'] == parse(spelled(json.dumps(ALIKE))).hosts
    resources = {'VCPU': Resource(8, 1, 4), 'DISK_GB': Resource(9, 2)}
    snapshot = CloudSnapshot((Host('a', 'a', resources=resources), Host('b', 'b')))
    assert quick(''.join(render(snapshot)))['hosts'] == snapshot.hosts


def test_many_hosts_are_read_piece_by_piece():
    """What is equal is one object all the same, and nothing is lost between the pieces."""
    use = [{'VCPU': {'capacity': 8, 'used': used}} for used in range(3)]
    hosts = [plain(number, resources=use[number % 3]) for number in range(2500)]
    document = {'format': 1, 'hosts': hosts}
    found = quick(json.dumps(document))['hosts']
    assert [each.host for each in found] == [f'cmp-{number}' for number in range(2500)]
    assert len({id(each.aggregates) for each in found}) == 1
    assert len({id(each.traits) for each in found}) == 1
    assert len({id(each.resources) for each in found}) == 3
    assert [each.resources['VCPU'].used for each in found[-3:]] == [1, 2, 0]
    document['hosts'][2400]['resources'] = {'VCPU': {'capacity': 8, 'used': -1}}
    assert outcome(json.dumps(document)).startswith('hosts[2400].resources.VCPU.used: must')


def test_hosts_that_have_nothing_in_common_are_read_alike():
    """What is equal is not sought among them, and all of them are in their order."""
    hosts = [
        plain(
            number,
            traits=['COMPUTE_NODE', f'CUSTOM_{number}'],
            aggregates=[f'5BBCC3C4-1da2-4437-a48a-{number:012}'],
            resources={
                'VCPU': {'capacity': 999, 'used': number},
                'GPU': {'capacity': 1, 'used': 0},
            },
        )
        for number in range(200)
    ]
    text = json.dumps({'format': 1, 'hosts': hosts})
    found = quick(text)['hosts']
    assert found == parse(spelled(text)).hosts
    assert [each.resources['VCPU'].used for each in found] == [*range(200)]
