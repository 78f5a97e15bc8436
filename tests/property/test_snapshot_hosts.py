"""The hosts of a large snapshot file are parsed as those of a small one, with equal errors."""

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
#: Values that some JSON parsers reject or convert.
UNUSUAL_VALUES = {
    'leading zeros': '007',
    'a digit of another script': '\u0663',
    'not a number': 'NaN',
    'a float that is too large': '1E400',
    'minus zero': '-0',
    'a negative number': '-1',
    'a whole float': '1.0',
    'more than 64 bits': f'{2**64}',
    'too many digits': '9' * 5000,
    'too deep': '[' * 2000 + ']' * 2000,
    'half of a surrogate pair': r'"\ud800"',
}


def typical_host(number, **more):
    """Return a typical host in the JSON of a file."""
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
    typical_host(1),
    typical_host(2, servers=4, disabled_reason='broken'),
    typical_host(3, grants=[{'query': 'resources=VCPU%3A1', 'room': 5, 'certain': 4}]),
    typical_host(4, resources={'DISK_GB': {'capacity': 9, 'used': 0, 'max_unit': 2, 'pool': POOL}}),
    typical_host(5, is_nested=True, unmirrored=[POOL], grants=None, resources=None),
    typical_host(6, hypervisor_hostname='', hypervisor_type='', availability_zone=None),
    {'host': 'cmp-7'},
]
POOLS = {POOL: {'DISK_GB': {'capacity': 9, 'used': 0}}}
TYPICAL = {'format': 1, 'taken_at': '2026-01-01T00:00:00Z', 'pools': POOLS, 'hosts': HOSTS}


def parse_or_error(text):
    try:
        return parse(text)
    except InvalidSpec as error:
        return str(error)


def parse_as_large(read, text):
    """Return the result of parsing the text as a large one."""
    with mock.patch.object(snapshot_file, '_LARGE', 0):
        return read(text)


def check_both_parsers(text):
    answer = parse_or_error(text)
    assert parse_as_large(parse_or_error, text) == answer
    return answer


@given(SNAPSHOTS)
def test_valid_snapshots_are_parsed_alike(snapshot):
    assert check_both_parsers(''.join(render(snapshot))) == snapshot


@given(nearly([TYPICAL, DOCUMENT]))
def test_nearly_valid_snapshots_are_parsed_alike(document):
    check_both_parsers(json.dumps(document))


@given(st.sampled_from([TYPICAL, DOCUMENT]), st.data())
def test_broken_json_is_rejected_alike(document, data):
    text = json.dumps(document, indent=data.draw(st.none() | st.integers(0, 2)))
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin, min(begin + 3, len(text))))
    broken = text[:begin] + data.draw(st.text('{}[]",: \n0\\a', max_size=3)) + text[end:]
    answer = parse_or_error(broken)
    if 'occurs twice' not in str(answer):
        assert parse_as_large(parse_or_error, broken) == answer


@pytest.mark.parametrize('text', UNUSUAL_VALUES.values(), ids=UNUSUAL_VALUES)
@pytest.mark.parametrize('key', ['servers', 'host', 'hypervisor_type', 'traits', 'resources'])
def test_unusual_values_are_parsed_alike(key, text):
    hosts = [
        typical_host(1, servers=1),
        typical_host(2, **{key: 'HERE'}),
        typical_host(3, servers=3),
    ]
    check_both_parsers(json.dumps({'format': 1, 'hosts': hosts}).replace('"HERE"', text))


@pytest.mark.parametrize(
    ('host', 'words'),
    [
        ('"host": "b", "hypervisor_hostname": 7, "host": "c"', 'host: occurs twice'),
        ('"host": "b", "grants": {"a": 1, "a": 2}', 'grants.a: occurs twice'),
        ('"host": "b", "resources": {"vcpu": {}}', 'resources.vcpu: is not a resource class'),
    ],
)
def test_an_untypical_host_of_a_large_file_is_parsed_strictly(host, words):
    answer = check_both_parsers(f'{{"format": 1, "hosts": [{{"host": "a"}}, {{{host}}}]}}')
    assert answer.startswith(f'hosts[1].{words}')


def test_typical_hosts_of_a_large_file_are_decoded_by_their_types():
    """An untypical host is parsed by the slower, strict reader."""
    with mock.patch.object(Schema, 'read', autospec=True, side_effect=Schema.read) as strict_reads:
        found = parse_as_large(parse, json.dumps(TYPICAL)).hosts
    read = [call.args[1] for call in strict_reads.call_args_list]
    assert [item for item in read if type(item) is dict and 'host' in item] == [
        {'hypervisor_hostname': 'cmp-7', 'host': 'cmp-7'}
    ]
    assert [type(each) for each in found] == [Host] * len(HOSTS)
    assert all(type(has) is Resource for host in found for has in (host.resources or {}).values())


def test_equal_values_in_a_large_file_are_one_object():
    hosts = [typical_host(number) for number in range(2500)]
    document = {'format': 1, 'hosts': hosts}
    found = parse_as_large(parse, json.dumps(document)).hosts
    assert [each.host for each in found] == [f'cmp-{number}' for number in range(2500)]
    for key in ('aggregates', 'traits', 'hypervisor_type', 'availability_zone'):
        assert len({id(getattr(each, key)) for each in found}) == 1
    document['hosts'][2400]['resources'] = {'VCPU': {'capacity': 8, 'used': -1}}
    assert check_both_parsers(json.dumps(document)).startswith(
        'hosts[2400].resources.VCPU.used: must'
    )


def test_only_a_large_file_is_decoded_by_its_types():
    with mock.patch.object(snapshot_hosts, '_HOST') as decoder:
        parse(json.dumps(TYPICAL))
    assert not decoder.decode.called
    hosts = [typical_host(number) for number in range(4000)]
    text = json.dumps({'format': 1, 'hosts': hosts})
    assert len(text) > 1 << 20
    snapshot = parse(text)
    assert snapshot == CloudSnapshot(hosts=snapshot.hosts)
    assert snapshot.hosts[:1] == parse(json.dumps({'format': 1, 'hosts': hosts[:1]})).hosts
