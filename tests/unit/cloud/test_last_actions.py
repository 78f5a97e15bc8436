"""The last action on a server for which Nova chose a host, and the flavor of a resize.

The bodies are those of a real Nova 34 (``tests/functional/test_server_actions.py``).
"""

import pytest

from senlin_affinity.cloud import clients, named_servers
from senlin_affinity.cloud.last_actions import named_by_number
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.nova.actions import Action
from senlin_affinity.nova.moves import REBUILT_IMAGE
from senlin_affinity.preflight.failed_server import Cause
from tests.unit.cloud.test_failed_servers import FLAVOR, Story, action, glance, server, uuid

STARTED = '2026-11-24T03:00:00.5'
RESIZE = 'No valid host was found. No valid host found for resize'
DONE = action(message=None)


def event(name='conductor', result='Error', details=None, host=None, time=STARTED):
    more = {} if details is None else {'details': details}
    return {'event': name, 'result': result, 'host': host, 'start_time': time, **more}


def running(status='ACTIVE', **more):
    more = {'fault': None, 'OS-SRV-USG:launched_at': '2026-11-24T02:20:00', **more}
    more |= {'OS-EXT-SRV-ATTR:host': 'cmp-1', 'locked': False}
    return server(1, status, **{'OS-EXT-STS:task_state': None, **more})


def record(kind, old=1, new=1, created='2026-11-24T03:00:00.700', **more):
    body = {'id': 1, 'migration_type': kind, 'created_at': created, 'status': 'error'}
    return {**body, 'old_instance_type_id': old, 'new_instance_type_id': new, **more}


class Tale(Story):
    """A server whose last action failed; also its migrations and all flavors."""

    def __init__(self, name, body=None, events=(), records=(), flavors=('tiny', 'big'), **more):
        more = {'user': 'admin', 'glance': glance(), **more}
        body = running() if body is None else body
        tried = action(name, time=STARTED, request='req-2')
        actions = {uuid(1): [DONE, tried]}
        super().__init__([body], events=events, **{'actions': actions, **more})
        listed = [{'id': f'id-{each}', 'name': each} for each in flavors]
        denied = 403 if self.user == 'demo' else None
        self.edge.answer('/os-migrations', lambda _q: denied or {'migrations': [*records]})
        self.edge.answer('/flavors', lambda _q: {'flavors': listed})


@pytest.mark.parametrize(
    ('name', 'wanted'),
    [
        ('migrate', Action.MIGRATE),
        ('live-migration', Action.LIVE_MIGRATE),
        ('unshelve', Action.UNSHELVE),
    ],
)
def test_an_action_without_a_host(name, wanted):
    events = [event(details='No valid host was found. ')]
    tale = Tale(name, events=events, records=[record('migration'), record('live-migration')])
    found = tale.find('web-1')
    assert (found.attempt.action, found.failure.cause) == (wanted, Cause.NO_HOST)
    assert (found.failure.message, found.failure.at) == (events[0]['details'], f'{STARTED[:19]}Z')
    assert (found.number, found.siblings, found.wanted) == (1, (), 1)
    assert (found.flavor_name, found.host) == ('tiny', None)
    assert found.hidden == {'--host': 'the requested host, if any'}
    assert found.attempt.server.host == 'cmp-1'
    properties = {'hw_architecture': 'x86_64', 'trait:CUSTOM_B': 'required'}
    assert found.attempt.server.image_properties == properties
    assert len(tale.asked) <= 12


def test_the_target_of_an_evacuation():
    fault = {'message': 'No valid host was found. ', 'created': '2026-11-24T03:00:01Z'}
    records = [record('evacuation', dest_compute='cmp-2'), record('evacuation', created='2025')]
    tale = Tale('evacuate', running('ERROR', fault=fault), records=records)
    found = tale.find(uuid(1))
    assert (found.host, found.hidden) == ('cmp-2', {})
    assert found.failure.message == fault['message']


def test_the_new_flavor_of_a_resize_by_its_number():
    tale = Tale('resize', events=[event(details=RESIZE)], records=[record('resize', 1, 2)])
    found = tale.find(uuid(1))
    assert (found.flavor, found.flavor_name, found.hidden) == (None, 'big', {})
    assert (found.failure.message, found.failure.tried) == (RESIZE, ())
    assert (found.failure.is_by_filters, found.failure.rejection) == (None, '')
    (query,) = (each.query for each in tale.edge.nova.asked if each.path == '/flavors')
    assert (query['sort_key'], query['is_public']) == ('id', 'None')


def test_the_check_on_a_chosen_host_tells_more_than_the_end():
    check, why = 'compute_check_can_live_migrate_destination', 'Unacceptable CPU info: too old'
    events = [
        event(details='No valid host was found. '),
        event(check, details='later', host='cmp-3', time=f'{STARTED}9'),
        event(check, details=why, host='cmp-2', time=f'{STARTED}1'),
    ]
    failure = Tale('live-migration', events=events).find(uuid(1)).failure
    assert (failure.cause, failure.message) == (Cause.HYPERVISOR, why)
    assert failure.tried == ('cmp-2', 'cmp-3')


@pytest.mark.parametrize(
    ('flavors', 'number', 'name', 'hidden'),
    [
        (('tiny', 'big', 'huge'), 3, 'huge', ' (huge is the most likely, then big)'),
        (('big', 'huge'), 3, None, ''),
    ],
)
def test_a_number_that_does_not_tell_the_flavor(flavors, number, name, hidden):
    found = Tale('resize', records=[record('resize', 1, number)], flavors=flavors).find(uuid(1))
    assert found.flavor_name == name
    words = f'the new flavor, except its internal number{hidden}'
    assert found.hidden == {'--flavor': words}


def test_a_tenant_reads_neither_migrations_nor_details():
    tale = Tale('resize', events=[event()], user='demo')
    found = tale.find('web-1')
    assert (found.flavor_name, found.hidden) == (None, {'--flavor': 'the new flavor'})
    assert (found.failure.cause, found.failure.message) == (Cause.NOT_SHOWN, None)


def test_the_new_image_of_a_rebuild_has_nova_s_properties_only():
    tale = Tale('rebuild', running('ERROR'), events=[event(details='No valid host was found. ')])
    found = tale.find(uuid(1))
    assert found.image.properties == {'hw_architecture': 'x86_64'}
    assert found.hidden == {'--image': 'the new image, except its standard properties'}


@pytest.mark.parametrize(
    ('actions', 'words'),
    [
        ([], 'web-1 is ACTIVE: its creation did not fail'),
        ([DONE], 'web-1 is ACTIVE; its last action, create, succeeded'),
        (
            [action('resize', None, time=STARTED), DONE],
            'web-1 is ACTIVE; its last action, resize, succeeded',
        ),
        (
            [action('reboot', time=STARTED), DONE],
            'web-1 is ACTIVE; its last action, reboot, failed, but Nova chooses no host for it',
        ),
        (
            [action('reboot', time=f'{STARTED}9'), action('migrate', None, time=STARTED), DONE],
            'web-1 is ACTIVE; its last action that needed a host, migrate, succeeded',
        ),
    ],
)
def test_an_action_that_did_not_fail(actions, words):
    with pytest.raises(InvalidSpec) as caught:
        Tale('', actions={uuid(1): actions}).find(uuid(1))
    assert str(caught.value) == words


def test_an_action_that_has_not_ended():
    actions = {uuid(1): [action('resize', None, time=STARTED)]}
    body = running(**{'OS-EXT-STS:task_state': 'resize_prep'})
    with pytest.raises(InvalidSpec, match='its last action, resize, has not ended'):
        Tale('', body, actions=actions).find(uuid(1))


def test_a_later_reboot_hides_nothing():
    later = action('reboot', None, time='2026-11-24T04:00:00', request='req-3')
    tried = action('migrate', time=STARTED, request='req-2')
    tale = Tale('', actions={uuid(1): [later, tried, DONE]})
    assert tale.find(uuid(1)).attempt.action is Action.MIGRATE


@pytest.mark.parametrize(
    ('names', 'numbers', 'found'),
    [
        ('abc', (1, 3), 'cb'),
        ('abc', (1, 2), 'b'),
        ('ab', (1, 5), 'b'),
        ('abc', (3, 1), 'a'),
        ('abc', (4, 2), 'ab'),
        ('abc', (9, 1), 'a'),
        ('bcd', (1, 2), ''),
        ('abc', (1, 1), ''),
    ],
)
def test_flavors_by_number(names, numbers, found):
    """The current one is the letter of its number in a list without gaps, else the last one."""
    current = names[-1] if numbers[0] > 1 else 'a'
    assert named_by_number([*names], current, *numbers) == (*found,)


def test_a_server_by_name():
    story = Story([running()], user='admin', glance=glance())
    with story.edge as edge:
        edge.answer('/servers/detail', story._list)
        edge.answer('/servers/[^/]*', lambda _query: story._show(edge))
        edge.answer('/servers/.*/os-instance-actions', lambda _query: story._actions(edge))
        found = named_servers.find(clients.of(edge.connection()), 'web-1')
    assert (found.name, found.host, found.server_group) == ('web-1', 'cmp-1', 'g')
    assert found.flavor.extra_specs == FLAVOR['extra_specs']
    assert found.unknown == {'attached'}


@pytest.mark.parametrize(('message', 'is_known'), [('Error', False), (None, True)])
def test_a_failed_rebuild_leaves_its_image_in_the_request(message, is_known):
    rebuilt = action('rebuild', message, time=STARTED, request='req-2')
    migrated = action('migrate', time='2026-11-24T04:00:00', request='req-3')
    tale = Tale('', actions={uuid(1): [migrated, rebuilt, DONE]})
    failed = tale.find(uuid(1))
    assert ('--image' not in failed.hidden) is is_known
    found = [failed.attempt.server]
    with tale.edge as edge:
        found.append(named_servers.find(clients.of(edge.connection()), uuid(1)))
    for each in found:
        assert (REBUILT_IMAGE not in each.unknown) is is_known


def test_a_deleted_server_takes_no_action():
    story = Story([server(1, 'DELETED')], glance=glance())
    with story.edge as edge:
        edge.answer('/servers/detail', story._list)
        with pytest.raises(InvalidSpec, match='server web-1 is deleted'):
            named_servers.find(clients.of(edge.connection()), 'web-1')
