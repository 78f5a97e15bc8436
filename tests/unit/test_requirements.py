"""Every requirement has a test that names it, and every id that is named is in the table.

``tests/mutants/requirements.py`` checks that the recorded test of a requirement detects a change of
the code.
"""

import ast
import inspect
import re
import textwrap
from pathlib import Path

from tests.support import tables

TESTS = Path(__file__).parents[1]
KEPT = TESTS / 'mutants/requirements.yaml'
ROWS = {row['id']: row for row in tables.load(KEPT.read_text(encoding='utf-8'))}

WRITTEN = re.compile(r'(?<![A-Za-z0-9])([DQRdqr][0-9Xx])[-_]([0-9]+)(?![0-9])')


def claims(path):
    """Return the texts that claim ids: names, docstrings and decorators of tests, and sources of
    rows.

    An id in a comment, or in another function, claims nothing.
    """
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.yaml':
        for row in tables.load(text):
            yield str(row.get('source', ''))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_'):
            yield from _claims(node)


def claims_of_function(function):
    """Return the same texts for one test."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return _claims(node)


def _claims(node):
    yield node.name
    yield ast.get_docstring(node) or ''
    yield from (ast.unparse(decorator) for decorator in node.decorator_list)


def named():
    """Return all ids that a test or a row claims, except in this file."""
    tests = [path for path in TESTS.rglob('test_*.py') if path != Path(__file__)]
    rows = TESTS.joinpath('cases').glob('*.yaml')
    return {
        '-'.join(found).upper()
        for path in (*tests, *rows)
        for claim in claims(path)
        for found in WRITTEN.findall(claim)
    }


def test_requirements_have_a_test():
    ours = {name for name, row in ROWS.items() if 'by' not in row}
    assert sorted(ours - named()) == []
    assert sorted(name for name in ours if not TESTS.parent.joinpath(_file(name)).is_file()) == []


def _file(name):
    return ROWS[name]['test'].partition('::')[0]


def test_each_requirement_has_a_mutant_or_a_reason():
    kinds = {'mutant', 'no_mutant', 'by'}
    assert [name for name, row in ROWS.items() if len(kinds & {*row}) != 1 or not row['text']] == []


def test_every_claimed_id_is_in_the_table():
    found = {
        f'{kind}-{int(number)}' if kind[0] == 'Q' else f'{kind}-{number}': path
        for folder, pattern in (('tests', '*.py'), ('tests', '*.yaml'), ('doc/source', '*.rst'))
        for path in (TESTS.parent / folder).rglob(pattern)
        for kind, number in WRITTEN.findall(path.read_text(encoding='utf-8').upper())
    }
    assert {name: path for name, path in found.items() if name not in ROWS} == {}
