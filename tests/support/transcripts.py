"""Run the commands of a page of the manual, and compare their output with the page."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / 'doc/source'
#: A ``console`` block: its indentation, its lines.
BLOCK = re.compile(r'^( *)\.\. code-block:: console\n\n((?:(?:\1 {3}.*)?\n)+)', re.MULTILINE)
#: What differs from run to run.
VARYING = (
    (r'[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}', 'ID'),
    (r'\d{4}-\d\d-\d\d \d\d:\d\d UTC', 'TIME'),
    # A note for two minutes after the failure.
    (r'For two minutes .*?\n\n', '\n'),
)


def commands(text):
    """Return the commands of a page, each with its output, as the page shows them."""
    found = []
    for indent, body in BLOCK.findall(text):
        width = len(indent) + 3
        lines = [line[width:] for line in body.rstrip('\n').split('\n')]
        for line in lines:
            if line.startswith('$ '):
                found.append([line[2:], []])
            elif found[-1][0].endswith('\\'):
                found[-1][0] += f'\n{line}'
            else:
                found[-1][1].append(line)
    return [(command, '\n'.join(output).strip('\n')) for command, output in found]


def run(command, **environment):
    """Run a command in the checkout, as in a terminal of 80 columns; return what it prints."""
    path = f'{Path(sys.executable).parent}:/usr/bin:/bin'
    # The commands write caches in their home directory.
    with tempfile.TemporaryDirectory() as home:
        more = {'PATH': path, 'COLUMNS': '80', 'LC_ALL': 'C.UTF-8', 'HOME': home}
        done = subprocess.run(
            ['bash', '-c', command],
            cwd=ROOT,
            env={**more, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
    return '\n'.join(line.rstrip() for line in done.stdout.split('\n')).strip('\n')


def same(text):
    """Return the text without what differs from run to run."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.DOTALL)
    return ' '.join(text.split())
