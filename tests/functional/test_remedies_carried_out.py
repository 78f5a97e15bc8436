"""Every kind of remedy is applied to a real Nova, with the predicted result."""

import re
from uuid import uuid4

import pytest

from senlin_affinity import api
from senlin_affinity.cloud import snapshot
from senlin_affinity.cloud.clients import OperatorClient
from senlin_affinity.model.request import DEFAULT_FILTERS
from senlin_affinity.model.spread import Spread
from senlin_affinity.nova.host_status import DISABLED
from tests.support import preflight, tables, waiting
from tests.support.asked import Given, NamedRequest
from tests.support.our_constraints import OURS
from tests.support.remedying import Operator, restored
from tests.support.sandbox import SandboxCloud
from tests.support.values import replace

RAM = 128
FILTERS = (*DEFAULT_FILTERS, 'AggregateInstanceExtraSpecsFilter')
SSD, FAST = 'aggregate_instance_extra_specs:ssd', 'trait:CUSTOM_FAST'


def host(room, zone=None, **more):
    return {'memory_mb': room * RAM, **({'availability_zone': zone} if zone else {}), **more}


HOSTS = {
    'cmp-1': host(2, 'az-1', aggregates={'ssd': {'ssd': 'true'}}),
    'cmp-2': host(1, 'az-2'),
    'cmp-3': host(1, 'az-1', disabled=True),
    'cmp-4': host(2),
}
FLAVORS = {
    'asked': {'id': 'asked', 'ram': RAM},
    'half': {'id': 'half', 'ram': RAM // 2},
    'ssd': {'id': 'ssd', 'ram': RAM, 'extra_specs': {SSD: 'true'}},
    'fast': {'id': 'fast', 'ram': RAM, 'extra_specs': {FAST: 'required'}},
    'theirs': {'id': 'theirs', 'ram': RAM, 'extra_specs': {'kept:them': '1'}},
    'nope': {'id': 'nope', 'ram': RAM, 'extra_specs': {'trait:CUSTOM_NOPE': 'forbidden'}},
    'empty': {'id': 'empty', 'ram': RAM, 'extra_specs': {'trait1:CUSTOM_FAST': 'required'}},
}
RESERVED = Given.of(required_member_prefix='kept:', forbidden_member_prefixes=('kept:',))
ANTI = 'anti-affinity'
#: The flavor, the number of servers, other fields of the request, and the cloud: a group with a
#: server on each of some hosts, the limit of a quota, the rules, an enabled host whose provider has
#: the trait of a disabled one, a host that is down, a host with a server in its only slot.
CASES = {
    'started_hosts': ('asked', 3, {'availability_zone': 'az-1'}, {}),
    'started_hosts of Placement': ('asked', 3, {'availability_zone': 'az-1'}, {'stale': 'cmp-1'}),
    'started_hosts that are down': ('asked', 3, {'availability_zone': 'az-1'}, {'down': 'cmp-1'}),
    'availability_zone': ('asked', 2, {'availability_zone': 'az-2'}, {}),
    'any_zone': ('asked', 3, {'availability_zone': 'az-2'}, {}),
    'aggregate_hosts of a zone': ('asked', 3, {'availability_zone': 'az-2'}, {}),
    'aggregate_hosts of metadata': ('ssd', 4, {}, {}),
    'aggregate_hosts of member_of': ('asked', 4, {'member_of': ('ssd',)}, {}),
    'host_traits': ('fast', 2, {}, {}),
    'flavor': ('asked', 2, {'availability_zone': 'az-2'}, {}),
    'quota': ('asked', 2, {}, {'limit': 1}),
    'new_group': ('asked', 3, {}, {'policy': ANTI, 'on': 'cmp-1'}),
    'no_group': ('asked', 4, {'is_group_optional': True}, {'policy': ANTI, 'on': 'cmp-4'}),
    'max_server_per_host': ('asked', 4, {}, {'policy': ANTI, 'on': 'cmp-4'}),
    'soft_policy': ('asked', 4, {}, {'policy': ANTI, 'on': 'cmp-4'}),
    'created_traits': ('nope', 5, {}, {}),
    'extra_specs': ('empty', 5, {}, {}),
    'rule_given_up of traits': ('fast', 3, {}, {}),
    'rule_given_up of aggregate_metadata': ('ssd', 3, {}, {}),
    'rule_given_up of member_of': ('asked', 3, {'member_of': ('ssd',)}, {}),
    'rule_given_up of spread': ('asked', 4, {'spread': (Spread('availability_zone', 1, 1),)}, {}),
    'rule_given_up of drs': ('asked', 3, {}, {'rules': Given.of(is_drs_required=True)}),
    'max_per_domain': ('asked', 3, {'spread': (Spread('availability_zone', 1, 1),)}, {}),
    'max_skew': ('asked', 2, {'spread': (Spread('availability_zone'),)}, {'full': 'az-2:cmp-2'}),
    'no_reservation': ('theirs', 3, {}, {'rules': RESERVED}),
    'two_changes': ('asked', 3, {}, {'policy': ANTI, 'on': 'cmp-1', 'limit': 2}),
}


#: Those that need another cloud: of more hosts, with volumes, or without the filter that rejects a
#: flavor with group_policy (the accuracy kind "rejected queries"). Some have own tests.
#: aggregate_projects is for the filter AggregateMultiTenancyIsolation.
BESIDE = {'hosts', 'boot_from_volume', 'group_policy', 'settings', 'any_host', 'removed_consumers'}
BESIDE |= {'aggregate_projects', 'available_nodes', 'moved_server', 'image'}
#: What the text of a waiver contains if a flavor without the requirement exists.
GIVEN_UP = {'traits': FAST, 'aggregate_metadata': SSD}
#: A hint names servers by ids; the accuracy kind "hints" creates servers with and without them.
COMPARED_BY_ACCURACY = {'scheduler_hints'}


def test_the_rows_cover_every_kind_of_remedy():
    page = (tables.CASES.parents[1] / 'doc/source/concepts/preflight.rst').read_text()
    table = page.partition('What would help\n')[2].partition('In JSON, each remedy')[0]
    kinds = {code for line in re.findall(r'\* - (``.*)', table) for code in line.split('``')[1::2]}
    assert {re.split(' of | that ', case)[0] for case in CASES} | BESIDE == kinds
    given_up = {case.removeprefix('rule_given_up of ') for case in CASES if 'given_up' in case}
    waivable = {rule.name for rule in OURS if rule.is_waivable}
    assert waivable - COMPARED_BY_ACCURACY == given_up


@pytest.fixture(scope='module')
def cloud():
    with SandboxCloud(HOSTS, flavors=FLAVORS, filters=FILTERS) as running:
        yield running


@pytest.fixture
def operator(cloud):
    """Restore the cloud after the test."""
    with restored(cloud, HOSTS, 'cmp-3') as operator:
        yield operator
        operator.set_down('cmp-1', False)


def decide(operator, request, rules):
    taken = preflight.take_snapshot(operator.connection, project_id=request.project_id)
    known = snapshot.with_names(OperatorClient(operator.connection), taken)
    return preflight.plan(request, known, rules=rules)


def said(thing):
    return thing.capacity, thing.capacity_is_upper_bound


def set_limit(operator, limit):
    """Limit the project to this number of servers."""
    operator.run(
        f'openstack quota set --instances {limit} {operator.connection.current_project_id}'
    )


def place(operator, request, most):
    """Create servers one by one; return how many find a host."""
    placed = 0
    while placed <= most and operator.place(request):
        placed += 1
    return placed


@pytest.mark.long(every=3)
@pytest.mark.parametrize('case', CASES)
def test_a_remedy_has_the_predicted_result(case, operator):
    flavor, count, asked, there = CASES[case]
    more = {'enabled_filters': FILTERS, 'image_properties': {}, **asked}
    request, rules = NamedRequest(count, flavor, **more), there.get('rules')
    if 'policy' in there:
        group = operator.compute.create_server_group(name='web', policy=there['policy']).id
        request = replace(request, server_group=group)
        assert operator.place(request, f'nova:{there["on"]}')
    if 'full' in there:
        assert operator.place(request, there['full'])
    if 'limit' in there:
        set_limit(operator, there['limit'])
    if 'stale' in there:
        operator.set_traits(there['stale'], [*operator.traits(there['stale']), DISABLED])
    if 'down' in there:
        operator.set_down(there['down'], True)
    code, _of, which = case.partition(' of ')
    code, _that, _are = code.partition(' that ')
    remedy = next(
        each
        for each in decide(operator, request, rules).remedies
        if each.code == code
        and (code != 'rule_given_up' or GIVEN_UP.get(which, which) in each.change)
        if 'new_hosts' not in each.data  # a sandbox does not grow
    )
    then = operator.carry_out(remedy, request)
    if 'enable_drs_extension' in remedy.data:
        rules = replace(rules, is_drs_required=remedy.data['enable_drs_extension'])
    again = decide(operator, then, rules)
    assert said(again) == said(remedy), (remedy, again.line())
    assert again.fits
    if then.member_of or then.spread or rules:  # Nova does not keep to them: the hosts are chosen
        places = [f'{each.zone}:{each.host}' for each in again.placements]
        assert all(operator.place(then, place) for place in places)
    else:
        assert place(operator, then, remedy.capacity) == remedy.capacity


@pytest.mark.long
def test_another_image_has_the_predicted_result(operator):
    """No host of the fake driver offers Secure Boot."""
    request = NamedRequest(3, 'asked', enabled_filters=FILTERS, image_properties={})
    secure = replace(request, image_properties={'os_secure_boot': 'required'})
    decision = decide(operator, secure, None)
    (remedy,) = (each for each in decision.remedies if each.code == 'image')
    assert (decision.capacity, remedy.data['removed_image_properties']) == (0, ['os_secure_boot'])
    assert place(operator, request, remedy.capacity) == remedy.capacity


def api_decision(operator, question):
    """Return the decision of the command, which reads what else than servers uses full hosts."""
    view = api.fetch(operator.connection, question)
    decision = api.answer(question, view, remedies=False)
    view = api.with_leftovers(operator.connection, view, decision)
    return api.answer(question, view)


@pytest.mark.long
def test_leftover_allocations_are_removed(operator):
    """On a host that also has a server."""
    question = api.Question(4, flavor='asked', image_properties={}, enabled_filters=FILTERS)
    providers = operator.placement.get('/resource_providers').json()['resource_providers']
    uuid = {each['name']: each['uuid'] for each in providers}['cmp-4']
    request = NamedRequest(1, 'asked', image_properties={})
    assert operator.place(request, 'nova:cmp-4')
    path, version = f'/allocations/{uuid4()}', {'microversion': '1.28'}
    ids = operator.connection.current_project_id, operator.connection.current_user_id
    body = {'project_id': ids[0], 'user_id': ids[1], 'consumer_generation': None}
    body['allocations'] = {uuid: {'resources': {'MEMORY_MB': RAM}}}
    operator.placement.put(path, json=body, **version).raise_for_status()
    decision = api_decision(operator, question)
    assert not decision.fits
    found = [each for each in decision.remedies if each.code == 'removed_consumers']
    (remedy,) = [each for each in found if each.data == {'removed_consumers': ['cmp-4']}]
    assert f'(cmp-4: {RAM} MEMORY_MB)' in remedy.change
    operator.placement.delete(path).raise_for_status()
    again = api_decision(operator, question)
    assert said(again) == said(remedy)
    assert not [each for each in again.remedies if each.code == 'removed_consumers']


@pytest.mark.long
def test_a_host_is_enabled_before_the_size_is_halved(operator):
    request = NamedRequest(6, 'asked', enabled_filters=FILTERS, image_properties={})
    first, second = decide(operator, request, None).remedies[:2]
    assert (first.code, second.code, second.change) == ('started_hosts', 'flavor', 'flavor: half')
    then = operator.carry_out(first, request)
    assert said(decide(operator, then, None)) == said(first)
    assert place(operator, then, first.capacity) == first.capacity == 6


@pytest.mark.long
def test_a_server_moves_off_the_only_host_with_a_trait(operator):
    request = NamedRequest(1, 'asked', image_properties={})
    of_host = {}
    for _number in range(5):  # every enabled host is full
        server = operator.place(request)
        of_host.setdefault(operator.compute.get_server(server).compute_host, []).append(server)
    (gone,) = of_host['cmp-2']
    operator.compute.delete_server(gone)
    waiting.until(lambda: len([*operator.compute.servers()]) == 4, 60, 'the end of a server')
    operator.placement.put('/traits/CUSTOM_FAST', microversion='1.6').raise_for_status()
    operator.set_traits('cmp-4', [*operator.traits('cmp-4'), 'CUSTOM_FAST'])
    question = api.Question(1, flavor='fast', image_properties={}, enabled_filters=FILTERS)
    decision = api_decision(operator, question)
    assert not decision.fits
    remedy = decision.remedies[0]
    assert remedy.code == 'moved_server'
    (move,) = remedy.data['moved_servers']
    assert (move['from'], move['to'], move['kind']) == ('cmp-4', 'cmp-2', 'live')
    assert move['id'] in of_host['cmp-4']
    operator.carry_out(remedy, request)
    assert said(api_decision(operator, question)) == said(remedy)
    assert operator.place(replace(request, flavor='fast'))


@pytest.mark.long
def test_another_host_than_the_requested_one(operator):
    more = {'flavor': 'asked', 'image_properties': {}, 'enabled_filters': FILTERS}
    first = api_decision(
        operator, api.Question(3, availability_zone='nova:cmp-4', **more)
    ).remedies[0]
    assert first.code == 'any_host'
    again = api_decision(operator, api.Question(3, availability_zone='nova', **more))
    assert said(again) == said(first)
    request = NamedRequest(1, 'asked', availability_zone='nova', image_properties={})
    assert place(operator, request, first.capacity) == first.capacity


@pytest.mark.long
def test_a_new_group_belongs_to_the_tenant(cloud, operator):
    """An administrator plans, and a server of the tenant is created in the new group."""
    tenant = Operator(cloud, 'demo')
    old = tenant.compute.create_server_group(name='web', policy=ANTI).id
    project = tenant.connection.current_project_id
    request = NamedRequest(3, 'asked', old, image_properties={}, project_id=project)
    assert tenant.place(request)
    remedy = find(operator, request, 'new_group')
    assert remedy.data['server_group']['project_id'] == project
    then = operator.carry_out(remedy, request)
    groups = tenant.compute.get('/os-server-groups').json()['server_groups']
    assert then.server_group in {each['id'] for each in groups}
    placed = place(tenant, then, remedy.capacity)
    for server in tenant.compute.servers():
        tenant.compute.delete_server(server)
    assert placed == remedy.capacity


@pytest.mark.long
def test_new_hosts_have_the_predicted_result(operator):
    """Alone, and with a quota; in another cloud, because a sandbox cannot grow."""
    more = {'image_properties': {}, 'enabled_filters': FILTERS}
    request = NamedRequest(3, 'ssd', None, 'az-1', **more)
    hosts = find(operator, request, 'hosts')
    set_limit(operator, 2)
    both = find(operator, request, 'two_changes')
    assert both.data['new_hosts'] == hosts.data['new_hosts']
    new = hosts.data['new_hosts']
    assert [each['name'] for each in new['aggregates']] == ['az-1', 'ssd']
    assert (new['availability_zone'], new['amounts']['MEMORY_MB']) == ('az-1', 2 * RAM)
    aggregates = {'ssd': {'ssd': 'true'}}
    added = {f'new-{each}': host(2, 'az-1', aggregates=aggregates) for each in range(new['number'])}
    with SandboxCloud({**HOSTS, **added}, flavors=FLAVORS, filters=FILTERS) as larger:
        operator = Operator(larger)
        for remedy in (both, hosts):
            operator.connection.compute.delete(
                f'/os-quota-sets/{operator.connection.current_project_id}'
            )
            for line in remedy.commands:
                operator.run(line)
            assert said(decide(operator, request, None)) == said(remedy)
            assert place(operator, request, remedy.capacity) == remedy.capacity
            operator.remove_servers()


def find(operator, request, code):
    """Return the remedy with this code."""
    (remedy,) = (each for each in decide(operator, request, None).remedies if each.code == code)
    return remedy
