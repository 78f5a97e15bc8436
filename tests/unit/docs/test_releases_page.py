"""The table of the page of releases shows that the tests of "make releases" passed."""

import re

from tests.releases.run import PARTS, RELEASES, ROOT, table

TABLE = (ROOT / 'doc/source/trust/releases-table.rst').read_text(encoding='utf-8')


def cells():
    found = [line.strip().removeprefix('* ').removeprefix('- ') for line in TABLE.splitlines()]
    return [each for each in found[5:] if each]


def rows():
    width = 4 + len(PARTS)
    return [cells()[at : at + width] for at in range(0, len(cells()), width)]


def test_each_row_is_a_pinned_release():
    pins = [
        re.search(r'^nova==(.+)$', (ROOT / constraints).read_text(encoding='utf-8'), re.MULTILINE)
        for _environment, constraints in RELEASES.values()
    ]
    _heading, *results = rows()
    assert [row[0] for row in results] == [pin[1] for pin in pins]


def test_the_command_has_written_the_table_and_every_test_passed():
    _heading, *results = rows()
    assert table(results) == TABLE
    assert all(re.fullmatch(r'[1-9]\d* passed', cell) for row in results for cell in row[4:])
