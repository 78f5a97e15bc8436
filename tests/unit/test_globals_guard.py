"""The pure packages have no mutable globals, so that no question affects the next one.

A table at the top of a module is a ``Mapping``, which mypy does not let code write to; all other
globals are tuples, frozensets or frozen.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / 'senlin_affinity'
MODULES = sorted(
    path
    for layer in ('model', 'nova', 'engine', 'constraints')
    for path in PACKAGE.glob(f'{layer}/**/*.py')
)
DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
MADE_BY = frozenset(
    'bytearray Counter defaultdict deque dict list OrderedDict set count cycle iter'.split()
)


def changing(text):
    """Yield the mutable globals of a module, each with its line."""
    tree = ast.parse(text)
    found = [each.lineno for each in ast.walk(tree) if isinstance(each, ast.Global)]
    for each in tree.body:
        if not isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign) or each.value is None:
            continue
        kind = ast.unparse(each.annotation) if isinstance(each, ast.AnnAssign) else ''
        is_table = kind.startswith('Mapping[')
        if not is_table and any(map(is_mutable, parts(each.value))):
            found.append(each.lineno)
    return sorted(found)


def parts(value):
    """Yield the value and, recursively, the parts of a tuple or an object."""
    yield value
    if isinstance(value, ast.Tuple):
        for each in value.elts:
            yield from parts(each)
    if isinstance(value, ast.BinOp):
        yield from (*parts(value.left), *parts(value.right))


def is_mutable(value):
    called = ast.unparse(value.func).rpartition('.')[2] if isinstance(value, ast.Call) else ''
    return isinstance(value, DISPLAYS) or called in MADE_BY


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_has_no_global_that_can_change(path):
    assert changing(path.read_text(encoding='utf-8')) == []


@pytest.mark.parametrize(
    'text',
    [
        'x = {}',
        'x = []',
        'x = {1}',
        'x: dict[str, int] = {}',
        'x = {each: 1 for each in y}',
        'x = [each for each in y]',
        'x = collections.defaultdict(list)',
        'x = dict(a=1)',
        'x = ([], 1)',
        'x = {} | y',
        'x = itertools.count()',
        'def f():\n    global x',
    ],
)
def test_mutable_values_are_found(text):
    assert changing(text)
