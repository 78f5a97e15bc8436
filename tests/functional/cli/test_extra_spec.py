"""``senlin-affinity extra-spec validate``, ``list`` and ``export``."""

import json

import pytest

RIGHT, WRONG = 'hw:cpu_policy=dedicated', 'hw:cpu_policy=deddddicated'
SLIP = 'hw:cpu_pollllicy=dedicated'


def rows_of(run, *arguments, status=0):
    """Run the command and return its rows; nothing is written to stderr."""
    done = run('extra-spec', *arguments, '-f', 'json')
    assert (done.returncode, done.stderr) == (status, '')
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ('spec', 'mode', 'status', 'verdict'),
    [
        (RIGHT, 'strict', 0, 'valid'),
        (SLIP, 'strict', 3, 'invalid'),
        (WRONG, 'permissive', 3, 'invalid'),
        (SLIP, 'permissive', 0, 'let through'),
        ('foo=bar', 'permissive', 0, 'let through'),
        (WRONG, 'off', 0, 'not checked'),
    ],
)
def test_validate(run, spec, mode, status, verdict):
    """R4-04, R4-05, R4-07 to R4-09, Q4-1."""
    (row,) = rows_of(run, 'validate', spec, '--mode', mode, status=status)
    assert ([row['name'], row['value']], row['verdict']) == (spec.split('='), verdict)


def test_all_errors_are_listed_with_suggestions(run):
    """Strict is the default mode, and a value may contain an equals sign."""
    right = 'capabilities:hypervisor_version=>= 2'
    rows = rows_of(run, 'validate', WRONG, SLIP, right, 'foo=bar', status=3)
    assert [row['verdict'] for row in rows] == ['invalid', 'invalid', 'valid', 'invalid']
    assert 'one of dedicated, shared, mixed' in rows[0]['message']
    assert rows[1]['message'].endswith('did you mean hw:cpu_policy?')
    assert (rows[2]['value'], rows[2]['message']) == ('>= 2', '')


UNSCOPED = (
    'rejects every host where AggregateInstanceExtraSpecsFilter is enabled, except in aggregates '
    'with this key'
)


@pytest.mark.parametrize(
    ('spec', 'verdict', 'message'),
    [
        ('group_policy=none', 'valid', UNSCOPED),
        ('hide_hypervisor_id=true', 'valid', f'deprecated: use hw:hide_hypervisor_id; {UNSCOPED}'),
        ('public-sriov=true', 'let through', f'no extra spec of this name is known; {UNSCOPED}'),
        ('hw:cpu_policy=dedicated', 'valid', ''),
    ],
)
def test_a_name_without_a_namespace_has_a_note(run, spec, verdict, message):
    (row,) = rows_of(run, 'validate', spec, '--mode', 'permissive')
    assert (row['verdict'], row['message']) == (verdict, message)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'the following arguments are required: NAME=VALUE'),
        (('hw:cpu_policy',), "write NAME=VALUE, not 'hw:cpu_policy'"),
        (('=x',), "write NAME=VALUE, not '=x'"),
        (('a=1', 'a=2'), 'a is given twice, with different values'),
        (('a=1', '--mode', 'disabled'), "invalid choice: 'disabled'"),
        (('a=1', '--mode', 'STRICT'), "invalid choice: 'STRICT'"),
        (('a=1', '--nova-release', 'zed'), "such as 26 or 30.2, not 'zed'"),
    ],
)
def test_a_usage_error_exits_with_2(run, arguments, message):
    """Q4-2."""
    done = run('extra-spec', 'validate', *arguments)
    assert (done.returncode, done.stdout) == (2, '')
    assert message in done.stderr


def test_list(run):
    """R4-15."""
    rows = {row['name']: row for row in rows_of(run, 'list')}
    assert rows['hw:cpu_policy']['value'] == 'one of dedicated, shared, mixed'
    assert {row['status']: name for name, row in rows.items() if row['status'] != 'supported'} == {
        'deprecated': 'hide_hypervisor_id'
    }
    assert 'hw:numa_cpus.{num}' in rows
    assert all(row['description'] and '``' not in row['description'] for row in rows.values())


@pytest.mark.parametrize('chosen', [['hw_rng'], ['no-namespace'], ['hw', 'os']], ids=str)
def test_list_is_filtered_by_namespaces(run, chosen):
    rows = rows_of(run, 'list', *(word for name in chosen for word in ('--namespace', name)))
    prefixes = {row['name'].rpartition(':')[0] or 'no-namespace' for row in rows}
    assert prefixes == {*chosen}


@pytest.mark.parametrize('command', [('list',), ('export', '--format', 'rst')])
def test_an_unknown_namespace_is_an_error(run, command):
    done = run('extra-spec', *command, '--namespace', 'nope')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("error: unknown namespace: 'nope' (namespaces: no-namespace, ")
    assert done.stderr.count('\n') == 1


@pytest.mark.parametrize(('form', 'suffix'), [('rst', '.rst'), ('metadef', '.json')])
def test_export_to_files(run, tmp_path, form, suffix):
    """R4-16, R4-17: one file for each namespace, with stable content."""
    for folder in ('one', 'other/deeper'):
        done = run('extra-spec', 'export', '--format', form, '--output-dir', folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ('one', 'other/deeper')
    )
    assert first == second
    assert {f'hw{suffix}', f'no-namespace{suffix}', f'trait{suffix}'} <= set(first)


def test_an_export_to_an_existing_file_is_an_error(run, write):
    write('taken', 'a file')
    done = run('extra-spec', 'export', '--format', 'rst', '--output-dir', 'taken')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == 'error: taken cannot be written: File exists\n'


def test_the_release_of_nova_decides(run):
    """Names, values, and a repair in point releases."""
    specs = ('hw:cpu_max_cores=2', 'hw:max_cpu_cores=2', 'hw:locked_memory=true')
    for release, verdicts in (
        ('25', ('invalid', 'let through', 'invalid')),
        ('30.2', ('invalid', 'let through', 'valid')),
        ('30.3', ('valid', 'invalid', 'valid')),
    ):
        rows = rows_of(run, 'validate', *specs, '--nova-release', release, status=3)
        assert tuple(row['verdict'] for row in rows) == verdicts
    specs = ('hw:mem_encryption_model=amd-sev-snp', '--nova-release')
    rows_of(run, 'validate', *specs, '33.0', status=3)
    rows_of(run, 'validate', *specs, '34')


def test_extra_specs_that_nova_rejects_together_are_invalid(run):
    rows = rows_of(run, 'validate', RIGHT, 'resources:PCPU=1', 'hw:boot_menu=true', status=3)
    assert [row['verdict'] for row in rows] == ['invalid', 'invalid', 'valid']
    assert 'InvalidRequest' in rows[0]['message']


def test_extra_specs_that_depend_on_the_image_are_not_checked(run):
    (row,) = rows_of(run, 'validate', 'hw:mem_encryption=true')
    assert row['verdict'] == 'valid'
    assert row['message'].startswith('not checked, because the image decides')
    (row,) = rows_of(run, 'validate', 'hw:mem_encryption=true', '--mode', 'off')
    assert row['message'] == ''


@pytest.mark.parametrize(
    ('mode', 'status', 'verdicts'),
    [
        ('strict', 3, ['valid', 'invalid', 'invalid']),
        ('permissive', 3, ['valid', 'invalid', 'invalid']),
        ('off', 0, ['not checked'] * 3),
    ],
)
def test_names_that_mysql_does_not_distinguish_are_invalid(run, mode, status, verdicts):
    """Nova's API answers 409 to them: the table has MySQL's default collation."""
    name = 'aggregate_instance_extra_specs:'
    specs = (f'{name}ssd=1', f'{name}SSD===1', f'{name}ssd =1')
    rows = rows_of(run, 'validate', *specs, '--mode', mode, status=status)
    assert [row['verdict'] for row in rows] == verdicts
    said = f'MySQL takes it for {name}ssd: where Nova uses MySQL, its API answers 409'
    assert [said in row['message'] for row in rows] == [each == 'invalid' for each in verdicts]
    assert ('literally' in rows[1]['message']) is (mode != 'off')


@pytest.mark.parametrize('spec', ['a@b=1', f'a={"x" * 256}'])
def test_what_nova_cannot_store_has_no_note_about_a_filter(run, spec):
    (row,) = rows_of(run, 'validate', spec, '--mode', 'permissive', status=3)
    assert row['message'].startswith('Nova allows ')
    assert ';' not in row['message']
