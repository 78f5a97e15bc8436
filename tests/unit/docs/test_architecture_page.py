"""The paths and places on the page "Architecture" exist."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / 'senlin_affinity'
PAGE = (ROOT / 'doc/source/contribute/architecture.rst').read_text(encoding='utf-8')
STEP = re.compile(r'^   ( *)([\w.]+) +([\w/]+\.py|-)(?: |$)', re.MULTILINE)


@functools.cache
def functions(path):
    """Return the classes and functions of a module by their qualified names."""
    found = {}

    def visit(node, prefix):
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.ClassDef | ast.FunctionDef):
                found[f'{prefix}{each.name}'] = each
                if isinstance(each, ast.ClassDef):
                    visit(each, f'{prefix}{each.name}.')

    visit(ast.parse((PACKAGE / path).read_text(encoding='utf-8')), '')
    return found


def steps():
    """Return each path on the page: its steps, each as (depth, name, file)."""
    blocks = re.findall(r'^\.\. code-block:: text\n\n((?: .*\n)+)', PAGE, re.MULTILINE)
    paths = [
        [(len(found[1]) // 2, found[2], found[3]) for found in STEP.finditer(block)]
        for block in blocks
    ]
    assert [len(path) for path in paths] == [len(block.splitlines()) for block in blocks]
    return paths


def test_every_step_of_a_path_exists():
    every = {(name, file) for path in steps() for _depth, name, file in path if file != '-'}
    assert [step for step in sorted(every) if step[0] not in functions(step[1])] == []


def test_every_place_that_the_page_names_exists():
    places = re.findall(r'``([\w/]+\.py)(?::([\w.]+))?``', PAGE)
    assert len(places) > 30
    missing = []
    for file, name in places:
        path = file if (PACKAGE / file).exists() else None
        if path is None and not (ROOT / file).exists():
            missing.append(file)
        if name and name not in functions(path):
            missing.append((file, name))
    assert missing == []


def test_the_table_lists_every_package():
    rows = re.findall(
        r'^   \* - (``.+)$', PAGE.partition('The path of a scale-out')[0], re.MULTILINE
    )
    listed = [name for row in rows for name in re.findall(r'``(\w+)``', row)]
    packages = {path.parent.name for path in PACKAGE.glob('*/__init__.py')} | {'api', 'testing'}
    assert sorted(listed) == sorted(packages)
