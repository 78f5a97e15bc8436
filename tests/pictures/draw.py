"""Draw the picture of the README, and write its text into the manual: ``make pictures``.

A real Nova fails four servers that were requested together, and the command explains one of them on
a terminal of 80 columns. Its output becomes an SVG; the date and the id of the server group's
project are replaced, because they differ from run to run.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support import command
from tests.support.waiting import until

PICTURE = Path(__file__).parents[2] / 'doc/source/pictures/server-explain.svg'
HOSTS: dict[str, Any] = {f'cmp-{number}': {'memory_mb': 8192} for number in (1, 2, 3, 4, 5)}
HOSTS['cmp-4']['disabled'] = True
HOSTS['cmp-5']['memory_mb'] = 512
QUOTAS = {'instances': 10, 'server_group_members': 10}
FLAVORS = {'m1.small': {'id': 'm1.small', 'ram': 2048}}
LINE = ('server', 'explain', 'web-4')
COLUMNS = 80
PAGE = PICTURE.parents[1] / 'howto/no-valid-host.rst'
#: The command on the page, and the block with its output.
ON_PAGE = re.compile(rf'(    \$ .* {" ".join(LINE)}\n)(?:    .*\n|\n)+?(?=\S)')
#: A viewer that loads the picture loads nothing else.
FORMAT = re.sub(r'@font-face {{.*?}}', '', CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    """Write the picture and the page."""
    text = output()
    PICTURE.write_text(picture(text), encoding='utf-8')
    PAGE.write_text(page(text), encoding='utf-8')


def output() -> str:
    """Return the output of the command on a terminal, for a server of a real Nova."""
    with (
        SandboxCloud(HOSTS, flavors=FLAVORS, quotas=QUOTAS) as cloud,
        tempfile.TemporaryDirectory() as folder,
    ):
        compute = cloud.connection().compute
        group = compute.create_server_group(name='web', policy='anti-affinity').id
        server = {'name': 'web', 'flavorRef': 'm1.small', 'imageRef': cloud.image_id}
        server |= {'networks': 'none', 'min_count': 4, 'max_count': 4}
        body = {'server': server, 'os:scheduler_hints': {'group': group}}
        answer = compute.post('/servers', json=body, microversion='2.37')
        assert answer.status_code == 202, answer.text
        until(lambda: _states(compute) == ['ERROR'] * 4, 60, f'four failed\n{cloud.logs()}')
        (Path(folder) / 'clouds.yaml').write_text(cloud.clouds_yaml(), encoding='utf-8')
        return _stable(_on_a_terminal(folder))


def picture(text: str) -> str:
    """Return the SVG of a terminal with the command and its output."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(('$ ', 'dim'), f'senlin-affinity {" ".join(LINE)}'))
    console.print(Text.from_ansi(text), soft_wrap=True)
    drawn = console.export_svg(title='', code_format=FORMAT, unique_id='explain')
    return '\n'.join(line.rstrip() for line in drawn.splitlines()) + '\n'


def page(text: str) -> str:
    """Return the manual's page with the new output."""
    plain = textwrap.indent(re.sub(r'\x1b\[[\d;]*m', '', text).rstrip(), '    ')
    old = PAGE.read_text(encoding='utf-8')
    return ON_PAGE.sub(lambda found: f'{found[1]}{plain}\n\n', old, count=1)


def _states(compute: Any) -> list[str]:
    return [each.status for each in compute.servers()]


def _on_a_terminal(folder: str) -> str:
    """Run the command with a terminal as its standard output."""
    ours, theirs = os.openpty()
    environment = {**os.environ, 'COLUMNS': str(COLUMNS), 'TERM': 'xterm', 'OS_CLOUD': 'sandbox'}
    environment['OS_CLIENT_CONFIG_FILE'] = f'{folder}/clouds.yaml'
    with open(ours, 'rb', buffering=0) as terminal:
        with open(theirs, 'wb') as stream:
            done = subprocess.Popen([*command.LINE, *LINE], stdout=stream, env=environment)
        text = b''
        try:
            while part := terminal.read(4096):
                text += part
        except OSError:  # Linux: the other end is closed
            pass
        assert done.wait(60) == 3
    return text.decode().replace('\r\n', '\n')


def _stable(text: str) -> str:
    """Return the output without the parts that differ from run to run."""
    text = re.sub(r'\d{4}-\d\d-\d\d \d\d:\d\d UTC', '2026-11-26 09:14 UTC', text)
    return re.sub(r'\b[0-9a-f]{32}\b', '95fa2e1d491e5f6a992e54434b742680', text)


if __name__ == '__main__':
    main()
