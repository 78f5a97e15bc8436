"""Failed actions on servers of a real Nova: ``server explain``, ``plan --server``, and remedies.

Each of the six actions fails in as many ways as Nova can fail it. The explanation must reject each
host for the reason that nova-scheduler's log and Placement's answer show, and ``plan --server``
must agree. The commands of each remedy are run as printed, and the same action succeeds.
"""

import contextlib
import json
import sqlite3

import pytest
import requests

from senlin_affinity import api
from senlin_affinity.cli import refresh
from senlin_affinity.conf.constraint_plugins import load_constraints
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.request import DEFAULT_FILTERS
from tests.support import command as commands
from tests.support import scheduler_log
from tests.support.remedying import restored
from tests.support.sandbox import SandboxCloud
from tests.support.values import replace
from tests.support.waiting import until

RAM, NEWEST = 128, '2.100'
FILTERS = (
    *DEFAULT_FILTERS,
    *('AggregateInstanceExtraSpecsFilter', 'DifferentHostFilter', 'IsolatedHostsFilter'),
    'AggregateImagePropertiesIsolation',
)
#: The constraint that models each filter, and those that Placement enforces.
MODELS = {
    'ComputeFilter': 'host_state',
    'ServerGroupAntiAffinityFilter': 'server_group',
    'ServerGroupAffinityFilter': 'server_group',
    'AggregateInstanceExtraSpecsFilter': 'aggregate_metadata',
    'DifferentHostFilter': 'scheduler_hints',
    'ImagePropertiesFilter': 'image_hypervisor',
    'IsolatedHostsFilter': 'isolated_hosts',
    'AggregateImagePropertiesIsolation': 'image_aggregates',
}
BY_PLACEMENT = {
    'candidates',
    'resources',
    'traits',
    'availability_zone',
    'reservations',
    'host_state',
}
DISABLED = 'cmp-4'
FAST = 'CUSTOM_FAST'


def host(room, zone, **more):
    return {'memory_mb': room * RAM, 'availability_zone': zone, **more}


HOSTS = {
    'cmp-1': host(3, 'az-1', aggregates={'ssd': {'ssd': 'true', 'os_distro': 'debian'}}),
    'cmp-2': host(3, 'az-1'),
    'cmp-3': host(3, 'az-1'),
    DISABLED: host(3, 'az-1', disabled=True),
    'cmp-5': host(3, 'az-5'),
    'cmp-6': host(9, 'az-6'),
}
FLAVORS = {
    'tiny': {'id': 'tiny', 'ram': RAM},
    'small': {'id': 'small', 'ram': 2 * RAM},
    'big': {'id': 'big', 'ram': 12 * RAM},
    'whole': {'id': 'whole', 'ram': 3 * RAM},
    'fast': {'id': 'fast', 'ram': RAM, 'extra_specs': {f'trait:{FAST}': 'required'}},
    'unknown': {'id': 'unknown', 'ram': RAM, 'extra_specs': {'trait:CUSTOM_NEW': 'forbidden'}},
    'ssd': {
        'id': 'ssd',
        'ram': RAM,
        'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'},
    },
}
ISOLATED = '11111111-0000-4000-8000-000000000000'
OPTIONS = {
    'DEFAULT': {'debug': True, 'shelved_offload_time': 0},
}


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS, flavors=FLAVORS, filters=FILTERS, nova_options=OPTIONS) as running:
        yield running


@contextlib.contextmanager
def fresh(cloud, folder):
    """Yield the cloud as it was at the start."""
    (folder / 'clouds.yaml').write_text(cloud.clouds_yaml())
    with restored(cloud, HOSTS, DISABLED) as operator:
        nova = Nova(cloud, operator, folder)
        try:
            yield nova
        finally:
            nova.restore()


@pytest.fixture
def nova(cloud, tmp_path):
    with fresh(cloud, tmp_path) as nova:
        yield nova


class Nova:
    """The sandbox as its administrator uses it, with servers of the tenant."""

    def __init__(self, cloud, operator, folder):
        self.cloud, self.operator, self.folder = cloud, operator, folder
        self.compute = operator.compute
        self.down, self.disabled = [], []

    def call(self, method, path, body=None, version=NEWEST):
        answer = self.compute.request(path, method, json=body, microversion=version)
        assert answer.ok, f'{method} {path} {body}: {answer.text}'
        return answer.json() if answer.content else {}

    def boot(self, name, on, flavor='tiny', zone=None, **hints):
        """Create a server on a host, not pinned to its zone; return its id."""
        new = {'name': name, 'flavorRef': flavor, 'imageRef': self.cloud.image_id, 'host': on}
        new |= {'networks': 'none'} | ({'availability_zone': zone} if zone else {})
        body = {'server': new, **({'os:scheduler_hints': hints} if hints else {})}
        server = self.call('POST', '/servers', body)['server']['id']
        found = self.ended(server)
        assert found['status'] == 'ACTIVE', (name, on, found.get('fault'))
        return server

    def service(self, host, state):
        body = {'host': host, 'binary': 'nova-compute'}
        self.call('PUT', f'/os-services/{state}', body, '2.11')
        self.disabled = [*self.disabled, host] if state == 'disable' else self.disabled

    def force_down(self, host, is_down=True):
        body = {'host': host, 'binary': 'nova-compute', 'forced_down': is_down}
        self.call('PUT', '/os-services/force-down', body, '2.11')
        self.down = [*self.down, host] if is_down else [h for h in self.down if h != host]

    def restore(self):
        for server in self.compute.servers(all_projects=True):
            self.compute.delete_server(server, ignore_missing=True)
        self.operator.remove_servers()
        if self.down:
            # What the start of nova-compute does, without which Nova does not let it be up.
            with sqlite3.connect(self.cloud.log_dir / 'cell1.sqlite', timeout=30) as database:
                database.execute("update migrations set status = 'completed' where status = 'done'")
        for name in [*self.down]:
            self.force_down(name, False)
        for name in self.disabled:
            self.service(name, 'enable')

    def show(self, server):
        return self.call('GET', f'/servers/{server}')['server']

    def ended(self, server):
        """Return the server when no task runs."""

        def settled():
            found = self.show(server)
            is_over = found['OS-EXT-STS:task_state'] is None and found['status'] != 'BUILD'
            return found if is_over else None

        return until(settled, 60, 'the task ends')

    def act(self, server, body):
        """Run an action; return whether it succeeded."""
        self.cloud.clear_requests()
        if 'evacuate' in body and not self.down:
            self.force_down(self.show(server)['OS-EXT-SRV-ATTR:host'])
        self.call('POST', f'/servers/{server}/action', body, '2.95')
        self.ended(server)

        (is_done,) = until(lambda: self.over(server), 60, 'the events end')
        self.ended(server)
        return is_done

    def over(self, server):
        """Return whether the last action succeeded, in a tuple; None while it runs."""
        path = f'/servers/{server}/os-instance-actions'
        last = self.call('GET', path)['instanceActions'][0]
        events = self.call('GET', f'{path}/{last["request_id"]}')['instanceAction']['events']
        is_over = events and all(each['result'] for each in events)
        return (last['message'] is None,) if is_over else None

    def group(self, policy='anti-affinity'):
        return self.compute.create_server_group(name='web', policy=policy).id

    def image(self, **properties):
        made = self.operator.connection.image.post('/images', json={'name': 'new', **properties})
        return made.json()['id']

    def trait(self, host):
        """Give a host the trait FAST."""
        self.operator.placement.put(f'/traits/{FAST}', microversion='1.6')
        self.operator.set_traits(host, {*self.operator.traits(host), FAST})

    def lose_trait(self, host):
        self.operator.set_traits(host, {*self.operator.traits(host)} - {FAST})

    def command(self, *line, user='sandbox'):
        done = self.run(*line, '-f', 'json', user=user)
        assert done.stderr == '', done.stderr
        return done.returncode, json.loads(done.stdout)

    def run(self, *line, user='sandbox', columns='80'):
        conf = ('--nova-conf', str(self.cloud.log_dir / 'nova.conf'))
        return commands.run('--os-cloud', user, *line, *conf, folder=self.folder, COLUMNS=columns)

    def follow(self, remedy, body):
        """Run the commands of a remedy, or what none does; return the body of the action."""
        for line in remedy['commands']:
            self.operator.run(line)
        self.operator.change_hardware(remedy['data'])
        # nova-conductor would read the traits anew within five minutes.
        assert requests.put(f'{self.cloud.base_url}/_nova/hosts', json={}).ok
        if 'requested_host' not in remedy['data']:
            return body
        return next(each for each in BODIES.values() if each.keys() == body.keys())

    def rejections(self, server, action):
        """Return what removed each host: the filter, or 'Placement'; None: nova-conductor."""
        names = self.operator.placement.get('/resource_providers').json()['resource_providers']
        uuids = {each['uuid']: each['name'] for each in names}
        left = scheduler_log.offered(self.cloud, self.operator.placement, uuids)
        left = left if action != REBUILD else {'cmp-1'}
        by_filter = scheduler_log.removed(self.cloud, server, left)
        return {name: by_filter.get(name, None if name in left else 'Placement') for name in HOSTS}


# --- the kinds: each sets the cloud up, and returns the server, the body and the options of "plan"

RESIZE, MIGRATE, LIVE, EVACUATE = 'resize', 'migrate', 'live-migrate', 'evacuate'
UNSHELVE, REBUILD = 'unshelve', 'rebuild'
MOVES = (RESIZE, MIGRATE, LIVE, EVACUATE, UNSHELVE)
BODIES = {
    MIGRATE: {'migrate': None},
    LIVE: {'os-migrateLive': {'host': None, 'block_migration': 'auto'}},
    EVACUATE: {'evacuate': {}},
    UNSHELVE: {'unshelve': None},
}
IN_AZ_1 = ('cmp-1', 'cmp-2', 'cmp-3')


def ready(nova, action, flavor='tiny', on='cmp-1', to='small', **more):
    """Create a server that is ready for the action; return it with the body and the options."""
    server = nova.boot('web', on, 'tiny' if action == RESIZE else flavor, **more)
    if action == UNSHELVE:
        nova.act(server, {'shelve': None})
    if action == RESIZE:
        return server, {'resize': {'flavorRef': to}}, ('--flavor', to)
    return server, BODIES[action], ()


def others(action):
    """Return the hosts of az-1 that the action may choose."""
    return IN_AZ_1 if action == UNSHELVE else IN_AZ_1[1:]


def no_capacity(nova, action):
    asked = ready(nova, action, to='big', zone='az-1')
    for name in others(action) if action != RESIZE else ():
        nova.boot(f'full-{name}', name, 'whole')
    return asked


def group_full(nova, action):
    group = nova.group()
    asked = ready(nova, action, zone='az-1', group=group)
    for name in others(action):
        nova.boot(f'member-{name}', name, group=group)
    return asked


def other_zone(nova, action):
    asked = ready(nova, action, on='cmp-5', zone='az-5')
    if action == UNSHELVE:
        nova.boot('full', 'cmp-5', 'whole')
    return asked


def missing_trait(nova, action):
    nova.trait('cmp-1')
    asked = ready(nova, action, 'fast', to='fast')
    if action == UNSHELVE:
        nova.lose_trait('cmp-1')
    return asked


def disabled_target(nova, action):
    asked = ready(nova, action, zone='az-1')
    for name in others(action):
        nova.service(name, 'disable')
    return asked


def aggregate(nova, action):
    asked = ready(nova, action, 'ssd', to='ssd')
    if action == UNSHELVE:
        nova.boot('full', 'cmp-1', 'whole')
    return asked


def requested_target(nova, action):
    server, body, _options = ready(nova, action)
    nova.boot('full', 'cmp-2', 'whole')
    target = {'host': 'cmp-2'}
    ((name, inner),) = body.items()
    return server, {name: {**(inner or {}), **target}}, ('--host', 'cmp-2')


def unknown_trait(nova, action):
    """No host has the trait, which does not exist."""
    return ready(nova, action, to='unknown')


def affinity(nova, action):
    return ready(nova, action, group=nova.group('affinity'))


def image(nova, **properties):
    server, made = nova.boot('web', 'cmp-1'), nova.image(**properties)
    return server, {'rebuild': {'imageRef': made}}, ('--image', made)


def image_hypervisor(nova, _action):
    return image(nova, img_hv_type='xen')


def image_trait(nova, _action):
    nova.trait('cmp-2')
    return image(nova, **{f'trait:{FAST}': 'required'})


def image_aggregate(nova, _action):
    return image(nova, os_distro='fedora')


KINDS = [
    *((kind, action) for kind in (no_capacity, group_full, other_zone) for action in MOVES),
    *((kind, action) for kind in (missing_trait, disabled_target, aggregate) for action in MOVES),
    *((requested_target, action) for action in MOVES[1:]),
    *((affinity, action) for action in MOVES[:-1]),
    (unknown_trait, RESIZE),
    *((kind, REBUILD) for kind in (image_hypervisor, image_trait, image_aggregate)),
]
#: The number of remedies that need no new host; a flavor that is too large has none.
FOLLOWED = {
    no_capacity: 3,
    **dict.fromkeys((group_full, disabled_target), 2),
    **dict.fromkeys((other_zone, missing_trait, aggregate, requested_target), 1),
    **dict.fromkeys((unknown_trait, image_trait), 1),
}
HOPELESS = ((no_capacity, RESIZE),)
#: The full server of a host that is suitable but for its capacity moves, too.
MOVED = ((other_zone, UNSHELVE), (aggregate, UNSHELVE))


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    ('kind', 'action'),
    [pytest.param(*each, id=f'{each[1]}-{each[0].__name__}') for each in KINDS],
)
def test_a_failed_action_is_explained_and_each_remedy_helps(kind, action, cloud, tmp_path):
    number, remedies = 0, [None]
    while number < len(remedies):
        with fresh(cloud, tmp_path) as nova:
            server, body, options = kind(nova, action)
            source = nova.show(server)['OS-EXT-SRV-ATTR:host']
            assert not nova.act(server, body), 'the action succeeded'
            removed = nova.rejections(server, action)
            status, said = nova.command('server', 'explain', server, *options)
            if number == 0:
                assert (status, said['fits'], said['failure']['cause']) == (3, False, 'no_host')
                assert said['attempt']['action'] == action
                title = f'The {NOUNS.get(action, action)} of web '
                assert said['explanation'][0].startswith(title)
                assert (source in {each['host'] for each in said['hosts']}) is (action == REBUILD)
                compare(said, removed)
                asked = ('--server', server, '--action', action)
                status, again = nova.command('plan', *asked, *options)
                assert (status, again['fits'], again['action']) == (3, False, action)
                assert again['hosts'] == said['hosts']
            remedies = [each for each in said['remedies'] if 'new_hosts' not in each['data']]
            number_of = FOLLOWED.get(kind, 0) + ((kind, action) in MOVED)
            assert len(remedies) == (0 if (kind, action) in HOPELESS else number_of)
            if remedies:
                body = nova.follow(remedies[number], body)
                assert nova.act(server, body), (remedies[number], nova.show(server))
        number += 1


NOUNS = {MIGRATE: 'cold migration', LIVE: 'live migration', EVACUATE: 'evacuation'}


def compare(said, removed):
    """Check that each host is rejected for what nova-scheduler's log, or Placement, shows."""
    of_query = {each['constraint'] for each in said['request'] if each['outcome'] == 'REJECT'}
    for report in said['hosts']:
        found = {each['constraint'] for each in report['verdicts'] if each['outcome'] == 'REJECT'}
        by = removed[report['host']]
        expected = {MODELS[by]} if by in MODELS else BY_PLACEMENT if by else {'traits'}
        assert (found | of_query if by == 'Placement' else found) & expected, (report, by)


@pytest.mark.long
def test_the_quota_of_a_rejected_resize(nova):
    server, body, options = ready(nova, RESIZE)
    project = nova.operator.connection.current_project_id
    nova.operator.run(f'openstack quota set --ram {RAM} {project}')
    answer = nova.compute.post(f'/servers/{server}/action', json=body, microversion='2.95')
    assert answer.status_code == 403
    asked = ('--server', server, '--action', RESIZE)
    status, said = nova.command('plan', *asked, *options)
    (remedy,) = (each for each in said['remedies'] if each['commands'])
    assert (status, said['fits'], remedy['code']) == (3, False, 'quota')
    assert nova.act(server, nova.follow(remedy, body))


# --- what the requester sees, and what it costs


TENANT = {'microversion': '2.37'}
BIG = ('--action', 'resize', '--flavor', 'big')


def of_tenant(nova):
    """Let a resize of the tenant's server fail; return the server."""
    tenant = nova.cloud.connection('demo').compute
    new = {'name': 'own', 'flavorRef': 'tiny', 'imageRef': nova.cloud.image_id}
    answer = tenant.post('/servers', json={'server': {**new, 'networks': 'none'}}, **TENANT)
    server = answer.json()['server']['id']
    assert nova.ended(server)['status'] == 'ACTIVE'
    resize = {'resize': {'flavorRef': 'big'}}
    assert tenant.post(f'/servers/{server}/action', json=resize, **TENANT).ok
    until(lambda: nova.over(server), 60, 'the resize ends')
    return server


@pytest.mark.long
def test_a_tenant_reads_no_host_and_an_administrator_the_flavor(nova):
    server = of_tenant(nova)
    status, said = nova.command('server', 'explain', 'own', '--flavor', 'big', user='sandbox-demo')
    assert (status, said['fits'], said['failure']['cause']) == (1, None, 'not_shown')
    assert (said['hosts'], said['failure']['tried']) == ([], [])
    assert 'cmp-' not in json.dumps(said)
    done = nova.run('server', 'explain', server, user='sandbox-demo')
    words = 'error: Nova does not show the new flavor of the resize of own: specify it with '
    words += f'"senlin-affinity server explain {server} --flavor FLAVOR"\n'
    assert (done.returncode, done.stderr) == (2, words)
    status, said = nova.command('server', 'explain', server)
    assert (status, said['attempt']) == (3, {'action': 'resize', 'flavor': 'big', 'host': None})
    assert said['hidden'].keys() == {'--flavor'}, 'a deleted flavor could have had the number'


@pytest.mark.long
def test_an_explanation_costs_twelve_requests_more_than_the_question(nova):
    server = of_tenant(nova)
    numbers = []
    for line in (('server', 'explain', server), ('plan', '--server', server, *BIG)):
        nova.cloud.clear_requests()
        nova.command(*line)
        own = nova.cloud.requests(None)
        numbers.append(sum('openstacksdk' in each['user_agent'] for each in own))
    assert numbers[0] - numbers[1] <= 12
    until(lambda: nova.act(server, {'resize': {'flavorRef': 'small'}}), 60, 'it succeeds')
    done = nova.run('server', 'explain', server)
    assert done.returncode == 2
    assert done.stderr == 'error: own is VERIFY_RESIZE; its last action, resize, succeeded\n'


# --- the failures of a period


def fails(nova, name, flavor, **more):
    """Let a creation fail; return the id of the server."""
    new = {'name': name, 'flavorRef': flavor, 'imageRef': nova.cloud.image_id, **more}
    body = {'server': {**new, 'networks': 'none'}}
    server = nova.call('POST', '/servers', body)['server']['id']
    assert nova.ended(server)['status'] == 'ERROR'
    return server


def mixed(nova):
    """Let 30 creations and actions fail; return the servers by the name of their cause."""
    nova.trait('cmp-6')
    nova.lose_trait('cmp-6')
    nova.boot('full', 'cmp-5', 'whole')
    found = {
        'large': [fails(nova, f'large-{n}', 'big') for n in range(6)],
        'trait': [fails(nova, f'trait-{n}', 'fast') for n in range(4)],
        'full': [fails(nova, f'full-{n}', 'tiny', availability_zone='az-5') for n in range(4)],
    }
    alone = [nova.boot(f'alone-{n}', 'cmp-6', zone='az-6') for n in range(4)]
    for body in ({'resize': {'flavorRef': 'small'}}, BODIES[MIGRATE], BODIES[LIVE]):
        found[next(iter(body))] = alone
        for server in alone:
            assert not nova.act(server, body)
    found['rebuild'] = []
    for _number in range(3):
        server, body, _options = image_hypervisor(nova, REBUILD)
        assert not nova.act(server, body)
        found['rebuild'].append(server)
    found['evacuate'] = [alone[0]]
    assert not nova.act(alone[0], BODIES[EVACUATE])
    return found


@pytest.mark.long
def test_the_failures_of_a_period_are_grouped_as_server_explain_explains_each(nova):
    shelved = nova.boot('shelved', 'cmp-1', 'ssd')
    nova.act(shelved, {'shelve': None})
    found = mixed(nova)  # rebuilt servers fill cmp-1
    assert not nova.act(shelved, {'unshelve': None})
    nova.cloud.clear_requests()
    status, said = nova.command('failures', '--since', '1h')
    own = [each for each in nova.cloud.requests(None) if 'openstacksdk' in each['user_agent']]
    number = sum(map(len, found.values()))
    assert (status, said['number'], said['not_explained']) == (0, number, 0)
    assert len(own) <= 2 * number + 30
    (unshelve,) = said['not_listed']
    assert 'unshelve' in unshelve
    actions = {'migrate': MIGRATE, 'os-migrateLive': LIVE, 'trait': 'create', 'large': 'create'}
    actions['full'] = 'create'
    groups = {
        (each['id'], each['action']): group
        for group in said['groups']
        for each in group['failures']
    }
    for name, servers in found.items():
        each_group = [groups[server, actions.get(name, name)] for server in servers]
        assert all(each is each_group[0] for each in each_group), name
        if name in ('large', 'trait', 'full', 'rebuild'):
            options = ('--image-property', 'img_hv_type=xen') if name == 'rebuild' else ()
            _status, alone = nova.command('server', 'explain', servers[-1], *options)
            codes = {verdict['code'] for host in alone['hosts'] for verdict in host['verdicts']}
            assert each_group[0]['code'] in codes
    kinds = {name: groups[each[0], actions.get(name, name)]['code'] for name, each in found.items()}
    assert kinds == {
        'large': 'resources.too_large',
        'trait': 'traits.missing',
        'full': 'resources.exhausted',
        'rebuild': 'image_hypervisor.unsupported',
        **dict.fromkeys(
            ('resize', 'migrate', 'os-migrateLive', 'evacuate'), 'availability_zone.other_zone'
        ),
    }
    assert {each['cause'] for each in said['groups']} == {'no_host'}
    done = nova.run('failures', '--since', '1h', '--project', 'admin', columns='300')
    assert (done.returncode, done.stderr) == (0, '')
    first, *_others, last = done.stdout.splitlines()
    assert first.startswith(
        '13 failures (4 live migrations, 4 cold migrations, 4 resizes, 1 evacuation): no suitable '
        'host exists: not in zone az-6 (all 5 hosts) ('
    )
    assert last == unshelve


# --- what the exporter judges


def of_another_project(view):
    """Return the view with every host in an aggregate of another project."""
    other = Aggregate('a' * 32, 'other', metadata={'filter_tenant_id': 'f' * 32})
    cloud = view
    hosts = tuple(each.but(aggregates=each.aggregates | {other.uuid}) for each in cloud.hosts)
    cloud = replace(cloud, hosts=hosts, aggregates=(*cloud.aggregates, other))
    return cloud


@pytest.mark.long
def test_a_provoked_miss_is_in_the_cell_of_false_rejections(nova):
    """The engine is told of a filter that this Nova does not run, which rejects every host."""
    enabled = (*FILTERS, 'AggregateMultiTenancyIsolation')
    clients = api.clients_of(nova.operator.connection)

    def judged(filters, views):
        settings = api.Question(0, enabled_filters=filters)
        wanted = refresh.Wanted(settings, refresh.ALL, load_constraints())
        return refresh.judge(clients, views, wanted, 20)

    def view():
        return refresh.view_of(clients, api.Question(0), refresh.ALL)

    views = (view(),)
    nova.boot('placed', 'cmp-1')
    failed = fails(nova, 'failed', 'big')
    at = nova.show(failed)['fault']['created']
    # The period ends before the second of the snapshot.
    later = until(lambda: [each for each in [view()] if each.taken_at > at], 30)
    views = (*views, *later)
    causes, cells = judged(FILTERS, views)
    assert causes == {'resources.too_large': 1, 'not_explained': 0}
    assert cells == {('rejects', 'rejected'): 1, ('fits', 'placed'): 1}
    _causes, cells = judged(enabled, tuple(map(of_another_project, views)))
    assert cells == {('rejects', 'rejected'): 1, ('rejects', 'placed'): 1}
