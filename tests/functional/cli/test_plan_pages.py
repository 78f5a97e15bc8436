"""The output of ``plan`` and ``capacity`` in the README and the manual fits into 80 columns."""

import argparse
import re
import shlex
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from senlin_affinity import api
from senlin_affinity.cli.plan import Plan
from senlin_affinity.cloud import snapshot_file
from tests.support import command
from tests.unit.docs.test_manual import table

ROOT = Path(__file__).parents[3]
README = (ROOT / 'README.rst').read_text(encoding='utf-8')
COMMANDS = (ROOT / 'doc/source/reference/command.rst').read_text(encoding='utf-8')
CAPACITY = (ROOT / 'doc/source/howto/capacity.rst').read_text(encoding='utf-8')
STACK = (ROOT / 'doc/source/howto/stack.rst').read_text(encoding='utf-8')
ETC = ROOT / 'etc/senlin-affinity'
SHOWN = 'plan|capacity|host show'
A_COMMAND = re.compile(
    rf'    \$ (?:\S*/)?senlin-affinity ((?:{SHOWN}) (?:.*\\\n)*.*)\n((?:    .*\n|\n)*)'
)


def shown_commands():
    """Yield the commands that need no cloud, with their folder and output."""
    pages = (
        ('README', README, ROOT),
        ('command.rst', COMMANDS, ETC),
        ('capacity.rst', CAPACITY, ETC),
        ('stack.rst', STACK, ETC),
    )
    for name, text, folder in pages:
        for number, (line, output) in enumerate(A_COMMAND.findall(text), 1):
            words = textwrap.dedent(output).strip()
            # The README is indented by four columns.
            width = '76' if name == 'README' else '80'
            yield pytest.param(line, folder, words, width, id=f'{name}-{number}')


@pytest.mark.parametrize(('shown_command', 'folder', 'output', 'width'), shown_commands())
def test_a_command_prints_the_documented_output(shown_command, folder, output, width):
    arguments = shlex.split(shown_command.replace('\\\n', ''))
    done = command.run(*arguments, folder=folder, COLUMNS=width)
    assert (done.stdout or done.stderr).strip() == output


def test_all_documented_commands_are_found():
    names = [param.id for param in shown_commands()]
    commands = [f'command.rst-{number}' for number in (1, 2, 3, 4, 5, 6, 7)]
    stacks = [f'stack.rst-{number}' for number in (1, 2, 3, 4)]
    assert names == ['README-1', *commands, 'capacity.rst-1', 'capacity.rst-2', *stacks]


def test_the_library_call_of_the_readme_works_in_ten_lines(capsys, monkeypatch):
    block = README.partition('question)``::\n\n')[2]
    code = textwrap.dedent(re.split(r'\n(?=\S)', block, maxsplit=1)[0]).strip()
    assert len(code.splitlines()) <= 10
    monkeypatch.chdir(ROOT)
    exec(compile(code, 'README.rst', 'exec'), {})
    snapshot = snapshot_file.load(ETC / 'snapshots/two-hosts.json')
    decision = api.answer(api.Question(6, 'm1.small', server_group='web'), snapshot)
    lines = capsys.readouterr().out.splitlines()
    note = '(more of its servers may share a host)'
    assert lines[:3] == ['False 2 2', decision.line(), f'max_server_per_host: 3 {note} 6']
    assert len(lines) == 2 + len(decision.remedies)


def test_every_documented_option_exists():
    parser = Plan(SimpleNamespace(), argparse.Namespace()).get_parser('plan')
    options = {
        ' '.join(filter(None, (action.option_strings[0], action.metavar)))
        for group in parser._action_groups
        if group.title == 'options'
        for action in group._group_actions
        if action.dest != 'help'
    }
    assert {row[0] for row in table(COMMANDS, 'plan-options')} <= options
