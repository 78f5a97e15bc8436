"""``constraint list`` and ``show``: what is loaded, and that nothing is missing in silence."""

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import textwrap
from pathlib import Path

import pytest

from senlin_affinity.constraints.drs import DrsConstraint
from tests.support import command

ROOT = Path(__file__).parents[3]
OF_HOSTS = tuple(
    'host_state availability_zone member_of reservations drs aggregate_metadata tenant_isolation '
    'flavor_aggregates image_aggregates isolated_hosts image_hypervisor traits '
    'scheduler_hints server_group server_count spread resources'.split()
)
LEVELS = {
    'host_state': 'host and request',
    **dict.fromkeys(('server_group', 'spread', 'resources'), 'host and domain'),
}
ENTRY_POINT = '[senlin_affinity.constraints]\nrack = third_party.rack:Rack\n'


def test_ours_in_the_order_in_which_reasons_are_told(run):
    done = run('constraint', 'list', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    rows = json.loads(done.stdout)
    assert [(row['name'], row['level']) for row in rows] == [
        *((name, LEVELS.get(name, 'host')) for name in OF_HOSTS),
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


def test_the_table_is_that_of_the_manual(run):
    page = (ROOT / 'doc/source/user/command.rst').read_text(encoding='utf-8')
    shown = textwrap.indent(run('constraint', 'list').stdout, '    ')
    assert f'    $ senlin-affinity constraint list\n{shown}' in page


@pytest.fixture
def third_party(tmp_path, write):
    """A distribution that brings a constraint called rack; call it with what its module holds."""
    (tmp_path / 'third_party').mkdir()
    info = tmp_path / 'third_party-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(ENTRY_POINT)
    return lambda text: write('third_party/rack.py', text)


def test_a_constraint_of_a_third_party(run, third_party, tmp_path):
    third_party(
        'from senlin_affinity.constraints.drs import DrsConstraint\n'
        'class Rack(DrsConstraint):\n'
        "    name, order, reasons, filters = 'rack', 70, {}, ('RackFilter', 'RowFilter')\n"
    )
    done = run('constraint', 'list', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    filters = {row['name']: row['filter'] for row in rows}
    shown = run('constraint', 'show', 'rack', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert json.loads(shown.stdout)['page'] == ''
    before = OF_HOSTS.index('tenant_isolation')
    of_request = ['image', 'candidates', 'quota']
    assert list(filters) == [*OF_HOSTS[:before], 'rack', *OF_HOSTS[before:], *of_request]
    assert (filters['drs'], filters['rack']) == ('(always)', 'RackFilter or RowFilter')


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('import no_such_module\n', 'no_such_module'),
        ('Rock = 1\n', 'Rack'),
        ('class Rack: pass\n', 'is not a subclass of senlin_affinity.constraints.base.Constraint'),
    ],
    ids=['its import breaks', 'it is not there', 'it is none'],
)
def test_a_constraint_that_does_not_load(run, third_party, tmp_path, text, words):
    """Fails closed: no list without it."""
    third_party(text)
    done = run('constraint', 'list', '-f', 'json', PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('error: constraint ')
    assert 'rack' in done.stderr
    assert words in done.stderr
    assert 'Traceback' not in done.stderr


def in_a_terminal(*arguments):
    """The lines in a terminal of 80 columns."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    command = [sys.executable, '-m', 'senlin_affinity.cli.main', 'constraint', *arguments]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        shown = b''
        with contextlib.suppress(OSError):  # how the end of a terminal reads
            while part := os.read(main, 4096):
                shown += part
        os.close(main)
    assert process.returncode == 0
    lines = shown.decode().splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_the_table_fits_a_terminal_of_80_columns():
    """A table that the terminal wraps is no table, and no name is broken."""
    lines = in_a_terminal('list')
    assert [word.strip() for word in lines[1].split('|')[1:-1]] == ['name', 'level', 'rule']
    for name in (*OF_HOSTS, 'quota'):
        assert any(line.startswith(f'| {name} ') for line in lines)
    assert len(lines) < 60


def test_the_long_table_has_all_columns(run):
    """In a pipe nothing is cut."""
    long, short = run('constraint', 'list', '--long'), run('constraint', 'list')
    heads = [done.stdout.splitlines()[1].split('|')[1:-1] for done in (long, short)]
    assert [[cell.strip() for cell in head] for head in heads] == [
        ['name', 'level', 'rule', 'needs', 'filter', 'options'],
        ['name', 'level', 'rule'],
    ]
    chosen = run('constraint', 'list', '-c', 'needs').stdout.splitlines()
    assert chosen[1].split() == ['|', 'needs', '|']


def test_one_constraint(run):
    done = run('constraint', 'show', 'drs', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    said = json.loads(done.stdout)
    assert (said['name'], said['level'], said['page']) == ('drs', 'host', 'constraints/drs')
    (option,) = said['options']
    assert option.pop('help').startswith('What the name of')
    assert option == {'name': 'drs_pattern', 'group': 'affinity', 'default': 'drs'}
    codes = {each['code']: each for each in said['codes']}
    assert list(codes) == list(DrsConstraint.reasons)
    for code, reason in DrsConstraint.reasons.items():
        assert codes[code] == {
            'code': code,
            'is_refusal': code in ('drs.no_drs', 'drs.disabled', 'drs.down'),
            'sentence': reason.sentence,
            'advice': reason.advice,
        }


def test_the_options_of_one_constraint(run):
    """As a file has them: a list, one without a default, and a switch."""
    lines = run('constraint', 'show', 'reservations').stdout
    for shown in ('required_member_prefix = (none)', 'member_prefix = (empty)', 'ing = False'):
        assert f'{shown} ' in lines


def test_one_constraint_in_a_terminal():
    lines = in_a_terminal('show', 'server_group')
    told = ' '.join(line[11:-2].strip() for line in lines if line.startswith('| '))
    assert 'server_group.host_full holds {members} servers of group {group}, ' in told
    assert '-> raise max_server_per_host, or add a host' in told


@pytest.mark.parametrize(
    ('name', 'hint'), [('qota', 'did you mean quota?'), ('x', 'there are host_state, ')]
)
def test_a_constraint_that_is_not_there(run, name, hint):
    done = run('constraint', 'show', name)
    command.check_refused(done, f'error: there is no constraint {name!r}: {hint}')
