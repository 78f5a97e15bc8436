"""The manual's example of a validator package is built, installed and used."""

import json
from pathlib import Path

import pytest

from tests.support import command
from tests.support.package import install

EXAMPLE = Path(__file__).parents[2] / 'doc/source/howto/own-validators'


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Install the package alone, and return its folder."""
    return install(EXAMPLE, tmp_path_factory)


@pytest.fixture
def run(installed, tmp_path):
    """Return a function that runs the command with the package on Python's path."""
    return lambda *words: command.run_alone(*words, folder=tmp_path, PYTHONPATH=str(installed))


#: Extra specs with a part of the message; None: valid.
MESSAGES = {
    'acme:rack=r12': None,
    'acme:rack=12': 'must be of the form r[0-9]+',
    'acme:rock=r12': 'did you mean acme:rack?',
    'acme:disks.nvme=2': None,
    'acme:disks.nvme=9': 'must be a whole number from 1 to 8',
    'acme:disks.scsi=2': 'no extra spec of this name is known',
    'acme:maintenance=2-5': None,
    'acme:maintenance=5-2': "must begin before it ends, not '5-2'",
    'acme:cage=7': None,
    'hw:cpu_policy=shared': None,
}


@pytest.mark.parametrize('is_valid', [True, False])
def test_the_validators_are_used(run, is_valid):
    """R4-03, R4-13, R4-20, Q4-4."""
    messages = {
        spec: message for spec, message in MESSAGES.items() if (message is None) is is_valid
    }
    done = run('extra-spec', 'validate', '-f', 'json', *messages)
    assert (done.returncode, done.stderr) == (0 if is_valid else 3, '')
    for row, (spec, message) in zip(json.loads(done.stdout), messages.items(), strict=True):
        assert row['verdict'] == ('valid' if is_valid else 'invalid'), spec
        assert (message or '') in row['message']


def test_the_validators_are_listed_and_exported(run):
    """R4-15 to R4-17."""
    rows = json.loads(run('extra-spec', 'list', '--namespace', 'acme', '-f', 'json').stdout)
    assert {row['name']: row['status'] for row in rows} == {
        'acme:cage': 'deprecated',
        'acme:disks.{bus}': 'supported',
        'acme:maintenance': 'supported',
        'acme:rack': 'supported',
    }
    exported = run('extra-spec', 'export', '--format', 'metadef', '--namespace', 'acme')
    (namespace,) = json.loads(exported.stdout)
    assert list(namespace['properties']) == ['cage', 'maintenance', 'rack']
    assert '``acme:disks.{bus}``' in run('extra-spec', 'export', '--format', 'rst').stdout
