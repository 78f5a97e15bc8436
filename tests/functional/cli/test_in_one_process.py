"""The command in the test process behaves like one in a separate process."""

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
def test_both_commands_have_equal_output(tmp_path, arguments, status):
    (tmp_path / 'spec.yaml').write_text(SPEC)
    (tmp_path / 'wrong.yaml').write_text(SPEC.replace('nova_1', '[]'))
    (tmp_path / 'clouds.yaml').write_text('clouds: {mycloud: {}}')
    options = {'folder': tmp_path, 'text': '[]', 'HOME': str(tmp_path), 'COLUMNS': '70'}
    done, separate = (
        run(*arguments.split(), **options) for run in (command.run, command.run_alone)
    )
    assert (done.stdout, done.stderr) == (separate.stdout, separate.stderr)
    assert done.returncode == separate.returncode == status
