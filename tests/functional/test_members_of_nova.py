"""Where a real Nova counts a member of a group, state by state, and what a plan makes of it."""

import sqlite3

import pytest

from senlin_affinity.model.request import PlacementRequest
from senlin_affinity.model.server_group import Member
from senlin_affinity.sandbox.cloud import SandboxCloud
from tests.support import preflight
from tests.support.tables import rows
from tests.support.waiting import until

HOSTS = {name: {'vcpus': 50} for name in 'abc'}
FLAVORS = {'m1.tiny': {}, 'm1.small': {'ram': 128}, 'huge': {'vcpus': 1000}}
OPTIONS = {'DEFAULT': {'reclaim_instance_interval': 36000}, 'scheduler': {'max_attempts': 3}}
NEWEST = {'microversion': '2.79'}
pytestmark = pytest.mark.long
#: What the database is told, where no request leads to a state that lasts.
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
    """A real one, as an administrator."""

    def __init__(self, cloud):
        self.connection = cloud.connection()
        self.compute = self.connection.compute
        self.cloud = cloud
        self.flavors = {flavor.name: flavor.id for flavor in self.compute.flavors()}

    def group(self, policy, rules=()):
        more = {'rules': dict(rules)} if rules else {}
        return self.compute.create_server_group(name='web', policy=policy, **more).id

    def boot(self, group, host=None, flavor='m1.tiny'):
        """A server; on this host, whatever the scheduler would say."""
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
        """Nova's word; None once it is gone."""
        found = self.get(server)
        return found and found['status']

    def rested(self, server):
        """The server once Nova does nothing with it; None once it is gone."""

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
        return self.rested(server)

    def tell_database(self, word, server):
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

    def taken(self, group, hosts):
        """Those of these hosts that take another server of the group, all at once."""
        servers = {host: self.boot(group, host) for host in hosts}
        found = {host: self.rested(server)['status'] for host, server in servers.items()}
        self.delete(*servers.values())
        return {host for host, status in found.items() if status == 'ACTIVE'}

    def make(self, row, group):
        """A server in the state of a row."""
        if row['make'] == ['too large']:
            server = self.boot(group, flavor='huge')
            self.rested(server)
            return server
        server = self.boot(group, 'a')
        assert self.rested(server)['status'] == 'ACTIVE'
        for step in row['make']:
            if step.startswith('in database '):
                self.tell_database(step.split()[-1], server)
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


def seen(nova, group):
    """The group as a snapshot has it, and the plan of one server more."""
    taken = preflight.take_snapshot(nova.connection, server_groups=(group,))
    (known,) = taken.server_groups
    flavor = nova.flavors['m1.tiny']
    asked = PlacementRequest(0, flavor, group, image_properties={})
    return taken, known, preflight.plan(asked, taken)


@pytest.mark.parametrize('row', rows('group_members'))
def test_r2_12_a_member_counts_as_in_the_table(nova, row):
    """With anti-affinity and affinity: where Nova takes one more, and what is planned."""
    group = nova.group('anti-affinity')
    server = nova.make(row, group)
    there = nova.get(server)
    other = there and there['OS-EXT-SRV-ATTR:host']
    if 'in database migrating' in row['make']:
        other = next(iter(nova.connection.compute.migrations())).dest_compute
    full = {name.replace('{other}', str(other)) for name in row['anti-affinity']}

    assert nova.taken(group, HOSTS) == set(HOSTS) - full
    taken, known, said = seen(nova, group)
    assert bool(known.members) is row.get('shown', True)
    if row['state'] == 'SOFT_DELETED':
        assert [each.server for each in taken.soft_deleted] == [server]
        assert (said.capacity, said.capacity_is_upper_bound) == (3, True)
    else:
        assert {report.host for report in said.hosts if not report.room} == full
        assert (said.capacity, said.capacity_is_upper_bound) == (3 - len(full), False)
    if there:
        nova.delete(server)

    if 'affinity' in row:
        group = nova.group('affinity')
        server = nova.make(row, group)
        with_nova_conf = set(row['affinity']) or set(HOSTS)
        assert {host for host in 'ab' if nova.taken(group, host)} == with_nova_conf & set('ab')
        rooms = {report.host for report in seen(nova, group)[2].hosts if report.room != 0}
        assert rooms == with_nova_conf
        if nova.get(server):
            nova.delete(server)


def test_a_server_that_moves_is_refused_on_both_hosts(nova):
    """The same as Nova places them, one after the other: two of the three hosts are out."""
    group = nova.group('anti-affinity')
    server = nova.boot(group, 'a')
    nova.rested(server)
    moved = nova.act(server, 'resize')['OS-EXT-SRV-ATTR:host']

    for groups in ((group,), None):
        taken = preflight.take_snapshot(nova.connection, server_groups=groups)
        (member,) = next(each for each in taken.server_groups if each.id == group).members
        assert (member.host, member.also_on) == (moved, tuple(sorted({'a', moved})))
        asked = PlacementRequest(2, nova.flavors['m1.tiny'], group, image_properties={})
        said = preflight.plan(asked, taken)
        assert (said.capacity, said.capacity_is_upper_bound) == (1, False)

    placed = [nova.rested(nova.boot(group)) for _ in range(2)]
    assert [each['status'] for each in placed] == ['ACTIVE', 'ERROR']
    assert Member(server, 'a').is_half_known is False
    nova.delete(server, *(item['id'] for item in placed))
