"""The manual's example of a constraint package is built, installed and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command
from tests.support.package import install

EXAMPLE = Path(__file__).parents[2] / 'doc/source/howto/own-constraint'
ASKED = ('--count', '5', '--flavor', 'm1.tiny', '--server-group', 'web')
PLAN = ('plan', *ASKED, '--snapshot', str(EXAMPLE / 'racks.json'))


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Install the package alone, and return its folder."""
    return install(EXAMPLE, tmp_path_factory)


@pytest.fixture
def run(installed, tmp_path):
    """Return a function that runs the command with the package on Python's path."""
    (tmp_path / 'senlin.conf').write_text('[affinity]\nmost_per_rack = 2\n', encoding='utf-8')
    return lambda *words: command.run_alone(*words, folder=tmp_path, PYTHONPATH=str(installed))


@pytest.mark.parametrize(
    'option', [('--option', 'most_per_rack=2'), ('--config-file', 'senlin.conf')]
)
def test_the_constraint_limits_the_capacity(run, option):
    done = run(*PLAN, *option, '-f', 'json')
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr, answer['capacity'], answer['at_most']) == (3, '', 4, [])
    assert answer['line'].endswith('0/4 hosts left: rack_limit.full on 4 (r1, r2)')
    (remedy,) = answer['remedies']
    assert remedy == {
        'code': 'most_per_rack', 'change': 'most_per_rack: 3',
        'capacity': 6, 'capacity_is_upper_bound': False,
        'kind': 'operators', 'data': {'options': {'most_per_rack': 3}}, 'commands': [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ('option', 'status', 'message'),
    [
        ((), 0, ''),
        (('--config-file', 'senlin.conf', '--option', 'most_per_rack=3'), 0, ''),
        (
            ('--option', 'most_per_rock=2'),
            2,
            'most_per_rock: unknown option: did you mean most_per_rack?',
        ),
        (('--option', 'most_per_rack=-1'), 2, 'most_per_rack: Should be greater than or equal'),
        (('--option', 'most_per_rack=x'), 2, "most_per_rack: must be an integer, not 'x'"),
    ],
)
def test_the_option_is_validated(run, option, status, message):
    done = run(*PLAN, *option)
    assert (done.returncode, message in done.stderr, bool(done.stderr)) == (
        status,
        True,
        bool(message),
    )


def test_the_constraint_is_listed_and_shown(run):
    rows = json.loads(run('constraint', 'list', '-f', 'json').stdout)
    assert {row['name']: row['options'] for row in rows}['rack_limit'] == 'most_per_rack'
    shown = json.loads(run('constraint', 'show', 'rack_limit', '-f', 'json').stdout)
    (option,) = shown['options']
    assert (option['name'], option['group'], option['default']) == ('most_per_rack', 'affinity', 0)
    assert len(shown['codes']) == 7
    table = run('constraint', 'show', 'rack_limit').stdout
    assert '| [affinity] most_per_rack = 0 ' in table


def test_the_tests_of_the_package_pass(tmp_path):
    folder = shutil.copytree(EXAMPLE, tmp_path / 'acme-racks')
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', 'tests'],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, '2 passed' in done.stdout) == (0, True), done.stdout


def test_the_option_is_in_the_sample_configuration(installed):
    done = subprocess.run(
        [Path(sys.executable).with_name('oslo-config-generator'), '--namespace', 'senlin_affinity'],
        env={**os.environ, 'PYTHONPATH': str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert '\n# Minimum value: 0\n#most_per_rack = 0\n' in done.stdout
