"""A snapshot file is parsed strictly and written atomically."""

import bz2
import gzip
import json
import lzma
import os
import tempfile

import pytest
import yaml

from senlin_affinity.cloud.snapshot_file import check_place, decoded, load, parse, render, save
from senlin_affinity.model.cloud import Aggregate, Cloud, Flavor, Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from tests.support.tables import check_error, rows
from tests.support.values import replace

UUID = '5bbcc3c4-1da2-4437-a48a-66f15b1b13f9'
OTHER = '5bbcc3c4-1da2-4437-a48a-66f15b1b13fa'
DOCUMENT = yaml.safe_load("""
format: 2
taken_at: '2026-01-01T00:00:00Z'
user_id: u
project_id: p
availability_zones: [az, nova]
closed_zones: [az]
answered: ['resources=VCPU%3A1']
compared_aggregates: [[5bbcc3c4-1da2-4437-a48a-66f15b1b13f9, 5bbcc3c4-1da2-4437-a48a-66f15b1b13fa]]
hosts:
- {host: cmp-1, hypervisor_hostname: cmp-1.example.org, hypervisor_type: QEMU,
   availability_zone: nova, enabled: true, up: false,
   aggregates: [5bbcc3c4-1da2-4437-a48a-66f15b1b13f9], traits: [HW_CPU_X86_AVX2],
   resources: {VCPU: {capacity: 64, used: 10, max_unit: 1},
               MEMORY_MB: {capacity: 131072, used: 2048, step_size: 2},
               DISK_GB: {capacity: 2000, used: 20, is_sum: true},
               CUSTOM_LICENSE: {capacity: 5, used: 1, pool: 5bbcc3c4-1da2-4437-a48a-66f15b1b13fa}},
   is_nested: true, is_partial: true, grants: [{query: 'resources=VCPU%3A1', room: 5, certain: 4}]}
- {host: cmp-2, hypervisor_hostname: cmp-2, hypervisor_type: '', availability_zone: null,
   enabled: false, up: true, aggregates: [], traits: [], resources: null}
aggregates:
- {uuid: 5bbcc3c4-1da2-4437-a48a-66f15b1b13f9, name: ssd, availability_zone: null,
   metadata: {ssd: 'true'}}
flavors:
- {id: '1', name: small, vcpus: 1, ram: 512, disk: 1, ephemeral: 2, swap: 3,
   extra_specs: {'hw:cpu_policy': shared}}
server_groups:
- {id: g, name: web, policy: anti-affinity, rules: {max_server_per_host: 3}, project_id: p,
   members: [{server: s1, host: cmp-1}, {server: s2, host: null, user: u, host_id: abc, zone: az}]}
quotas: {cores: {limit: -1, used: 0}, instances: {limit: 10, used: 2},
         server_group_members: {limit: 10}}
pools:
  5bbcc3c4-1da2-4437-a48a-66f15b1b13fa: {CUSTOM_LICENSE: {capacity: 5, used: 1},
                                         DISK_GB: {capacity: 9, used: 2, max_unit: 4, step_size: 2}}
""")
SNAPSHOT = Cloud(
    hosts=(
        Host(
            'cmp-1',
            'cmp-1.example.org',
            'QEMU',
            'nova',
            True,
            False,
            frozenset({UUID}),
            frozenset({'HW_CPU_X86_AVX2'}),
            {
                'VCPU': Resource(64, 10, max_unit=1),
                'MEMORY_MB': Resource(131072, 2048, step_size=2),
                'DISK_GB': Resource(2000, 20, is_sum=True),
                'CUSTOM_LICENSE': Resource(5, 1, pool=OTHER),
            },
            is_nested=True,
            is_partial=True,
            grants=(CandidateCapacity('resources=VCPU%3A1', 5, 4),),
        ),
        Host('cmp-2', 'cmp-2', enabled=False),
    ),
    aggregates=(Aggregate(UUID, 'ssd', None, {'ssd': 'true'}),),
    flavors=(Flavor('1', 'small', 1, 512, 1, 2, 3, {'hw:cpu_policy': 'shared'}),),
    server_groups=(
        ServerGroup(
            'g',
            'web',
            'anti-affinity',
            {'max_server_per_host': 3},
            (Member('s1', 'cmp-1'), Member('s2', None, 'u', 'abc', 'az')),
            'p',
        ),
    ),
    quotas={'cores': Quota(None, 0), 'instances': Quota(10, 2), 'server_group_members': Quota(10)},
    taken_at='2026-01-01T00:00:00Z',
    user_id='u',
    project_id='p',
    availability_zones=frozenset({'az', 'nova'}),
    closed_zones=frozenset({'az'}),
    answered=frozenset({'resources=VCPU%3A1'}),
    compared_aggregates=frozenset({frozenset({UUID, OTHER})}),
    pools={OTHER: {'CUSTOM_LICENSE': Resource(5, 1), 'DISK_GB': Resource(9, 2, 4, 2)}},
)


SERVERS = {
    'cmp-1': (
        Server('s1', 'web-1', 'ACTIVE', 'cmp-1', flavor=Flavor('f', 'f', 1, 512, 1)),
        Server('s2', 'web-2', 'SHUTOFF', 'cmp-1', hints={'different_host': ['s1']}),
    ),
    'cmp-2': (),
}


def parse_parts(**parts):
    """Parse a file that contains these parts."""
    return parse(json.dumps({'format': 1, **parts}))


@pytest.mark.parametrize('row', rows('snapshot_file'))
def test_parse(row):
    parts = row.get('file', {'hosts': [{'host': 'a', **row.get('host', {})}]})
    text = row.get('text', json.dumps({'format': 1, **parts}))
    if row.get('outcome') == 'read':
        assert parse(text) == Cloud()
        return
    with pytest.raises(InvalidSpec) as caught:
        parse(text)
    check_error({'path': '', 'outcome': 'InvalidSpec', **row}, caught.value)


def test_servers_are_written_one_a_line_and_parsed_again():
    snapshot = replace(SNAPSHOT, servers_by_host=SERVERS)
    text = ''.join(render(snapshot))
    assert parse(text) == snapshot
    of_host = text.partition('"servers_by_host": {')[2].splitlines()
    assert [line[:13] for line in of_host[1:4]] == [
        ' "cmp-1": [',
        '  {"id": "s1"',
        '  {"id": "s2"',
    ]


def test_the_host_of_a_server_may_be_left_out():
    server = {'id': 's1', 'name': 'web-1', 'status': 'ACTIVE'}
    found = parse_parts(servers_by_host={'cmp-1': [server]}).servers_by_host
    assert found == {'cmp-1': (Server('s1', 'web-1', 'ACTIVE', 'cmp-1'),)}


def test_every_field_is_parsed():
    assert parse(json.dumps(DOCUMENT)) == SNAPSHOT


def test_every_field_is_written_unless_it_has_its_default():
    written = json.loads(''.join(render(SNAPSHOT)))
    assert written['hosts'][1] == {
        'host': 'cmp-2',
        'hypervisor_hostname': 'cmp-2',
        'enabled': False,
    }
    assert written['hosts'][0].keys() == DOCUMENT['hosts'][0].keys() - {'enabled'}
    assert written.keys() == DOCUMENT.keys()
    assert parse(json.dumps(written)) == SNAPSHOT


@pytest.mark.parametrize(
    ('snapshot', 'number'),
    [
        (Cloud(), 1),
        (Cloud(answered=frozenset({'resources=VCPU%3A1'})), 2),
        (
            Cloud((Host('a', 'a', grants=(CandidateCapacity('resources=VCPU%3A1', 5, 4),)),)),
            2,
        ),
    ],
    ids=['no query', 'complete answer', 'partial answer'],
)
def test_a_file_without_placements_answer_has_format_1(snapshot, number):
    text = ''.join(render(snapshot))
    assert json.loads(text)['format'] == number
    assert parse(text) == snapshot


def test_the_servers_of_a_snapshot_are_unique():
    one, other = Member('s', 'cmp-1'), Member('t', project='p')
    snapshot = Cloud(soft_deleted=(one, other), servers=(other, one))
    assert parse(''.join(render(snapshot))) == snapshot
    for name in ('soft_deleted', 'servers'):
        twice = replace(snapshot, **{name: (one, one)})
        with pytest.raises(InvalidSpec, match=rf'^{name}\[1\]\.server: is the same as in item 0$'):
            parse(''.join(render(twice)))


def test_a_snapshot_writes_what_is_known_with_a_line_for_each_item():
    assert ''.join(render(Cloud())) == '{"format": 1}\n'
    snapshot = Cloud(servers=(Member('s'), Member('t')), flavors=(), project_id='p')
    assert ''.join(render(snapshot)).splitlines() == [
        '{"format": 1,',
        ' "flavors": [],',
        ' "project_id": "p",',
        ' "servers": [',
        '  {"server": "s"},',
        '  {"server": "t"}]}',
    ]


def test_a_duplicate_key_of_a_rule_is_an_error():
    rules = '{"max_server_per_host": 1, "max_server_per_host": 2}'
    group = f'{{"id": "g", "name": "g", "policy": "affinity", "rules": {rules}}}'
    with pytest.raises(InvalidSpec, match='max_server_per_host: occurs twice$'):
        parse(f'{{"format": 1, "server_groups": [{group}]}}')


def test_an_absent_part_is_unknown_and_an_empty_part_is_known():
    assert (parse_parts().flavors, parse_parts(flavors=[]).flavors) == (None, ())
    assert parse_parts(quotas={'cores': None}).quotas == {}
    hosts = [{'host': 'a'}, {'host': 'b', 'resources': {}}]
    assert parse_parts(hosts=hosts).hosts == (Host('a', 'a'), Host('b', 'b', resources={}))


def test_q1_2_the_uuids_of_aggregates_are_normalized():
    snapshot = parse_parts(
        hosts=[{'host': 'a', 'aggregates': [UUID.upper(), OTHER, 'no-uuid', 'odd']}],
        aggregates=[{'uuid': UUID.replace('-', ''), 'name': 'ssd'}, {'uuid': 'odd', 'name': 'odd'}],
    )
    # Placement may have aggregates that Nova lacks.
    assert snapshot.hosts[0].aggregates == {UUID, OTHER, 'no-uuid', 'odd'}
    assert UUID in snapshot.aggregates_by_uuid


@pytest.mark.parametrize('module', [gzip, bz2, lzma], ids=lambda module: module.__name__)
def test_a_compressed_file_is_rejected(module):
    with pytest.raises(InvalidSpec, match='is compressed: unpack it first'):
        decoded(module.compress(b'{"format": 1}'))


def test_a_rule_of_digits_is_parsed_as_a_number():
    group = {'id': 'g', 'name': 'web', 'policy': 'anti-affinity'}
    found = parse_parts(server_groups=[group | {'rules': {'max_server_per_host': '3'}}])
    assert found.server_groups[0].rules == {'max_server_per_host': 3}


def test_a_group_of_a_very_old_nova_has_no_policy():
    (group,) = parse_parts(server_groups=[{'id': 'g', 'name': 'web', 'policy': ''}]).server_groups
    assert group.policy == ''


def test_equal_snapshots_have_equal_texts_with_one_line_per_host():
    traits = [f'CUSTOM_{number}' for number in range(20)]
    texts = set()
    for order in (traits, traits[::-1]):
        resources = {name: Resource(1, 0) for name in order}
        host = Host('a', 'a', traits=frozenset(order), resources=resources)
        texts.add(''.join(render(Cloud(hosts=(host,)))))
    (text,) = texts
    assert [line.strip()[:13] for line in text.splitlines()] == [
        '{"format": 1,',
        '"hosts": [',
        '{"host": "a",',
    ]


@pytest.mark.parametrize('name', ['é', 'a b', 'a\u00a0b', '\U0001f600', '\u3000', '\ue000'])
def test_a_name_may_contain_characters_of_any_script(name):
    """This includes characters outside the BMP and unassigned ones."""
    for ascii_only in (True, False):
        document = {'format': 1, 'hosts': [{'host': name, 'traits': [name]}]}
        (host,) = parse(json.dumps(document, ensure_ascii=ascii_only)).hosts
        assert (host.host, host.traits) == (name, {name})
        assert f'"host": "{name}"' in ''.join(render(Cloud((host,))))


def test_metadata_and_extra_specs_may_contain_control_characters():
    stored = {'k': 'two\nlines\x1b', 'a\tb': ''}
    flavor = {'id': '1', 'name': 'f', 'vcpus': 1, 'ram': 1, 'disk': 1, 'extra_specs': stored}
    aggregate = {'uuid': UUID, 'name': 'a', 'metadata': stored}
    snapshot = parse_parts(flavors=[flavor], aggregates=[aggregate])
    assert snapshot.flavors[0].extra_specs == snapshot.aggregates[0].metadata == stored


def test_a_byte_order_mark_is_ignored(tmp_path):
    path = tmp_path / 'cloud.json'
    path.write_bytes(b'\xef\xbb\xbf' + json.dumps(DOCUMENT).encode())
    assert load(path) == SNAPSHOT


def test_equal_sets_of_many_hosts_are_one_object():
    hosts = [{'host': name, 'traits': ['A', 'B'], 'aggregates': [UUID]} for name in 'abc']
    first, *others = parse_parts(hosts=hosts).hosts
    for host in others:
        assert host.traits is first.traits
        assert host.aggregates is first.aggregates


@pytest.mark.parametrize(
    'text',
    ['{"format": 1, "hosts": ' + '[' * 100_000, '[' * 100_000, f'{{"format": {"1" * 10_000}}}'],
    ids=['hosts', 'lists', 'number'],
)
def test_json_that_is_too_deep_or_too_long_is_invalid(text):
    with pytest.raises(InvalidSpec, match='is not valid JSON: '):
        parse(text)


# -- the file


def test_saving_replaces_a_file_atomically(tmp_path, monkeypatch):
    path = tmp_path / 'cloud.json'
    path.write_text('something else')
    before = path.stat().st_ino
    sizes = []
    monkeypatch.setattr(os, 'fsync', lambda handle: sizes.append(os.fstat(handle).st_size))
    monkeypatch.setattr(tempfile, 'tempdir', '/another/file/system')

    check_place(path)
    save(SNAPSHOT, path)

    assert load(path) == SNAPSHOT
    assert path.stat().st_ino != before
    assert sizes == [path.stat().st_size], 'the whole file is synced before it replaces the old one'
    assert list(tmp_path.iterdir()) == [path]


def test_saving_follows_a_symbolic_link(tmp_path):
    link = tmp_path / 'link.json'
    link.symlink_to('cloud.json')
    save(SNAPSHOT, link)
    assert link.is_symlink()
    assert load(tmp_path / 'cloud.json') == SNAPSHOT


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / 'cloud.json'
    path.write_text('something else')
    broken = replace(SNAPSHOT, taken_at=object())
    with pytest.raises(TypeError):
        save(broken, path)
    assert path.read_text() == 'something else'
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        ('', 'the name of the file is empty'),
        ('.', r'\. must be a regular file'),
        ('nowhere/cloud.json', 'No such file or directory'),
        ('x' * 250, 'File name too long'),
    ],
)
@pytest.mark.parametrize(
    'write', [check_place, lambda path: save(SNAPSHOT, path)], ids=['check', 'save']
)
def test_an_impossible_path_is_rejected(tmp_path, monkeypatch, write, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidSpec, OSError), match=message):
        write(path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_binary_file_is_rejected(tmp_path):
    with pytest.raises(InvalidSpec, match=r'nowhere\.json cannot be read: No such file'):
        load(tmp_path / 'nowhere.json')
    binary = tmp_path / 'binary.json'
    binary.write_bytes(b'\xff\xfe')
    with pytest.raises(InvalidSpec, match='is not UTF-8 text'):
        load(binary)
