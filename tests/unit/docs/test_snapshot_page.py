"""The page about the snapshot has every key of the file, and what one that is left out means."""

import json

import pytest

from senlin_affinity.cloud import snapshot_file, snapshot_hosts, snapshot_reader
from tests.unit.docs.test_manual import table, text_of, words

PAGE = text_of('user/snapshot.rst')
FIELDS = {
    'resource': snapshot_hosts.RESOURCE,
    'aggregate': snapshot_reader.AGGREGATE,
    'flavor': snapshot_reader.FLAVOR,
    'group': snapshot_reader.GROUP,
    'member': snapshot_reader.MEMBER,
}
SAID = {'an error': ..., 'none': ({}, [], None), 'not known': (None,), 'false': (False,)}


def rows(name):
    return {row[0]: row[1] for row in table(PAGE, f'snapshot-{name}')}


@pytest.mark.parametrize('thing', FIELDS)
def test_a_table_has_the_fields_that_are_read(thing):
    found = rows(thing)
    assert list(found) == [field.key for field in FIELDS[thing]]
    for field in FIELDS[thing]:
        said = SAID.get(found[field.key], found[field.key])
        if said is ... or field.default is ...:
            assert said is field.default
        elif isinstance(said, str):
            assert said == str(field.default)
        else:
            assert field.default in said


def test_the_table_of_hosts_has_the_keys_that_are_read():
    assert tuple(rows('host')) == snapshot_hosts.HOST_KEYS


def test_the_table_of_the_file_has_its_parts():
    assert set(rows('file')) == {'format', 'hosts', *snapshot_reader.PARTS}


def test_the_quotas_are_named():
    for field in snapshot_reader.QUOTAS:
        assert f'``{field.key}``' in PAGE


def test_the_example_can_be_read_and_is_what_would_be_written():
    lines = PAGE.partition('.. code-block:: json\n')[2].splitlines()
    end = next(number for number, line in enumerate(lines) if line[:1].strip())
    example = '\n'.join(lines[:end])
    snapshot = snapshot_file.parse(example)
    assert json.loads(''.join(snapshot_file.render(snapshot))) == json.loads(example)


def test_the_error_is_one():
    host = {'host': 'a', 'resources': {'VCPU': {'capacity': -1, 'used': 0}}}
    hosts = [{'host': str(number)} for number in range(3)]
    with pytest.raises(Exception, match='hosts') as caught:
        snapshot_file.parse(json.dumps({'format': 1, 'hosts': [*hosts, host]}))
    assert f'error: {caught.value}' in words(PAGE)
