"""Packages that need Nova are read in another process, which is this one in the tests."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from subprocess import CompletedProcess

import pytest
from nova.api.validation.extra_specs import base

from senlin_affinity.extra_specs.base import ExtraSpecValidator
from senlin_affinity.extra_specs.registry import Unanswered, converted
from senlin_affinity.model.errors import PluginError
from senlin_affinity.plugins.nova import extra_spec_process

NOVAS = base.ExtraSpecValidator(
    'acme:x.{id}',
    'An x.',
    {'type': int, 'min': 1},
    deprecated=True,
    parameters=[{'name': 'id', 'pattern': r'\d+', 'description': 'which'}],
)
MORE = {'replaced_by': 'acme:x', 'image_property': 'y', 'drivers': ['a'], 'depends_on': ['acme:x']}
OURS = ExtraSpecValidator('acme:y', 'A y.', {'type': str, 'enum': ['a', 'b']}, **MORE)


def even(number):
    if number == 4:
        raise LookupError('four')
    if number % 2:
        raise ValueError(f'{number} is odd')


CHECKED = ExtraSpecValidator('acme:even', 'Even.', {'type': int}, check=even)


class Ended(BaseException):
    """The end of the simulated process."""


@pytest.fixture
def played(monkeypatch):
    """Replace ``subprocess.run``: run the code here; return the output of each run."""
    said = []

    def end(status):
        raise Ended(status)

    def run(command, *, input, capture_output, timeout, check):
        python, option, code = command
        assert (python, option, timeout) == (sys.executable, '-c', extra_spec_process.TIMEOUT)
        assert (capture_output, check) == (True, False)
        status, kept = None, [os.dup(number) for number in range(3)]
        with contextlib.ExitStack() as stack, monkeypatch.context() as patch:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(input)
            files[0].seek(0)
            for number, file in enumerate(files):
                os.dup2(file.fileno(), number)
            patch.setattr(os, '_exit', end)
            patch.setattr(sys, 'stdin', stack.enter_context(open(0, closefd=False)))
            patch.setattr(sys, 'stdout', stack.enter_context(open(1, 'w', closefd=False)))
            try:
                exec(code, {})
            except Ended as ended:
                (status,) = ended.args
            finally:
                for number, file in enumerate(kept):
                    os.dup2(file, number)
                    os.close(file)
            for file in files[1:]:
                file.seek(0)
            said.append(CompletedProcess(command, status, *(file.read() for file in files[1:])))
        return said[-1]

    monkeypatch.setattr(subprocess, 'run', run)
    return said


def test_r4_13_definitions_are_returned_unchanged(install, played):
    """Errors are returned, too; the output of a package is not an answer."""

    def validators():
        sys.stdout.write('acme is loaded\n')
        sys.stdout.flush()
        return [NOVAS, OURS, NOVAS]

    found, broken = extra_spec_process.read([install('acme', validators), install('broken', 5)])
    assert (found.name, found.target) == ('acme', 'acme:VALIDATORS')
    assert found.validators == (converted(NOVAS), OURS)
    assert (type(broken), str(broken).partition(' cannot be read')[0]) == (
        PluginError,
        'extra spec validators broken (broken:VALIDATORS)',
    )
    assert [(done.returncode, done.stderr) for done in played] == [(0, b'acme is loaded\n')]


def test_r4_20_the_other_process_runs_an_own_check(install, played):
    ((plugin),) = extra_spec_process.read([install('acme', [OURS, CHECKED, CHECKED])])
    ours, checked = plugin.validators
    assert (ours.check, checked.complaint('2'), checked.complaint('3')) == (None, None, '3 is odd')
    with pytest.raises(PluginError, match='^the check of acme:even fails: LookupError'):
        checked.complaint('4')
    assert [done.returncode for done in played] == [0] * 4


@pytest.mark.parametrize(
    ('end', 'kind', 'why'),
    [
        (OSError('no Python'), Unanswered, 'failed: no Python'),
        (subprocess.TimeoutExpired('it', 30), PluginError, 'did not end within 30 seconds'),
        (
            CompletedProcess('', 9, b'', b''),
            PluginError,
            'ended with status 9 without an answer: no output',
        ),
        (
            CompletedProcess('', 1, b'x', b'a\nb\xff\n'),
            PluginError,
            'ended with status 1 without an answer: b\ufffd',
        ),
    ],
    ids=['not run', 'late', 'silent', 'words'],
)
def test_q4_3_no_answer(install, monkeypatch, end, kind, why):
    """Each package has a reason; it is read again only if no process could be started."""

    def run(*_arguments, **_options):
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setattr(subprocess, 'run', run)
    found = extra_spec_process.read([install('a'), install('b')])
    assert {type(each) for each in found} == {kind}
    assert [str(each) for each in found] == [
        f'extra spec validators {name} ({name}:VALIDATORS) do not load: '
        f'the process that loads them {why}'
        for name in 'ab'
    ]


def test_a_package_that_hangs_does_not_affect_the_others(install, monkeypatch):
    """Each package is loaded in its own process if the common process gave no answer."""
    asked = []

    def run(_command, *, input, timeout, **_options):
        asked.append([question[1][0] for question in json.loads(input)])
        if 'hangs' in asked[-1]:
            raise subprocess.TimeoutExpired('it', timeout)
        return CompletedProcess('', 0, b'[{"answer": []}]', b'')

    monkeypatch.setattr(subprocess, 'run', run)
    right, wrong = extra_spec_process.read([install('right'), install('hangs')])
    assert (right.name, right.validators) == ('right', ())
    assert str(wrong) == (
        'extra spec validators hangs (hangs:VALIDATORS) do not load: '
        f'the process that loads them did not end within {extra_spec_process.TIMEOUT} seconds'
    )
    assert asked == [['right', 'hangs'], ['right'], ['hangs']]
