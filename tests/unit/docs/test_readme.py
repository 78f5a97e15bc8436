"""The README quotes a policy and commands that exist, and fits into 80 columns."""

import re

from tests.unit.docs.test_manual import ROOT

README = (ROOT / 'README.rst').read_text(encoding='utf-8')


def test_the_quoted_policy_equals_the_file():
    path, block = re.search(r'\n``(\S+)`` is a policy::\n\n((?:    .*\n|\n)+)', README).groups()
    quoted = ''.join(line.removeprefix('    ') for line in block.splitlines(keepends=True))
    assert quoted.strip() == (ROOT / path).read_text(encoding='utf-8').strip()


def test_the_commands_of_the_quick_start_exist():
    """The CI runs the command for the tests."""
    targets = re.findall(r'^    make (\w+)$', README, re.MULTILINE)
    assert targets == ['demo', 'test']
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert all(f'\n{target}: ' in makefile for target in targets)
    assert '\nmake test <' in (ROOT / '.ci/run').read_text(encoding='utf-8')


def test_every_line_fits_into_80_columns():
    assert [line for line in README.splitlines() if len(line) > 80] == []
