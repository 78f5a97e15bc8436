"""The failures of a period: two listings, and at most two requests for each of the first 100.

The bodies are those of a real Nova 34 (``tests/functional/test_server_actions.py``).
"""

from collections import Counter

import pytest

from senlin_affinity.answers.failure_groups import cause_of_failure, grouped
from senlin_affinity.cloud import clients, failures, whole_cloud
from senlin_affinity.model.errors import CloudError
from senlin_affinity.preflight.failed_server import Cause
from senlin_affinity.preflight.question import Question
from tests.support.edge import Edge
from tests.support.fake_nova import FakeHost
from tests.support.small_cloud import CONSTRAINTS
from tests.unit.cloud.test_failed_servers import (
    FLAVOR,
    IMAGE,
    NO_HOST,
    action,
    glance,
    server,
    uuid,
)
from tests.unit.cloud.test_last_actions import event, record, running

SINCE = '2026-11-24T02:00:00Z'
SMALL = {**FLAVOR, 'extra_specs': {}}
LARGE = {**SMALL, 'original_name': 'large', 'ram': 10_000_000}
BROKEN = 'internal error: qemu unexpectedly closed the monitor'


def at(number):
    return f'2026-11-24T03:{number // 60:02d}:{number % 60:02d}Z'


def failed(number, message=NO_HOST, time=None, **more):
    """Return a failed creation of its own request."""
    fault = {'code': 500, 'created': time or at(number), 'message': message}
    values = {'flavor': SMALL, 'fault': fault, 'scheduler_hints': {}, 'user_id': 'u'}
    values |= {'OS-EXT-SRV-ATTR:reservation_id': f'r-{number}', 'image': '', 'name': f's-{number}'}
    values |= {'pinned_availability_zone': None}
    body = server(number, **{**values, **more, 'OS-EXT-SRV-ATTR:launch_index': 0})
    return {key: each for key, each in body.items() if key != 'server_groups'}


def moved(number, kind='resize', name='resize', **more):
    """Return a running server and the record of its failed migration."""
    body = running(**{'flavor': SMALL, 'image': '', 'scheduler_hints': {}, **more})
    body |= {'id': uuid(number), 'name': f's-{number}', 'pinned_availability_zone': None}
    values = {'instance_uuid': uuid(number), 'uuid': f'm-{number}', 'source_compute': 'cmp-0'}
    made = {'created': at(number), 'dest_compute': None}
    return body, record(kind, 1, 2, **made, **values), name


class Clouds:
    """A cloud with failures, and a count of all requests."""

    def __init__(self, servers=(), moves=(), user='admin', message=NO_HOST, longest=1000, **more):
        self.servers = [*servers, *(body for body, _record, _name in moves)]
        self.records = [each for _body, each, _name in moves]
        self._names = {body['id']: name for body, _record, name in moves}
        self._message, self._longest, self._user = message, longest, user
        hosts = tuple(FakeHost(f'cmp-{n}', vcpus=8) for n in range(2))
        more = {'hosts': hosts, 'flavors': (), 'aggregates': (), 'glance': glance(), **more}
        self.edge = Edge('2.100', user=user, services=('compute', 'placement'), **more)

    def __enter__(self):
        edge = self.edge.__enter__()
        edge.nova.add_flavor('tiny', vcpus=1, ram=128, disk=2)
        edge.nova.add_flavor('huge', vcpus=1, ram=10_000_000, disk=2)
        edge.answer('/servers/detail', self._list)
        edge.answer('/os-migrations', self._list_migrations)
        edge.answer('/flavors', self._flavors)
        edge.answer('/servers/[^/]*/os-instance-actions', self._actions)
        edge.answer('/servers/[^/]*/os-instance-actions/.*', self._events)
        self.clients = clients.of(edge.connection())
        return self

    def __exit__(self, *error):
        self.edge.__exit__(*error)

    def _list(self, query):
        if 'all_tenants' in query and self._user == 'demo':
            return 403
        if 'changes-since' not in query:
            return {'servers': []}
        self.query = query
        names = [each['id'] for each in self.servers]
        start = names.index(query['marker']) + 1 if 'marker' in query else 0
        page = self.servers[start : start + self._longest]
        links = [{'rel': 'next', 'href': ''}] if len(names) > start + len(page) else []
        return {'servers': page, 'servers_links': links}

    def _list_migrations(self, query):
        if self._user == 'demo':
            return 403
        if 'changes-since' not in query:
            return {'migrations': []}
        names = [each['uuid'] for each in self.records]
        start = names.index(query['marker']) + 1 if 'marker' in query else 0
        page = self.records[start : start + self._longest]
        links = [{'rel': 'next', 'href': ''}] if len(names) > start + len(page) else []
        return {'migrations': page, 'migrations_links': links}

    def _flavors(self, _query):
        listed = [{'id': f'id-{each}', 'name': each} for each in ('tiny', 'huge')]
        return {'flavors': listed}

    def _actions(self, _query):
        named = self.edge.nova.asked[-1].path.split('/')[2]
        name = self._names.get(named, 'rebuild')
        time = next(
            (each['created_at'] for each in self.records if each['instance_uuid'] == named), at(1)
        )
        return {'instanceActions': [action(name, time=time, request='req-2')]}

    def _events(self, _query):
        details = event(details=self._message)
        return {'instanceAction': {**action(request='req-2'), 'events': [details]}}

    def period(self, **more):
        return failures.listed(self.clients, SINCE, **more)

    def explained(self, **more):
        """Return the period and the causes, as the command finds them."""
        period = self.period()
        view = whole_cloud.fetch(self.clients, servers=period.hinted)
        read = failures.read(self.clients, period, view, **more)
        return period, [cause_of_failure(each, Question(0), view, CONSTRAINTS) for each in read]

    @property
    def requests(self):
        """The number of requests to all services."""
        return self.edge._mocker.call_count


def mixed():
    """Return 140 failed creations of three causes, and 60 failed resizes."""
    creations = [failed(n, flavor=LARGE) for n in range(1, 61)]
    creations += [failed(n, BROKEN) for n in range(61, 101)]
    images = {'id': IMAGE, 'properties': {}}
    creations += [failed(n, image=images) for n in range(101, 141)]
    return creations, [moved(n) for n in range(141, 201)]


def test_200_mixed_failures_take_at_most_210_requests():
    with Clouds(*mixed()) as cloud:
        period, found = cloud.explained()
        assert cloud.requests <= 210
    assert (len(period.failures), len(found)) == (200, 100)
    groups = {each.failures[0].key[:3]: each for each in grouped(found)}
    assert {key: len(each.failures) for key, each in groups.items()} == {
        ('no_host', 'resources.too_large', 'MEMORY_MB'): 60,
        ('no_host', 'traits.missing', 'CUSTOM_B'): 40,
    }
    assert groups['no_host', 'resources.too_large', 'MEMORY_MB'].actions == {'resize': 60}
    servers = {each.path.split('/')[2] for each in cloud.edge.nova.asked if 'actions' in each.path}
    per_server = Counter(
        each.path.split('/')[2] for each in cloud.edge.nova.asked if 'actions' in each.path
    )
    assert len(servers) == 60
    assert set(per_server.values()) == {2}


@pytest.mark.parametrize('kind', ['resize', 'live-migration'])
def test_100_failed_moves_stay_below_the_limit(kind):
    name = 'live-migration' if kind != 'resize' else kind
    with Clouds(moves=[moved(n, kind, name) for n in range(1, 201)]) as cloud:
        period, found = cloud.explained()
        assert cloud.requests <= 210
    assert len(period.failures) == 200
    assert len(found) == (failures.MOST_REQUESTS - 1) // 2  # and the aggregates


def test_both_listings_are_paged():
    creations, moves = mixed()
    with Clouds(creations, moves, longest=50) as cloud:
        assert len(cloud.period().failures) == 200
        lists = Counter(each.path for each in cloud.edge.nova.asked)
    assert lists['/servers/detail'] == 4
    assert lists['/os-migrations'] == 2


def test_a_page_of_migrations_that_repeats_is_an_error():
    with Clouds(moves=[moved(1)]) as cloud:
        cloud.edge._answers.clear()
        body = {'migrations': cloud.records, 'migrations_links': [{'rel': 'next'}]}
        cloud.edge.answer('/servers/detail', lambda _query: {'servers': []})
        cloud.edge.answer('/os-migrations', lambda _query: body)
        with pytest.raises(CloudError, match='a page repeats the previous one'):
            cloud.period()


def test_what_failed_before_or_is_deleted_is_left_out():
    before = failed(1, time='2026-11-23T23:00:00Z')
    deleted = server(2, 'DELETED')
    gone, old, _name = moved(3)
    gone['status'] = 'DELETED'
    fine, done, name = moved(4)
    done['status'] = 'finished'
    with Clouds([before, deleted], [(gone, old, name), (fine, done, name)]) as cloud:
        assert cloud.period().failures == []


def test_a_failed_evacuation_counts_once():
    """The server is in ERROR, and there is a record."""
    fault = {'message': NO_HOST, 'created': at(1)}
    move = moved(1, 'evacuation', 'evacuate', status='ERROR', fault=fault)
    with Clouds(moves=[move]) as cloud:
        period, (found,) = cloud.explained()
    assert len(period.failures) == 1
    assert found.action == 'evacuate'


def test_a_server_that_ran_and_whose_action_needs_no_host_has_its_fault():
    fault = {'message': BROKEN, 'created': at(1)}
    body = running('ERROR', fault=fault)
    with Clouds([body]) as cloud:
        cloud._names[body['id']] = 'reboot'
        _period, (found,) = cloud.explained()
    assert (found.cause, found.action, found.code) == (Cause.HYPERVISOR, 'other', '')


def test_a_later_resize_hides_the_flavor_of_an_earlier_one():
    """The server has another flavor by now, from whose number the new one would be found."""
    body, first, name = moved(1)
    second = {**first, 'created_at': at(9), 'status': 'finished', 'uuid': 'm-9'}
    with Clouds(moves=[(body, first, name)]) as cloud:
        cloud.records.append(second)
        _period, (found,) = cloud.explained()
    assert (found.code, found.failed.flavor_name) == ('failure.not_known', None)


def test_an_image_is_read_once():
    images = {'id': IMAGE, 'properties': {}}
    with Clouds([failed(n, image=images) for n in range(1, 20)]) as cloud:
        before = cloud.requests
        cloud.explained()
        number = cloud.requests - before
        assert number <= 25
        _period, found = cloud.explained(most_requests=0)
    assert {each.failed.image.properties == {} for each in found} == {True}


def test_servers_of_one_request_are_siblings():
    body = {'OS-EXT-SRV-ATTR:reservation_id': 'r', 'flavor': LARGE}
    with Clouds([failed(n) | body for n in (1, 2)]) as cloud:
        _period, found = cloud.explained()
    assert [each.failed.number for each in found] == [2, 2]


def test_the_group_of_a_server_is_found_by_its_members():
    """A list of servers does not show it, and below 2.100 no hints either."""
    with Clouds([failed(1)]) as cloud:
        group = cloud.edge.nova.add_group('web', members=[uuid(1)])
        _period, (found,) = cloud.explained()
    assert found.failed.server_group == group


def test_a_tenant_sees_the_own_servers():
    with Clouds([failed(1)], user='demo') as cloud:
        period = cloud.period()
        assert 'all_tenants' not in cloud.query
    assert (len(period.failures), period.migrations) == (1, ())


def test_a_project_is_part_of_the_query():
    with Clouds([failed(1)]) as cloud:
        cloud.period(project='p')
        assert cloud.query['project_id'] == 'p'


def test_servers_of_hints_are_located_with_the_cloud():
    hinted = failed(1, scheduler_hints={'different_host': [uuid(8)]})
    with Clouds([hinted]) as cloud:
        assert cloud.period().hinted == (uuid(8),)
