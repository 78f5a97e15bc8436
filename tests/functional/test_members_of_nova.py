"""Group members in each state count on the hosts on which a real Nova counts them."""

import sqlite3

import pytest

from senlin_affinity.model.server_group import Member
from tests.support import preflight
from tests.support.asked import NamedRequest
from tests.support.sandbox import SandboxCloud
from tests.support.tables import rows
from tests.support.waiting import until

HOSTS = {name: {'vcpus': 50} for name in 'abc'}
FLAVORS = {'m1.tiny': {}, 'm1.small': {'ram': 128}, 'huge': {'vcpus': 1000}}
OPTIONS = {'DEFAULT': {'reclaim_instance_interval': 36000}, 'scheduler': {'max_attempts': 3}}
NEWEST = {'microversion': '2.79'}
pytestmark = pytest.mark.long
#: Database updates for states in which no request leaves a server.
IN_DATABASE = {
    'building': "update instances set vm_state = 'building' where uuid = ?",
    'shelved': "update instances set vm_state = 'shelved' where uuid = ?",
    'migrating': "update instances set vm_state = 'active', task_state = 'resize_migrating' "
    'where uuid = ?',
}
BODIES = {
    'resize': {'flavorRef': 'm1.small'},
    'os-resetState': {'state': 'error'},
    'rescue': {},
}


class Nova:
    """A real Nova with an administrator's connection."""

    def __init__(self, cloud):
        self.connection = cloud.connection()
        self.compute = self.connection.compute
        self.cloud = cloud
        self.flavors = {flavor.name: flavor.id for flavor in self.compute.flavors()}

    def group(self, policy, rules=()):
        more = {'rules': dict(rules)} if rules else {}
        return self.compute.create_server_group(name='web', policy=policy, **more).id

    def boot(self, group, host=None, flavor='m1.tiny'):
        """Create a server, on this host if given, bypassing the scheduler."""
        body = {'name': 's', 'flavorRef': self.flavors[flavor], 'networks': 'none'}
        body |= {'imageRef': self.cloud.image_id}
        body |= {} if host is None else {'availability_zone': f'nova:{host}'}
        request = {'server': body, 'os:scheduler_hints': {'group': group}}
        answer = self.compute.post('/servers', json=request, **NEWEST)
        assert answer.status_code == 202, answer.text
        return answer.json()['server']['id']

    def get(self, server):
        return self.compute.get(f'/servers/{server}', **NEWEST).json().get('server')

    def status(self, server):
        """Return Nova's status, or None if the server does not exist."""
        found = self.get(server)
        return found and found['status']

    def after_task(self, server):
        """Return the server after its current task, or None if it does not exist."""

        def view():
            found = self.get(server)
            busy = found and (found['OS-EXT-STS:task_state'] or found['status'] == 'BUILD')
            return None if busy else [found]

        return until(view, 60, f'server {server}\n{self.cloud.logs()}')[0]

    def act(self, server, action):
        body = {action: BODIES.get(action)}
        if action == 'resize':
            body = {'resize': {'flavorRef': self.flavors['m1.small']}}
        answer = self.compute.post(f'/servers/{server}/action', json=body, **NEWEST)
        assert answer.status_code < 300, answer.text
        return self.after_task(server)

    def update_database(self, word, server):
        with sqlite3.connect(self.cloud.log_dir / 'cell1.sqlite', timeout=30) as database:
            database.execute(IN_DATABASE[word], (server,))
            if word == 'migrating':
                database.execute(
                    'update migrations set status = ? where instance_uuid = ?', (word, server)
                )

    def delete(self, *servers):
        for server in servers:
            self.compute.post(f'/servers/{server}/action', json={'forceDelete': None}, **NEWEST)
        until(lambda: not any(map(self.get, servers)), 60, 'the servers are gone')

    def accepting_hosts(self, group, hosts):
        """Return which of these hosts accept another server of the group."""
        servers = {host: self.boot(group, host) for host in hosts}
        found = {host: self.after_task(server)['status'] for host, server in servers.items()}
        self.delete(*servers.values())
        return {host for host, status in found.items() if status == 'ACTIVE'}

    def make(self, row, group):
        """Create a server in the state of a row."""
        if row['make'] == ['too large']:
            server = self.boot(group, flavor='huge')
            self.after_task(server)
            return server
        server = self.boot(group, 'a')
        assert self.after_task(server)['status'] == 'ACTIVE'
        for step in row['make']:
            if step.startswith('in database '):
                self.update_database(step.split()[-1], server)
            elif step == 'delete':
                self.compute.delete_server(server)
                until(lambda: self.get(server)['status'] == 'SOFT_DELETED', 60, 'deleted softly')
            else:
                self.act(server, step)
        until(lambda: self.status(server) == row['state'], 60, row['name'])
        return server


@pytest.fixture(scope='module')
def nova():
    with SandboxCloud(HOSTS, flavors=FLAVORS, nova_options=OPTIONS) as cloud:
        yield Nova(cloud)


def snapshot_and_plan(nova, group):
    """Return a snapshot, its group, and the plan for another server."""
    taken = preflight.take_snapshot(nova.connection, server_groups=(group,))
    (known,) = taken.server_groups
    flavor = nova.flavors['m1.tiny']
    request = NamedRequest(0, flavor, group, image_properties={})
    return taken, known, preflight.plan(request, taken)


@pytest.mark.long(every=3)
@pytest.mark.parametrize('row', rows('group_members'))
def test_r2_12_a_member_counts_on_the_hosts_of_the_row(nova, row):
    """With anti-affinity and affinity, on the hosts of the row."""
    group = nova.group('anti-affinity')
    server = nova.make(row, group)
    server_data = nova.get(server)
    other = server_data and server_data['OS-EXT-SRV-ATTR:host']
    if 'in database migrating' in row['make']:
        other = next(iter(nova.connection.compute.migrations())).dest_compute
    full = {name.replace('{other}', str(other)) for name in row['anti-affinity']}

    assert nova.accepting_hosts(group, HOSTS) == set(HOSTS) - full
    taken, known, decision = snapshot_and_plan(nova, group)
    assert bool(known.members) is row.get('shown', True)
    if row['state'] == 'SOFT_DELETED':
        assert [each.server for each in taken.soft_deleted] == [server]
        assert (decision.capacity, decision.capacity_is_upper_bound) == (3, True)
    else:
        assert {report.host for report in decision.hosts if not report.room} == full
        assert (decision.capacity, decision.capacity_is_upper_bound) == (3 - len(full), False)
    if server_data:
        nova.delete(server)

    if 'affinity' in row:
        group = nova.group('affinity')
        server = nova.make(row, group)
        with_nova_conf = set(row['affinity']) or set(HOSTS)
        assert {host for host in 'ab' if nova.accepting_hosts(group, host)} == with_nova_conf & set(
            'ab'
        )
        rooms = {
            report.host for report in snapshot_and_plan(nova, group)[2].hosts if report.room != 0
        }
        assert rooms == with_nova_conf
        if nova.get(server):
            nova.delete(server)


def test_a_migrating_member_counts_on_both_hosts(nova):
    """As in Nova, two of the three hosts reject other members."""
    group = nova.group('anti-affinity')
    server = nova.boot(group, 'a')
    nova.after_task(server)
    new_host = nova.act(server, 'resize')['OS-EXT-SRV-ATTR:host']

    for groups in ((group,), None):
        taken = preflight.take_snapshot(nova.connection, server_groups=groups)
        (member,) = next(each for each in taken.server_groups if each.id == group).members
        assert (member.host, member.also_on) == (new_host, tuple(sorted({'a', new_host})))
        request = NamedRequest(2, nova.flavors['m1.tiny'], group, image_properties={})
        decision = preflight.plan(request, taken)
        assert (decision.capacity, decision.capacity_is_upper_bound) == (1, False)

    placed = [nova.after_task(nova.boot(group)) for _ in range(2)]
    assert [each['status'] for each in placed] == ['ACTIVE', 'ERROR']
    assert Member(server, 'a').is_half_known is False
    nova.delete(server, *(item['id'] for item in placed))
