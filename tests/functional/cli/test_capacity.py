"""``senlin-affinity capacity``: its options, columns, exit statuses and errors."""

import json

import pytest

from senlin_affinity import api
from senlin_affinity.cli.capacity import _notes
from senlin_affinity.model.cloud import Cloud

AZ1, AZ2, RACK = (f'5bbcc3c4-1da2-4437-a48a-00000000000{n}' for n in (1, 2, 3))


def host(name, zone, vcpus, ram, **more):
    resources = {
        name: {'capacity': capacity, 'used': used}
        for name, (capacity, used) in {'VCPU': vcpus, 'MEMORY_MB': ram}.items()
    }
    return {'host': name, 'availability_zone': zone, 'resources': resources, **more}


def flavor(number, name, vcpus, ram, **specs):
    return {'id': number, 'name': name, 'vcpus': vcpus, 'ram': ram, 'disk': 0, 'extra_specs': specs}


#: A cloud in which memory runs out: 96 VCPUs are free.
CLOUD = {
    'format': 1,
    'hosts': [
        host('cmp-1', 'az-1', (64, 16), (65536, 49152), aggregates=[AZ1, RACK]),
        host('cmp-2', 'az-2', (64, 16), (65536, 57344), aggregates=[AZ2]),
        host('cmp-3', 'az-2', (64, 0), (65536, 0), aggregates=[AZ2], enabled=False),
    ],
    'aggregates': [
        {'uuid': AZ1, 'name': 'one', 'availability_zone': 'az-1'},
        {'uuid': AZ2, 'name': 'two', 'availability_zone': 'az-2'},
        {'uuid': RACK, 'name': 'ssd', 'metadata': {'rack': 'r1', 'tier': 'capacity'}},
    ],
    'flavors': [
        flavor('1', 'm1.small', 1, 2048),
        flavor('2', 'm1.large', 4, 8192),
        flavor('3', 'm1.xlarge', 8, 32768),
        flavor('4', 'twisted', 1, 512, **{'resources1:VGPU': '1', 'resources2:VGPU': '1'}),
    ],
    'server_groups': [
        {'id': 'g1', 'name': 'web', 'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2},
         'members': [{'server': 's1', 'host': 'cmp-1'}]},
    ],
    'project_id': 'ours',
    'user_id': 'us',
    'quotas': {'instances': {'limit': 10, 'used': 7}},
}  # fmt: skip


@pytest.fixture
def capacity(run, write):
    """Return a function that runs the command on the cloud, which ``changed`` changes."""

    def run_capacity(*options, changed=None, **environment):
        name = write('cloud.json', json.dumps(CLOUD | (changed or {})))
        return run('capacity', '--snapshot', name, *options, **environment)

    return run_capacity


@pytest.fixture
def rows(capacity):
    """Return a function that returns the rows, by flavor."""

    def run_for_rows(*options, changed=None):
        done = capacity(*options, '-f', 'json', changed=changed)
        assert (done.returncode, done.stderr) == (0, '')
        return {row['flavor']: row for row in json.loads(done.stdout)}

    return run_for_rows


def test_a_row_for_each_flavor_the_scarcest_first(capacity):
    done = capacity('--by', 'zone', '--fit-width', COLUMNS='80')
    assert (done.returncode, done.stderr) == (0, '')
    table, _notes = done.stdout.split('Assuming')
    assert table == '''\
+-----------+----------+-------+------+------+--------------------------------+
| flavor    | capacity | hosts | az-1 | az-2 | why                            |
+-----------+----------+-------+------+------+--------------------------------+
| m1.xlarge |        0 |     0 |    0 |    0 | 96 VCPU are free, but no host  |
|           |          |       |      |      | has 32768 MEMORY_MB left       |
| m1.large  |        3 |     2 |    2 |    1 | MEMORY_MB runs out first; 84   |
|           |          |       |      |      | VCPU are left                  |
| m1.small  |       12 |     2 |    8 |    4 | MEMORY_MB runs out first; 84   |
|           |          |       |      |      | VCPU are left                  |
| twisted   |        0 |     0 |    0 |    0 | Placement answers 400 for      |
|           |          |       |      |      | flavor twisted: it has request |
|           |          |       |      |      | groups "1", "2", but no        |
|           |          |       |      |      | group_policy                   |
|           |          |       |      |      | (candidates.no_group_policy)   |
+-----------+----------+-------+------+------+--------------------------------+
'''  # fmt: skip


def test_the_keys_of_json(rows):
    row = rows('--by', 'zone', '--flavor', 'm1.xlarge')['m1.xlarge']
    assert row == {
        'flavor': 'm1.xlarge',
        'id': '3',
        'capacity': 0,
        'capacity_certain': 0,
        'at_most': [],
        'hosts': 0,
        'az-1': 0,
        'az-2': 0,
        'runs_out_first': 'MEMORY_MB',
        'stranded': {'VCPU': 96, 'MEMORY_MB': 24576},
        'why': '96 VCPU are free, but no host has 32768 MEMORY_MB left',
    }


@pytest.mark.parametrize(
    ('by', 'expected'),
    [
        ('aggregate', {'one': 2, 'ssd': 2, 'two': 1}),
        ('rack', {'rack (none)': 1, 'r1': 2}),
        ('tier', {'tier (none)': 1, 'tier capacity': 2}),
        ('host', {'cmp-1': 2, 'cmp-2': 1, 'cmp-3': 0}),
    ],
)
def test_a_column_for_each_part(rows, by, expected):
    """A value that is the name of another column gets a prefix."""
    row = rows('--by', by, '--flavor', '2')['m1.large']
    assert {key: row[key] for key in expected} == expected
    assert row['capacity'] == 3


@pytest.mark.parametrize('form', ['csv', 'value'])
def test_formats_of_scripts(capacity, form):
    done = capacity('--flavor', 'm1.large', '-f', form, '-c', 'flavor', '-c', 'capacity')
    assert done.stdout.splitlines()[-1].replace('"', '').replace(',', ' ') == 'm1.large 3'


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        (('--flavor', 'm1.*'), {'m1.small': 12, 'm1.large': 3, 'm1.xlarge': 0}),
        (('--flavor', '1', '--flavor', 'm1.large'), {'m1.small': 12, 'm1.large': 3}),
        (('--vcpus', '2', '--ram', '4096'), {'(new)': 6}),
        (('--property', 'resources:VGPU=1'), {'(new)': 0}),
        (('--ram', '8192', '--flavor', 'm1.large'), {'m1.large': 3, '(new)': 3}),
        (
            ('--flavor', 'm1.*', '--availability-zone', 'az-2'),
            {'m1.small': 4, 'm1.large': 1, 'm1.xlarge': 0},
        ),
        (('--flavor', 'm1.small', '--server-group', 'web'), {'m1.small': 3}),
    ],
)
def test_options_of_the_request(rows, options, expected):
    assert {name: row['capacity'] for name, row in rows(*options).items()} == expected


def test_the_project_has_a_column_of_its_quotas(rows):
    row = rows('--flavor', 'm1.small', '--project', 'ours')['m1.small']
    assert (row['capacity'], row['quota']) == (12, 3)
    row = rows('--flavor', 'm1.small', '--project', '0' * 32)['m1.small']
    assert (row['capacity'], row['quota']) == (12, None)


def test_a_private_flavor_counts_if_the_project_has_access(rows):
    private = {**flavor('5', 'private', 1, 512), 'is_shared': False}
    changed = {'flavors': [*CLOUD['flavors'], private]}
    assert 'private' not in rows('--project', 'ours', changed=changed)
    row = rows('--project', 'ours', '--flavor', 'private', changed=changed)['private']
    assert (row['capacity_certain'], row['at_most']) == (0, ['flavor.access'])


def test_what_remains_after_the_loss_of_the_largest_host_of_each_zone(rows):
    """Each zone has room for fewer servers than its largest host can hold."""
    assert rows('--flavor', 'm1.large', '--spare-host')['m1.large']['spare'] == 0
    empty = [{**each, 'enabled': True} for each in CLOUD['hosts']]
    row = rows('--flavor', 'm1.large', '--spare-host', changed={'hosts': empty})['m1.large']
    assert (row['capacity'], row['spare']) == (2 + 1 + 8, 1)


AT_MOST = {
    'hosts': [{**each, 'hypervisor_type': 'VMware vCenter Server'} for each in CLOUD['hosts']]
}


@pytest.mark.parametrize(
    ('options', 'changed', 'status'),
    [
        (('--flavor', 'm1.large', '--at-least', '3'), {}, 0),
        (('--flavor', 'm1.large', '--at-least', '4'), {}, 3),
        (('--flavor', 'm1.*', '--at-least', '1'), {}, 3),
        (('--flavor', 'm1.large', '--at-least', '1', '--spare-host'), {}, 3),
        (('--flavor', 'm1.large', '--at-least', '3'), AT_MOST, 4),
        (('--flavor', 'm1.large', '--at-least', '4'), AT_MOST, 3),
        (('--flavor', 'm1.large', '--at-least', '1'), {'hosts': None}, 1),
        (('--at-least', '0'), {}, 0),
    ],
)
def test_the_exit_status_of_at_least(capacity, options, changed, status):
    done = capacity(*options, changed=changed)
    assert (done.returncode, done.stderr) == (status, '')
    assert done.stdout


def test_at_most_has_a_code_and_an_explanation(capacity):
    done = capacity('--flavor', 'm1.small', '--long', changed=AT_MOST)
    assert '\nat most (resources.vsphere): vSphere clusters\n' in done.stdout
    assert '| m1.small | 1  | at most 12 |' in done.stdout


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (('--flavor', 'm1.larg'), "flavor: there is no flavor 'm1.larg': did you mean m1.large?"),
        (
            ('--flavor', 'x*'),
            "flavor: no flavor matches 'x*': choose from m1.large, m1.small, m1.xlarge, twisted",
        ),
        (
            ('--availability-zone', 'az-3'),
            "availability_zone: there is no availability zone 'az-3': did you mean az-2?",
        ),
        (('--by', 'zon'), "by: no aggregate has the metadata key 'zon': did you mean zone?"),
        (
            ('--server-group', 'wep'),
            "server_group: there is no server group 'wep': did you mean web?",
        ),
        (
            ('--at-least', '-1'),
            "argument --at-least: must be a number from 0 to 1,000,000, not '-1' "
            '(senlin-affinity capacity --help shows the options)',
        ),
        (
            ('--project', 'demo'),
            "--project 'demo' is not an id: use the id, because a snapshot contains no names of "
            'projects',
        ),
    ],
)
def test_bad_input_is_one_line(capacity, options, message):
    done = capacity(*options)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == f'error: {message}\n'


def test_a_cloud_must_be_named(run):
    done = run('capacity')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == 'error: name a cloud with --os-cloud, or a file with --snapshot\n'


def test_hosts_that_are_not_in_the_snapshot(capacity):
    done = capacity('-f', 'json', changed={'hosts': None})
    assert {each['hosts'] for each in json.loads(done.stdout)} == {None}
    done = capacity('-c', 'hosts', changed={'hosts': None})
    assert '| not known |' in done.stdout


def test_the_lines_below_the_table_name_what_a_tenant_may_not_read():
    denied = "could not list: Nova answered 403: Policy doesn't allow os_compute_api:os-hypervisors"
    view = Cloud(flavors=(), unavailable={'hosts': denied})
    assert [*_notes(api.capacity(view), view, is_long=False)] == [
        'not known: the hosts: Nova shows them to administrators only '
        '(os_compute_api:os-hypervisors)'
    ]


def test_flavors_that_are_not_in_the_snapshot(capacity):
    done = capacity(changed={'flavors': None})
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == 'error: the flavors are not known: the snapshot does not have them\n'
