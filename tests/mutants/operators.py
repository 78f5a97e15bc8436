"""Generate the mutants of a module: small mistakes that a programmer could make.

A :class:`Mutant` has the qualified name of a function, its mutated source, and a diff. The diff
compares the results of ``ast.unparse``; comments and line numbers do not matter.

Only the bodies of functions are mutated, because only they can be replaced in a running process.
Strings with a blank (sentences) and the ``strict`` of a ``zip`` are not mutated.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass


def _either(*pairs: tuple[type, type]) -> dict[type, type]:
    """Map the members of each pair to each other."""
    return {**dict(pairs), **{second: first for first, second in pairs}}


_COMPARED = {
    **_either((ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    **_either((ast.Lt, ast.LtE), (ast.Gt, ast.GtE)),
}
_CALCULATED = {
    **_either((ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.BitOr, ast.BitAnd)),
    ast.Mod: ast.Mult,
}
_CALLED = {'min': 'max', 'max': 'min', 'any': 'all', 'all': 'any'}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """A mistake in a function of ``path``; ``lines`` are those of the changed statement."""

    path: str
    function: str
    lines: range
    source: str
    diff: str

    @property
    def key(self) -> str:
        """Return an id that does not depend on the file: a digest of the function's name and the
        diff.
        """
        digest = hashlib.sha256(f'{self.function}\n{self.diff}'.encode()).hexdigest()
        return digest[:12]


def mutants(path: str, source: str, only: str | None = None) -> Iterator[Mutant]:
    """Yield the mutants of a module, or of one of its functions, in the order of the lines."""
    for name, _owner, function in functions_of(ast.parse(source)):
        if only not in (None, name):
            continue
        before = ast.unparse(function)
        seen = {before}
        for place, lines, change in _changes(function):
            twin = copy.deepcopy(function)
            change(_at(twin, place))
            after = ast.unparse(ast.fix_missing_locations(twin))
            if after in seen:
                continue
            seen.add(after)
            differences = difflib.unified_diff(
                before.splitlines(), after.splitlines(), lineterm='', n=1
            )
            diff = '\n'.join(each for each in list(differences)[2:] if not each.startswith('@@'))
            yield Mutant(path, name, lines, after, diff)


def in_module(source: str, mutant: Mutant) -> str:
    """Return the source of a module with a mutant."""
    lines = source.splitlines()
    for name, _owner, function in functions_of(ast.parse(source)):
        end = function.end_lineno or function.lineno
        if name == mutant.function and function.lineno < mutant.lines.start <= end:
            begin = min(each.lineno for each in (function, *function.decorator_list))
            text = textwrap.indent(mutant.source, ' ' * function.col_offset)
            lines[begin - 1 : end] = text.splitlines()
            break
    return '\n'.join([*lines, ''])


def functions_of(tree: ast.AST, prefix: str = '') -> Iterator[tuple[str, ast.AST, ast.FunctionDef]]:
    """Yield the functions and methods of a module, each with its name and its parent node.

    Nested functions belong to the function around them.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _FUNCTIONS):
            yield f'{prefix}{node.name}', tree, node
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node, f'{prefix}{node.name}.')
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from functions_of(node, prefix)


_Place = tuple[tuple[str, int | None], ...]
_Change = Callable[[ast.AST], None]


def _at(node: ast.AST, place: _Place) -> ast.AST:
    for field, index in place:
        value = getattr(node, field)
        node = value if index is None else value[index]
    return node


def _changes(function: ast.FunctionDef) -> Iterator[tuple[_Place, range, _Change]]:
    for index, statement in enumerate(function.body):
        if index > 0 or not _is_text(statement):
            yield from _within(statement, (('body', index),), function, range(0))


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _within(
    node: ast.AST, place: _Place, parent: ast.AST, lines: range
) -> Iterator[tuple[_Place, range, _Change]]:
    if isinstance(node, ast.stmt):
        body = getattr(node, 'body', None)
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = range(node.lineno, max(node.lineno, end) + 1)
    if _is_strict(node, parent) and ast.literal_eval(node.value):
        return
    for change in _of(node, parent):
        yield place, lines, change
    for field, value in ast.iter_fields(node):
        if field in ('annotation', 'returns', 'decorator_list', 'type_ignores', 'type_params'):
            continue
        if isinstance(value, ast.AST):
            yield from _within(value, (*place, (field, None)), node, lines)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST) and not (index == 0 and _is_text(item)):
                    yield from _within(item, (*place, (field, index)), node, lines)


def _of(node: ast.AST, parent: ast.AST) -> Iterator[_Change]:
    """Yield the changes of this node, without those of its children."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                other = _COMPARED.get(type(operator))
                if other is not None:
                    yield lambda twin, i=index, to=other: twin.ops.__setitem__(i, to())
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield lambda twin, to=other: setattr(twin, 'op', to())
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _CALCULATED:
            other = _CALCULATED[type(node.op)]
            yield lambda twin, to=other: setattr(twin, 'op', to())
        case ast.UnaryOp(op=ast.Not()):
            # "not x" to "not not x": the truth of x
            yield lambda twin: setattr(twin, 'operand', ast.UnaryOp(ast.Not(), twin.operand))
        case ast.Constant():
            yield from _of_constant(node, parent)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield lambda twin: setattr(twin, 'value', ast.Constant(None))
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield lambda twin, to=_CALLED[name]: setattr(twin.func, 'id', to)
        case ast.comprehension() if node.ifs:
            yield lambda twin: setattr(twin, 'ifs', [])
    if isinstance(node, ast.Call):
        for index, keyword in enumerate(node.keywords):
            if keyword.arg is not None and not _is_strict(keyword, node):
                yield lambda twin, i=index: twin.keywords.pop(i)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(
        node.test, ast.Compare | ast.UnaryOp
    ):
        yield lambda twin: setattr(twin, 'test', ast.UnaryOp(ast.Not(), twin.test))
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)


def _of_constant(node: ast.Constant, parent: ast.AST) -> Iterator[_Change]:
    value = node.value
    if isinstance(value, bool):
        yield lambda twin: setattr(twin, 'value', not value)
    elif isinstance(value, int):
        yield lambda twin: setattr(twin, 'value', value + 1)
    elif isinstance(value, str) and value and ' ' not in value and not _is_part(parent):
        yield lambda twin: setattr(twin, 'value', f'{value}x')


def _of_statement(node: ast.stmt) -> Iterator[_Change]:
    """Yield the changes that delete a statement, or swap ``break`` and ``continue``."""

    def become(twin: ast.AST, other: ast.stmt) -> None:
        twin.__class__ = type(other)  # type: ignore[assignment]
        twin.__dict__.update(vars(other))

    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield lambda twin: become(twin, ast.Pass())
        case ast.AugAssign():
            yield lambda twin: become(twin, ast.Pass())
        case ast.Break():
            yield lambda twin: become(twin, ast.Continue())
        case ast.Continue():
            yield lambda twin: become(twin, ast.Break())
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield lambda twin: become(twin, ast.Pass())


def _is_strict(node: ast.AST, parent: ast.AST) -> bool:
    """Check whether the node is the ``strict`` argument of a ``zip``.

    ``strict=True`` is an assertion, and ``strict=False`` is the default: no test can detect the
    change.
    """
    is_zip = isinstance(parent, ast.Call) and ast.unparse(parent.func) == 'zip'
    return is_zip and isinstance(node, ast.keyword) and node.arg == 'strict'


def _is_part(parent: ast.AST) -> bool:
    """Check whether the node is a part of an f-string."""
    return isinstance(parent, ast.JoinedStr | ast.FormattedValue)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
