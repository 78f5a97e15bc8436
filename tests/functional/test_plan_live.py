"""``plan`` on the real Nova and Placement: live, as two users, and from a saved snapshot."""

import json
import re

import pytest

from senlin_affinity.sandbox.identities import DEMO
from tests.support import command as commands
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

HOSTS = {
    'cmp-1': {'availability_zone': 'az-1'},
    'cmp-2': {'availability_zone': 'az-2', 'aggregates': {'ssd': {'ssd': 'true'}}},
    'cmp-3': {'availability_zone': 'az-2', 'disabled': True},
}
FLAVORS = {'m1.tiny': {'id': '1'}}
INSTANCES = 10
#: The max_server_per_host of the groups.
SLOTS = 3
USERS = {'admin': 'sandbox', 'demo': 'sandbox-demo'}


@pytest.fixture(scope='module')
def cloud():
    """Yield two available hosts and a disabled one."""
    with SandboxCloud(HOSTS, flavors=FLAVORS, quotas={'instances': INSTANCES}) as running:
        yield running


@pytest.fixture(scope='module')
def groups(cloud):
    """Create a group ``web`` for each user, with a server on cmp-1."""
    for user in USERS:
        compute = cloud.connection(user).compute
        rules = {'max_server_per_host': SLOTS}
        created = compute.create_server_group(name='web', policy='anti-affinity', rules=rules)
        server = compute.create_server(
            name='s',
            flavor_id='1',
            image_id=cloud.image_id,
            networks='none',
            availability_zone='az-1',
            scheduler_hints={'group': created.id},
        )
        until(
            lambda compute=compute, server=server: compute.get_server(server.id).status == 'ACTIVE',
            what=f'the server is ACTIVE\n{cloud.logs()}',
        )


@pytest.fixture(scope='module')
def command(cloud, groups, tmp_path_factory):
    """Return a function that runs the command as a user of the sandbox."""
    folder = tmp_path_factory.mktemp('plan')
    clouds = folder / 'clouds.yaml'
    clouds.write_text(cloud.clouds_yaml())

    def run(user, *arguments):
        cloud_option = () if user is None else ('--os-cloud', USERS[user])
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds), 'COLUMNS': '80'}
        return commands.run(*cloud_option, *arguments, folder=folder, **environment)

    return run


def plan(command, user, count, *options):
    """Return the exit status and the decision."""
    done = command(user, 'plan', '--count', str(count), *options, '-f', 'json')
    assert done.stderr == ''
    return done.returncode, json.loads(done.stdout)


WEB = ('--flavor', 'm1.tiny', '--server-group')


def test_rx_02_an_administrator_reads_the_whole_decision(command, cloud):
    # Two groups have this name, and an administrator lists both.
    own_group = next(iter(cloud.connection().compute.server_groups())).id
    status, decision = plan(command, 'admin', 2 * SLOTS - 1, *WEB, own_group)
    assert (status, decision['capacity']) == (0, 2 * SLOTS - 1)
    placed = [each['host'] for each in decision['placements']]
    assert (placed.count('cmp-1'), placed.count('cmp-2')) == (SLOTS - 1, SLOTS)
    assert {each['servergroup'] for each in decision['placements']} == {own_group}
    status, decision = plan(command, 'admin', 2 * SLOTS, *WEB, own_group)
    assert status == 3
    assert {each['host']: each['code'] for each in decision['hosts']} == {
        'cmp-1': 'server_group.host_full',
        'cmp-2': 'server_group.host_full',
        'cmp-3': 'host_state.disabled',
    }
    changes = {each['change']: each['capacity'] for each in decision['remedies']}
    change = 'a new server group (its servers may share a host with those of the old one)'
    assert changes[change] == 2 * SLOTS
    assert (
        changes['nova-compute enabled on cmp-3 (disabled without a reason: check it first)']
        == 3 * SLOTS - 1
    )


def test_a_zone_and_an_aggregate_are_found_by_name(command):
    tiny = ('--flavor', 'm1.tiny')
    status, decision = plan(command, 'admin', 1, *tiny, '--availability-zone', 'az-2')
    assert (status, decision['placements'][0]['host']) == (0, 'cmp-2')
    status, decision = plan(command, 'admin', 1, *tiny, '--member-of', '!ssd')
    assert (status, decision['placements'][0]['host']) == (0, 'cmp-1')


def test_specified_options_and_images_are_not_assumed(command, cloud):
    """The output contains no password of the real nova.conf."""
    tiny, nova_conf = ('--flavor', 'm1.tiny', '--strict'), cloud.log_dir / 'nova.conf'
    status, decision = plan(command, 'admin', 1, *tiny)
    codes = [item['code'] for item in decision['assumptions']]
    assert (status, decision['certain'], codes[:2]) == (4, False, ['nova.filters', 'image.unknown'])
    specified = ('--nova-conf', str(nova_conf), '--image', 'cirros')
    status, decision = plan(command, 'admin', 1, *tiny, *specified)
    assert (status, decision['certain'], decision['assumptions']) == (0, True, [])
    done = command('admin', '-v', '--debug', 'plan', '--count', '1', *tiny, *specified)
    found = re.findall('password = (.*)|://[^:]*:(.*)@', nova_conf.read_text())
    secrets = {text for texts in found for text in texts if text}
    assert secrets
    assert not any(text in done.stdout + done.stderr for text in secrets)
    done = command('admin', 'plan', '--count', '1', *tiny, '--image', 'ciros')
    assert (done.returncode, done.stderr) == (2, "error: image: there is no image 'ciros'\n")


def test_a_non_admin_has_no_hosts(command):
    status, decision = plan(command, 'demo', 1, *WEB, 'web')
    assert (status, decision['fits'], decision['hosts'], decision['placements']) == (
        1,
        None,
        [],
        [],
    )
    assert 'the hosts are not known' in decision['line']
    done = command('demo', 'plan', '--count', '1', *WEB, 'web')
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    first = lines.index('What is not known') + 1
    assert lines[first : first + 2] == [
        '  the hosts: Nova shows them to administrators only',
        '    (os_compute_api:os-hypervisors:list-detail)',
    ]
    assert lines[-3:] == [
        'What is known of server group web',
        '  1 server, on 1 host',
        f'  this host has {SLOTS - 1} slots left (max_server_per_host: {SLOTS})',
    ]
    assert 'cmp-' not in done.stdout


def test_the_quota_of_a_non_admin_rejects_without_hosts(command):
    status, decision = plan(command, 'demo', INSTANCES, *WEB, 'web')  # one server exists
    assert (status, decision['fits']) == (3, False)
    assert 'quota.instances' in decision['line']


def test_rx_07_an_administrator_plans_with_the_quota_of_the_tenant(command, cloud):
    """Each user has a group of this name, and an own quota."""
    group = next(iter(cloud.connection('demo').compute.server_groups())).id
    for options in (
        ('--server-group', group),
        ('--project', 'demo'),
        ('--project', DEMO.project.id),
        ('--project', 'demo', '--server-group', 'web'),
    ):
        status, decision = plan(command, 'admin', INSTANCES, '--flavor', 'm1.tiny', *options)
        facts = {item['code']: item['facts'] for item in decision['request']}['quota.instances']
        assert (status, facts['project_id'], facts['used']) == (3, DEMO.project.id, 1), options
    _status, decision = plan(command, 'admin', 1, '--flavor', 'm1.tiny', *options)
    assert decision['placements'][0]['servergroup'] == group


@pytest.mark.parametrize('user', USERS)
def test_a_saved_snapshot_gives_equal_decisions(command, cloud, user):
    done = command(user, 'snapshot', 'save', f'{user}.json')
    assert done.returncode == 0, done.stderr
    group = next(iter(cloud.connection(user).compute.server_groups())).id
    for count in (1, 2 * SLOTS - 1, 2 * SLOTS, INSTANCES):
        live = plan(command, user, count, *WEB, group)
        saved = plan(command, None, count, *WEB, group, '--snapshot', f'{user}.json')
        assert saved == live


ORPHAN = '0c000000-0000-4000-8000-00000000000f'


def test_the_capacity_is_that_of_a_plan_without_quotas(command):
    done = command('admin', 'capacity', '--flavor', 'm1.*', '--by', 'zone', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    (row,) = json.loads(done.stdout)
    _status, decision = plan(command, 'admin', 0, '--flavor', 'm1.tiny', '--ignore-quotas')
    assert row['capacity'] == decision['capacity'] > 0
    assert row['capacity'] == row['az-1'] + row['az-2']
    done = command('demo', 'capacity', '--at-least', '1')
    assert (done.returncode, done.stderr) == (1, '')


@pytest.fixture
def orphan(cloud):
    """Allocate a VCPU of cmp-1 to a consumer that is no server."""
    placement = cloud.connection().placement
    found = placement.get('/resource_providers?name=cmp-1', microversion='1.29').json()
    (provider,) = found['resource_providers']
    body = {
        'allocations': {provider['uuid']: {'resources': {'VCPU': 1}}},
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': None,
    }
    put = placement.put(f'/allocations/{ORPHAN}', json=body, microversion='1.28')
    assert put.status_code == 204, put.text
    yield
    placement.delete(f'/allocations/{ORPHAN}', microversion='1.28')


def test_a_host_with_an_orphaned_allocation(command, orphan):
    done = command('admin', 'host', 'show', 'cmp-1', '-f', 'json')
    assert (done.returncode, done.stderr) == (0, '')
    shown = json.loads(done.stdout)
    assert shown['consumers that are not servers'] == (
        f'{ORPHAN}: 1 VCPU (no server here, and no migration)'
    )
    assert shown['resources']['VCPU']['reserved'] == 0
    assert shown['servers'] == len(USERS)
    assert shown['not known'] == ''
    done = command('admin', 'host', 'show', 'cmp-2', '-f', 'json')
    assert json.loads(done.stdout)['consumers that are not servers'] == '(none)'
