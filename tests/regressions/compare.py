"""Tells every story to both versions of the policy, and writes the table of the manual.

    python -m tests.regressions.compare [--write doc/source/admin/in-tree-table.rst]

Shapes::

    run(cloud, (IN_TREE, OURS)) -> [Row('S2: ...', {'1.0': Outcome(True), '1.1': Outcome(True)})]
    read(render(rows)) == {'S2: ...': {'1.0': True, '1.1': True}}

Errors: those of the stage.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tests.regressions.stage import CLOUD, IN_TREE, OURS, Outcome, Theatre
from tests.regressions.stories import STORIES
from tests.support.sandbox import SandboxCloud

TABLE = Path(__file__).parents[2] / 'doc' / 'source' / 'admin' / 'in-tree-table.rst'
_VERSIONS = (IN_TREE, OURS)
_HEADS = ("Senlin's own policy, 1.0", "This project's, 1.1")
_DISTRIBUTIONS = ('senlin', 'nova', 'openstack-placement', 'openstacksdk')
_PASSED, _FAILED = 'passed', '**failed**'


@dataclass(frozen=True)
class Row:
    """A story's title, and how it ended for each version of the policy."""

    title: str
    outcomes: Mapping[str, Outcome]


def run(
    cloud: SandboxCloud,
    versions: Sequence[str] = _VERSIONS,
    told: Callable[[Row], object] = lambda _row: None,
) -> list[Row]:
    """Tell all stories on a cloud with the hosts of the stage; ``told`` is called after each."""
    theatre, rows = Theatre(cloud), []
    for story in STORIES:
        row = Row(story.title, {version: theatre.play(story, version) for version in versions})
        rows.append(row)
        told(row)
    return rows


def render(rows: Sequence[Row], ran_with: str = '') -> str:
    """The table in reStructuredText."""
    lines = [
        '.. Written by "python -m tests.regressions.compare --write"; do not edit.\n',
        f'.. list-table:: {ran_with}'.rstrip(),
        '   :header-rows: 1\n   :widths: 40 45 15\n',
    ]
    cells = [('Story', *_HEADS)]
    cells += [
        (row.title, *(_words(row.outcomes[version]) for version in _VERSIONS)) for row in rows
    ]
    passed = [sum(row.outcomes[version].is_passed for row in rows) for version in _VERSIONS]
    cells.append(('**All**', *(f'{count} of {len(rows)} passed' for count in passed)))
    written = ('   * - ' + '\n     - '.join(each) for each in cells)
    return '\n'.join([*lines, *written, ''])


def _words(outcome: Outcome) -> str:
    if outcome.is_passed:
        return _PASSED
    return f'{_FAILED}: ``{outcome.line.replace("`", chr(39))}``'


def read(text: str) -> dict[str, dict[str, bool]]:
    """What a table says: story's title -> version -> whether it passed."""
    cells = iter(re.findall('^   [* ] - (.+)$', text, re.MULTILINE))
    _head, *rows, _sum = zip(cells, cells, cells, strict=True)
    return {
        title: {version: cell == _PASSED for version, cell in zip(_VERSIONS, outcomes, strict=True)}
        for title, *outcomes in rows
    }


def _ran_with() -> str:
    """The caption: what ran, and when."""
    versions = ', '.join(f'{name} {metadata.version(name)}' for name in _DISTRIBUTIONS)
    return f'The same stories, told to both policies ({versions}; {datetime.date.today()})'


def _say(row: Row) -> None:
    for version, outcome in row.outcomes.items():
        sys.stdout.write(f'{version}  {row.title}\n     {outcome.line or _PASSED}\n')
    sys.stdout.flush()


def main() -> int:
    """Start the cloud, run, write; 1 if a story failed for this project's policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', type=Path, metavar='FILE', help='write the table there')
    arguments = parser.parse_args()
    with SandboxCloud(**CLOUD) as cloud:
        try:
            rows = run(cloud, told=_say)
        except Exception:
            sys.stderr.write(f"the end of the sandbox's logs\n{cloud.logs()}\n")
            raise
    if arguments.write:
        arguments.write.write_text(render(rows, _ran_with()), encoding='utf-8')
    return int(not all(row.outcomes[OURS].is_passed for row in rows))


if __name__ == '__main__':
    sys.exit(main())
