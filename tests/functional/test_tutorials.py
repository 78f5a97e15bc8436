"""The commands of the tutorials print what their pages show, on a real Nova, Placement and Senlin.

With WRITE=1 in the environment, a page gets the new output: check the difference, and commit it.
"""

import os
import re
import textwrap

import pytest

from senlin_affinity.sandbox.supervisor import Wanted
from tests.support.transcripts import ROOT, SOURCE, commands, run, same

#: Commands that start, choose or end the cloud; ``test_sandbox_command`` runs them.
ELSEWHERE = re.compile(r'make |\. \.venv/|senlin-affinity sandbox|export ')


#: The clouds of pages that name one with ``--cloud``.
CLOUDS = dict.fromkeys(
    ('howto/before-maintenance', 'howto/resilience'), 'etc/senlin-affinity/clouds/maintenance.yaml'
)


@pytest.fixture
def cloud(tmp_path, page):
    """Return the environment of a user of the cloud of ``sandbox up``."""
    file = CLOUDS.get(page)
    wanted = Wanted() if file is None else Wanted(str(ROOT / file), senlin=False)
    with wanted.made(lambda _stage: None) as running:
        file = tmp_path / 'clouds.yaml'
        file.write_text(running.clouds_yaml(), encoding='utf-8')
        yield {'OS_CLIENT_CONFIG_FILE': str(file)}


@pytest.mark.parametrize(
    ('page', 'user'),
    [
        ('start/ask-from-python', 'sandbox'),
        pytest.param('start/spread-a-cluster', 'sandbox-demo', marks=pytest.mark.long),
        pytest.param('start/explain-a-failed-server', 'sandbox', marks=pytest.mark.long),
        pytest.param('howto/before-maintenance', 'sandbox', marks=pytest.mark.nightly),
        pytest.param('howto/resilience', 'sandbox', marks=pytest.mark.long),
    ],
)
def test_a_tutorial_shows_what_its_commands_print(cloud, page, user):
    path = SOURCE / f'{page}.rst'
    text = path.read_text(encoding='utf-8')
    wrong = []
    for command, shown in commands(text):
        if ELSEWHERE.match(command):
            continue
        printed = run(command, **cloud, OS_CLOUD=user)
        if same(printed) != same(shown):
            wrong.append((command, shown, printed))
    if os.environ.get('WRITE'):
        path.write_text(rewritten(text, wrong), encoding='utf-8')
    assert wrong == []


def rewritten(text, wrong):
    """Return the page with the output that the commands printed."""
    for command, shown, printed in wrong:
        head = command.split('\n')[0]
        indent = re.search(rf'^( +)\$ {re.escape(head)}$', text, re.MULTILINE)[1]
        old = textwrap.indent(f'$ {command}\n{shown}'.rstrip('\n'), indent)
        new = textwrap.indent(f'$ {command}\n{printed}'.rstrip('\n'), indent)
        text = text.replace(old, new, 1)
    return text
