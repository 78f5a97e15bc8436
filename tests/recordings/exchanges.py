"""Send requests to a Nova, and convert the responses to a stable record.

:func:`exchange_all` sends the same requests at every microversion to a :class:`Cloud`: the real
Nova of the sandbox, or ``tests.support.fake_nova``. :class:`Normaliser` replaces what differs from
run to run: ids become numbers in the order of their first occurrence, times and addresses become
constants. The only server is created last; before, no host has any usage.

Example::

    {'microversion': '2.64',
     'answers': {'get': {'request': {'user': 'demo', 'method': 'GET', 'path': '...'},
                         'status': 200, 'body': {'server_group': {...}}}}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

#: The recorded microversions; NEWEST stands for the newest of the service.
NEWEST = 'newest'
MICROVERSIONS = ('2.1', '2.14', '2.53', '2.63', '2.64', NEWEST)

#: The recorded cloud: one host matches "drs" by its service host, one by the name of its
#: hypervisor, and one not at all; the quota of server groups is exceeded by one; and there is an
#: aggregate.
HOSTS = {'cmp-1': 'cmp-1', 'kvm-3': 'KVM-DRS-3', 'vsphere-drs-1': 'domain-c7.b52f9a5e'}
SERVER_GROUPS_QUOTA = 4
FLAVORS = {'m1.tiny': {'id': 'tiny', 'extra_specs': {'hw:cpu_policy': 'shared'}}}
AGGREGATES = {'ssd': {'hosts': ['cmp-1', 'kvm-3'], 'metadata': {'ssd': 'true'}}}

GROUPS = '/os-server-groups'
PATTERN = {'hypervisor_hostname_pattern': 'drs'}
RULES = {'max_server_per_host': 3}
MISSING = '00000000-0000-4000-8000-000000000000'

_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?')
_ID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b')
_PORT = re.compile(r'http://127\.0\.0\.1:\d+/compute|http://nova\.test')


class Reply(NamedTuple):
    """A response; ``body`` is None without a body."""

    status: int
    body: Any


class Cloud(Protocol):
    """A Nova that the requests are sent to."""

    newest: str

    def send(self, user, method, path, microversion, query=None, body=None) -> Reply:
        """Send a request to Nova; the user is admin, demo, or nobody (without a valid token)."""

    def boot(self, group_id: str) -> None:
        """Create a server of demo in a server group."""


class Record:
    """The record of one microversion."""

    def __init__(self, cloud: Cloud, recorded: str) -> None:
        self._cloud = cloud
        self.microversion = cloud.newest if recorded == NEWEST else recorded
        self.version = tuple(map(int, self.microversion.split('.')))
        self.normalise = Normaliser()
        self.answers: dict[str, Any] = {}

    def ask(self, name: str, user: str, method: str, path: str, at: str = '', **more: Any) -> Any:
        """Send a request, record the response under a name, and return its original body."""
        reply = self._cloud.send(user, method, path, at or self.microversion, **more)
        request = {'user': user, 'method': method, 'path': path, **more}
        if at:
            request['microversion'] = at
        answer = {'request': request, 'status': reply.status, 'body': reply.body}
        self.answers[name] = self.normalise(answer)
        return reply.body

    def group(self, name: str, policy: str, **more: Any) -> dict[str, Any]:
        """Return the body that creates a server group at this microversion."""
        shape = {'policy': policy} if self.version >= (2, 64) else {'policies': [policy]}
        return {'server_group': {'name': name, **shape, **more}}

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {'microversion': self.microversion, 'answers': self.answers}


def exchange_all(cloud: Cloud) -> dict[str, dict[str, Any]]:
    """Send every request at every microversion, and return a record of each; one group remains."""
    records = {recorded: Record(cloud, recorded) for recorded in MICROVERSIONS}
    for record in records.values():
        _ask_anyone(record)
        _ask_for_groups(record, cloud)
        _ask_for_hosts(record)
        _ask_for_flavors(record)
    group_id = _create(cloud, {'name': 'full', 'policy': 'anti-affinity'})
    cloud.boot(group_id)
    for record in records.values():
        record.normalise = Normaliser()
        record.ask('get with a member', 'demo', 'GET', f'{GROUPS}/{group_id}')
    return {recorded: record.as_dict() for recorded, record in records.items()}


def _ask_anyone(record: Record) -> None:
    record.ask('version', 'demo', 'GET', '/')
    record.ask('not authenticated', 'nobody', 'GET', GROUPS)
    record.ask('microversion not offered', 'demo', 'GET', GROUPS, at='2.999')
    record.ask('zones', 'demo', 'GET', '/os-availability-zone')


def _ask_for_groups(record: Record, cloud: Cloud) -> None:
    """Send the requests about server groups, all of which are deleted at the end."""
    record.ask('list, empty', 'demo', 'GET', GROUPS)
    other = {'policy': 'affinity'} if record.version < (2, 64) else {'policies': ['affinity']}
    made = []
    for name, wanted in (
        ('create', record.group('web', 'anti-affinity')),
        ('create soft', record.group('soft', 'soft-affinity')),
        ('create with rules', record.group('db', 'anti-affinity', rules=RULES)),
        ('create soft with rules', record.group('s', 'soft-affinity', rules=RULES)),
        ('create in the other shape', {'server_group': {'name': 'x', **other}}),
    ):
        body = record.ask(name, 'demo', 'POST', GROUPS, body=wanted)
        made += [body['server_group']['id']] if 'server_group' in body else []
    # A group that a newer client created.
    made.append(_create(cloud, {'name': 'new', 'policy': 'anti-affinity', 'rules': RULES}))
    record.ask('get', 'demo', 'GET', f'{GROUPS}/{made[0]}')
    record.ask('get with rules', 'demo', 'GET', f'{GROUPS}/{made[-1]}')
    record.ask('get missing', 'demo', 'GET', f'{GROUPS}/{MISSING}')
    record.ask('list', 'demo', 'GET', GROUPS)
    record.ask('list a page', 'demo', 'GET', GROUPS, query={'limit': 1, 'offset': 1})
    record.ask('limits', 'demo', 'GET', '/limits')
    while len(made) < SERVER_GROUPS_QUOTA:
        made.append(_create(cloud, {'name': 'more', 'policy': 'affinity'}))
    body = record.group('last', 'affinity')
    record.ask('create over quota', 'demo', 'POST', GROUPS, body=body)
    record.ask('delete', 'demo', 'DELETE', f'{GROUPS}/{made[0]}')
    record.ask('delete missing', 'demo', 'DELETE', f'{GROUPS}/{made[0]}')
    for group_id in made[1:]:
        cloud.send('demo', 'DELETE', f'{GROUPS}/{group_id}', record.microversion)


def _ask_for_hosts(record: Record) -> None:
    services = {'binary': 'nova-compute'}
    record.ask('services', 'admin', 'GET', '/os-services', query=services)
    record.ask('services, not allowed', 'demo', 'GET', '/os-services', query=services)
    has_pattern = record.version >= (2, 53)
    pattern = {'query': PATTERN} if has_pattern else {}
    record.ask('hypervisors', 'admin', 'GET', '/os-hypervisors/detail', **pattern)
    record.ask('hypervisors, not allowed', 'demo', 'GET', '/os-hypervisors/detail', **pattern)
    if has_pattern:
        query = {'hypervisor_hostname_pattern': 'nowhere'}
        record.ask('hypervisors, no match', 'admin', 'GET', '/os-hypervisors/detail', query=query)
    record.ask('aggregates', 'admin', 'GET', '/os-aggregates')
    record.ask('aggregates, not allowed', 'demo', 'GET', '/os-aggregates')


def _ask_for_flavors(record: Record) -> None:
    record.ask('flavor', 'demo', 'GET', '/flavors/tiny')
    record.ask('flavor missing', 'demo', 'GET', '/flavors/m1.tiny')
    record.ask('no such path', 'demo', 'GET', '/flavors/one%2Ftwo')
    record.ask('flavors', 'demo', 'GET', '/flavors/detail')
    record.ask('flavors, a page', 'demo', 'GET', '/flavors/detail', query={'limit': 1})
    record.ask('flavors, no more', 'demo', 'GET', '/flavors/detail', query={'marker': 'tiny'})
    record.ask('extra specs', 'demo', 'GET', '/flavors/tiny/os-extra_specs')


def _create(cloud: Cloud, group: Mapping[str, Any]) -> str:
    """Create a group at the newest microversion, which is not recorded."""
    body = cloud.send('demo', 'POST', GROUPS, cloud.newest, body={'server_group': group}).body
    return str(body['server_group']['id'])


class Normaliser:
    """Replaces what differs from run to run, consistently for all responses of a record."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {MISSING: MISSING}
        self._numbers: dict[int, int] = {}

    def __call__(self, value: Any, key: str = '') -> Any:
        """Return the value with replacements."""
        if isinstance(value, Mapping):
            return {name: self(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            if key in ('services', 'hypervisors'):
                # Services register in any order.
                value = sorted(value, key=_host)
            return [self(item) for item in value]
        if key == 'updated_at':
            return '2026-01-01T00:00:00.000000'
        if key == 'host_ip':
            return '192.0.2.1'
        if key == 'id' and isinstance(value, int):
            return self._numbers.setdefault(value, len(self._numbers) + 1)
        return self._text(value) if isinstance(value, str) else value

    def _text(self, value: str) -> str:
        value = _PORT.sub('http://nova.test', value)
        value = _TIME.sub('2026-01-01T00:00:00Z', value)
        return _ID.sub(lambda found: self._id(found[0]), value)

    def _id(self, value: str) -> str:
        if value not in self._ids:
            number = len(self._ids)
            fresh = f'00000000-0000-4000-8000-{number:012x}'
            self._ids[value] = fresh if '-' in value else fresh.replace('-', '')
        return self._ids[value]


def _host(item: Mapping[str, Any]) -> str:
    service = item.get('service') or item
    return str(service['host'])
