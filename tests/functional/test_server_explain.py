"""``server explain`` on a real Nova whose servers fail in many ways, for an admin and a tenant.

Each kind of failure occurs alone and with several servers of a request. Then the commands of each
remedy are run as printed, and the same request succeeds. Failures whose cause the planner does not
model follow: it must name the cause, and must not say that the request fits. Both roles read an
answer with and without nova.conf.

The sandbox has no networks, so no port can fail; a volume fails, because there is no Cinder.
nova-api answers 400 for an unknown zone without a server, so the zone is deleted after the failure.
"""

import contextlib
import json
from types import SimpleNamespace

import pytest
import requests

from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.sandbox import config_files
from tests.support import command as commands
from tests.support.asked import NamedRequest
from tests.support.remedying import restored
from tests.support.sandbox import SandboxCloud
from tests.support.waiting import until

RAM = 128
FILTERS = (
    *DEFAULT_FILTERS,
    *('AggregateInstanceExtraSpecsFilter', 'SameHostFilter', 'DifferentHostFilter'),
)
DISABLED = 'cmp-3'
FAST, LICENSED = 'CUSTOM_FAST', 'CUSTOM_LICENSED'


def host(room, zone, **more):
    return {'memory_mb': room * RAM, 'availability_zone': zone, **more}


HOSTS = {
    'cmp-1': host(2, 'az-1'),
    'cmp-2': host(2, 'az-1'),
    DISABLED: host(4, 'az-1', disabled=True),
    'cmp-4': host(2, 'az-2', aggregates={'licensed': {f'trait:{LICENSED}': 'required'}}),
    'cmp-5': host(1, 'az-5', aggregates={'ssd': {'ssd': 'true'}}),
    'cmp-6': host(2, 'az-6'),
}
FLAVORS = {
    'tiny': {'id': 'tiny', 'ram': RAM},
    'big': {'id': 'big', 'ram': 5 * RAM},
    'fast': {'id': 'fast', 'ram': RAM, 'extra_specs': {f'trait:{FAST}': 'required'}},
    'ssd': {
        'id': 'ssd',
        'ram': RAM,
        'extra_specs': {'aggregate_instance_extra_specs:ssd': 'true'},
    },
    'pages': {'id': 'pages', 'ram': RAM, 'extra_specs': {'hw:mem_page_size': '1GB'}},
    'device': {'id': 'device', 'ram': RAM, 'extra_specs': {'pci_passthrough:alias': 'gpu:1'}},
    'capable': {
        'id': 'capable',
        'ram': RAM,
        'extra_specs': {'capabilities:hypervisor_type': 's== other'},
    },
    'gold': {
        'id': 'gold',
        'ram': RAM,
        'extra_specs': {'aggregate_instance_extra_specs:gold': 'true'},
    },
}
ALIAS = {'vendor_id': '10de', 'product_id': '1db4', 'device_type': 'type-PCI', 'name': 'gpu'}
ISOLATING = {'enable_isolated_aggregate_filtering': True}
OPTIONS = {'scheduler': ISOLATING, 'pci': {'alias': json.dumps(ALIAS)}}
USERS = {'admin': 'sandbox', 'demo': 'sandbox-demo'}


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS, flavors=FLAVORS, filters=FILTERS, nova_options=OPTIONS) as running:
        yield running


@pytest.fixture
def operator(cloud):
    with restored(cloud, HOSTS, DISABLED) as operator:
        yield operator


@pytest.fixture
def tenant(cloud, operator):
    return Tenant(cloud, operator)


@pytest.fixture
def explain(cloud, tmp_path):
    """Run the command, by default with JSON output: ``explain('demo', 'web-1', ...)``."""
    (tmp_path / 'clouds.yaml').write_text(cloud.clouds_yaml())
    usual = str(cloud.log_dir / 'nova.conf')

    def run(user, server, *options, nova_conf=None, command=None):
        conf = usual if nova_conf is True else nova_conf
        conf = usual if nova_conf is None and user == 'admin' else conf
        known = ('--nova-conf', str(conf)) if conf else ()
        line = (*(command or ('server', 'explain', server)), *known, *options)
        return commands.run('--os-cloud', USERS[user], *line, folder=tmp_path, COLUMNS='80')

    return run


class Tenant:
    """A user of the sandbox who creates servers, with an administrator's connection."""

    def __init__(self, cloud, operator):
        self.cloud, self.operator = cloud, operator
        self.compute = cloud.connection('demo').compute
        self.project = cloud.connection('demo').current_project_id

    def request(self, name, number=1, hints=None, microversion='2.37', **body):
        """Request this number of servers together; return them when Nova has finished."""
        new = {'name': name, 'flavorRef': 'tiny', 'imageRef': self.cloud.image_id}
        new |= {'networks': 'none', 'min_count': number, 'max_count': number, **body}
        hints = {'os:scheduler_hints': hints} if hints else {}
        request = {'server': new, **hints}
        answer = self.compute.post('/servers', json=request, microversion=microversion)
        assert answer.status_code == 202, answer.text
        return lambda: self.finished(name, number)

    def finished(self, name, number):
        """Return the servers of a request when Nova has finished."""

        def ended():
            pattern = f'^{name}$' if number == 1 else f'^{name}-[0-9]+$'
            found = list(self.compute.servers(name=pattern))
            is_over = all(each.status in ('ACTIVE', 'ERROR') for each in found)
            return found if len(found) == number and is_over else None

        return until(ended, 60, f'{number} servers {name}\n{self.cloud.logs()}')

    def runs(self, name, number=1, hints=None, **body):
        """Return the active servers."""
        found = self.request(name, number, hints, **body)()
        assert {each.status for each in found} == {'ACTIVE'}
        return found

    def group(self, policy='anti-affinity'):
        return self.compute.create_server_group(name='web', policy=policy).id

    @contextlib.contextmanager
    def scheduling_held(self):
        """Let nova-scheduler wait for Placement within the block."""
        with requests.Session() as session:
            session.trust_env = False
            faults = f'{self.cloud.base_url}/_sandbox/faults'
            hold = {'service': 'placement', 'path': '/allocation_candidates', 'status': None}
            assert session.post(faults, json=hold | {'is_held': True, 'times': None}).ok
            yield lambda number: until(lambda: self._held(session) >= number, 30, 'it waits')
            session.delete(faults)

    def _held(self, session):
        known = session.get(f'{self.cloud.base_url}/_sandbox/requests').json()
        return sum(
            each['path'] == '/allocation_candidates' and each['status'] is None for each in known
        )

    def two_minutes_pass(self):
        """Let nova-scheduler forget the servers of a failed request, which explanations mention."""
        with requests.Session() as session:
            session.trust_env = False
            assert session.put(f'{self.cloud.base_url}/_nova/servers', json={}).ok

    def limit(self, instances):
        """Limit the project to this number of instances."""
        body = {'quota_set': {'instances': instances, 'force': True}}
        assert self.operator.compute.put(f'/os-quota-sets/{self.project}', json=body).ok


# --- the kinds: each sets the cloud up, and returns the request that fails


def no_free_capacity(tenant, number):
    if number == 1:
        return {'flavorRef': 'big'}
    tenant.runs('before', 4 - number + 1, availability_zone='az-1')
    return {'availability_zone': 'az-1'}


def missing_trait(_tenant, _number):
    return {'flavorRef': 'fast'}


def aggregate_constraint(tenant, _number):
    tenant.runs('before', availability_zone='az-5')
    return {'flavorRef': 'ssd'}


def group_full(tenant, number):
    hints = {'group': tenant.group()}
    if number == 1:
        tenant.runs('before', 2, hints, availability_zone='az-1')
    return {'availability_zone': 'az-1', 'hints': hints}


def max_with_siblings(tenant, number):
    """Like ``openstack server create --max 3``: Nova creates all servers or none."""
    return {**group_full(tenant, number), 'min_count': 1}


def disabled_hosts(tenant, _number):
    tenant.runs('before', 4, availability_zone='az-1')
    return {'availability_zone': 'az-1'}


def image_property(tenant, _number):
    images = tenant.operator.connection.image
    made = images.post('/images', json={'name': 'xen', 'img_hv_type': 'xen'})
    return {'imageRef': made.json()['id']}


def reserved_hosts(_tenant, _number):
    return {'availability_zone': 'az-2'}


def different_host(tenant, _number):
    found = tenant.runs('before', 2, {'group': tenant.group()}, availability_zone='az-1')
    hints = {'different_host': [each.id for each in found]}
    return {'availability_zone': 'az-1', 'hints': hints}


#: The request, and the first rejection of hosts with which the explanation has to agree.
KINDS = {
    no_free_capacity: {'cmp-1': ('resources.exhausted', 'resources.too_large')},
    missing_trait: {'cmp-1': 'traits.missing', 'cmp-5': 'traits.missing'},
    aggregate_constraint: {
        'cmp-1': 'aggregate_metadata.nova_missing_key',
        'cmp-5': 'resources.exhausted',
    },
    group_full: {'cmp-1': 'server_group.host_full', DISABLED: 'host_state.disabled'},
    max_with_siblings: {'cmp-1': 'server_group.host_full', DISABLED: 'host_state.disabled'},
    disabled_hosts: {'cmp-1': 'resources.exhausted', DISABLED: 'host_state.disabled'},
    image_property: {'cmp-1': 'image_hypervisor.unsupported'},
    reserved_hosts: {'cmp-4': 'reservations.isolated', 'cmp-1': 'availability_zone.other_zone'},
    different_host: {'cmp-1': 'scheduler_hints.different_host'},
}


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    ('kind', 'number', 'most'),
    [
        pytest.param(kind, number, most, id=f'{kind.__name__}-{number}')
        for kind in KINDS
        for number, most in ((1, 2), (3, 999))
        if kind is not max_with_siblings or number > 1  # of one server, it is group_full
    ],
)
def test_a_placement_failure_is_explained_and_each_remedy_helps(
    kind, number, most, cloud, tenant, explain
):
    """A remedy that is enough for three servers is carried out for three, not also for one."""
    failed = fail(tenant, kind, number)
    said = check_admin(explain, failed[1], KINDS[kind])
    check_tenant(explain, failed[1])
    enough = [each for each in said['remedies'] if number <= each['capacity'] <= most]
    hardware = {'aggregate_hosts', 'host_traits'}
    for remedy in (each for each in enough if each['commands'] or hardware & each['data'].keys()):
        with restored(cloud, HOSTS, DISABLED):
            carry_out(tenant, remedy, *(failed or fail(tenant, kind, number)))
            failed = None


def fail(tenant, kind, number):
    """Send a request of this kind; return it with its servers, none of which is active."""
    body = kind(tenant, number)
    found = tenant.request('web', number, **body)()
    assert {each.status for each in found} == {'ERROR'}
    return body, found


def check_admin(explain, found, codes):
    """Check that the administrator reads the request, the hosts, and that it would fail again."""
    done = explain('admin', found[-1].id, '-f', 'json')
    said = json.loads(done.stdout)
    assert (done.returncode, done.stderr, said['fits']) == (3, '', False)
    assert (said['failure']['cause'], said['failure']['is_placement']) == ('no_host', True)
    assert (said['requested'], said['wanted']) == (len(found), len(found))
    assert {each['id'] for each in said['siblings']} == {each.id for each in found}
    reports = {each['host']: each['code'] for each in said['hosts']}
    for name, code in codes.items():
        assert reports[name] in ((code,) if isinstance(code, str) else code), name
    text = explain('admin', found[-1].id).stdout
    assert text.startswith(f'{found[-1].name} found no host at ')
    assert '\nThe same request would fail today.' in text
    check_without_nova_conf(explain, found)
    return said


def check_without_nova_conf(explain, found):
    """Check that no answer is that the request fits: it would fail, or probably fail again."""
    done = explain('admin', found[-1].id, '-f', 'json', '--accept-upper-bound', nova_conf=False)
    said = json.loads(done.stdout)
    words = {3: 'would fail today', 4: 'would probably fail again'}[done.returncode]
    assert (said['likely_cause'] is None) is (done.returncode == 3)
    assert any(words in each for each in said['explanation'])


def check_tenant(explain, found):
    """Check that the tenant reads the request, and nothing about hosts."""
    for nova_conf in (False, True):
        done = explain('demo', found[-1].name, '-f', 'json', nova_conf=nova_conf)
        said = json.loads(done.stdout)
        assert (done.returncode, done.stderr, said['fits']) == (1, '', None)
        assert (said['requested'], said['requested_is_lower_bound']) == (1, True)
        assert said['failure']['cause'] == 'no_host'
        assert said['hosts'] == said['placements'] == said['failure']['tried'] == []
        assert said['likely_cause'] is None
    text = explain('demo', found[-1].name).stdout
    assert 'What the request requires of a host\n  flavor ' in text
    assert 'cmp-' not in done.stdout + text


def carry_out(tenant, remedy, body, failed):
    """Run the commands; then the same request, or the changed one, must succeed."""
    hints, number = body.get('hints', {}), len(failed)
    tenant.operator.run(f'openstack server delete {" ".join(each.id for each in failed)}')
    request = NamedRequest(number, body.get('flavorRef', 'tiny'), hints.get('group'))
    then = tenant.operator.carry_out(SimpleNamespace(**remedy), request)
    tenant.two_minutes_pass()
    group = {'group': then.server_group} if then.server_group else {}
    changed = {**body, 'flavorRef': then.flavor, 'hints': {**hints, **group}}
    found = tenant.request('again', number, **changed)()
    faults = [each.fault for each in found]
    assert {each.status for each in found} == {'ACTIVE'}, (remedy, faults)


# --- other failures


@pytest.mark.long
@pytest.mark.parametrize('number', [1, 2])
def test_a_quota_at_the_late_check(number, tenant, explain):
    with tenant.scheduling_held() as waits_for:
        finished = tenant.request('late', number)
        waits_for(1)
        tenant.limit(number - 1)
    failed = finished()
    for user in ('admin', 'demo'):
        done = explain(user, failed[0].id, '-f', 'json')
        said = json.loads(done.stdout)
        # Also a tenant knows the quotas.
        assert (done.returncode, said['fits']) == (3, False)
        seen = number if user == 'admin' else 1
        assert (said['requested'], said['failure']['cause']) == (seen, 'quota')
        assert 'quota.instances' in said['line']
        count = 'still counts' if seen == 1 else 'still count'
        assert f'{count}: {seen} of {number - 1} instances' in said['explanation'][-1]
    said = json.loads(explain('admin', failed[0].id, '-f', 'json').stdout)
    (remedy,) = (each for each in said['remedies'] if each['code'] == 'quota')
    carry_out(tenant, remedy, {}, failed)


@pytest.mark.long
def test_deleted_siblings(tenant, explain):
    """Like with Heat; also the last one, which tenants cannot find by its name or id."""
    hints = {'group': tenant.group()}
    found = tenant.request('heat', 3, hints, availability_zone='az-1')()
    for number in range(3):
        tenant.compute.delete_server(found[number])
        until(lambda: len(list(tenant.compute.servers())) == 2 - number, 30, 'it is gone')  # noqa: B023
        last = found[-1]
        said = json.loads(explain('admin', last.id, '-f', 'json').stdout)
        assert (said['requested'], said['wanted'], said['fits']) == (3, 3, False)
        assert said['failure']['cause'] == 'no_host'
        for named in (last.id, last.name):
            said = json.loads(explain('demo', named, '-f', 'json').stdout)
            assert (said['requested'], said['wanted'], said['fits']) == (1, 1, None)
            assert said['server']['id'] == last.id
    assert said['failure']['cause'] == 'not_shown'


@pytest.mark.long
@pytest.mark.parametrize('number', [1, 2])
def test_a_deleted_zone(number, cloud, tenant, explain):
    zone, compute = {'availability_zone': 'az-6'}, tenant.operator.compute
    tenant.runs('before', 2, **zone)
    failed = tenant.request('web', number, **zone)()
    assert {each.status for each in failed} == {'ERROR'}
    for server in tenant.compute.servers(name='before'):
        tenant.compute.delete_server(server)
    until(lambda: not list(tenant.compute.servers(name='before')), 30, 'they are gone')
    (aggregate,) = (each for each in compute.aggregates() if each.availability_zone == 'az-6')
    compute.remove_host_from_aggregate(aggregate, 'cmp-6')
    try:
        code = 'availability_zone.other_zone'
        found = check_admin(explain, failed, {'cmp-1': code, 'cmp-6': code})
        check_tenant(explain, failed)
        (remedy,) = (each for each in found['remedies'] if each['code'] == 'aggregate_hosts')
        assert remedy['commands'] == []
        assert remedy['change'].startswith('1 host in aggregate az-6 is needed (')
        carry_out(tenant, remedy, zone, failed)
    finally:
        if 'cmp-6' not in compute.get_aggregate(aggregate).hosts:
            compute.add_host_to_aggregate(aggregate, 'cmp-6')


@pytest.mark.long
@pytest.mark.parametrize('number', [1, 2])
def test_a_failed_volume_is_not_a_placement_failure(number, tenant, explain):
    device = {'boot_index': 0, 'uuid': tenant.cloud.image_id, 'source_type': 'image'}
    device |= {'destination_type': 'volume', 'volume_size': 1}
    failed = tenant.request('web', number, imageRef='', block_device_mapping_v2=[device])()
    said = json.loads(explain('admin', failed[0].id, '-f', 'json').stdout)
    assert (said['fits'], said['requested']) == (True, number)
    assert (said['failure']['cause'], said['failure']['is_placement']) == ('volume', False)
    assert set(said['failure']['tried']) <= {*HOSTS}
    assert said['failure']['tried']
    done = explain('demo', failed[0].id, '-f', 'json')
    said = json.loads(done.stdout)
    assert (said['fits'], said['failure']['cause'], said['failure']['tried']) == (
        None,
        'volume',
        [],
    )


@pytest.mark.long
def test_a_race(tenant, explain):
    """nova-scheduler sends two servers of a group to the only host at the same time."""
    compute = tenant.operator.compute
    (service,) = compute.services(host='cmp-2', binary='nova-compute')
    compute.disable_service(service, 'cmp-2', 'nova-compute')
    hints = {'group': tenant.group()}
    try:
        with tenant.scheduling_held() as waits_for:
            ends = [tenant.request(f'r{n}', 1, hints, availability_zone='az-1') for n in (1, 2)]
            waits_for(2)
        states = {each.status: each for finished in ends for each in finished()}
        failed = states['ERROR']
        done = explain('admin', failed.id, '-f', 'json')
        said = json.loads(done.stdout)
        assert (done.returncode, said['failure']['cause']) == (3, 'retries')
        assert said['failure']['tried'] == ['cmp-1']
        tenant.compute.delete_server(states['ACTIVE'])
        until(lambda: len(list(tenant.compute.servers())) == 1, 30, 'it is gone')
        until(lambda: explain('admin', failed.id).returncode == 0, 30, 'the host is free')
        said = json.loads(explain('admin', failed.id, '-f', 'json').stdout)
        assert said['explanation'][-1].startswith('Nova used up its attempts, because of a race')
    finally:
        compute.enable_service(service, 'cmp-2', 'nova-compute')


@pytest.mark.long
def test_an_assumption_is_wrong_or_the_cloud_has_changed(tenant, explain):
    (kept,) = tenant.request('kept', availability_zone='az-2')()
    done = explain('admin', kept.id, '-f', 'json', nova_conf=False)
    said = json.loads(done.stdout)
    assert (done.returncode, said['fits'], said['capacity_certain']) == (4, True, 0)
    assert said['likely_cause'].startswith('an assumption is probably wrong on this cloud: no ')
    assert 'enable_isolated_aggregate_filtering' in said['likely_cause']
    assert said['explanation'][-1] == 'The same request would probably fail again.'
    (before,) = tenant.runs('before', availability_zone='az-5')
    (late,) = tenant.request('late', availability_zone='az-5')()
    tenant.compute.delete_server(before)
    until(lambda: not list(tenant.compute.servers(name='before')), 30, 'it is gone')
    done = explain('admin', late.id, '-f', 'json')
    said = json.loads(done.stdout)
    assert (done.returncode, said['fits']) == (0, True)
    assert said['changes'][0].startswith('1 server was deleted, the last at ')
    assert said['explanation'][-1].startswith('The cloud has changed since: 1 server was deleted')
    # Of a forced host, no filter runs; a requested one is the only host.
    done = explain('admin', late.id, '--availability-zone', 'az-1:cmp-1', '-f', 'json')
    assert [each['host'] for each in json.loads(done.stdout)['hosts']] == ['cmp-1']
    requested = ('--host', 'cmp-1', '--availability-zone', 'az-1')
    done = explain('admin', late.id, *requested, '-f', 'json')
    assert json.loads(done.stdout)['fits'] is True


# --- causes that the planner does not model


NUMA = 'NUMATopologyFilter'
NO_DEVICE = 'because the chosen host had no free PCI device of the requested kind'
CLAIM = f'the last attempt failed {NO_DEVICE}: Insufficient compute resources: Claim pci failed.'
TENANTS = {
    'limit_tenants_to_placement_aggregate': True,
    'placement_aggregate_required_for_tenants': True,
}
NOT_FOR_TENANT = (
    'nova-scheduler rejected the request itself: Scheduling failed: No hosts available for tenant'
)
IN_AZ_1 = {'availability_zone': 'az-1'}


def filter_of(name, words, is_enabled=True):
    """Return the likely cause: the filter rejected both hosts of the zone."""
    which = 'both hosts that the planner accepts'
    more = '' if is_enabled else ', if it is enabled,'
    return f'filter {name}{more} probably rejected {which}: {words}, which is not modelled'


PAGES = 'the flavor requires hw:mem_page_size=1GB'
NODES = 'the image requires hw_numa_nodes=1'
DEVICE = 'the flavor requires pci_passthrough:alias=gpu:1'
QUERY = 'the request has scheduler hint query'
CAPABLE = filter_of(
    'ComputeCapabilitiesFilter', 'the flavor requires capabilities:hypervisor_type=s== other'
)
#: The more enabled filters and the options of nova.conf; the request; the exit status and the
#: likely cause with nova.conf, and without it; what else the answer says then.
UNMODELLED = {
    'pages': (
        {'filters': [NUMA]},
        {'flavorRef': 'pages'},
        (4, filter_of(NUMA, PAGES)),
        (4, filter_of(NUMA, PAGES, is_enabled=False)),
    ),
    'an image with NUMA nodes': (
        {'filters': [NUMA]},
        {'image': {'hw_numa_nodes': '1'}},
        (4, filter_of(NUMA, NODES)),
        (4, filter_of(NUMA, NODES, is_enabled=False)),
    ),
    'a PCI device and its filter': (
        {'filters': ['PciPassthroughFilter']},
        {'flavorRef': 'device'},
        (4, filter_of('PciPassthroughFilter', DEVICE)),
        (4, filter_of('PciPassthroughFilter', DEVICE, is_enabled=False)),
    ),
    'a PCI device without its filter': (
        {'options': {'scheduler': {'max_attempts': 2}}},
        {'flavorRef': 'device', 'availability_zone': None},
        (4, CLAIM),
        (4, CLAIM),
    ),
    'a PCI device and one attempt': (
        {'options': {'scheduler': {'max_attempts': 1}}},
        {'flavorRef': 'device'},
        (4, NO_DEVICE.removeprefix('because ')),
        (4, NO_DEVICE.removeprefix('because ')),
    ),
    'a query': (
        {'filters': ['JsonFilter']},
        {'hints': {'query': '["=", "$host", "none"]'}},
        (4, filter_of('JsonFilter', QUERY)),
        (4, filter_of('JsonFilter', QUERY, is_enabled=False)),
    ),
    'a capability': ({}, {'flavorRef': 'capable'}, (4, CAPABLE), (4, CAPABLE)),
    'the load of hosts': (
        {'filters': ['IoOpsFilter'], 'options': {'filter_scheduler': {'max_io_ops_per_host': 0}}},
        {},
        (
            4,
            'filter IoOpsFilter, which is not modelled, probably rejected both hosts that the '
            'planner accepts',
        ),
        (0, None, 'an assumption is wrong on this cloud: '),
    ),
    'isolated hosts': (
        {
            'filters': ['IsolatedHostsFilter'],
            'options': {'filter_scheduler': {'isolated_hosts': ['cmp-1', 'cmp-2']}},
        },
        {},
        (3, None, 'No host takes it: '),
        (0, None, "Nova's default filters"),
    ),
    'a key of aggregates': (
        {'filters': ['AggregateInstanceExtraSpecsFilter']},
        {'flavorRef': 'gold'},
        (3, None, 'No suitable host exists: '),
        (4, 'an assumption is probably wrong on this cloud: no AggregateInstanceExtraSpecsFilter'),
    ),
    'isolated aggregates': (
        {'options': {'scheduler': ISOLATING}},
        {'availability_zone': 'az-2'},
        (3, None, 'No suitable host exists: '),
        (
            4,
            'an assumption is probably wrong on this cloud: no enable_isolated_aggregate_filtering',
        ),
    ),
    'no aggregate of the tenant': (
        {'options': {'scheduler': TENANTS}},
        {},
        (3, NOT_FOR_TENANT),
        (4, NOT_FOR_TENANT),
    ),
}
#: The causes that Nova's message names, so that a tenant reads them.
BY_MESSAGE = (CLAIM, NO_DEVICE.removeprefix('because '), NOT_FOR_TENANT)


@pytest.fixture
def set_nova(cloud, tmp_path):
    """Change the filters and options of Nova, and write them to a file; restore them after."""
    with requests.Session() as session:
        session.trust_env = False
        url = f'{cloud.base_url}/_nova/options'

        def put(filters=(), options=None):
            values = {
                'scheduler': {'enable_isolated_aggregate_filtering': False},
                **(options or {}),
            }
            enabled = {'enabled_filters': [*DEFAULT_FILTERS, *filters]}
            values['filter_scheduler'] = {**enabled, **values.get('filter_scheduler', {})}
            assert session.put(url, json=values).ok
            path = tmp_path / 'changed.conf'
            config_files.write(path, values)
            return path

        yield put
        assert session.put(url, json={}).ok


@pytest.mark.long(every=3)
@pytest.mark.parametrize('name', UNMODELLED)
def test_a_cause_that_is_not_modelled_is_named(name, tenant, explain, set_nova):
    settings, body, *expected = UNMODELLED[name]
    conf, body = set_nova(**settings), {**IN_AZ_1, **body}
    if properties := body.pop('image', None):
        images = tenant.operator.connection.image
        body['imageRef'] = images.post('/images', json={'name': 'i', **properties}).json()['id']
    (failed,) = tenant.request('web', **{key: each for key, each in body.items() if each})()
    assert failed.status == 'ERROR'
    for nova_conf, (status, cause, *others) in zip((conf, False), expected, strict=True):
        options = ('-f', 'json', '--accept-upper-bound')
        done = explain('admin', failed.id, *options, nova_conf=nova_conf)
        said = json.loads(done.stdout)
        assert (done.returncode, done.stderr) == (status, ''), said['explanation']
        assert (said['likely_cause'] or '').startswith(cause or '')
        assert bool(said['likely_cause']) is bool(cause)
        text = ' '.join(said['explanation'])
        assert ('would probably fail again' in text) is (status == 4)
        assert ('Pass --nova-conf' in text) is (not nova_conf and status != 3)
        assert all(each in text for each in others), text
        assert 'The cloud has changed' not in text
        done = explain('demo', failed.id, '-f', 'json', nova_conf=nova_conf)
        said = json.loads(done.stdout)
        assert (done.returncode, said['fits'], done.stderr) == (1, None, '')
        assert said['likely_cause'] == (cause if cause in BY_MESSAGE else None)
        text = explain('demo', failed.id, nova_conf=nova_conf).stdout
        assert 'cmp-' not in done.stdout + text
        assert 'Pass --nova-conf' not in text


@pytest.mark.long
def test_a_host_that_the_request_named(tenant, explain, set_nova):
    conf = set_nova()
    admin = Tenant(tenant.cloud, tenant.operator)
    admin.compute = tenant.operator.compute
    found = admin.request('named', host=DISABLED, microversion='2.74')()
    hidden = 'Nova does not return a decisive part of the request (the requested host, if any)'
    for nova_conf in (conf, False):
        done = explain('admin', found[0].id, '-f', 'json', nova_conf=nova_conf)
        said = json.loads(done.stdout)
        assert (done.returncode, said['likely_cause']) == (0, None)
        text = said['explanation'][-1]
        assert text.startswith(f'Nothing visible has changed since. Perhaps {hidden}')
        assert ('Pass --nova-conf' in text) is not nova_conf
        done = explain('admin', found[0].id, '--host', DISABLED, nova_conf=nova_conf)
        assert done.returncode == 3
        assert 'the compute service is disabled' in done.stdout
    assert explain('demo', found[0].id).returncode == 2


@pytest.mark.long
def test_a_change_with_evidence_and_a_quota(tenant, explain, set_nova):
    """A new aggregate has the key; then a quota, which did not cause the failure, is lowered."""
    conf = set_nova(filters=['AggregateInstanceExtraSpecsFilter'])
    (failed,) = tenant.request('web', flavorRef='gold', **IN_AZ_1)()
    assert explain('admin', failed.id, nova_conf=conf).returncode == 3
    compute = tenant.operator.compute
    aggregate = compute.create_aggregate(name='gold')
    try:
        compute.set_aggregate_metadata(aggregate, {'gold': 'true'})
        compute.add_host_to_aggregate(aggregate, 'cmp-1')
        for nova_conf in (conf, False):
            done = explain('admin', failed.id, '-f', 'json', nova_conf=nova_conf)
            said = json.loads(done.stdout)
            words = 'The cloud has changed since: 1 aggregate was created or changed, the last at '
            if nova_conf:
                assert (done.returncode, said['likely_cause']) == (0, None)
            assert said['explanation'][-1].startswith(words)
        tenant.limit(0)
        for user in ('admin', 'demo'):
            for nova_conf in (conf, False):
                done = explain(user, failed.id, '-f', 'json', nova_conf=nova_conf)
                said = json.loads(done.stdout)
                text = ' '.join(said['explanation'])
                assert (done.returncode, said['fits']) == (3, False)
                assert 'The same request would fail today: ' in text
                assert 'No host takes it' not in text
    finally:
        for each in compute.get_aggregate(aggregate).hosts:
            compute.remove_host_from_aggregate(aggregate, each)
        compute.delete_aggregate(aggregate)


@pytest.mark.long
def test_a_nova_that_returns_less_of_the_request(tmp_path):
    """Nova 26 (Zed): the zone is that of a server without a host, and hints are options."""
    with SandboxCloud(HOSTS, flavors=FLAVORS, filters=FILTERS, compute_max_version='2.93') as cloud:
        (tmp_path / 'clouds.yaml').write_text(cloud.clouds_yaml())
        with restored(cloud, HOSTS, DISABLED) as operator:
            tenant = Tenant(cloud, operator)
            (near,) = tenant.runs('near', availability_zone='az-5')
            hints = {'different_host': [near.id]}
            (failed,) = tenant.request('far', hints=hints, availability_zone='az-5')()

            def explain(*options):
                line = ('--os-cloud', 'sandbox', 'server', 'explain', failed.id, '-f', 'json')
                filters = ('--enabled-filters', ','.join(FILTERS))
                return json.loads(commands.run(*line, *filters, *options, folder=tmp_path).stdout)

            said = explain()
            assert said['fits'] is False
            assert {'--hint', '--availability-zone'} <= {*said['hidden']}
            codes = {each['host']: each['code'] for each in said['hosts']}
            assert (codes['cmp-5'], codes['cmp-1']) == (
                'resources.exhausted',
                'availability_zone.other_zone',
            )
            said = explain('--hint', f'different_host={near.id}', '--availability-zone', 'az-5')
            verdicts = {each['host']: each['verdicts'] for each in said['hosts']}['cmp-5']
            codes = [each['code'] for each in verdicts if each['outcome'] == 'REJECT']
            assert 'scheduler_hints.different_host' in codes
            assert {'--hint', '--availability-zone'}.isdisjoint(said['hidden'])
