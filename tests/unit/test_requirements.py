"""Every requirement has a test that names it and notices when it does not hold.

That a name alone holds nothing is what ``tests/mutants/requirements.py`` is for: it checks that the
test which is kept for a requirement fails for a mutant of the code.

The ids are those of the requirements that this project keeps on a client (documents 000 to 004),
of the places where the documents and the shipped software differ, and of the questions decided.
"""

import ast
import inspect
import re
import textwrap
from pathlib import Path

import pytest

from tests.support import tables

TESTS = Path(__file__).parents[1]

IDS = """
    R0-01 R0-02 R0-03 R0-04 R0-05 R0-06 R0-07 R0-08 R0-09 R0-10 R0-11
    R0-12 R0-13 R0-14 R0-15 R0-16 R0-17 R0-18 R0-19 R0-20 R0-21 R0-22
    R0-23 R0-24 R0-25 R0-26 R0-27 R0-28 R0-29 R0-30 R0-31 R0-32 R0-33
    D0-01 D0-02 D0-03 D0-04 D0-05 D0-06 D0-07 D0-08 D0-09 D0-10 D0-11
    D0-12 D0-13 D0-14 D0-16 D0-17
    Q0-1 Q0-2 Q0-3 Q0-4 Q0-5 Q0-6 Q0-7 Q0-8 Q0-9 Q0-10 Q0-11 Q0-12
    R1-01 R1-02 R1-03 R1-04 R1-05 R1-06 R1-07 R1-08 R1-09 R1-10
    R1-11 R1-12 R1-13 R1-14 R1-15 R1-16 R1-17 R1-18
    R1-30 R1-31 R1-32 R1-33 R1-34 R1-35 R1-36 R1-37 R1-38 R1-39 R1-40 R1-41 R1-42
    D1-01 D1-02 D1-05 D1-06 D1-07 D1-08 D1-09 D1-10 D1-11 D1-12
    Q1-1 Q1-2 Q1-3 Q1-4
    R2-01 R2-02 R2-03 R2-04 R2-05 R2-06 R2-07 R2-08 R2-09 R2-10 R2-12 R2-13 R2-15
    D2-01 D2-02 D2-06 D2-10 D2-12
    R3-01 R3-02 R3-03 R3-04 R3-05 R3-06 R3-07 R3-08 R3-09 R3-10
    R3-11 R3-12 R3-13 R3-14 R3-15 R3-16 R3-17 R3-18 R3-19 R3-20
    R3-21 R3-22 R3-23 R3-24 R3-25 R3-26 R3-27 R3-28 R3-29 R3-30
    D3-01 D3-02 D3-03 D3-04 D3-05 D3-06 D3-07 D3-08 D3-09
    D3-10 D3-11 D3-12 D3-13 D3-14 D3-15 D3-16 D3-17 D3-18
    Q2-1 Q2-2 Q2-3
    Q3-1 Q3-2 Q3-3 Q3-4 Q3-5 Q3-6 Q3-7 Q3-8 Q3-9 Q3-10 Q3-11 Q3-12 Q3-13
    R4-01 R4-02 R4-03 R4-04 R4-05 R4-06 R4-07 R4-08 R4-09 R4-10
    R4-11 R4-12 R4-13 R4-14 R4-15 R4-16 R4-17 R4-18 R4-19 R4-20
    D4-01 D4-02 D4-03 D4-04 D4-05 D4-06 D4-07 D4-08 D4-09 D4-10 D4-11 D4-12
    Q4-1 Q4-2 Q4-3 Q4-4 Q4-5
    RX-01 RX-02 RX-03 RX-04 RX-05 RX-06 RX-07 RX-08 RX-09
"""
REQUIREMENTS = IDS.split()


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


@pytest.fixture(scope='module')
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


@pytest.mark.parametrize('requirement', REQUIREMENTS)
def test_requirement_has_a_test(named, requirement):
    assert requirement in named


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
