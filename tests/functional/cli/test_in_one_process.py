"""The command that most tests run in their own process, and the one of a person, are the same."""

import pytest

from tests.support import command

SPEC = "type: senlin.policy.affinity\nversion: '1.1'\nproperties: {availability_zone: nova_1}\n"


@pytest.mark.parametrize(
    ('arguments', 'status'),
    [
        ('policy validate spec.yaml', 0),
        ('policy validate wrong.yaml -f json', 3),
        ('-v constraint list', 0),
        ('--version', 0),
        ('plan --count x', 2),
        ('', 2),
        ('--os-cloud x policy validate spec.yaml', 1),
        ('plan --snapshot - --count 1', 2),
    ],
)
def test_it_says_the_same(tmp_path, arguments, status):
    (tmp_path / 'spec.yaml').write_text(SPEC)
    (tmp_path / 'wrong.yaml').write_text(SPEC.replace('nova_1', '[]'))
    (tmp_path / 'clouds.yaml').write_text('clouds: {mycloud: {}}')
    more = {'folder': tmp_path, 'text': '[]', 'HOME': str(tmp_path), 'COLUMNS': '70'}
    done, alone = (run(*arguments.split(), **more) for run in (command.run, command.run_alone))
    assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr)
    assert done.returncode == alone.returncode == status
