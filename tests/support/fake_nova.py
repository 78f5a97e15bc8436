"""Simulate a Nova with recorded response bodies, without I/O.

A response is that of the real Nova at the nearest recorded microversion, with other ids, names and
numbers. ``tests/unit/cloud/test_fake_nova.py`` compares all recorded responses.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlencode

from tests.recordings import exchanges, files
from tests.recordings import snapshot as snapshot_record
from tests.recordings.exchanges import GROUPS, Reply

Microversion = tuple[int, ...]

#: Nova's ``[api] max_limit``, the length of the longest page.
LONGEST_PAGE = 1000
SOFT_POLICIES = ('soft-affinity', 'soft-anti-affinity')


class NoRoute(Exception):
    """The fake does not know this path."""


@dataclass(frozen=True)
class Asked:
    """A request to Nova, except discovery."""

    method: str
    path: str
    microversion: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    user: str = ''

    def __str__(self) -> str:
        return f'{self.method} {self.path}'


@dataclass(frozen=True)
class FakeHost:
    """A compute service and its hypervisor, by default with the same name."""

    host: str
    hypervisor_hostname: str | None = None
    state: str = 'up'
    status: str = 'enabled'
    disabled_reason: str | None = None
    zone: str = 'nova'
    kind: str = 'QEMU'
    vcpus: int = 64
    memory_mb: int = 131072
    disk_gb: int = 2000

    @property
    def hypervisor(self) -> str:
        """Return the hypervisor's name."""
        return self.hypervisor_hostname or self.host


@dataclass(frozen=True)
class FakeFlavor:
    """A flavor; ``size`` contains the differences from the recorded one."""

    id: str
    name: str
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    size: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FakeAggregate:
    """A host aggregate; the default UUID is derived from its name."""

    name: str
    hosts: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    uuid: str | None = None

    @property
    def id(self) -> str:
        """Return the UUID."""
        return self.uuid or str(uuid.uuid5(uuid.NAMESPACE_OID, self.name))


RECORDED_FLAVORS = tuple(FakeFlavor(name=name, **more) for name, more in exchanges.FLAVORS.items())
RECORDED_HOSTS = tuple(FakeHost(host, name) for host, name in exchanges.HOSTS.items())
RECORDED_AGGREGATES = tuple(
    FakeAggregate(name, tuple(each['hosts']), each['metadata'])
    for name, each in exchanges.AGGREGATES.items()
)


@dataclass(frozen=True)
class FakeServer:
    """A server; the host is None during the build and after a failed one."""

    id: str
    host: str | None
    project: str = 'demo-project'
    user: str = 'demo-id'
    status: str = 'ACTIVE'

    @property
    def host_id(self) -> str:
        """Return the ``hostId`` that non-admins see, equal for servers of a project on one host."""
        text = f'{self.project}{self.host}'.encode()
        return hashlib.sha224(text).hexdigest() if self.host else ''


@dataclass(frozen=True)
class FakeMigration:
    """A migration of a server, of any kind."""

    server: str
    source: str
    destination: str
    status: str = 'finished'
    kind: str = 'migration'
    updated_at: str | None = None


@cache
def recordings() -> Mapping[Microversion, Mapping[str, Any]]:
    """Return the recorded responses by microversion."""
    records = files.load().values()
    return {parse(record['microversion']): record['answers'] for record in records}


def query_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a query with the values of a repeated key joined by commas."""
    found: dict[str, str] = {}
    for key, value in pairs:
        found[key] = f'{found[key]},{value}' if key in found else value
    return found


def parse(microversion: str) -> Microversion:
    """Parse '2.64' as (2, 64)."""
    return tuple(int(part) for part in microversion.split('.'))


def newest() -> str:
    """Return the newest recorded microversion."""
    return '.'.join(map(str, max(recordings())))


class FakeNova:
    """One project's view of a Nova.

    ``limits`` replace the recorded ones. ``quota_sets`` are limit and usage by project and quota,
    ``user_quotas`` by user and quota; other values are the recorded ones.

    :param newest: the newest microversion; '' is a Nova without microversions.
    :param quota: the number of server groups that the project may have; -1: unlimited.
    :param url: the base of the links in responses.
    """

    def __init__(
        self,
        newest: str = newest(),
        *,
        quota: int = 10,
        hosts: Iterable[FakeHost] = RECORDED_HOSTS,
        flavors: Iterable[FakeFlavor] = RECORDED_FLAVORS,
        aggregates: Iterable[FakeAggregate] = RECORDED_AGGREGATES,
        longest_page: int = LONGEST_PAGE,
        url: str = 'http://behind.a.proxy',
    ) -> None:
        self.url = url
        self.longest_page = longest_page
        self.newest = newest
        self.quota = quota
        #: Whether groups show the creator of the record, and not the one who asks.
        self.is_recorded = False
        self.hosts = tuple(hosts)
        self.flavors = list(flavors)
        self.aggregates = list(aggregates)
        self.groups: list[dict[str, Any]] = []
        self.servers: list[FakeServer] = []
        self.migrations: list[FakeMigration] = []
        self.limits: dict[str, int] = {}
        self.quota_sets: dict[str, dict[str, tuple[int, int]]] = {}
        self.user_quotas: dict[str, dict[str, tuple[int, int]]] = {}
        self.asked: list[Asked] = []

    # -- for tests

    def add_group(self, name: str, policy: str = 'anti-affinity', **more: Any) -> str:
        """Add a server group, and return its id."""
        group = {'name': name, 'policy': policy, 'rules': {}, 'members': [], **more}
        self.groups.append({'id': str(uuid.uuid4()), **group})
        return str(self.groups[-1]['id'])

    def boot(self, group_id: str, host: str | None = None, **more: str) -> str:
        """Add a server to a server group, and return its id."""
        group = self._group(group_id)
        assert group is not None, group_id
        self.servers.append(FakeServer(str(uuid.uuid4()), host, **more))
        group['members'].append(self.servers[-1].id)
        return self.servers[-1].id

    def move(self, group_id: str, source: str, destination: str, **more: str) -> str:
        """Add a server with an unconfirmed resize to a server group, and return its id."""
        server = self.boot(group_id, destination, status='VERIFY_RESIZE', **more)
        self.migrations.insert(0, FakeMigration(server, source, destination))
        return server

    def add_flavor(
        self, name: str, id: str | None = None, extra_specs: Any = (), **size: Any
    ) -> None:
        """Add a flavor; its default id is its name."""
        self.flavors.append(FakeFlavor(id or name, name, dict(extra_specs), size))

    def add_aggregate(self, name: str, hosts: Iterable[str] = (), **metadata: str) -> str:
        """Add an aggregate, and return its UUID."""
        self.aggregates.append(FakeAggregate(name, tuple(hosts), metadata))
        return self.aggregates[-1].id

    def hypervisor_id(self, number: int) -> str:
        """Return the id of the hypervisor of the host with this number."""
        return f'11111111-0000-4000-8000-{len(self.hosts) + number:012x}'

    def requests(self) -> list[str]:
        """Return the requests, such as ``['GET /os-server-groups']``."""
        return [str(asked) for asked in self.asked]

    def note(
        self,
        method: str,
        path: str,
        microversion: str | None,
        query: Mapping[str, str],
        body: Any = None,
        user: str = '',
    ) -> None:
        """Record a request."""
        self.asked.append(Asked(method, path, microversion, query, body, user))

    # -- responses

    def send(
        self,
        user: str,
        method: str,
        path: str,
        microversion: str | None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Reply:
        """Answer one request; the user is admin, demo, or nobody (without a valid token)."""
        texts = {key: str(value) for key, value in (query or {}).items()}
        if path == '/':
            return self._version(user)
        self.note(method, path, microversion, texts, body, user)
        asked = parse(microversion or '2.1') if self.newest else (2, 1)
        if user == 'nobody':
            return self._recorded('not authenticated', asked)
        if self.newest and not (2, 1) <= asked <= parse(self.newest):
            old = (('2.999', str(microversion)), (newest(), self.newest))
            return self._recorded('microversion not offered', asked, *old)
        if '%2F' in path:
            return self._recorded('no such path', asked)
        for known, pattern, answer in _ROUTES:
            found = re.fullmatch(pattern, path)
            if known == method and found:
                if user != 'admin' and answer in _ADMINISTRATORS:
                    return self._recorded(f'{answer[1:]}, not allowed', asked)
                request = _FakeRequest(user, asked, texts, body, found.groups())
                reply: Reply = getattr(self, answer)(request)
                return reply
        raise NoRoute(f'the fake Nova has no {method} {path}')

    def _version(self, user: str) -> Reply:
        reply = self._recorded('version', (2, 1))
        version = reply.body['version']
        version['version'] = self.newest
        version['min_version'] = '2.1' if self.newest else ''
        return reply

    def _create(self, request: _FakeRequest) -> Reply:
        inner = request.body['server_group']
        has_rules = request.microversion >= (2, 64)
        other = self._recorded('create in the other shape', request.microversion)
        if ('policy' if has_rules else 'policies') not in inner:
            return _reworded(other, {"{'name': 'x', 'policies': ['affinity']}": repr(inner)})
        policy = inner['policy'] if has_rules else inner['policies'][0]
        if policy in SOFT_POLICIES and request.microversion < (2, 15):
            reply = self._recorded('create soft', request.microversion)
            return _reworded(reply, {'soft-affinity': policy})
        if 'rules' in inner and not has_rules:
            reply = self._recorded('create with rules', request.microversion)
            old = self._request('create with rules', request.microversion)['body']['server_group']
            return _reworded(reply, {repr(old): repr(inner)})
        if 0 <= self.quota <= len(self.groups):
            return self._recorded('create over quota', request.microversion)
        if inner.get('rules') and policy != 'anti-affinity':
            return self._recorded('create soft with rules', request.microversion)
        creator = {'project_id': f'{request.user}-project', 'user_id': f'{request.user}-id'}
        creator = {} if self.is_recorded else creator
        rules = dict(inner.get('rules', {}))
        group_id = self.add_group(inner['name'], policy, rules=rules, **creator)
        return Reply(200, {'server_group': self._shown(group_id, request.microversion)})

    def _list(self, request: _FakeRequest) -> Reply:
        offset = int(request.query.get('offset', 0))
        limit = min(int(request.query.get('limit', 0)) or self.longest_page, self.longest_page)
        is_every = request.user == 'admin' and 'all_projects' in request.query
        own = {None, f'{request.user}-project'}
        visible = [item for item in self.groups if is_every or item.get('project_id') in own]
        page = [group['id'] for group in visible[offset : offset + limit]]
        return Reply(
            200, {'server_groups': [self._shown(item, request.microversion) for item in page]}
        )

    def _show(self, request: _FakeRequest) -> Reply:
        (group_id,) = request.found
        if self._group(group_id) is None:
            reply = self._recorded('get missing', request.microversion)
            return _reworded(reply, {exchanges.MISSING: group_id})
        return Reply(200, {'server_group': self._shown(group_id, request.microversion)})

    def _delete(self, request: _FakeRequest) -> Reply:
        reply = self._show(request)
        if reply.status != 200:
            return reply
        self.groups.remove(self._group(request.found[0]) or {})
        return Reply(204, None)

    def _boot(self, request: _FakeRequest) -> Reply:
        """Reject every create: by the host in the zone for a non-admin, else by the flavor."""
        server = request.body['server']
        if ':' in server.get('availability_zone', '') and request.user != 'admin':
            rule = 'os_compute_api:servers:create:forced_host'
            message = f"Policy doesn't allow {rule} to be performed."
            return Reply(403, {'forbidden': {'code': 403, 'message': message}})
        message = f'Flavor {server["flavorRef"]} could not be found.'
        return Reply(400, {'badRequest': {'code': 400, 'message': message}})

    def _limits(self, request: _FakeRequest) -> Reply:
        reply = self._recorded('limits', request.microversion)
        absolute = reply.body['limits']['absolute']
        absolute['maxServerGroups'] = self.quota
        absolute['totalServerGroupsUsed'] = len(self.groups)
        absolute.update(self.limits)
        return reply

    def _quota_set(self, request: _FakeRequest) -> Reply:
        (project,) = request.found
        if request.user != 'admin' and project != f'{request.user}-project':
            return snapshot_answer('quota set, not allowed')
        if 'user_id' in request.query:
            return self._quotas_of_user(request)
        if project not in self.quota_sets:
            reply = snapshot_answer('quota set, no project')
            return _reworded(reply, {reply.body['badRequest']['message'].split()[2]: project})
        reply = snapshot_answer('quota set')
        reply.body['quota_set']['id'] = project
        for name, (limit, used) in self.quota_sets[project].items():
            reply.body['quota_set'][name] |= {'limit': limit, 'in_use': used}
        return reply

    def _quotas_of_user(self, request: _FakeRequest) -> Reply:
        """Return the quotas of the project, replaced by those of the user."""
        absolute = self._limits(request).body['limits']['absolute']
        reply = snapshot_answer('quota set')
        (reply.body['quota_set']['id'],) = request.found
        own = self.user_quotas.get(request.query['user_id'], {})
        for name, (most, used) in _QUOTAS.items():
            limit, in_use = own.get(name, (absolute[most], absolute.get(used, 0)))
            reply.body['quota_set'][name] |= {'limit': limit, 'in_use': in_use}
        return reply

    def _zones(self, request: _FakeRequest) -> Reply:
        reply = self._recorded('zones', request.microversion)
        (zone,) = reply.body['availabilityZoneInfo']
        names = sorted({host.zone for host in self.hosts})
        return Reply(200, {'availabilityZoneInfo': [{**zone, 'zoneName': name} for name in names]})

    def _services(self, request: _FakeRequest) -> Reply:
        template = self._recorded('services', request.microversion).body['services'][0]
        shown = [
            template
            | {'id': _numbered(template['id'], number), 'host': host.host, 'zone': host.zone}
            | {'state': host.state, 'status': host.status}
            for number, host in enumerate(self.hosts)
        ]
        return Reply(200, {'services': shown})

    def _hypervisors(self, request: _FakeRequest) -> Reply:
        pattern = request.query.get('hypervisor_hostname_pattern')
        found = list(enumerate(self.hosts))
        if pattern is not None and request.microversion >= (2, 53):
            found = [item for item in found if pattern.lower() in item[1].hypervisor.lower()]
            if not found:
                reply = self._recorded('hypervisors, no match', request.microversion)
                return _reworded(reply, {'nowhere': pattern})
        template = self._recorded('hypervisors', request.microversion).body['hypervisors'][0]
        if request.found:  # a single hypervisor
            number = int(request.found[0][-12:], 16) - len(self.hosts)
            found = found[number : number + 1] if number >= 0 else []
            found = [each for each in found if self.hypervisor_id(each[0]) == request.found[0]]
        has_servers = 'with_servers' in request.query and request.microversion >= (2, 53)
        servers = self._servers_by_host() if has_servers else {}
        service = template['service']
        numbers = (_numbered(service['id'], number) for number, _host in found)
        services = [
            service | {'id': each, 'host': host.host, 'disabled_reason': host.disabled_reason}
            for each, (_number, host) in zip(numbers, found, strict=True)
        ]
        shown = [
            template
            | {'id': _numbered(template['id'], len(self.hosts) + number)}
            | {'hypervisor_hostname': host.hypervisor, 'state': host.state, 'status': host.status}
            | {'service': of_host}
            | _of_host(host, template)
            | self._running(host, template)
            | ({'servers': servers[host.host]} if host.host in servers else {})
            for of_host, (number, host) in zip(services, found, strict=True)
        ]
        if request.found:
            return Reply(200, {'hypervisor': shown[0]}) if shown else _NO_HYPERVISOR
        if pattern is None and request.microversion >= (2, 33):
            return self._page('hypervisors', '/os-hypervisors/detail', request, shown)
        return Reply(200, {'hypervisors': shown})

    def _running(self, host: Any, template: Mapping[str, Any]) -> dict[str, int]:
        """Return the number of servers, which Nova has below 2.88."""
        number = sum(server.host == host.host for server in self.servers)
        return {'running_vms': number} if 'running_vms' in template else {}

    def _flavor(self, request: _FakeRequest) -> Reply:
        (flavor_id,) = request.found
        for flavor in self.flavors:
            if flavor.id == flavor_id:
                return Reply(200, {'flavor': self._flavor_shown(flavor, request.microversion)})
        reply = self._recorded('flavor missing', request.microversion)
        return _reworded(reply, {'m1.tiny': flavor_id})

    def _flavors(self, request: _FakeRequest) -> Reply:
        shown = [self._flavor_shown(flavor, request.microversion) for flavor in self.flavors]
        return self._page('flavors', '/flavors/detail', request, shown)

    def _extra_specs(self, request: _FakeRequest) -> Reply:
        (found,) = (flavor for flavor in self.flavors if flavor.id == request.found[0])
        return Reply(200, {'extra_specs': dict(found.extra_specs)})

    def _flavor_shown(self, flavor: FakeFlavor, asked: Microversion) -> dict[str, Any]:
        has_specs = asked >= (2, 61)  # 2.63 is recorded
        reply = self._recorded('flavor', max(asked, (2, 63)) if has_specs else asked)
        shown = _reworded(reply, {'/flavors/tiny': f'/flavors/{flavor.id}'}).body['flavor']
        specs = {'extra_specs': dict(flavor.extra_specs)} if has_specs else {}
        return {**shown, 'id': flavor.id, 'name': flavor.name, **flavor.size, **specs}

    def _aggregates(self, request: _FakeRequest) -> Reply:
        template = self._recorded('aggregates', request.microversion).body['aggregates'][0]
        has_uuid = request.microversion >= (2, 41)
        shown = [
            template
            | {'id': number, 'name': aggregate.name, 'hosts': [*aggregate.hosts]}
            | {'metadata': {**aggregate.metadata}}
            | {'availability_zone': aggregate.metadata.get('availability_zone')}
            | ({'uuid': aggregate.id} if has_uuid else {})
            for number, aggregate in enumerate(self.aggregates, start=template['id'])
        ]
        return Reply(200, {'aggregates': shown})

    def _servers_by_host(self) -> dict[str | None, list[dict[str, str]]]:
        found: dict[str | None, list[dict[str, str]]] = {}
        for number, server in enumerate(self.servers):
            item = {'name': f'instance-{number:08x}', 'uuid': server.id}
            found.setdefault(server.host, []).append(item)
        return found

    def _servers(self, request: _FakeRequest) -> Reply:
        is_admin = request.user == 'admin'
        if 'all_tenants' in request.query and not is_admin:
            return snapshot_answer('servers, not allowed')
        project = request.query.get('project_id')
        if 'all_tenants' not in request.query:
            project = f'{request.user}-project'
        statuses = request.query.get('status', '').split(',')
        is_deleted = 'deleted' in request.query
        found = [
            item
            for item in self.servers
            if project in (None, item.project)
            and (statuses == [''] or item.status in statuses)
            and is_deleted == (item.status == 'SOFT_DELETED')
            and request.query.get('uuid') in (None, item.id)
        ]
        shown = [self._shown_server(server, is_admin) for server in found]
        return self._page('servers', '/servers/detail', request, shown)

    def _server(self, request: _FakeRequest) -> Reply:
        is_admin, own = request.user == 'admin', f'{request.user}-project'
        for server in self.servers:
            if server.id == request.found[0] and (is_admin or server.project == own):
                return Reply(200, {'server': self._shown_server(server, is_admin)})
        return Reply(404, {'itemNotFound': {'code': 404, 'message': 'No such server.'}})

    def _shown_server(self, server: FakeServer, is_admin: bool) -> dict[str, Any]:
        """Return a server as Nova shows it to this user."""
        name = 'servers' if is_admin else 'servers of the project'
        template: dict[str, Any] = snapshot_answer(name).body['servers'][0]
        own = {'id': server.id, 'hostId': server.host_id, 'user_id': server.user}
        own |= {'tenant_id': server.project, 'status': server.status}
        if is_admin:
            named = [host.hypervisor for host in self.hosts if host.host == server.host]
            own['OS-EXT-SRV-ATTR:host'] = server.host
            own['OS-EXT-SRV-ATTR:hypervisor_hostname'] = named[0] if named else None
        return template | own

    def _migrations(self, request: _FakeRequest) -> Reply:
        """Return the migrations, newest first, with pages from 2.59 on."""
        query = request.query
        shown = [
            {'id': number, 'uuid': f'migration-{number}', 'instance_uuid': item.server}
            | {'source_compute': item.source, 'dest_compute': item.destination}
            | {'status': item.status, 'migration_type': item.kind}
            | {'created_at': '2026-01-01T00:00:00.000000', 'updated_at': item.updated_at}
            for number, item in enumerate(self.migrations)
            if query.get('status') in (None, item.status)
        ]
        assert 'project_id' not in query, 'it is the project of the user who started a migration'
        if request.microversion < (2, 59):
            assert 'limit' not in query
            return Reply(200, {'migrations': shown})
        return self._page('migrations', '/os-migrations', request, shown)

    def _page(
        self, key: str, path: str, request: _FakeRequest, items: list[dict[str, Any]]
    ) -> Reply:
        """Return a page by limit and marker; a full page has a link to the next."""
        ids = [str(item['id']) for item in items]
        marker = request.query.get('marker')
        start = 1 + ids.index(marker) if marker else 0
        limit = min(int(request.query.get('limit', 0)) or self.longest_page, self.longest_page)
        body: dict[str, Any] = {key: items[start : start + limit]}
        if len(body[key]) == limit:
            query = urlencode({**request.query, 'limit': limit, 'marker': body[key][-1]['id']})
            body[f'{key}_links'] = [{'rel': 'next', 'href': f'{self.url}{path}?{query}'}]
        return Reply(200, body)

    # -- recorded responses

    def _recorded(self, name: str, asked: Microversion, *replace: tuple[str, str]) -> Reply:
        """Return a copy of a response at the nearest microversion that is not newer."""
        answer = recordings()[_nearest(asked)][name]
        reply = Reply(answer['status'], copy.deepcopy(answer['body']))
        return _reworded(reply, dict(replace)) if replace else reply

    def _request(self, name: str, asked: Microversion) -> Mapping[str, Any]:
        request: Mapping[str, Any] = recordings()[_nearest(asked)][name]['request']
        return request

    def _group(self, group_id: str) -> dict[str, Any] | None:
        return next((group for group in self.groups if group['id'] == group_id), None)

    def _shown(self, group_id: str, asked: Microversion) -> dict[str, Any]:
        """Return a group with the keys of this microversion."""
        group = self._group(group_id)
        assert group is not None
        known = {**group, 'policies': [group['policy']]}
        template = self._recorded('create', asked).body['server_group']
        return {key: known.get(key, value) for key, value in template.items()}


@dataclass(frozen=True)
class _FakeRequest:
    user: str
    microversion: Microversion
    query: Mapping[str, str]
    body: Any
    found: tuple[str, ...]


_ROUTES = (
    ('POST', GROUPS, '_create'),
    ('GET', GROUPS, '_list'),
    ('GET', f'{GROUPS}/([^/]+)', '_show'),
    ('DELETE', f'{GROUPS}/([^/]+)', '_delete'),
    ('GET', '/limits', '_limits'),
    ('GET', '/os-quota-sets/([^/]+)/detail', '_quota_set'),
    ('GET', '/os-availability-zone', '_zones'),
    ('GET', '/flavors/detail', '_flavors'),
    ('GET', '/flavors/([^/]+)', '_flavor'),
    ('GET', '/flavors/([^/]+)/os-extra_specs', '_extra_specs'),
    ('GET', '/os-services', '_services'),
    ('GET', '/os-hypervisors/detail', '_hypervisors'),
    ('GET', '/os-hypervisors/([^/]+)', '_hypervisors'),
    ('GET', '/os-aggregates', '_aggregates'),
    ('GET', '/servers/detail', '_servers'),
    ('GET', '/servers/([^/]+)', '_server'),
    ('POST', '/servers', '_boot'),
    ('GET', '/os-migrations', '_migrations'),
)


#: The names of limit and usage of each quota in the limits.
_QUOTAS = {
    'instances': ('maxTotalInstances', 'totalInstancesUsed'),
    'cores': ('maxTotalCores', 'totalCoresUsed'),
    'ram': ('maxTotalRAMSize', 'totalRAMUsed'),
    'server_groups': ('maxServerGroups', 'totalServerGroupsUsed'),
    'server_group_members': ('maxServerGroupMembers', ''),
}
_NO_HYPERVISOR = Reply(404, {'itemNotFound': {'code': 404, 'message': 'No such hypervisor.'}})
#: The responses for administrators only.
_ADMINISTRATORS = ('_services', '_hypervisors', '_aggregates', '_migrations')


def _nearest(asked: Microversion) -> Microversion:
    return max(recorded for recorded in recordings() if recorded <= max(asked, (2, 1)))


def _reworded(reply: Reply, words: Mapping[str, str]) -> Reply:
    """Return a response with replaced words."""
    text = json.dumps(reply.body)
    for old, new in words.items():
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    return Reply(reply.status, json.loads(text))


_snapshot_record = cache(snapshot_record.load)


def snapshot_answer(name: str) -> Reply:
    """Return a copy of a response recorded for the snapshot."""
    answer = _snapshot_record()[name]
    return Reply(answer['status'], copy.deepcopy(answer['body']))


def _of_host(host: FakeHost, template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type and the size of a hypervisor, if the record has them."""
    own = {
        'hypervisor_type': host.kind,
        'vcpus': host.vcpus,
        'memory_mb': host.memory_mb,
        'local_gb': host.disk_gb,
    }
    return {key: value for key, value in own.items() if key in template}


def _numbered(like: int | str, number: int) -> int | str:
    """Return an id of the same type as a recorded one."""
    return number + 1 if isinstance(like, int) else f'11111111-0000-4000-8000-{number:012x}'
