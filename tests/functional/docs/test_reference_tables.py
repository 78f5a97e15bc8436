"""The generated tables have every reason code and every remedy of our constraints."""

import importlib.util
from types import SimpleNamespace

import pytest

from tests.support.our_constraints import OURS, remedies_of
from tests.unit.docs.test_manual import ROOT, SOURCE

SPEC = importlib.util.spec_from_file_location('tables', ROOT / 'doc/ext/reference_tables.py')
TABLES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TABLES)


class Codes(TABLES.ReasonCodes):
    env = SimpleNamespace(srcdir=SOURCE, note_dependency=lambda _path: None)

    def __init__(self):
        """Create it without a document."""


@pytest.mark.parametrize('constraint', OURS, ids=lambda constraint: constraint.name)
def test_a_constraint_s_codes_and_remedies_are_in_the_tables(constraint):
    rows = list(Codes().codes(constraint))
    assert [row[0].strip('`') for row in rows] == [*constraint.reasons]
    assert {row[4] for row in rows} == {
        ' or '.join(f'``{each}``' for each in constraint.filters) or 'always'
    }
    remedies = {row[0].strip('`'): row[2] for row in Codes().remedies(constraint)}
    assert [*remedies] == remedies_of(constraint)
    assert all(remedies.values())


@pytest.mark.parametrize(
    ('schema', 'words'),
    [
        ({'type': 'string'}, 'string'),
        ({'type': ['integer', 'null'], 'minimum': 0}, 'integer of 0 or more or null'),
        ({'type': 'array', 'items': {'$ref': '#/$defs/host'}}, 'list of :ref:`host <x-host>`'),
        (
            {'type': 'object', 'additionalProperties': {'type': 'string'}},
            'object of string by name',
        ),
        ({'anyOf': [{'type': 'string'}, {'type': 'null'}]}, 'string or null'),
        ({'enum': ['a', 1]}, 'one of ``"a"``, ``1``'),
    ],
)
def test_the_description_of_a_type(schema, words):
    assert TABLES.type_of(schema, 'x-') == words


def test_the_keys_of_objects_in_an_object():
    inner = {'type': 'object', 'properties': {'b': {'type': 'string', 'description': 'B.'}}}
    schema = {'properties': {'a': {'type': 'array', 'items': inner}}, 'required': ['a']}
    assert list(TABLES.rows(schema, '')) == [
        ('``a``', 'list of object', ''),
        ('``a[].b``', 'string; optional', 'B.'),
    ]
