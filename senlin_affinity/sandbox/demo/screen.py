"""Print the demo's steps, tables and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

#: Replacements for terminals without UTF-8.
_ASCII = str.maketrans('■✓✗', '#vx')


@dataclass
class Screen:
    """The output of the demo, which counts the checks."""

    console: Console = field(default_factory=Console)
    passed: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def _is_ascii(self) -> bool:
        return self.console.options.ascii_only

    def _signed(self, text: str) -> str:
        return text.translate(_ASCII) if self._is_ascii else text

    def title(self, text: str) -> None:
        """Print the title of a chapter."""
        self.console.print()
        self.console.print(Rule(Text(text, style='bold'), align='left', style='dim'))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self.console.print(Padding(Text(text), (0, 0, 0, 2), expand=False))

    def quote(self, source: str, text: str) -> None:
        """Print a text that a user reads."""
        line = Text.assemble((f'{source}: ', 'dim'), (text, 'italic'))
        self.console.print(Padding(line, (0, 2, 0, 4), expand=False))

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show progress during a with block; yield a function that shows a stage."""
        if self.console.is_terminal:
            spinner = 'line' if self._is_ascii else 'dots'
            with self.console.status(Text(text), spinner=spinner) as status:
                yield lambda stage: status.update(Text(f'{text}: {stage}'))
            return

        def tell(stage: str) -> None:
            self.console.print(Text(f'  ... {stage}', style='dim'))

        tell(text)
        yield tell

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows below their headings."""
        table = Table(header_style='bold', border_style='dim', pad_edge=True)
        for column in columns:
            table.add_column(column, overflow='fold')
        for row in rows:
            table.add_row(*(Text(self._signed(cell)) for cell in row))
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def check(self, what: str, expected: object, found: object) -> None:
        """Compare two values; print and record the result."""
        if expected == found:
            self.passed += 1
            self.console.print(Text.assemble((self._signed('  ✓ '), 'bold green'), what))
            return
        self.failed.append(what)
        words = f'{what}: expected {expected!r}, found {found!r}'
        self.console.print(Text.assemble((self._signed('  ✗ '), 'bold red'), words))

    def summary(self) -> bool:
        """Print the result of the checks; return whether all passed."""
        self.console.print()
        if number := len(self.failed):
            words = f'{number} of {number + self.passed} checks failed:'
            self.console.print(Text(words, 'red'))
            for what in self.failed:
                self.console.print(Text(self._signed(f'  ✗ {what}')))
        else:
            self.console.print(Text(f'All {self.passed} checks passed.', 'bold green'))
        words = 'The sandbox has ended, and left no process and no directory.'
        self.console.print(Text(words, 'dim'))
        return not self.failed
