"""Every entry point of setup.cfg can be loaded and has the right type."""

import configparser
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from cliff import command
from senlin.policies import base as senlin_policy

from senlin_affinity.conf import files

SETUP = Path(__file__).parents[2] / 'setup.cfg'


def registered():
    parser = configparser.ConfigParser()
    parser.read(SETUP)
    for group, lines in parser['options.entry_points'].items():
        for line in lines.strip().splitlines():
            name, value = (word.strip() for word in line.split('=', 1))
            yield group, name, value


@pytest.mark.parametrize(('group', 'name', 'value'), registered())
def test_an_entry_point_loads(group, name, value):
    (entry_point,) = [
        each
        for each in metadata.entry_points(group=group)
        if (each.name, each.value) == (name, value)
    ]
    if group.startswith('nova.'):
        # Nova's and Senlin's options do not fit into one process.
        code = f'import {value}; assert callable({value}.register)'
        subprocess.run([sys.executable, '-c', code], check=True, timeout=60)
        return
    loaded = entry_point.load()
    if group in ('senlin_affinity.cli', 'openstack.affinity.v1', 'openstack.compute.v2'):
        assert issubclass(loaded, command.Command)
        assert loaded.__doc__
    if group == 'senlin.policies':
        assert issubclass(loaded, senlin_policy.Policy)
    if group == 'paste.filter_factory':
        assert callable(loaded)


def test_both_commands_have_the_same_subcommands():
    own_commands = {
        each.name: each.value for each in metadata.entry_points(group='senlin_affinity.cli')
    }
    openstack_commands = {
        each.name: each.value for each in metadata.entry_points(group='openstack.affinity.v1')
    }
    assert openstack_commands == {
        f'affinity_{name}': value
        for name, value in own_commands.items()
        if not name.startswith('sandbox')
    }


def test_the_example_files_are_found():
    assert files.example('senlin-affinity.conf.sample').is_file()
    with pytest.raises(FileNotFoundError, match='no-such-file is not installed; looked for'):
        files.example('no-such-file')
