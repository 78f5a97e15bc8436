"""The page of the snapshot file describes every key, and the meaning of a missing one."""

import msgspec
import pytest

from senlin_affinity.cloud import snapshot_file
from senlin_affinity.model.cloud import Aggregate, Flavor
from senlin_affinity.model.host import CandidateCapacity, Host, Resource
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import Member, ServerGroup
from tests.unit.docs.test_manual import table, text_of

PAGE = text_of('reference/snapshot-file.rst')
TABLES = {
    'resource': Resource,
    'grant': CandidateCapacity,
    'aggregate': Aggregate,
    'flavor': Flavor,
    'group': ServerGroup,
    'member': Member,
    'server': Server,
}
SAID = {
    'an error': (...,),
    'none': ({}, (), None, frozenset()),
    'not known': (None,),
    'the host whose list it is in': (None,),
    'false': (False,),
    'true': (True,),
}


def rows(name):
    return {row[0]: row[1] for row in table(PAGE, f'snapshot-{name}')}


def defaults_of(kind):
    """Return the default of each key of a Struct; ... for a required key."""
    found = {}
    for field in msgspec.structs.fields(kind):
        default = ... if field.required else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        found[field.encode_name] = default
    return found


@pytest.mark.parametrize('thing', TABLES)
def test_a_table_has_the_parsed_fields(thing):
    found, defaults = rows(thing), defaults_of(TABLES[thing])
    assert list(found) == list(defaults)
    for key, said in found.items():
        default = defaults[key]
        assert default in SAID[said] if said in SAID else said == str(default)


def test_the_tables_of_the_file_and_of_hosts_have_the_parsed_keys():
    assert list(rows('host')) == list(defaults_of(Host))
    assert rows('file').keys() == defaults_of(snapshot_file.SnapshotFile).keys()


def test_the_page_has_every_quota():
    assert all(f'``{name}``' in PAGE for name in snapshot_file.QUOTAS)


def test_the_example_is_valid_and_survives_a_round_trip():
    lines = PAGE.partition('.. code-block:: json\n')[2].splitlines()
    end = next(number for number, line in enumerate(lines) if line[:1].strip())
    example = '\n'.join(lines[:end])
    snapshot = snapshot_file.parse(example)
    assert snapshot_file.parse(''.join(snapshot_file.render(snapshot))) == snapshot
