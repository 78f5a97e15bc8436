"""``--help`` of every command has an example that the command accepts."""

import argparse
import configparser
import shlex
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from senlin_affinity.cli import base

SETUP = configparser.ConfigParser()
SETUP.read(Path(__file__).parents[3] / 'setup.cfg', encoding='utf-8')
#: The groups of entry points, with what a user types before the words of a name.
GROUPS = {
    'senlin_affinity.cli': 'senlin-affinity',
    'openstack.affinity.v1': 'openstack',
    'openstack.compute.v2': 'openstack',
}
COMMANDS = [
    pytest.param(f'{prog} {name.replace("_", " ")}', value, id=f'{prog}-{name}')
    for group, prog in GROUPS.items()
    for line in SETUP['options.entry_points'][group].strip().splitlines()
    for name, value in [[word.strip() for word in line.split('=')]]
]


def parser_of(prog, value, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    made = EntryPoint('command', value, '').load()(SimpleNamespace(), argparse.Namespace())
    return made, made.get_parser(prog)


@pytest.mark.parametrize(('prog', 'value'), COMMANDS)
def test_help_has_an_example_that_the_command_accepts(prog, value, monkeypatch):
    """In one line of 80 columns, so that it can be copied."""
    command, parser = parser_of(prog, value, monkeypatch)
    assert command.example is not None
    line = f'{prog} {command.example}'.rstrip()
    assert f'\nexample:\n  {line}\n' in parser.format_help()
    parser.parse_args(shlex.split(command.example))


@pytest.mark.parametrize(('prog', 'value'), COMMANDS)
def test_help_describes_every_argument(prog, value, monkeypatch):
    _command, parser = parser_of(prog, value, monkeypatch)
    assert [action.dest for action in parser._actions if not action.help] == []


@pytest.mark.parametrize(('prog', 'value'), COMMANDS)
def test_a_list_has_the_options_of_the_openstack_client(prog, value, monkeypatch):
    command, parser = parser_of(prog, value, monkeypatch)
    if isinstance(command, base.Lister):
        example = shlex.split(command.example.partition('-f ')[0])
        asked = parser.parse_args([*example, *'-f value --sort-column x -c x'.split()])
        assert (asked.formatter, asked.sort_columns, asked.columns) == ('value', ['x'], ['x'])
