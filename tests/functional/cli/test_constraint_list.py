"""``constraint list`` and ``constraint show``, also with a constraint of another package."""

import json
import textwrap
from pathlib import Path

import pytest

from senlin_affinity.constraints.drs import DrsConstraint
from tests.support import command

ROOT = Path(__file__).parents[3]
ON_HOSTS = tuple(
    'host_state availability_zone member_of reservations drs aggregate_metadata tenant_isolation '
    'flavor_aggregates image_aggregates isolated_hosts image_hypervisor traits '
    'scheduler_hints server_group server_count spread resources'.split()
)
LEVELS = {
    'host_state': 'host and request',
    **dict.fromkeys(('server_group', 'spread', 'resources'), 'host and domain'),
}
ENTRY_POINT = '[senlin_affinity.constraints]\nrack = third_party.rack:Rack\n'


def test_constraints_are_listed_in_the_order_of_their_reasons(run):
    done = run('constraint', 'list', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    rows = json.loads(done.stdout)
    assert [(row['name'], row['level']) for row in rows] == [
        *((name, LEVELS.get(name, 'host')) for name in ON_HOSTS),
        ('flavor', 'request'),
        ('image', 'request'),
        ('candidates', 'request'),
        ('quota', 'request'),
    ]
    assert all(row['rule'] and row['needs'] for row in rows)
    options = {row['name']: row['options'] for row in rows if row['options']}
    assert options['drs'] == 'drs_pattern'
    assert options['image_aggregates'] == (
        'aggregate_image_properties_isolation_namespace, '
        'aggregate_image_properties_isolation_separator'
    )


def test_the_table_is_in_the_manual(run):
    page = (ROOT / 'doc/source/reference/command.rst').read_text(encoding='utf-8')
    output = textwrap.indent(run('constraint', 'list').stdout, '    ')
    assert f'    $ senlin-affinity constraint list\n{output}' in page


@pytest.fixture
def third_party(tmp_path, write):
    """Return a function that sets the module of a distribution with the constraint rack."""
    (tmp_path / 'third_party').mkdir()
    info = tmp_path / 'third_party-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(ENTRY_POINT)
    return lambda text: write('third_party/rack.py', text)


def test_a_constraint_of_another_package_is_listed(run, third_party, tmp_path):
    third_party(
        'from senlin_affinity.constraints.drs import DrsConstraint\n'
        'class Rack(DrsConstraint):\n'
        "    name, order, reasons, filters = 'rack', 70, {}, ('RackFilter', 'RowFilter')\n"
    )
    done = run('constraint', 'list', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    filters = {row['name']: row['filter'] for row in rows}
    output = run('constraint', 'show', 'rack', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert json.loads(output.stdout)['page'] == ''
    before = ON_HOSTS.index('tenant_isolation')
    on_requests = ['flavor', 'image', 'candidates', 'quota']
    assert list(filters) == [*ON_HOSTS[:before], 'rack', *ON_HOSTS[before:], *on_requests]
    assert (filters['drs'], filters['rack']) == ('(always)', 'RackFilter or RowFilter')


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('import no_such_module\n', 'no_such_module'),
        ('Rock = 1\n', 'Rack'),
        ('class Rack: pass\n', 'is not a subclass of senlin_affinity.constraints.base.Constraint'),
    ],
    ids=['its import fails', 'a missing class', 'no subclass of Constraint'],
)
def test_a_constraint_that_does_not_load_is_an_error(run, third_party, tmp_path, text, words):
    """The command fails, because an incomplete list would mislead."""
    third_party(text)
    done = run('constraint', 'list', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('error: constraint ')
    assert 'rack' in done.stderr
    assert words in done.stderr
    assert 'Traceback' not in done.stderr


def test_the_long_table_has_all_columns(run):
    """Nothing is truncated in a pipe."""
    long, short = run('constraint', 'list', '--long'), run('constraint', 'list')
    heads = [done.stdout.splitlines()[1].split('|')[1:-1] for done in (long, short)]
    assert [[cell.strip() for cell in head] for head in heads] == [
        ['name', 'order', 'level', 'rule', 'needs', 'filter', 'options'],
        ['name', 'level', 'rule'],
    ]
    chosen = run('constraint', 'list', '-c', 'needs').stdout.splitlines()
    assert chosen[1].split() == ['|', 'needs', '|']


def test_show_prints_the_options_and_codes(run):
    done = run('constraint', 'show', 'drs', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    decoded = json.loads(done.stdout)
    assert (decoded['name'], decoded['level'], decoded['page']) == (
        'drs',
        'host',
        'reference/constraints/drs',
    )
    (option,) = decoded['options']
    assert option.pop('help').startswith('The text that')
    assert option == {'name': 'drs_pattern', 'group': 'affinity', 'default': 'drs'}
    codes = {each['code']: each for each in decoded['codes']}
    assert list(codes) == list(DrsConstraint.reasons)
    for code, reason in DrsConstraint.reasons.items():
        assert codes[code] == {
            'code': code,
            'is_refusal': code in ('drs.no_drs', 'drs.disabled', 'drs.down'),
            'sentence': reason.sentence,
            'advice': reason.advice,
        }


def test_show_prints_the_defaults_of_options(run):
    """The options are a list, one without a default, and a flag."""
    lines = run('constraint', 'show', 'reservations').stdout
    for output in ('required_member_prefix = (none)', 'member_prefix = (empty)', 'ing = False'):
        assert f'{output} ' in lines


@pytest.mark.parametrize(
    ('name', 'hint'), [('qota', 'did you mean quota?'), ('x', 'choose from host_state, ')]
)
def test_an_unknown_constraint_is_an_error(run, name, hint):
    done = run('constraint', 'show', name)
    command.check_refused(done, f'error: there is no constraint {name!r}: {hint}')
