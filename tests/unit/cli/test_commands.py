"""``--help`` lists each command with its description, including those of other packages."""

from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace

import pytest

from senlin_affinity.cli import commands, main
from senlin_affinity.cli.base import Command


class Inherits(Command):
    _description = 'Describes itself.\nAt length.'

    def take_action(self, parsed_args):
        raise AssertionError


@pytest.mark.parametrize(
    'entry_point', entry_points(group='senlin_affinity.cli'), ids=lambda each: each.name
)
def test_a_command_is_listed_with_the_first_line_of_its_docstring(entry_point):
    first = entry_point.load().__doc__.partition('\n')[0]
    assert commands.line(None, entry_point) == first.rstrip('.')


@pytest.mark.parametrize(
    ('value', 'description'),
    [
        (f'{__name__}:Inherits', 'Describes itself'),
        ('no_such_module:Command', '(cannot be loaded: '),
    ],
)
def test_a_command_without_a_docstring_has_its_own_description(value, description):
    found = commands.line(SimpleNamespace(), EntryPoint('x', value, 'senlin_affinity.cli'))
    assert found.startswith(description)


def test_the_command_of_another_package_is_found(monkeypatch):
    """Other packages are searched only for an unknown name and for the list."""
    others = [EntryPoint('rack_list', f'{__name__}:Inherits', 'senlin_affinity.cli')]
    monkeypatch.setattr(main.metadata, 'entry_points', lambda group: others)
    own_commands = main.Commands('senlin_affinity.cli')
    assert own_commands.find_command(['plan', '--count', '1'])[1:] == ('plan', ['--count', '1'])
    assert own_commands.find_command(['constraint', 'list'])[1] == 'constraint list'
    assert 'rack list' not in own_commands.commands
    assert own_commands.find_command(['rack', 'list', 'x'])[1:] == ('rack list', ['x'])
    assert 'rack list' in dict(main.Commands('senlin_affinity.cli'))
