"""The rule tables themselves: rows have a name of their own, a source, and an outcome."""

import pytest

from tests.support import tables

TABLES = sorted(path.stem for path in tables.CASES.glob('*.yaml'))


@pytest.mark.parametrize('table', TABLES)
def test_rows_have_a_name_of_their_own_and_a_source(table):
    rows = tables.read(table)
    names = [row.get('name') for row in rows]
    assert all(names)
    assert sorted(set(names)) == sorted(names)
    assert all(row.get('source') for row in rows)
