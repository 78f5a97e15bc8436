"""``senlin-affinity extra-spec validate``, ``list`` and ``export``."""

import json

import pytest

RIGHT, WRONG = 'hw:cpu_policy=dedicated', 'hw:cpu_policy=deddddicated'
SLIP = 'hw:cpu_pollllicy=dedicated'


def verdicts(done):
    return {row['name']: (row['value'], row['verdict']) for row in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ('arguments', 'status', 'verdict'),
    [
        ((RIGHT,), 0, 'valid'),
        ((WRONG,), 3, 'invalid'),
        ((SLIP,), 3, 'invalid'),
        (('foo=bar',), 3, 'invalid'),
        ((RIGHT, '--mode', 'strict'), 0, 'valid'),
        ((SLIP, '--mode', 'strict'), 3, 'invalid'),
        ((WRONG, '--mode', 'permissive'), 3, 'invalid'),
        ((SLIP, '--mode', 'permissive'), 0, 'let through'),
        (('foo=bar', '--mode', 'permissive'), 0, 'let through'),
        ((WRONG, '--mode', 'off'), 0, 'not checked'),
        ((SLIP, '--mode', 'off'), 0, 'not checked'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else str(value),
)
def test_validate(run, arguments, status, verdict):
    """R4-04, R4-05, R4-07 to R4-09, Q4-1."""
    done = run('extra-spec', 'validate', '-f', 'json', *arguments)
    assert (done.returncode, done.stderr) == (status, '')
    name, _, value = arguments[0].partition('=')
    assert verdicts(done) == {name: (value, verdict)}


def test_all_errors_are_told_with_what_was_meant(run):
    done = run('extra-spec', 'validate', '-f', 'json', WRONG, SLIP, 'hw:numa_nodes=2', 'foo=bar')
    assert done.returncode == 3
    assert {name: verdict for name, (_, verdict) in verdicts(done).items()} == {
        'hw:cpu_policy': 'invalid',
        'hw:cpu_pollllicy': 'invalid',
        'hw:numa_nodes': 'valid',
        'foo': 'invalid',
    }
    messages = {row['name']: row['message'] for row in json.loads(done.stdout)}
    assert 'one of dedicated, shared, mixed' in messages['hw:cpu_policy']
    assert messages['hw:cpu_pollllicy'].endswith('did you mean hw:cpu_policy?')
    assert messages['hw:numa_nodes'] == ''


def test_a_value_may_hold_an_equals_sign(run):
    done = run('extra-spec', 'validate', '-f', 'json', 'capabilities:hypervisor_version=>= 2')
    assert (done.returncode, done.stderr) == (0, '')
    assert verdicts(done) == {'capabilities:hypervisor_version': ('>= 2', 'valid')}


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ((), 'the following arguments are required: NAME=VALUE'),
        (('hw:cpu_policy',), "write NAME=VALUE, not 'hw:cpu_policy'"),
        (('=x',), "write NAME=VALUE, not '=x'"),
        (('a=1', 'a=2'), 'a is given twice, with different values'),
        (('a=1', '--mode', 'disabled'), "invalid choice: 'disabled'"),
        (('a=1', '--mode', 'STRICT'), "invalid choice: 'STRICT'"),
    ],
)
def test_usage_of_validate(run, arguments, said):
    """Q4-2."""
    done = run('extra-spec', 'validate', *arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert said in done.stderr


def test_list(run):
    """R4-15."""
    done = run('extra-spec', 'list', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    rows = {row['name']: row for row in json.loads(done.stdout)}
    assert rows['hw:cpu_policy']['value'] == 'one of dedicated, shared, mixed'
    assert rows['hide_hypervisor_id']['status'] == 'deprecated'
    assert [name for name, row in rows.items() if row['status'] != 'supported'] == [
        'hide_hypervisor_id'
    ]
    assert 'hw:numa_cpus.{num}' in rows
    assert all(row['description'] and '``' not in row['description'] for row in rows.values())


@pytest.mark.parametrize(
    ('chosen', 'prefixes'),
    [(['hw_rng'], {'hw_rng'}), (['no-namespace'], {''}), (['hw', 'os'], {'hw', 'os'})],
)
def test_list_of_namespaces(run, chosen, prefixes):
    options = [word for name in chosen for word in ('--namespace', name)]
    done = run('extra-spec', 'list', '-f', 'json', *options)
    names = [row['name'] for row in json.loads(done.stdout)]
    assert {name.rpartition(':')[0].partition(':')[0] for name in names} == prefixes


@pytest.mark.parametrize('command', [('list',), ('export', '--format', 'rst')])
def test_a_namespace_that_there_is_not(run, command):
    done = run('extra-spec', *command, '--namespace', 'nope')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("error: there is no namespace 'nope'; there are no-namespace, ")
    assert done.stderr.count('\n') == 1


def test_export_to_stdout(run):
    """R4-16, R4-17."""
    done = run('extra-spec', 'export', '--format', 'metadef')
    assert (done.returncode, done.stderr) == (0, '')
    names = [each['namespace'] for each in json.loads(done.stdout)]
    assert 'OS::Compute::ExtraSpecs::hw' in names
    assert len(names) == len(set(names))
    done = run('extra-spec', 'export', '--format', 'rst', '--namespace', 'hw')
    assert (done.returncode, done.stderr) == (0, '')
    assert '\n``hw:cpu_policy``\n' in done.stdout


@pytest.mark.parametrize(('form', 'suffix'), [('rst', '.rst'), ('metadef', '.json')])
def test_export_to_files(run, tmp_path, form, suffix):
    """R4-16, R4-17: a file for each namespace, the same every time."""
    for folder in ('one', 'other/deeper'):
        done = run('extra-spec', 'export', '--format', form, '--output-dir', folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ('one', 'other/deeper')
    )
    assert one == other
    assert {f'hw{suffix}', f'no-namespace{suffix}', f'trait{suffix}'} <= set(one)


def test_export_to_where_it_can_not_write(run, write):
    write('taken', 'a file')
    done = run('extra-spec', 'export', '--format', 'rst', '--output-dir', 'taken')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == 'error: taken can not be written: File exists\n'


def test_export_in_no_form(run):
    assert run('extra-spec', 'export').returncode == 2
    assert run('extra-spec', 'export', '--format', 'json').returncode == 2
