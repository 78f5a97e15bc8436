"""Replace the code of one function in this process.

Every function object keeps its identity. Every place that imported, decorated or stored it
therefore runs the new code: methods, properties, cached properties and context managers, too.
"""

from __future__ import annotations

import ast
import gc
import types
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.mutants.operators import functions_of

#: A file's path and a qualified name.
Name = tuple[str, str]


def functions(package: Path) -> dict[Name, list[types.FunctionType]]:
    """Return all function objects of the package in this process, by file and name."""
    found: dict[Name, list[types.FunctionType]] = {}
    gc.unfreeze()  # tests/conftest.py freezes what pytest collects
    for item in gc.get_objects():
        # isinstance would ask a weak proxy for its class, which fails once its object is gone.
        if type(item) is types.FunctionType:
            code = item.__code__
            if (
                Path(code.co_filename).is_relative_to(package)
                and '<locals>' not in code.co_qualname
            ):
                found.setdefault((code.co_filename, code.co_qualname), []).append(item)
    return found


def exchange(
    known: Mapping[Name, list[types.FunctionType]], path: Path, name: str, source: str
) -> bool:
    """Compile this source as the code of the function; return False if that is not possible."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    (new,) = ast.parse(source).body
    for found, owner, function in functions_of(tree):
        if found == name:
            owner.body[owner.body.index(function)] = new
    held = known.get((str(path), name), [])
    codes = [each for each in _codes(compile(tree, str(path), 'exec')) if each.co_qualname == name]
    if not held or len(codes) != len({item.__code__ for item in held}):
        return False
    lines = sorted({item.__code__.co_firstlineno for item in held})
    by_line = dict(zip(lines, sorted(codes, key=lambda code: code.co_firstlineno), strict=True))
    pairs = [(item, by_line[item.__code__.co_firstlineno]) for item in held]
    if any(item.__code__.co_freevars != code.co_freevars for item, code in pairs):
        return False
    for item, code in pairs:
        item.__code__ = code
    return True


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of the functions of a module and of its classes, without nested functions."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if '<locals>' in constant.co_qualname or constant.co_name.startswith('<'):
                continue
            if constant.co_flags & 0x2:  # CO_NEWLOCALS: a function, not a class body
                yield constant
            else:
                yield from _codes(constant)
