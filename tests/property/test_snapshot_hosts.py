"""The hosts of a large file are read as those of a small one: equal values, equal words."""

import json
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senlin_affinity.cloud import snapshot_file, snapshot_hosts
from senlin_affinity.cloud.json_fields import Schema
from senlin_affinity.cloud.snapshot_file import parse, render
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.snapshot import CloudSnapshot
from tests.property.strategies import nearly
from tests.property.test_snapshot_laws import SNAPSHOTS
from tests.unit.cloud.test_snapshot_file import DOCUMENT

POOL = '5BBCC3C4-1da2-4437-a48a-00000000000F'
#: Some of what no number is, or not for every parser.
ODD = {
    'zeros before a number': '007',
    'no digit of these': '\u0663',
    'not a number': 'NaN',
    'too large a float': '1E400',
    'minus zero': '-0',
    'a negative number': '-1',
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


HOSTS = [
    plain(1),
    plain(2, servers=4, disabled_reason='broken'),
    plain(3, grants=[{'query': 'resources=VCPU%3A1', 'room': 5, 'certain': 4}]),
    plain(4, resources={'DISK_GB': {'capacity': 9, 'used': 0, 'max_unit': 2, 'pool': POOL}}),
    plain(5, is_nested=True, unmirrored=[POOL], grants=None, resources=None),
    plain(6, hypervisor_hostname='', hypervisor_type='', availability_zone=None),
    {'host': 'cmp-7'},
]
POOLS = {POOL: {'DISK_GB': {'capacity': 9, 'used': 0}}}
ALIKE = {'format': 1, 'taken_at': '2026-01-01T00:00:00Z', 'pools': POOLS, 'hosts': HOSTS}


def outcome(text):
    try:
        return parse(text)
    except InvalidSpec as error:
        return str(error)


def large(read, text):
    """What is read of the text if it counts as a large one."""
    with mock.patch.object(snapshot_file, '_LARGE', 0):
        return read(text)


def check_alike(text):
    answer = outcome(text)
    assert large(outcome, text) == answer
    return answer


@given(SNAPSHOTS)
def test_what_is_right_is_read_alike(snapshot):
    assert check_alike(''.join(render(snapshot))) == snapshot


@given(nearly([ALIKE, DOCUMENT]))
def test_what_is_nearly_right_is_answered_alike(document):
    check_alike(json.dumps(document))


@given(st.sampled_from([ALIKE, DOCUMENT]), st.data())
def test_what_is_no_json_any_more_is_answered_alike(document, data):
    text = json.dumps(document, indent=data.draw(st.none() | st.integers(0, 2)))
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin, min(begin + 3, len(text))))
    broken = text[:begin] + data.draw(st.text('{}[]",: \n0\\a', max_size=3)) + text[end:]
    answer = outcome(broken)
    if 'is there twice' not in str(answer):
        assert large(outcome, broken) == answer


@pytest.mark.parametrize('text', ODD.values(), ids=ODD)
@pytest.mark.parametrize('key', ['servers', 'host', 'hypervisor_type', 'traits', 'resources'])
def test_an_odd_value_is_answered_alike(key, text):
    hosts = [plain(1, servers=1), plain(2, **{key: 'HERE'}), plain(3, servers=3)]
    check_alike(json.dumps({'format': 1, 'hosts': hosts}).replace('"HERE"', text))


@pytest.mark.parametrize(
    ('host', 'words'),
    [
        ('"host": "b", "hypervisor_hostname": 7, "host": "c"', 'host: is there twice'),
        ('"host": "b", "grants": {"a": 1, "a": 2}', 'grants.a: is there twice'),
        ('"host": "b", "resources": {"vcpu": {}}', 'resources.vcpu: is no resource class'),
    ],
)
def test_a_host_of_a_large_file_that_is_not_plain_is_read_with_care(host, words):
    answer = check_alike(f'{{"format": 1, "hosts": [{{"host": "a"}}, {{{host}}}]}}')
    assert answer.startswith(f'hosts[1].{words}')


def test_hosts_of_a_large_file_are_decoded_by_their_types():
    """A host that cannot be costs three times as much, but is no mistake."""
    with mock.patch.object(Schema, 'read', autospec=True, side_effect=Schema.read) as careful:
        found = large(parse, json.dumps(ALIKE)).hosts
    read = [call.args[1] for call in careful.call_args_list]
    assert [item for item in read if type(item) is dict and 'host' in item] == [
        {'hypervisor_hostname': 'cmp-7', 'host': 'cmp-7'}
    ]
    assert [type(each) for each in found] == [Host] * len(HOSTS)
    assert all(type(has) is Resource for host in found for has in (host.resources or {}).values())


def test_equal_values_of_the_hosts_of_a_large_file_are_one_object():
    hosts = [plain(number) for number in range(2500)]
    document = {'format': 1, 'hosts': hosts}
    found = large(parse, json.dumps(document)).hosts
    assert [each.host for each in found] == [f'cmp-{number}' for number in range(2500)]
    for key in ('aggregates', 'traits', 'hypervisor_type', 'availability_zone'):
        assert len({id(getattr(each, key)) for each in found}) == 1
    document['hosts'][2400]['resources'] = {'VCPU': {'capacity': 8, 'used': -1}}
    assert check_alike(json.dumps(document)).startswith('hosts[2400].resources.VCPU.used: must')


def test_only_a_large_file_is_decoded_by_types():
    with mock.patch.object(snapshot_hosts, '_HOST') as decoder:
        parse(json.dumps(ALIKE))
    assert not decoder.decode.called
    hosts = [plain(number) for number in range(4000)]
    text = json.dumps({'format': 1, 'hosts': hosts})
    assert len(text) > 1 << 20
    snapshot = parse(text)
    assert snapshot == CloudSnapshot(hosts=snapshot.hosts)
    assert snapshot.hosts[:1] == parse(json.dumps({'format': 1, 'hosts': hosts[:1]})).hosts
