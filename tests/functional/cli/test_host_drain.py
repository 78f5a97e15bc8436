"""``senlin-affinity host drain``: the plan of a snapshot, its script, and its errors."""

import json

import pytest

RACK, TWINS = (f'5bbcc3c4-1da2-4437-a48a-00000000000{n}' for n in (1, 2))
SMALL = {'id': 'm1.small', 'name': 'm1.small', 'vcpus': 2, 'ram': 2048, 'disk': 0}


def host(name, free=8, **more):
    """Return a host with this number of free VCPUs."""
    resources = {'VCPU': {'capacity': 8, 'used': 8 - free}}
    resources['MEMORY_MB'] = {'capacity': 65536, 'used': 0}
    return {
        'host': name,
        'hypervisor_hostname': f'{name}.example.org',
        'resources': resources,
    } | more


def server(name, **more):
    return {'id': f'id-of-{name}', 'name': name, 'status': 'ACTIVE', 'flavor': SMALL, **more}


CLOUD = {
    'format': 1,
    'taken_at': '2026-01-01T00:00:00Z',
    'hosts': [
        host('cmp-1', 0),
        host('cmp-2', aggregates=[RACK]),
        host('cmp-3', enabled=False),
    ],
    'aggregates': [{'uuid': RACK, 'name': 'rack-2'}],
    'server_groups': [],
    'servers_by_host': {
        'cmp-1': [server('web-1'), server('idle-1', status='SHUTOFF')],
        'cmp-2': [],
    },
}  # fmt: skip
BUSY = {'cmp-1': [server('web-1'), server('kept-1', task_state='rebooting')]}


@pytest.fixture
def drain(run, write):
    """Return a function that runs the command on the cloud, which ``changed`` changes."""

    def run_drain(*arguments, changed=None, **environment):
        name = write('cloud.json', json.dumps(CLOUD | (changed or {})))
        environment.setdefault('COLUMNS', '80')
        return run('host', 'drain', *arguments, '--snapshot', name, **environment)

    return run_drain


def test_all_servers_move(drain):
    done = drain('cmp-1')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.splitlines()[:5] == [
        '2 of 2 servers move in 1 wave',
        '',
        'Moves',
        '  Wave  Server  Step  From   To',
        '     1  web-1   live  cmp-1  cmp-2',
    ]
    assert 'id-of-web-1' not in done.stdout
    assert 'id-of-web-1' in drain('cmp-1', '--long').stdout


def test_a_stuck_server(drain):
    done = drain('cmp-1', changed={'servers_by_host': BUSY})
    assert (done.returncode, done.stderr) == (3, '')
    assert done.stdout.startswith('1 of 2 servers moves in 1 wave; 1 is stuck\n')
    assert 'Stuck\n  kept-1 on cmp-1 (live): server kept-1 is busy (rebooting)\n' in done.stdout
    assert 'move.busy' not in done.stdout
    assert '[move.busy]' in drain('cmp-1', '--long', changed={'servers_by_host': BUSY}).stdout


def test_a_host_without_servers(drain):
    done = drain('cmp-2')
    assert (done.returncode, done.stdout, done.stderr) == (0, 'no servers to move\n', '')


def test_json(drain):
    done = drain('cmp-1', '-f', 'json', changed={'servers_by_host': BUSY})
    answer = json.loads(done.stdout)
    assert (answer['format'], answer['fits'], answer['hosts']) == (1, False, ['cmp-1'])
    assert [(each['name'], each['target'], each['wave']) for each in answer['moves']] == [
        ('web-1', 'cmp-2', 1)
    ]
    assert [each['code'] for each in answer['stuck']] == ['move.busy']


def test_the_hypervisor_names_the_host_and_repeated_hosts_count_once(drain):
    done = drain('cmp-1.example.org', 'cmp-1', '-f', 'json')
    assert json.loads(done.stdout)['hosts'] == ['cmp-1']


@pytest.mark.parametrize('target', ['cmp-2', 'rack-2', RACK])
def test_targets(drain, target):
    hosts = [*CLOUD['hosts'], host('cmp-4')]
    done = drain('cmp-1', '--to', target, '-f', 'json', changed={'hosts': hosts})
    assert {each['target'] for each in json.loads(done.stdout)['moves']} == {'cmp-2'}


def test_no_room_left_for_all(drain):
    """Both servers fit alone, so neither is stuck."""
    hosts = [host('cmp-1', 0), host('cmp-2', 2)]
    done = drain('cmp-1', changed={'hosts': hosts, 'aggregates': []})
    assert done.returncode == 3
    assert done.stdout.startswith('1 of 2 servers moves in 1 wave; 1 does not fit\n')
    assert (
        'Not all servers fit together (each of these would fit alone)\n'
        '  idle-1 on cmp-1: once the others have moved, cmp-2 rejects it: ' in done.stdout
    )


def test_what_nova_does_not_show_is_named(drain):
    servers = {'cmp-1': [server('web-1', unknown=['hints', 'task_state'])]}
    done = drain('cmp-1', changed={'servers_by_host': servers})
    assert '  the task state (1 server)\n' in done.stdout


def test_a_different_allocation_is_named(drain):
    servers = {'cmp-1': [server('web-1', allocated={'VCPU': 4, 'MEMORY_MB': 2048})]}
    done = drain('cmp-1', changed={'servers_by_host': servers}, COLUMNS='120')
    assert 'web-1: Placement has allocated 4 VCPU, not 2\n' in done.stdout
    found = drain('cmp-1', '-f', 'json', changed={'servers_by_host': servers})
    (difference,) = json.loads(found.stdout)['differences']
    assert difference['requested'] == {'VCPU': 2, 'MEMORY_MB': 2048}


def test_a_control_character_in_a_name_does_not_reach_the_terminal(drain):
    servers = {'cmp-1': [server('web\x1b[31m1', id='s')]}
    for option in ('--long', '--script'):
        done = drain('cmp-1', option, changed={'servers_by_host': servers})
        assert '\x1b' not in done.stdout
        assert 'web?[31m1' in done.stdout


def test_the_script(drain):
    changed = {
        'servers_by_host': {'cmp-1': [*CLOUD['servers_by_host']['cmp-1'], *BUSY['cmp-1'][1:]]}
    }
    done = drain('cmp-1', '--script', changed=changed)
    assert done.returncode == 3
    assert done.stderr == 'warning: 2 of 3 servers move in 1 wave; 1 is stuck\n'
    lines = done.stdout.splitlines()
    assert lines[0] == '#!/bin/bash'
    assert 'set -euo pipefail' in lines
    begin = lines.index('# No server starts on cmp-1 from now on.')
    assert lines[begin:] == [
        '# No server starts on cmp-1 from now on.',
        "openstack compute service set --disable --disable-reason 'drained with senlin-affinity' "
        'cmp-1 nova-compute',
        '',
        "echo 'wave 1 of 1'",
        'before id-of-web-1 cmp-1 ACTIVE web-1',
        'openstack --os-compute-api-version 2.30 server migrate --live-migration --host cmp-2 '
        'id-of-web-1',
        'before id-of-idle-1 cmp-1 SHUTOFF idle-1',
        'openstack --os-compute-api-version 2.56 server migrate --host cmp-2 id-of-idle-1',
        'after id-of-web-1 cmp-2 ACTIVE web-1',
        'after id-of-idle-1 cmp-2 SHUTOFF idle-1',
        '',
        'left cmp-1 id-of-kept-1',
        "echo 'kept-1 (id-of-kept-1) is still on cmp-1' >&2",
        'exit 3',
    ]


def test_the_script_keeps_the_reason_of_a_disabled_host(drain):
    hosts = [host('cmp-1', 0, enabled=False), host('cmp-2')]
    done = drain('cmp-1', '--script', changed={'hosts': hosts, 'aggregates': []})
    assert '--disable' not in done.stdout


ONE_NAME = [{'uuid': RACK, 'name': 'twin'}, {'uuid': TWINS, 'name': 'twin'}]
NODES = [{**CLOUD['hosts'][0], 'hypervisor_hostname': f'node-{n}'} for n in (1, 2)]


@pytest.mark.parametrize(
    ('arguments', 'changed', 'status', 'message'),
    [
        (['cmp-4'], {}, 2, "there is no host 'cmp-4': did you mean cmp-3?"),
        (
            ['node-1'],
            {'hosts': NODES, 'servers_by_host': {}},
            2,
            'cmp-1 has 2 hypervisors: only a host with one hypervisor can be drained',
        ),
        (
            ['cmp-1', '--to', 'rack-3'],
            {},
            2,
            "--to: there is no host and no aggregate 'rack-3': did you mean rack-2?",
        ),
        (
            ['cmp-1', '--to', 'twin'],
            {'aggregates': ONE_NAME},
            2,
            f"--to: 2 aggregates are called 'twin': use a UUID, {RACK}, {TWINS}",
        ),
        (['cmp-1', '--script', '-f', 'json'], {}, 2, '--script and --format exclude each other'),
        (
            ['cmp-3'],
            {},
            1,
            'the servers of cmp-3 are not in the snapshot: save it with "snapshot save --servers"',
        ),
        (
            ['cmp-1'],
            {'hosts': None},
            1,
            'the hosts are not known: the snapshot does not have them',
        ),
    ],
)
def test_errors(drain, arguments, changed, status, message):
    done = drain(*arguments, changed=changed)
    assert (done.returncode, done.stdout, done.stderr) == (status, '', f'error: {message}\n')


def test_a_cloud_or_a_file_must_be_named(run):
    done = run('host', 'drain', 'cmp-1')
    message = 'error: name a cloud with --os-cloud, or a file with --snapshot\n'
    assert (done.returncode, done.stderr) == (2, message)


ROLLING = {
    'hosts': [host('cmp-1', 4), host('cmp-2', 4)],
    'servers_by_host': {
        'cmp-1': [server('web-1'), server('web-2')],
        'cmp-2': [server('db-1'), server('db-2')],
    },
}


def test_batches(drain):
    """The servers of the first host move back to it when it is empty, with those of the second."""
    done = drain('cmp-1', 'cmp-2', '--waves', changed=ROLLING)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('2 of 2 hosts are emptied in 2 batches\n')
    assert 'Batch 1 of 2: cmp-1: 2 of 2 servers move in 1 wave\n' in done.stdout
    assert 'Batch 2 of 2: cmp-2: 4 of 4 servers move in 1 wave\n' in done.stdout


def test_hosts_that_are_not_emptied(drain):
    busy = {'cmp-1': [server('kept-1', task_state='rebooting')], 'cmp-2': [server('db-1')]}
    done = drain(
        'cmp-1', 'cmp-2', '--waves', '-f', 'json', changed=ROLLING | {'servers_by_host': busy}
    )
    answer = json.loads(done.stdout)
    assert done.returncode == 3
    assert answer['line'] == '1 of 2 hosts is emptied in 1 batch; 1 is not'
    assert [each['hosts'] for each in answer['batches']] == [['cmp-2']]
    assert [each['stuck'][0]['code'] for each in answer['left']] == ['move.busy']


def test_no_move_of_a_host_that_is_not_emptied_is_listed(drain):
    """The script does not make it, either."""
    done = drain('cmp-1', '--waves', changed={'servers_by_host': BUSY})
    assert 'Not emptied: cmp-1: 1 is stuck\n' in done.stdout
    assert 'Moves' not in done.stdout


def test_a_batch_has_at_most_so_many_hosts(drain):
    hosts = [*ROLLING['hosts'], host('cmp-3')]
    more = ROLLING | {'hosts': hosts, 'servers_by_host': ROLLING['servers_by_host'] | {'cmp-3': []}}
    done = drain('cmp-1', 'cmp-2', '--waves', '--max-unavailable', '2', '-f', 'json', changed=more)
    assert [each['hosts'] for each in json.loads(done.stdout)['batches']] == [['cmp-1', 'cmp-2']]


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--max-unavailable', '2'], '--max-unavailable needs --waves'),
        (['--waves', '--max-unavailable', '0'], '--max-unavailable must be at least 1'),
    ],
)
def test_a_number_of_hosts_without_batches(drain, arguments, words):
    done = drain('cmp-1', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
