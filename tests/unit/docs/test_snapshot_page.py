"""The page of the snapshot file describes every key, and the meaning of a missing one."""

import json

import pytest

from senlin_affinity.cloud import snapshot_fields, snapshot_file, snapshot_hosts
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('reference/snapshot-file.rst')
HOSTS = snapshot_hosts.Hosts()
TABLES = {
    'resource': snapshot_fields.RESOURCE,
    'grant': snapshot_fields.GRANT,
    'aggregate': snapshot_fields.AGGREGATE,
    'flavor': snapshot_fields.FLAVOR,
    'group': snapshot_fields.GROUP,
    'member': snapshot_fields.MEMBER,
}
SAID = {
    'an error': (...,),
    'none': ({}, (), None),
    'not known': (None,),
    'false': (False,),
    'true': (True,),
}


def rows(name):
    return {row[0]: row[1] for row in table(PAGE, f'snapshot-{name}')}


@pytest.mark.parametrize('thing', TABLES)
def test_a_table_has_the_parsed_fields(thing):
    found, table = rows(thing), TABLES[thing]
    assert list(found) == list(table.fields)
    for key, said in found.items():
        default = table.defaults.get(key, ...)
        assert default in SAID[said] if said in SAID else said == str(default)


def test_the_tables_of_the_file_and_of_hosts_have_the_parsed_keys():
    assert list(rows('host')) == list(HOSTS.fields)
    assert set(rows('file')) == {'format', *snapshot_fields.Snapshots(HOSTS).fields}


def test_the_page_has_every_quota():
    assert all(f'``{name}``' in PAGE for name in snapshot_fields.QUOTAS)


def test_the_example_is_valid_and_unchanged_when_it_is_written():
    lines = PAGE.partition('.. code-block:: json\n')[2].splitlines()
    end = next(number for number, line in enumerate(lines) if line[:1].strip())
    example = '\n'.join(lines[:end])
    snapshot = snapshot_file.parse(example)
    assert json.loads(''.join(snapshot_file.render(snapshot))) == json.loads(example)
