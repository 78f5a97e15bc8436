"""Read the package's source: code lines, imports, docstrings and comments."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'senlin_affinity'
_IMPORTS = ast.Import | ast.ImportFrom
#: ruff puts two spaces before a comment that follows code.
_COMMENT = re.compile(r'(?:^ *|  )(#.*)')


@dataclass(frozen=True)
class Source:
    """The text of a Python file."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return all nodes of the syntax tree."""
        return [*ast.walk(self.tree)]

    @cached_property
    def docstrings(self) -> list[ast.Constant]:
        """Return the string literals that are statements."""
        values = [each.value for each in _statements(self.tree) if isinstance(each, ast.Expr)]
        texts = [each for each in values if isinstance(each, ast.Constant)]
        return [each for each in texts if isinstance(each.value, str)]

    @cached_property
    def code(self) -> list[str]:
        """Return the lines that are neither blank nor part of a docstring; some are comments."""
        hidden = set()
        for each in self.docstrings:
            hidden.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
        lines = enumerate(self.text.splitlines(), 1)
        return [line for number, line in lines if line.strip() and number not in hidden]

    @cached_property
    def code_lines(self) -> int:
        """Return the number of lines that are neither blank nor comments nor docstrings."""
        return sum(not line.lstrip().startswith('#') for line in self.code)

    @property
    def prose(self) -> str:
        """Return docstrings and comments in one line."""
        comments = [found[1] for line in self.code if (found := _COMMENT.search(line))]
        texts = [str(each.value) for each in self.docstrings]
        return in_one_line(' '.join(texts + [each.lstrip('#:') for each in comments]))

    @property
    def strings(self) -> str:
        """Return the strings that are not docstrings in one line."""
        hidden = {id(each) for each in self.docstrings}
        texts = (
            each.value
            for each in self.nodes
            if isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and id(each) not in hidden
        )
        return in_one_line(' | '.join(texts))

    @cached_property
    def names(self) -> set[str]:
        """Return the names that the file binds: variables, parameters, functions and classes."""
        found = set()
        for each in self.nodes:
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.add(each.id)
            elif isinstance(each, ast.arg):
                found.add(each.arg)
            elif isinstance(each, ast.FunctionDef | ast.ClassDef):
                found.add(each.name)
        return found

    def imports(self, modules: Mapping[str, object]) -> Iterator[str]:
        """Yield each of the given modules that this module imports."""
        for each in self.nodes:
            names = [each.name for each in each.names] if isinstance(each, _IMPORTS) else []
            if isinstance(each, ast.ImportFrom):
                wholes = [f'{each.module}.{name}' for name in names]
                names = [name if name in modules else str(each.module) for name in wholes]
            yield from (name for name in names if name in modules)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.stmt | ast.excepthandler | ast.match_case):
            yield each
            yield from _statements(each)


def in_one_line(text: str) -> str:
    """Return the text with one space between words."""
    return ' '.join(text.split())


def package_of(module: str) -> str:
    """Return the first part of a module's name below ``senlin_affinity``."""
    return [*module.split('.'), '__init__'][1]


def read(folder: Path) -> dict[str, Source]:
    """Read the Python files below a folder, by the names of their modules.

    The files that changed last come first, and so do their findings in a list that is cut.
    """
    files = sorted(folder.rglob('*.py'), key=lambda path: path.stat().st_mtime, reverse=True)
    names = ('.'.join(path.relative_to(folder.parent).with_suffix('').parts) for path in files)
    sources = zip(names, files, strict=True)
    return {
        (short := name.removesuffix('.__init__')): Source(short, path.read_text(encoding='utf-8'))
        for name, path in sources
    }
