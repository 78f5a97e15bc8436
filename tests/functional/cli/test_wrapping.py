"""Tables, sentences and commands fit the terminal, and never break a UUID or a quoted word."""

import subprocess

import pytest

from senlin_affinity.cli.wrapping import Cell, command_lines, fitted, lines

UUID = '3cb51c71-4f2e-4d47-a4c0-11501a0d6ed9'
#: The commands of the remedies, with blanks and quotes in names.
COMMANDS = (
    'openstack server group create --policy affinity web',
    "openstack compute service set --enable -- '-a  b' nova-compute",
    "openstack flavor create --property 'a b=c'\"'\"' d  e' 'm1 x-2'",
    'provider="$(openstack resource provider list --name cmp-3 -f value -c uuid)" && '
    'traits="$(openstack resource provider trait list "$provider" -f value -c name)" && '
    'openstack trait set $(echo "$traits" | sed \'/^A B$/d; s/./--trait &/\') "$provider"',
)
ECHO = 'openstack() { printf "<%s>" "$@"; printf "\\n"; }\n'


def shell(text):
    """Return what the shell makes of a command, whose client prints its arguments."""
    return subprocess.run(['sh', '-c', ECHO + text], capture_output=True, text=True, check=True)


@pytest.mark.parametrize('command', COMMANDS, ids=lambda command: ' '.join(command.split()[1:4]))
@pytest.mark.parametrize('width', [40, 80])
def test_a_wrapped_command_is_the_same_command(command, width):
    found = command_lines(command, width)
    words = '\n'.join(found).removeprefix('$ ')
    assert shell(words).stdout == shell(command).stdout
    unbreakable = max(len(word) for word in command.split("'")) + 4
    assert all(len(line) <= max(width, unbreakable) for line in found)
    assert len(found) > 1 or len(command) + 2 <= width


def test_a_sentence_breaks_at_blanks_only():
    assert lines(f'server group {UUID} stays', 20) == ['server group', UUID, 'stays']


@pytest.mark.parametrize('width', [20, 40, 80, 120])
def test_no_table_breaks_a_uuid(width):
    words = 'the group was deleted while a policy was attached'
    rows = [(f'x ({UUID}); y-z', words, 3, Cell([UUID], f'{UUID}\n{UUID}'))]
    (row,) = fitted(('Group', 'Details', 'Members', 'Servers'), rows, width)
    group, details, number, servers = row
    assert f'({UUID});' in group.human_readable().split()
    assert servers.human_readable().split() == [UUID, UUID]
    assert (details.human_readable().split(), number) == (words.split(), 3)
    assert servers.machine_readable() == [UUID]


def test_a_table_is_as_wide_as_the_terminal():
    names = ('a', 'b', 'c')
    rows = [('one two three four ' * n, 'x ' * n, 'some-hyphenated-word ' * n) for n in (1, 9)]
    widths = [0] * 3
    for row in fitted(names, rows, 60):
        for place, cell in enumerate(row):
            found = max(map(len, cell.human_readable().split('\n')))
            widths[place] = max(widths[place], found)
    assert sum(widths) + 3 * 3 + 1 <= 60
    assert sum(widths) > 40, 'no column is much narrower than necessary'


def test_the_text_of_a_table_is_escaped_and_its_value_is_not():
    ((cell, lined),) = fitted(('a', 'b'), [('x\x1b[31m\ny\u202e', Cell(1, 'p\r\nq'))], None)
    assert cell.human_readable() == r'x\x1b[31m\ny\u202e'
    assert cell.machine_readable() == 'x\x1b[31m\ny\u202e'
    assert lined.human_readable() == 'p\\r\nq'
