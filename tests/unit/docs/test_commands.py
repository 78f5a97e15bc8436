"""Each command of the manual was run by a test."""

import re

import pytest
import yaml

from tests.unit.docs.test_manual import ROOT, SOURCE

COMMANDS = yaml.safe_load((ROOT / 'tests/unit/docs/commands.yaml').read_text(encoding='utf-8'))
PAGES = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding='utf-8')
    for path in sorted(SOURCE.rglob('*.rst'))
}
#: ``test_tutorials`` runs every command of these pages.
TUTORIALS = {'start/ask-from-python.rst', 'start/explain-a-failed-server.rst'}
TUTORIALS |= {'start/spread-a-cluster.rst', 'howto/before-maintenance.rst'}
TUTORIALS |= {'howto/resilience.rst'}
#: A literal block behind ``::`` or in a code-block: its indentation, its lines.
BLOCK = re.compile(
    r'^( *)(?:(?:\d+\. |\* )?(?:\S.*)?::|\.\. code-block::.*)\n(?:\1 +:\w+:.*\n)*\n'
    r'((?:(?:\1 +\S.*)?\n)+)',
    re.MULTILINE,
)
#: Options in front of a command, and those of ``openstack``.
GLOBAL = re.compile(r' --os-[\w-]+ \S+')


def blocks():
    """Return the page and the lines of each literal block, without its indentation."""
    for name, text in PAGES.items():
        for found in BLOCK.finditer(text):
            if not re.match(r' *\.\. (?!code-block)', found[0]):
                lines = found[2].strip('\n').split('\n')
                width = len(lines[0]) - len(lines[0].lstrip())
                end = next((i for i, line in enumerate(lines) if line[:width].strip()), None)
                yield name, [line[width:] for line in lines[:end]]


def commands():
    for name, lines in blocks():
        for line in lines:
            if line.lstrip().startswith('$ ') and name not in TUTORIALS:
                yield name, GLOBAL.sub('', line.lstrip()[2:])


def key_of(command):
    keys = [key for keys in COMMANDS.values() for key in keys if command.startswith(key)]
    return max(keys, key=len, default=None)


def test_every_command_has_a_test_or_a_reason():
    found = [(name, command, key_of(command)) for name, command in commands()]
    assert len(found) > 40
    assert [(name, command) for name, command, key in found if key is None] == []
    every = {key for keys in COMMANDS.values() for key in keys}
    assert every - {key for _name, _command, key in found} == set()


@pytest.mark.parametrize(('command', 'path'), COMMANDS['run'].items())
def test_the_test_of_a_command_runs_it(command, path):
    text = (ROOT / path).read_text(encoding='utf-8')
    words = command.split()[1:]
    assert [word for word in words if not re.search(rf"['\" (]{re.escape(word)}\b", text)] == []
