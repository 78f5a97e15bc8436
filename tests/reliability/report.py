"""What a part of the proof came to, as a plain value, and the page of the manual made of all.

Shapes: ``Part('fault matrix', 5000, Counter(done=4000, refused=1000), ())``. What is broken is
``(case, kind, words)``; a case is written so that ``soak --only`` runs it again.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from tests.reliability.promises import FOREIGN, HANG, KINDS, LEAK

#: A case, the kind of the promise, and words.
Broken = tuple[str, str, str]
#: What the page names the versions of.
_PACKAGES = ('senlin-affinity', 'senlin', 'nova', 'openstack-placement', 'openstacksdk')


@dataclass(frozen=True)
class Part:
    """One part: so many cases, how they ended, and which promises were broken in which of them.

    ``missed`` are those of which it is known (:mod:`tests.reliability.missed`), with the reason.
    """

    name: str
    cases: int
    outcomes: Counter[str]
    broken: tuple[Broken, ...] = ()
    missed: tuple[Broken, ...] = ()
    seconds: float = 0.0
    text: str = field(default='', repr=False)

    def line(self) -> str:
        """One line for the terminal."""
        ended = ', '.join(f'{number} {name}' for name, number in sorted(self.outcomes.items()))
        return f'{self.name}: {self.cases} cases in {self.seconds:.0f} s: {ended}; {self._lost()}'

    def counts(self) -> Counter[str]:
        """How often each kind of promise was broken, known or not."""
        return Counter(kind for _case, kind, _words in (*self.broken, *self.missed))

    def _lost(self) -> str:
        counts = self.counts()
        shown = [kind for kind in KINDS if counts[kind] or kind in (LEAK, FOREIGN, HANG)]
        known = f' ({len(self.missed)} of them known)' if self.missed else ''
        return ', '.join(f'{kind}: {counts[kind]}' for kind in shown) + known


def load(path: Path | None) -> dict[str, Part]:
    """The parts that were kept in a file; none where there is no file."""
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding='utf-8'))
    return {
        name: Part(
            **{
                **part,
                'outcomes': Counter(part['outcomes']),
                'broken': tuple(map(tuple, part['broken'])),
                'missed': tuple(map(tuple, part['missed'])),
            }
        )
        for name, part in kept.items()
    }


def save(parts: Mapping[str, Part], path: Path | None) -> None:
    """Keep the parts in a file; None: do not."""
    if path is not None:
        kept = {name: vars(part) for name, part in parts.items()}
        path.write_text(json.dumps(kept), encoding='utf-8')


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A list-table."""
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in (head, *rows):
        lines += [f'   {"*" if not number else " "} - {cell}' for number, cell in enumerate(row)]
    return '\n'.join(lines) + '\n'


def page(parts: Sequence[Part]) -> str:
    """The results, as they are included by the manual."""
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in _PACKAGES)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    head = ('Part', 'Cases', 'How they ended', *(kind.capitalize() for kind in KINDS))
    rows = [
        (
            part.name,
            part.cases,
            ', '.join(f'{number} {name}' for name, number in sorted(part.outcomes.items())),
            *(part.counts()[kind] for kind in KINDS),
        )
        for part in parts
    ]
    minutes = sum(part.seconds for part in parts) / 60
    pieces = [
        '.. "make soak" has written this.\n',
        f'On {today}, with Python {platform.python_version()}, {versions}; '
        f'{minutes:.0f} minutes.\n',
        table(head, rows),
    ]
    for title, lost in (
        ('What did not hold:\n', _broken(parts)),
        ('What is known not to hold:\n', _known(parts)),
    ):
        if lost:
            pieces += [title, table(('Part', 'Case', 'What', 'Words'), lost)]
    pieces += [part.text for part in parts if part.text]
    return '\n'.join(pieces)


def _broken(parts: Sequence[Part]) -> list[tuple[object, ...]]:
    return [
        (part.name, f'``{case}``', kind, f'``{words.replace("`", " ").strip()}``')
        for part in parts
        for case, kind, words in part.broken
    ]


def _known(parts: Sequence[Part]) -> list[tuple[object, ...]]:
    counts = Counter((part.name, kind, why) for part in parts for _case, kind, why in part.missed)
    return [(name, f'{number} cases', kind, why) for (name, kind, why), number in counts.items()]
