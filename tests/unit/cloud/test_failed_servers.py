"""A failed server, its siblings and its request, by requests to an old and a new Nova.

The bodies are those of a real Nova 34 (``tests/functional/test_server_explain.py``).
"""

import re

import pytest

from senlin_affinity.cloud import clients, failed_servers
from senlin_affinity.model.errors import CloudError, InvalidSpec
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import Image
from senlin_affinity.preflight.failed_server import Cause, Change, Sibling
from tests.support.edge import FORBIDDEN, Edge
from tests.support.fake_glance import FakeGlance, FakeImage

CREATED, FAILED = '2026-11-24T02:17:43Z', '2026-11-24T02:17:44Z'
PROJECT, USER = 'demo-project', 'demo-id'
IMAGE = '7c5a6d0e-5a2b-4f43-8a53-9d1f6f4c2e11'
NO_HOST = 'No valid host was found. There are not enough hosts available.'
FLAVOR = {
    'vcpus': 1,
    'ram': 128,
    'disk': 2,
    'ephemeral': 3,
    'swap': 0,
    'original_name': 'tiny',
    'extra_specs': {'trait:CUSTOM_A': 'required'},
}
#: The fields of the extended attributes, which administrators read.
ADMINISTRATORS = ('OS-EXT-SRV-ATTR:reservation_id', 'OS-EXT-SRV-ATTR:launch_index')
#: The microversion in which a field of a server begins.
SINCE = {
    'flavor': 47,
    'server_groups': 71,
    'pinned_availability_zone': 96,
    'properties': 98,
    'scheduler_hints': 100,
}
#: What is said about hidden parts.
HIDDEN = {
    '--flavor': 'the flavor',
    '--availability-zone': 'the requested zone (from 2.96)',
    '--hint': 'the scheduler hints (from 2.100)',
    '--server-group': 'the server group (from 2.71)',
}


def uuid(number):
    return f'{number:08d}-0000-4000-8000-000000000000'


def server(number=1, status='ERROR', **more):
    """Return the body of a server; ``more`` overrides fields."""
    body = {
        'id': uuid(number),
        'name': f'web-{number}',
        'status': status,
        'created': CREATED,
        'tenant_id': PROJECT,
        'user_id': USER,
        'flavor': FLAVOR,
        'image': {'id': IMAGE, 'properties': {'hw_architecture': 'x86_64'}},
        'hostId': '',
        'fault': {'code': 500, 'created': FAILED, 'message': NO_HOST},
        'OS-EXT-AZ:availability_zone': 'az-1',
        'OS-SRV-USG:launched_at': None,
        'OS-SRV-USG:terminated_at': None,
        'pinned_availability_zone': 'az-1',
        'scheduler_hints': {'group': ['hinted'], 'different_host': ['s']},
        'server_groups': ['g'],
        'OS-EXT-SRV-ATTR:reservation_id': 'r-1',
        'OS-EXT-SRV-ATTR:launch_index': number - 1,
        **more,
    }
    if status == 'DELETED':
        del body['fault'], body['server_groups']
    return body


def action(name='create', message='Error', request='req-1', time='2026-11-24T02:17:43.27'):
    return {'action': name, 'message': message, 'request_id': request, 'start_time': time}


class Story:
    """Servers with their actions, behind an edge; ``asked`` are the requests for them."""

    def __init__(self, servers, user='demo', version='2.100', actions=None, events=(), **more):
        self.servers = {each['id']: each for each in servers}
        self.user, self.events = user, list(events)
        self.actions = actions or {each: [action()] for each in self.servers}
        self.edge = Edge(version, user=user, **more)
        self._version = int(version.partition('.')[2])

    def find(self, named):
        with self.edge as edge:
            edge.answer('/servers/detail', self._list)
            edge.answer('/servers/[^/]*', lambda _query: self._show(edge))
            edge.answer('/servers/.*/os-instance-actions', lambda _query: self._actions(edge))
            edge.answer('/servers/.*/os-instance-actions/.*', lambda _query: self._events())
            connection = edge.connection()
            try:
                return failed_servers.find(clients.of(connection), named)
            finally:
                self.asked = [f'{each} {each.query}' for each in edge.nova.asked]

    def lists(self):
        """Return the queries for lists of servers."""
        queries = [each.query for each in self.edge.nova.asked if each.path == '/servers/detail']
        assert {each.pop('limit') for each in queries} == {'1000'}
        return queries

    def _path(self, edge):
        return edge.nova.asked[-1].path.split('/')

    def _shown(self, body):
        body = dict(body)
        for name, version in SINCE.items():
            if self._version < version:
                body.pop(name, None)
                if name == 'properties' and body.get('image'):
                    body['image'] = {'id': body['image']['id']}
                if name == 'flavor':
                    body['flavor'] = {'id': 'flavor-id'}
        if self.user == 'demo':
            body = {key: value for key, value in body.items() if key not in ADMINISTRATORS}
        return body

    def _show(self, edge):
        body = self.servers.get(self._path(edge)[2])
        return 404 if body is None or body['status'] == 'DELETED' else {'server': self._shown(body)}

    def _list(self, query):
        if 'all_tenants' in query and self.user == 'demo':
            return 403
        found = list(self.servers.values())
        if 'name' in query:
            name = re.compile(query['name'], re.IGNORECASE)  # as in MySQL
            found = [each for each in found if name.search(each['name'])]
        if 'reservation_id' in query:
            key = 'OS-EXT-SRV-ATTR:reservation_id'
            found = [each for each in found if each[key] == query['reservation_id']]
        if 'all_tenants' not in query:
            found = [each for each in found if each['tenant_id'] == PROJECT]
        if 'deleted' in query:
            is_deleted = query['deleted'] == 'true'
            found = [each for each in found if (each['status'] == 'DELETED') is is_deleted]
        if 'changes-since' not in query:
            found = [each for each in found if each['status'] != 'DELETED']
        lists = [self._shown(each) for each in found]
        for each in lists:
            each.pop('server_groups', None)
        return {'servers': lists}

    def _actions(self, edge):
        known = self.actions.get(self._path(edge)[2])
        return 404 if known is None else {'instanceActions': known}

    def _events(self):
        return {'instanceAction': {**action(), 'events': self.events}}


def glance():
    return FakeGlance(
        FakeImage('cirros', {'trait:CUSTOM_B': 'required', 'status': 'queued'}, IMAGE)
    )


def test_the_request_of_a_failed_server():
    story = Story([server(number) for number in (1, 2)], glance=glance())
    found = story.find('web-1')
    assert (found.id, found.name, found.status) == (uuid(1), 'web-1', 'ERROR')
    assert (found.failure.cause, found.failure.message) == (Cause.NO_HOST, NO_HOST)
    assert found.failure.at == FAILED
    specs = FLAVOR['extra_specs']
    assert found.flavor == Flavor('tiny', 'tiny', 1, 128, 2, 3, extra_specs=specs)
    properties = {'hw_architecture': 'x86_64', 'trait:CUSTOM_B': 'required'}
    assert found.image == Image(IMAGE, properties=properties, status='queued')
    assert (found.availability_zone, found.server_group) == ('az-1', 'g')
    assert found.hints == {'different_host': 's'}
    assert found.siblings == (Sibling(uuid(1), 'web-1', 'ERROR'),)
    assert (found.number, found.is_number_at_least) == (1, True)
    assert (found.project_id, found.user_id, found.hidden) == (PROJECT, USER, {})
    assert story.lists() == [
        {'name': '^web-1$', 'changes-since': '1970-01-01T00:00:00Z'},
        {'changes-since': FAILED},
    ]
    assert len(story.asked) == 5
    assert {each.microversion for each in story.edge.nova.asked} == {'2.100'}


def test_an_administrator_finds_siblings_by_their_reservation():
    events = [
        {'event': 'compute__do_build_and_run_instance', 'result': 'Success', 'host': 'cmp-1'},
        {'event': 'compute__do_build_and_run_instance', 'result': 'Success', 'host': 'cmp-2'},
    ]
    servers = [
        server(1),
        server(2, 'DELETED'),
        server(4, 'ACTIVE', **{'OS-SRV-USG:launched_at': FAILED}),
    ]
    story = Story(servers, user='admin', glance=glance(), events=events)
    found = story.find(uuid(1))
    assert [(each.name, each.is_failed) for each in found.siblings] == [
        ('web-1', True),
        ('web-2', True),
        ('web-4', False),
    ]
    assert (found.number, found.is_number_at_least, found.wanted) == (4, True, 3)
    assert found.failure.tried == ('cmp-1', 'cmp-2')
    assert found.hidden == {'--host': 'the requested host, if any'}
    assert story.lists() == [
        {'all_tenants': '1', 'reservation_id': 'r-1', 'changes-since': '1970-01-01T00:00:00Z'},
        {'all_tenants': '1', 'deleted': 'true', 'changes-since': FAILED},
        {'all_tenants': '1', 'deleted': 'false', 'changes-since': FAILED},
    ]
    assert len(story.asked) == 7


def test_a_late_quota_leaves_no_actions():
    """Nova puts such servers into cell0 without actions."""
    fault = {'message': 'Quota exceeded for instances: Requested 2', 'created': FAILED}
    story = Story([server(1, fault=fault)], glance=glance(), actions={uuid(1): []})
    assert story.find('web-1').failure.cause is Cause.QUOTA


@pytest.mark.parametrize('named', ['web-1', uuid(1)])
@pytest.mark.parametrize(('user', 'cause'), [('demo', Cause.NOT_SHOWN), ('admin', Cause.NO_HOST)])
def test_a_deleted_server_is_listed(named, user, cause):
    """It has no fault; an administrator reads the details of the event."""
    begun = {'event': 'conductor_begin', 'result': 'Success', 'details': 'no message'}
    event = {'event': 'conductor_schedule_and_build_instances', 'result': 'Error'}
    event |= {'details': NO_HOST} if user == 'admin' else {}
    actions = [action('delete', None, 'req-9', '2026-11-24T02:18:01.5'), action()]
    story = Story([server(1, 'DELETED')], user, glance=glance(), events=[begun, event])
    story.actions[uuid(1)] = actions
    found = story.find(named)
    assert (found.status, found.failure.cause) == ('DELETED', cause)
    assert (found.flavor_name, found.server_group) == ('tiny', 'hinted')
    assert found.failure.at == '2026-11-24T02:17:43Z'


def test_a_deleted_server_with_only_its_actions():
    deleted = action('delete', None, time='2026-11-24T02:18:01.5')
    story = Story([server(2, 'DELETED')], actions={uuid(1): [deleted, action()]})
    found = story.find(uuid(1))
    assert (found.id, found.name, found.status) == (uuid(1), uuid(1), 'DELETED')
    assert (found.flavor_name, found.hidden) == (None, HIDDEN)
    assert story.lists() == [
        {'all_tenants': '1', 'changes-since': '2026-11-24T02:18:01Z', 'uuid': uuid(1)},
        {'changes-since': '2026-11-24T02:18:01Z', 'uuid': uuid(1)},
        {'changes-since': CREATED},
    ]


def test_a_request_id_is_escaped():
    story = Story([server(1)], glance=glance(), actions={uuid(1): [action(request='req/1')]})
    story.find(uuid(1))
    assert f'GET /servers/{uuid(1)}/os-instance-actions/req%2F1 {{}}' in story.asked


def test_a_name_is_searched_exactly_and_then_in_all_projects():
    """Nova searches for a regular expression, without case in MySQL."""
    others = [server(2, name='A.1'), server(3, name='a+1')]
    foreign = server(1, name='a.1', tenant_id='other')
    story = Story([*others, foreign], 'admin', glance=glance())
    assert story.find('a.1').id == uuid(1)
    query = {'name': r'^a\.1$', 'changes-since': '1970-01-01T00:00:00Z'}
    assert story.lists()[:2] == [query, {'all_tenants': '1', **query}]


def test_a_name_prefers_the_own_project_and_servers_that_are_not_deleted():
    foreign, deleted = server(2, name='web-1', tenant_id='x'), server(3, 'DELETED', name='web-1')
    story = Story([foreign, deleted, server(1)], 'admin', glance=glance())
    assert story.find('web-1').id == uuid(1)


def test_extra_specs_that_nova_hides():
    flavor = {key: value for key, value in FLAVOR.items() if key != 'extra_specs'}
    found = Story([server(1, flavor=flavor)], glance=glance()).find('web-1')
    assert (found.flavor, found.flavor_name) == (None, 'tiny')


@pytest.mark.parametrize(
    ('version', 'hidden'),
    [
        ('2.100', ()),
        ('2.98', ('--hint',)),
        ('2.93', ('--availability-zone', '--hint')),
        ('2.60', ('--availability-zone', '--hint', '--server-group')),
        ('2.25', ('--availability-zone', '--hint', '--server-group')),
    ],
)
def test_parts_that_an_older_nova_does_not_return(version, hidden):
    found = Story([server(1)], version=version, glance=glance()).find('web-1')
    assert found.hidden == {option: HIDDEN[option] for option in hidden}
    assert found.flavor_name == ('flavor-id' if version == '2.25' else 'tiny')
    assert (found.flavor is None) is (version == '2.25')
    # A server that found no host has the requested zone.
    assert found.availability_zone == 'az-1'


def test_the_zone_of_a_host_is_not_the_requested_one():
    fault = {'message': 'Exceeded maximum number of retries. x', 'created': FAILED}
    found = Story([server(1, fault=fault)], version='2.93', glance=glance()).find('web-1')
    assert found.availability_zone is None


def test_hints_are_as_they_were_requested():
    """Nova accepts any text as same_host, but no list with one."""
    hints = {'same_host': ['no id'], 'different_host': ['s', 't'], 'group': ['g']}
    found = Story([server(1, scheduler_hints=hints)], glance=glance()).find('web-1')
    assert found.hints == {'same_host': 'no id', 'different_host': ['s', 't']}


def test_an_image_that_glance_does_not_show():
    found = Story([server(1)], glance=FakeGlance()).find('web-1')
    assert found.image.properties == {'hw_architecture': 'x86_64'}
    why = f'image {IMAGE}, which Glance does not show'
    assert found.hidden == {'--image-property': why}


def test_a_server_that_boots_from_a_volume():
    found = Story([server(1, image='')]).find('web-1')
    assert (found.is_volume_booted, found.image) == (True, None)
    assert found.hidden == {'--image-property': 'the image properties of the volume'}


@pytest.mark.parametrize(
    ('body', 'actions', 'words'),
    [
        (
            server(1, 'ACTIVE'),
            [action(message=None)],
            'is ACTIVE; its last action, create, succeeded$',
        ),
        (server(1, 'BUILD'), [], 'is BUILD: its creation did not fail$'),
    ],
)
def test_a_server_that_did_not_fail(body, actions, words):
    story = Story([body], actions={uuid(1): actions})
    with pytest.raises(InvalidSpec, match=f'^web-1 {words}'):
        story.find('web-1')


@pytest.mark.parametrize('user', ['demo', 'admin'])
@pytest.mark.parametrize('named', ['nobody', uuid(9)])
def test_an_unknown_server(user, named):
    with pytest.raises(InvalidSpec, match=f"^there is no server '{named}'$"):
        Story([server(1)], user).find(named)


def test_a_name_that_is_not_utf_8_is_an_error():
    """Python decodes such an argument of a command to lone surrogates."""
    with pytest.raises(CloudError, match='^could not list the servers: .* surrogates not allowed'):
        Story([server(1)]).find('gr\udcf6\udcdf')


def test_a_name_that_several_servers_have():
    servers = [server(number, name='web') for number in (1, 2)]
    with pytest.raises(InvalidSpec, match=f"^2 servers are called 'web': .* {uuid(1)}, {uuid(2)}$"):
        Story(servers).find('web')


def test_an_answer_about_another_server_is_an_error():
    story = Story([server(1)])
    story.servers[uuid(2)] = story.servers.pop(uuid(1))
    with pytest.raises(CloudError, match='the answer is about another object'):
        story.find(uuid(2))


def test_a_deleted_server_that_several_hosts_tried_to_start():
    """Without its message: a race, or failed starts."""
    for number, cause in ((1, Cause.BUILD), (2, Cause.RETRIES)):
        builds = [{'event': 'compute__do_build_and_run_instance', 'result': None}] * number
        story = Story([server(1, 'DELETED')], glance=glance(), events=builds)
        assert story.find('web-1').failure.cause is cause


def ended(number, time, launched=CREATED):
    """Return a server that another request created, and that ended at this time."""
    times = {'OS-SRV-USG:launched_at': launched, 'OS-SRV-USG:terminated_at': time}
    more = {'name': 'old', 'OS-EXT-SRV-ATTR:reservation_id': 'r-2', **times}
    return server(number, 'DELETED', **more)


@pytest.mark.parametrize(
    ('others', 'changed'),
    [
        ([], []),
        ([None, '2026-11-24T02:17:43.9'], []),
        (['2026-11-24T02:17:44'], ['2026-11-24T02:17:44']),
        (
            ['2026-11-24T02:30:00.1', '2026-11-24T02:20:00.1'],
            ['2026-11-24T02:30:00.1', '2026-11-24T02:20:00.1'],
        ),
    ],
)
def test_servers_that_ended_since_the_failure(others, changed):
    servers = [ended(number, time) for number, time in enumerate(others, 5)]
    never_ran = ended(8, '2026-11-24T03:00:00.0', launched=None)
    sibling = {**ended(9, '2026-11-24T03:00:00.0'), 'OS-EXT-SRV-ATTR:reservation_id': 'r-1'}
    story = Story([server(1), *servers, never_ran, sibling], 'admin', glance=glance())
    expected = tuple(Change('server', 'deleted', time) for time in changed)
    assert story.find('web-1').changes == expected


def test_servers_that_were_created_since_the_failure():
    """Also those that were deleted meanwhile, but only as deleted ones."""
    later = '2026-11-24T02:20:00Z'
    times = {'created': later, 'OS-SRV-USG:launched_at': later}
    at = {'OS-EXT-SRV-ATTR:host': 'cmp-1', 'OS-EXT-SRV-ATTR:reservation_id': 'r-2'}
    new = server(5, 'ACTIVE', **times, **at)
    gone = {**ended(6, '2026-11-24T02:25:00.1'), 'created': later, **at}
    failed_too = server(7, created=later, **at)
    story = Story([server(1), new, gone, failed_too], 'admin', glance=glance())
    assert story.find('web-1').changes == (
        Change('server', 'deleted', '2026-11-24T02:25:00.1', 'cmp-1'),
        Change('server', 'created', later, 'cmp-1'),
    )


def test_what_was_created_in_the_second_of_the_failure_was_there_before():
    """What ended in this second was still there: the request failed."""
    times = {'created': FAILED, 'OS-SRV-USG:launched_at': FAILED}
    at = {'OS-EXT-SRV-ATTR:host': 'cmp-1', 'OS-EXT-SRV-ATTR:reservation_id': 'r-2'}
    same_second = f'{FAILED[:19]}.1'
    story = Story(
        [server(1), server(5, 'ACTIVE', **times, **at), ended(6, same_second)],
        'admin',
        glance=glance(),
    )
    assert story.find('web-1').changes == (Change('server', 'deleted', same_second),)


@pytest.mark.parametrize(('user', 'is_shown'), [('admin', True), ('demo', False)])
def test_aggregates_that_changed_since_the_failure(user, is_shown):
    before, after = '2026-11-24T02:00:00.1', '2026-11-24T02:30:00.1'
    story = Story([server(1)], user, glance=glance())
    story.edge.answer(
        '/os-aggregates',
        lambda _query: {
            'aggregates': [
                {'name': 'old', 'created_at': before, 'updated_at': None},
                {'name': 'changed', 'created_at': before, 'updated_at': '2026-11-24T02:20:00.1'},
                {'name': 'new', 'created_at': after, 'updated_at': None},
                {'name': 'same second', 'created_at': f'{FAILED[:19]}.9', 'updated_at': None},
            ]
        },
    )
    times = ('2026-11-24T02:20:00.1', after) if is_shown else ()
    expected = tuple(Change('aggregate', 'created or changed', time) for time in times)
    assert story.find('web-1').changes == expected
    assert any('/os-aggregates' in each for each in story.asked) is is_shown


def test_an_administrator_who_may_not_list_aggregates():
    story = Story([server(1)], 'admin', glance=glance())
    story.edge.answer('/os-aggregates', lambda _query: 403)
    assert story.find('web-1').changes == ()


def test_a_failure_without_a_time_has_no_changes():
    fault = {'message': NO_HOST}
    later = ended(5, '2026-11-24T02:30:00.1')
    story = Story([server(1, fault=fault), later], glance=glance(), actions={uuid(1): []})
    found = story.find(uuid(1))
    assert (found.failure.at, found.changes) == (None, ())


def test_a_nova_that_does_not_answer():
    story = Story([server(1)])
    story.edge.fail('GET', '/servers/detail', FORBIDDEN)
    with pytest.raises(CloudError, match='could not list the servers: Nova answered 403'):
        story.find('web-1')
    story = Story([server(1)])
    story.edge.answer('/servers/detail', lambda _query: 500)
    with pytest.raises(CloudError, match='could not list the servers: Nova answered 500'):
        story.find('web-1')


def test_an_id_that_nova_lists_is_escaped_in_paths():
    story = Story([server(id='a/../b?c')])
    with pytest.raises((CloudError, InvalidSpec)):
        story.find('web-1')
    path = '/servers/a%2F..%2Fb%3Fc'
    assert story.asked[1:] == [f'GET {path} {{}}', f'GET {path}/os-instance-actions {{}}']
