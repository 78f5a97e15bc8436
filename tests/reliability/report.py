"""Results of the reliability tests: a value for each part, and a page of the manual.

Example: ``Part('fault matrix', 5000, Counter(done=4000, refused=1000))``. Each broken promise is
``(case, kind, words)``; ``soak --only`` runs the case again.
"""

from __future__ import annotations

import datetime
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata

from tests.reliability.promises import FOREIGN, HANG, KINDS, LEAK

#: A case, the kind of the promise, and words.
Broken = tuple[str, str, str]
#: What the page names the versions of.
_PACKAGES = ('senlin-affinity', 'senlin', 'nova', 'openstack-placement', 'openstacksdk')


@dataclass(frozen=True)
class Part:
    """One part: the number of cases, their outcomes, and the promises that they broke."""

    name: str
    cases: int
    outcomes: Counter[str]
    broken: tuple[Broken, ...] = ()
    seconds: float = 0.0

    def line(self) -> str:
        """One line for the terminal."""
        ended = ', '.join(f'{number} {name}' for name, number in sorted(self.outcomes.items()))
        return f'{self.name}: {self.cases} cases in {self.seconds:.0f} s: {ended}; {self._lost()}'

    def counts(self) -> Counter[str]:
        """Count the broken promises of each kind."""
        return Counter(kind for _case, kind, _words in self.broken)

    def _lost(self) -> str:
        counts = self.counts()
        shown = [kind for kind in KINDS if counts[kind] or kind in (LEAK, FOREIGN, HANG)]
        return ', '.join(f'{kind}: {counts[kind]}' for kind in shown)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A list-table."""
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in (head, *rows):
        lines += [f'   {"*" if not number else " "} - {cell}' for number, cell in enumerate(row)]
    return '\n'.join(lines) + '\n'


def page(parts: Sequence[Part]) -> str:
    """Return the results as the manual includes them: one summary, and the violations."""
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in _PACKAGES)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    rows = [
        (
            part.name,
            part.cases,
            ', '.join(f'{number} {name}' for name, number in sorted(part.outcomes.items())),
            ', '.join(f'{number} {kind}' for kind, number in part.counts().items()) or 'none',
        )
        for part in parts
    ]
    minutes = sum(part.seconds for part in parts) / 60
    pieces = [
        '.. Written by "make soak".\n',
        f'On {today}, with Python {platform.python_version()}, {versions}; '
        f'{minutes:.0f} minutes.\n',
        table(('Part', 'Cases', 'Outcomes', 'Violations'), rows),
    ]
    broken = [
        (part.name, f'``{case}``', kind, f'``{words.replace("`", " ").strip()}``')
        for part in parts
        for case, kind, words in part.broken
    ]
    if broken:
        lost = table(('Part', 'Case', 'Promise', 'Details'), broken)
        pieces += ['Violations:\n', lost]
    return '\n'.join(pieces)
