"""``plan`` for another project, as an administrator and as a plain user, beside the real Nova."""

import json
import re

import pytest
from openstack import exceptions as sdk

from senlin_affinity.sandbox.identities import ADMIN, DEMO
from tests.support import command as commands
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

USERS = {'admin': 'sandbox', 'demo': 'sandbox-demo'}
UNLIMITED = -1
#: What both hosts hold of the flavor: 64 CPUs each, four times.
ROOM = 2 * 64 * 4
NOT_KNOWN = "the project's quotas, which are not known"


@pytest.fixture(scope='module')
def cloud():
    """Two hosts, one of which is in an aggregate of demo's project."""
    theirs = {'theirs': {'filter_tenant_id': DEMO.project.id}}
    hosts = {'cmp-1': {'aggregates': theirs}, 'cmp-2': {}}
    with SandboxCloud(hosts, flavors={'m1.tiny': {'id': '1'}}) as running:
        yield running


@pytest.fixture(scope='module')
def groups(cloud):
    """The group ``web`` of each user; the ids."""
    return {
        user: cloud.connection(user)
        .compute.create_server_group(name='web', policy='soft-anti-affinity')
        .id
        for user in USERS
    }


@pytest.fixture
def quota(cloud):
    """``quota(admin=10, demo=100)``: instances; no limit again after the test."""
    projects = {'admin': ADMIN.project.id, 'demo': DEMO.project.id}
    compute = cloud.connection().compute

    def set_quota(**limits):
        for user, limit in limits.items():
            body = {'quota_set': {'instances': limit, 'force': True}}
            response = compute.put(f'/os-quota-sets/{projects[user]}', json=body)
            assert response.status_code == 200, response.text

    yield set_quota
    set_quota(admin=UNLIMITED, demo=UNLIMITED)


@pytest.fixture
def boot(cloud, groups):
    """``boot(3)``: so many servers of demo's in its group, by one request; gone after the test."""
    compute, made = cloud.connection('demo').compute, []

    def boot_servers(number):
        before = {server.id for server in compute.servers()}
        compute.create_server(
            name='s',
            flavor_id='1',
            image_id=cloud.image_id,
            networks='none',
            min_count=number,
            scheduler_hints={'group': groups['demo']},
        )
        made.extend(server.id for server in compute.servers() if server.id not in before)
        until(
            lambda: not list(compute.servers(details=False, status='BUILD')),
            what=f'the servers are built\n{cloud.logs()}',
        )
        assert {server.status for server in compute.servers()} == {'ACTIVE'}

    yield boot_servers
    for each in made:
        compute.delete_server(each)
    until(lambda: not list(compute.servers(details=False)), what='the servers are gone')


@pytest.fixture(scope='module')
def command(cloud, groups, tmp_path_factory):
    """``command('admin', 'plan', ...)``: as a person runs it who uses the sandbox."""
    folder = tmp_path_factory.mktemp('plan')
    clouds = folder / 'clouds.yaml'
    clouds.write_text(cloud.clouds_yaml())
    (folder / 'nova.conf').write_text('[scheduler]\nlimit_tenants_to_placement_aggregate = true\n')

    def run(user, *arguments):
        named = () if user is None else ('--os-cloud', USERS[user])
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds)}
        return commands.run(*named, *arguments, folder=folder, **environment)

    return run


def plan(command, user, count, *options):
    """The exit status, and the answer."""
    done = command(
        user, 'plan', '--count', str(count), '--flavor', 'm1.tiny', *options, '-f', 'json'
    )
    assert done.stderr == ''
    return done.returncode, json.loads(done.stdout)


def asked(cloud):
    """The requests that Nova got, without those that find its versions."""
    paths = (item['path'].removeprefix('/v2.1') for item in cloud.requests())
    return [path for path in paths if path.strip('/')]


def test_rx_07_more_than_an_administrator_s_own_quota_allows(command, quota, boot, groups):
    """A false refusal, until the quota was that of the group's project."""
    quota(admin=2, demo=100)
    status, said = plan(command, 'admin', 3, '--server-group', groups['demo'])
    assert (status, said['capacity'], said['at_most']) == (0, 100, [])
    boot(3)
    # The administrator's own servers are another matter, also in the same group.
    for options in ((), ('--server-group', groups['demo'], '--project', 'admin')):
        status, said = plan(command, 'admin', 3, *options)
        assert (status, said['capacity']) == (3, 2)


def test_rx_07_less_than_the_tenant_has_left(command, quota, boot, groups):
    """A false promise, until then."""
    quota(demo=4)
    boot(3)
    said = {}
    for name, user, options in (
        ('the group by its id', 'admin', ('--server-group', groups['demo'])),
        ('the project by its name', 'admin', ('--project', 'demo')),
        ('both by their names', 'admin', ('--project', 'demo', '--server-group', 'web')),
        ('the project by its id', 'admin', ('--project', DEMO.project.id)),
        ('the tenant', 'demo', ('--server-group', 'web')),
        ('the tenant, who names it', 'demo', ('--server-group', 'web', '--project', 'demo')),
    ):
        status, said[name] = plan(command, user, 5, *options)
        verdicts = {item['code']: item['facts'] for item in said[name]['request']}
        assert status == 3, name
        assert verdicts['quota.instances'] == {'used': 3, 'limit': 4, 'wanted': 5}, name
        assert said[name]['capacity'] == 1, name
    with pytest.raises(sdk.ForbiddenException, match='Quota exceeded for instances'):
        boot(5)


def test_a_name_is_that_of_the_project_s_group(command, groups):
    """Each has a group of this name."""
    for options, user in (((), 'admin'), (('--project', 'demo'), 'demo')):
        _status, said = plan(command, 'admin', 1, '--server-group', 'web', *options)
        assert said['placements'][0]['servergroup'] == groups[user]


def test_the_aggregates_of_tenants_are_those_of_the_group_s_project(command, groups):
    limited = ('--config-file', 'nova.conf')
    _status, said = plan(command, 'admin', 1, *limited, '--server-group', groups['demo'])
    codes = {host['host']: host['code'] for host in said['hosts']}
    assert codes == {'cmp-1': None, 'cmp-2': 'reservations.other_tenant'}
    _status, said = plan(command, 'admin', 1, *limited)
    assert {host['code'] for host in said['hosts']} == {None}


def test_a_saved_snapshot_knows_the_quotas_of_one_project(command, quota, groups):
    quota(admin=10, demo=5)
    assert command('admin', 'snapshot', 'save', 'cloud.json').returncode == 0
    saved = ('--snapshot', 'cloud.json')
    for options in (
        ('--server-group', groups['demo']),
        ('--project', DEMO.project.id),
        ('--project', DEMO.project.id, '--server-group', 'web'),
    ):
        status, said = plan(command, None, 11, *saved, *options)
        assert (status, said['capacity'], said['at_most']) == (4, ROOM, [NOT_KNOWN])
    for options in ((), ('--project', ADMIN.project.id), ('--server-group', groups['admin'])):
        status, said = plan(command, None, 11, *saved, *options)
        assert (status, said['capacity'], said['at_most']) == (3, 10, [])
    done = command(None, 'plan', '--count', '1', '--flavor', '1', *saved, '--project', 'demo')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == (
        "error: --project 'demo' is not an id: a snapshot holds no names of projects\n"
    )


@pytest.mark.parametrize(
    ('user', 'project', 'said'),
    [
        ('demo', 'admin', "project: could not look up the project 'admin': Keystone answered 403: "
         'You are not authorized to perform the requested action: identity:list_projects. '
         '(name the project by its id)'),
        ('admin', 'nobody', "project: there is no project 'nobody'"),
        ('admin', '0' * 32, f'project: could not read the quotas of project {"0" * 32}: Nova '
         f'answered 400: Project ID {"0" * 32} is not a valid project.'),
    ],
    ids=['may not be looked up', 'no such name', 'no such id'],
)  # fmt: skip
def test_a_project_that_can_not_be_found(command, user, project, said):
    done = command(user, 'plan', '--count', '1', '--flavor', 'm1.tiny', '--project', project)
    told = re.sub(r' \(request req-[0-9a-f-]+\)$', '', done.stderr.rstrip('\n'))
    assert (done.returncode, done.stdout, told) == (2, '', f'error: {said}')


def test_a_plain_user_who_names_another_project(command):
    """Nothing is refused for what may not be seen, and the view says why."""
    options = ('--server-group', 'web', '--project', ADMIN.project.id)
    done = command('demo', 'plan', '--count', '1', '--flavor', 'm1.tiny', *options)
    assert (done.returncode, done.stderr) == (1, '')
    text = ' '.join(done.stdout.split())
    assert "the server groups: Nova lists another project's for administrators only" in text
    assert f'the quotas: could not read the quotas of project {ADMIN.project.id}: Nova' in text


def test_another_project_costs_no_request_more(cloud, command, groups):
    """Its quotas are asked for in place of the own ones and the user's."""
    costs = []
    for options in (
        ('--server-group', groups['admin']),
        ('--server-group', groups['demo']),
        ('--server-group', 'web'),
        ('--server-group', 'web', '--project', 'demo'),
    ):
        cloud.clear_requests()
        plan(command, 'admin', 1, *options)
        costs.append(asked(cloud))
    own, other, by_name, other_by_name = costs
    of_user = f'/os-quota-sets/{ADMIN.project.id}/detail'
    assert own[-2:] == by_name[-2:] == ['/limits', of_user]
    assert other[-1] == other_by_name[-1] == f'/os-quota-sets/{DEMO.project.id}/detail'
    assert other[1:-1] == own[1:-2]
    assert other_by_name[:-1] == by_name[:-2]
