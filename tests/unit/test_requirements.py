"""Every requirement has a test that names it and notices when it does not hold.

That a name alone holds nothing is what ``tests/mutants/requirements.py`` is for: it checks that the
test which is kept for a requirement fails for a mutant of the code.

The ids are those that the contributor's page says this project answers for.
"""

import ast
import inspect
import re
import textwrap
from pathlib import Path

from tests.support import tables
from tests.unit.docs.test_manual import requirements

TESTS = Path(__file__).parents[1]
REQUIREMENTS = [row[0] for row in requirements() if row[2] == 'this project']

WRITTEN = re.compile(r'(?<![A-Za-z0-9])([DQRdqr][0-9Xx])[-_]([0-9]+)(?![0-9])')


def claims(path):
    """What a file says of itself: a test's name, its docstring and its decorators; a row's source.

    An id in a comment, or in a helper, claims nothing.
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
    """The same for one test."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return _claims(node)


def _claims(node):
    yield node.name
    yield ast.get_docstring(node) or ''
    yield from (ast.unparse(decorator) for decorator in node.decorator_list)


def named():
    """All ids that a test or a row claims; this file does not count."""
    tests = [path for path in TESTS.rglob('test_*.py') if path != Path(__file__)]
    rows = TESTS.joinpath('cases').glob('*.yaml')
    return {
        '-'.join(found).upper()
        for path in (*tests, *rows)
        for claim in claims(path)
        for found in WRITTEN.findall(claim)
    }


def test_requirements_have_a_test():
    assert sorted({*REQUIREMENTS} - named()) == []


#: Those that no mutant of a function can show to offline tests, and why.
WITHOUT_MUTANT = {
    'R3-03': 'the triggers are an attribute of the class; its test compares all of them',
    **dict.fromkeys(
        ('D0-14', 'Q1-1', 'D4-07', 'D4-09', 'D4-12', 'Q4-5'), 'the real services are asked'
    ),
}


def test_each_requirement_has_a_mutant_that_its_test_notices():
    kept = [row['id'] for row in tables.load((TESTS / 'mutants/requirements.yaml').read_text())]
    assert sorted({*kept, *WITHOUT_MUTANT}) == sorted(REQUIREMENTS)
    assert len(kept) + len(WITHOUT_MUTANT) == len(REQUIREMENTS)
