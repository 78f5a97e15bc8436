"""The command that most tests run in their own process, and the one of a person, are the same."""

import logging
import os
import signal
import sys
import warnings

import pytest

from tests.support import command

SPEC = "type: senlin.policy.affinity\nversion: '1.1'\nproperties: {availability_zone: nova_1}\n"


@pytest.mark.parametrize(
    ('arguments', 'status'),
    [
        pytest.param(('policy', 'validate', 'spec.yaml'), 0, id='an answer'),
        pytest.param(('policy', 'validate', '-f', 'json', 'spec.yaml'), 0, id='as JSON'),
        pytest.param(('policy', 'validate', 'wrong.yaml'), 3, id='a no'),
        pytest.param(('policy', 'validate', 'missing.yaml'), 2, id='an error'),
        pytest.param(('-v', 'constraint', 'list'), 0, id='a table, with its log'),
        pytest.param(('--version',), 0, id='the version'),
        pytest.param(('plan', '--count', 'x'), 2, id='an exit'),
        pytest.param(('no-such-command',), 2, id='a wrong name'),
        pytest.param((), 2, id='no name'),
        pytest.param(('--os-cloud', 'x', 'policy', 'validate', 'spec.yaml'), 1, id='a wrong cloud'),
        pytest.param(('plan', '--snapshot', '-', '--count', '1'), 2, id='an input'),
    ],
)
def test_it_says_the_same(tmp_path, arguments, status):
    (tmp_path / 'spec.yaml').write_text(SPEC)
    (tmp_path / 'wrong.yaml').write_text(SPEC.replace('nova_1', '[]'))
    (tmp_path / 'clouds.yaml').write_text('clouds: {mycloud: {}}')
    more = {'folder': tmp_path, 'text': '[]', 'HOME': str(tmp_path), 'COLUMNS': '70'}
    done, alone = command.run(*arguments, **more), command.run_alone(*arguments, **more)
    assert done.stdout == alone.stdout
    assert done.stderr == alone.stderr
    assert done.returncode == alone.returncode == status


def test_it_leaves_nothing_behind(tmp_path):
    def state():
        root = logging.getLogger()
        return (
            os.getcwd(),
            dict(os.environ),
            (sys.stdin, sys.stdout, sys.stderr),
            (root.level, root.handlers[:], logging.getLogger('openstack').level),
            (warnings.filters[:], warnings.showwarning),
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGPIPE),
        )

    before = state()
    command.run('--debug', 'constraint', 'list', folder=tmp_path, OS_CLOUD='x', COLUMNS='70')
    assert state() == before
