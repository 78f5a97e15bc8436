"""``--help`` lists each command with its description, including those of other packages."""

import argparse
from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace

import pytest
from cliff import show

from senlin_affinity.cli import commands, main, plan, workload
from senlin_affinity.cli.base import Command


class Inherits(Command):
    _description = 'Describes itself.\nAt length.'

    def take_action(self, parsed_args):
        raise AssertionError


class Plain(show.ShowOne):
    """A command of cliff without options of its own."""

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


def _parser(entry_point):
    name = entry_point.name.replace('_', ' ')
    return entry_point.load()(main.SenlinAffinity(), None).get_parser(name)


@pytest.mark.parametrize(
    'entry_point', entry_points(group='senlin_affinity.cli'), ids=lambda each: each.name
)
def test_an_option_of_one_value_is_not_repeated(entry_point, capsys):
    """Each option is either rejected, or it collects its values, or it has none."""
    parser = _parser(entry_point)
    for option in parser._actions:
        if not option.option_strings or (option.nargs == 0 and option.const is not None):
            continue
        words = [option.option_strings[0], *(['1'] if option.nargs != 0 else [])]
        option.type = option.choices = None
        if isinstance(option, argparse._AppendAction) or option.dest in ('aggregates', 'help'):
            continue
        with pytest.raises(SystemExit) as ended:
            parser.parse_args([*words, *words])
        assert ended.value.code == 2
        wanted = f'error: argument {"/".join(option.option_strings)}: may be specified only once ('
        assert capsys.readouterr().err.startswith(wanted)


def test_a_global_option_of_one_value_is_not_repeated(capsys):
    assert main.main(['--os-cloud', 'a', 'plan', '--os-cloud', 'b']) == 2
    assert 'argument --os-cloud: may be specified only once' in capsys.readouterr().err


def test_the_last_value_of_an_earlier_command_does_not_count():
    found = {each.name: each for each in entry_points(group='senlin_affinity.cli')}
    parser = _parser(found['plan'])
    for flavor in ('a', 'b'):
        assert parser.parse_args(['--flavor', flavor]).flavor == flavor


@pytest.mark.parametrize('option', ['--option', '--image-property'])
def test_a_name_is_not_given_two_values(option, capsys):
    """Two values of one name are one lost value, as those of an option are."""
    words = ['plan', '--flavor', 'a', '--os-cloud', 'none', option, 'a=1', option, 'a=2']
    assert main.main(words) == 2
    assert f'{option}: each name may be specified only once' in capsys.readouterr().err


#: The options of ``plan`` that apply to requests of every kind.
OF_EVERY_REQUEST = {
    *('enabled_filters', 'option', 'config_file', 'nova_conf', 'strict', 'accept_upper_bound'),
    *('long', 'no_skipped', 'max_file_size', 'max_answer_size', 'timeout'),
}


def test_each_option_of_plan_is_for_an_action_or_rejected_and_for_a_file_or_rejected():
    """A new option fails until it is decided: none is silently ignored."""
    plain = {each.dest for each in Plain(main.SenlinAffinity(), None).get_parser('x')._actions}
    (entry_point,) = entry_points(group='senlin_affinity.cli', name='plan')
    options = {each.dest for each in _parser(entry_point)._actions} - plain - OF_EVERY_REQUEST
    rejected_beside_file = {*workload._OF_REQUEST.split()}
    of_action = {'server', 'action', 'flavor', 'host', 'image', 'image_property'}
    assert options - {*plan._OF_NEW} == of_action | {'file', 'parameter'}
    of_file = {'file', 'parameter', 'project', 'user', 'ignore_quotas', 'snapshot'}
    assert options - rejected_beside_file == of_file
