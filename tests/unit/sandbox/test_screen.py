"""The output of the demo: symbols that the stream can encode, and the results of checks."""

import io

import pytest
from rich.console import Console

from senlin_affinity.sandbox.demo.screen import Screen

SAID = """\
  {yes} the group is there
  {no} three servers: expected 3, found 2
  +-------+
  | host  |
  |-------|
  | {one} {one}   |
  +-------+

1 of 2 checks failed:
  {no} three servers
The sandbox has ended, and left no process and no directory.
"""


@pytest.mark.parametrize('is_terminal', [False, True])
@pytest.mark.parametrize(
    ('encoding', 'signs'),
    [('ascii', 'vx#'), ('latin-1', 'vx#'), ('utf-8', '✓✗■')],
)
def test_checks_tables_and_the_end(encoding, signs, is_terminal):
    output = io.BytesIO()
    file = io.TextIOWrapper(output, encoding=encoding)
    console = Console(file=file, width=60, force_terminal=is_terminal, color_system=None)
    screen = Screen(console)
    with screen.working('looking') as tell:
        tell('at the group')
    screen.check('the group is there', 1, 1)
    screen.check('three servers', 3, 2)
    screen.table(['host'], [['■ ■  ']])
    assert screen.summary() is False
    file.flush()
    said = output.getvalue().decode(encoding)
    expected = SAID.format(**dict(zip(('yes', 'no', 'one'), signs, strict=True)))
    lines = expected.splitlines()
    if encoding == 'utf-8':
        lines = [line for line in lines if '--' not in line and '|' not in line]
    assert [line for line in lines if line.rstrip() not in said] == []
