"""``senlin-affinity host show``: one host of a snapshot, and its errors."""

import json

import pytest

from tests.functional.cli.test_capacity import CLOUD

LISTED = ('cmp-1', 'cmp-2')


@pytest.fixture
def show(run, write):
    def run_show(*arguments, changed=None):
        name = write('cloud.json', json.dumps(CLOUD | (changed or {})))
        return run('host', 'show', *arguments, '--snapshot', name)

    return run_show


def test_a_host(show):
    done = show('cmp-2', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout) == {
        'host': 'cmp-2',
        'hypervisor': 'cmp-2',
        'zone': 'az-2',
        'state': 'enabled and up',
        'aggregates': 'two',
        'servers': None,
        'resources': {
            'MEMORY_MB': {'capacity': 65536, 'used': 57344, 'free': 8192, 'stranded': 0},
            'VCPU': {'capacity': 64, 'used': 16, 'free': 48, 'stranded': 44},
        },
        'flavors that fit': {'m1.large': 1, 'm1.small': 4},
        'consumers that are not servers': '',
        'not known': 'reserved amounts and consumers: not in a snapshot',
    }


def test_servers_are_those_of_the_list(show):
    """The count of the hypervisor is stale after a migration or a resize."""
    hosts = [each | {'servers': 0} for each in CLOUD['hosts']]
    servers = {'cmp-2': [{'id': 's', 'name': 'db', 'status': 'ACTIVE', 'host': 'cmp-2'}]}
    changed = {'hosts': hosts, 'servers_by_host': servers}
    found = [json.loads(show(name, '-f', 'json', changed=changed).stdout) for name in LISTED]
    assert [each['servers'] for each in found] == [0, 1]


def test_a_disabled_host_takes_no_server(show):
    done = show('cmp-3')
    assert 'VCPU: 64 of 64 free' in done.stdout
    assert '| flavors that fit               | (none)' in done.stdout
    assert 'disabled and up' in done.stdout


def test_whether_a_flavor_fits_is_not_known(show):
    """An Ironic node offers no class that Placement is asked about for every host."""
    node = {'host': 'bm-1', 'hypervisor_type': 'ironic', 'is_partial': True, 'resources': {}}
    specs = {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    gold = {**CLOUD['flavors'][0], 'id': 'g', 'name': 'gold'}
    gold['extra_specs'] = {**specs, 'resources:CUSTOM_GOLD': '1'}
    done = show('bm-1', '-f', 'json', changed={'hosts': [node], 'flavors': [gold]})
    shown = json.loads(done.stdout)
    assert shown['flavors that fit'] == {}
    assert 'whether these flavors fit: gold' in shown['not known']


NODES = [{**CLOUD['hosts'][0], 'hypervisor_hostname': f'node-{n}'} for n in (1, 2)]


@pytest.mark.parametrize(
    ('name', 'changed', 'status', 'message'),
    [
        ('cmp-4', {}, 2, "there is no host 'cmp-4': did you mean cmp-3?"),
        (
            'cmp-1',
            {'hosts': NODES},
            2,
            'cmp-1 has 2 hypervisors: name one of them, such as node-1, node-2',
        ),
        ('cmp-1', {'hosts': None}, 1, 'the hosts are not known: the snapshot does not have them'),
    ],
)
def test_errors(show, name, changed, status, message):
    done = show(name, changed=changed)
    assert (done.returncode, done.stdout, done.stderr) == (status, '', f'error: {message}\n')


def test_a_hypervisor_of_a_service_with_several(show):
    done = show('node-2', '-f', 'value', '-c', 'hypervisor', changed={'hosts': NODES})
    assert done.stdout == 'node-2\n'
