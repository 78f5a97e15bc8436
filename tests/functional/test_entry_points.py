"""Every entry point of setup.cfg can be loaded and has the right type."""

import os
import subprocess
import sys
from importlib import metadata

import pytest
from cliff import command
from osc_lib.command.commandmanager import CommandManager

from senlin_affinity.conf import files


class Other(command.Command):
    """The command of another plugin."""


@pytest.mark.parametrize('is_first', [True, False], ids=['before ours', 'behind ours'])
@pytest.mark.parametrize('has_other', [True, False], ids=['another plugin', 'only ours'])
def test_openstack_server_explain_is_left_to_another_plugin(
    monkeypatch, tmp_path, is_first, has_other
):
    """``openstack`` finds the command by one of two entry points with the same name."""
    if has_other:
        folder = tmp_path / 'other-1.dist-info'
        folder.mkdir()
        (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: other\nVersion: 1\n')
        lines = f'[openstack.compute.v2]\nserver_explain = {__name__}:Other\n'
        (folder / 'entry_points.txt').write_text(lines)
    path = [str(tmp_path), *sys.path] if is_first else [*sys.path, str(tmp_path)]
    monkeypatch.setattr(sys, 'path', path)
    monkeypatch.delitem(sys.modules, 'senlin_affinity.cli.openstack_server', raising=False)
    manager = CommandManager('openstack.compute.v2')
    loaded, _name, _rest = manager.find_command(['server', 'explain'])
    assert loaded.__name__ == ('Other' if has_other else 'ExplainServer')
    sys.modules.pop('senlin_affinity.cli.openstack_server', None)


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


@pytest.mark.parametrize(
    ('typed', 'completed'), [('pol', 'policy'), ('plan --fla', '--flavor'), ('group aud', 'audit')]
)
def test_bash_completes_commands_and_options(typed, completed):
    """The output of "complete" defines a function for bash, with the help of bash-completion."""
    script = subprocess.run(
        [sys.executable, '-m', 'senlin_affinity.cli.main', 'complete'],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    by_ref = '_get_comp_words_by_ref() { words=($LINE); cur=${words[-1]}; prev=${words[-2]:-}; }'
    last = 'COMP_WORDS=($LINE); _senlin_affinity; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ['bash', '-c', f'{by_ref}\n{script}\n{last}'],
        env={**os.environ, 'LINE': f'senlin-affinity {typed}'},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == completed
