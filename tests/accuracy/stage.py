"""A sandbox that becomes the clouds of many cases, because starting one takes seconds.

``set_up`` creates the cloud of a case, and ``clear`` removes it. After an exception, the stage must
not be used again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import requests

from senlin_affinity.nova.flavor_features import OWNER
from senlin_affinity.sandbox.identities import PROJECTS, USERS
from tests.accuracy import states
from tests.accuracy.case import DEVICE, HOSTS, PROJECT_OF, Ask, Case, Provider
from tests.accuracy.servers import Nova
from tests.support import waiting
from tests.support.sandbox import SandboxCloud

FILTER = 'senlin_affinity.plugins.nova.aggregate_filter.AggregateInstanceTypeFilter'
REQUEST_FILTER = 'senlin_affinity.plugins.nova.request_filter.install'
DISABLED = 'COMPUTE_STATUS_DISABLED'
_V = {'microversion': '1.36'}
_NOT_OF_DRIVERS = ('availability_zone', 'disabled', 'down')
#: A host that a case does not use: disabled, and too small for any server.
_UNUSED = {'vcpus': 1, 'memory_mb': 8, 'disk_gb': 0}
_ALIAS = json.dumps({'vendor_id': '10de', 'product_id': '1db4', 'name': DEVICE})
_numbers = itertools.count(1)


def options_of(case: Case) -> dict[str, dict[str, Any]]:
    """Return all options of a case's nova.conf."""
    group = case.nova_options.get('filter_scheduler', {})
    filters = {'enabled_filters': list(case.filters), **group}
    alias = {'alias': (_ALIAS,)}
    return {'pci': alias, **case.nova_options, 'filter_scheduler': filters}


class Stage:
    """A sandbox; a context manager.

    :param more: further arguments of the sandbox, for all cases.
    """

    def __init__(self, **more: Any) -> None:
        hosts, filters = dict.fromkeys(HOSTS, _UNUSED), (FILTER, REQUEST_FILTER)
        given = more.pop('nova_options', {})
        # By default, nova-scheduler learns of live migrations only when a test wants it.
        default = {'scheduler_instance_sync_interval': -1, **given.get('DEFAULT', {})}
        options = {'pci': {'alias': _ALIAS}, **given, 'DEFAULT': default}
        self.cloud = SandboxCloud(
            hosts, available_filters=filters, quotas={}, nova_options=options, **more
        )
        self.reasons: dict[str, str] = {}
        self._disabled: dict[str, str] = {}
        self._limits: dict[str, dict[str, int]] = {}

    def __enter__(self) -> Stage:
        self.cloud.start()
        self.novas = {user: self._nova(user) for user in PROJECT_OF}
        self.admin = self.novas['admin']
        self._placement = self.admin.connection.placement
        self.undo: list[Callable[[], Any]] = []
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            error.add_note(self._logs())
        self.cloud.stop()

    def _nova(self, user: str) -> Nova:
        name = 'admin' if user == 'guest' else user
        auth = {**self.cloud.auth(name), 'project_name': PROJECT_OF[user]}
        return Nova(self.cloud.connection(name, auth=auth), self.cloud.image_id)

    def project_id(self, user: str) -> str:
        """Return the project of a user's servers."""
        return PROJECTS[PROJECT_OF[user]].id

    def user_id(self, user: str) -> str:
        """Return the id of a user; guest is the administrator in another project."""
        return USERS['admin' if user == 'guest' else user].id

    def set_up(self, case: Case) -> None:
        """Create the cloud of a case."""
        # Existing servers were created under these options.
        self.put('options', {'DEFAULT': case.nova_options.get('DEFAULT', {})})
        self.sizes = {
            name: {key: host[key] for key in host if key not in _NOT_OF_DRIVERS}
            for name, host in case.hosts.items()
        }
        self.put('hosts', self.sizes)
        disabled = {name: host.get('disabled', False) for name, host in case.hosts.items()}
        self.reasons = {name: each for name, each in disabled.items() if isinstance(each, str)}
        self.enable({name for name, each in disabled.items() if not each})
        self.uuids = self._uuids()
        self._make_aggregates(case)
        self._set_traits(case.traits)
        self.flavors = {name: self.flavor(name, body) for name, body in case.flavors.items()}
        self.images = {name: self.image(name, body) for name, body in case.images.items()}
        self._orphaned = {
            name: {self.uuids[name]: amounts} for name, amounts in case.stale.orphans.items()
        }
        for provider in case.providers:
            self._make_provider(provider)
        self.groups = {name: self.group(name, body) for name, body in case.groups.items()}
        migrating = {}
        self.servers: list[str] = []
        for server in case.servers:
            made = states.put(self, server)
            self.servers.append(made)
            self.undo.append(lambda made=made: self.admin.delete([made]))
            if server.state == states.LIVE_MIGRATED:
                migrating[made] = server
        self.put('servers', {})
        for made, server in migrating.items():
            states.live_migrate(self.admin, made, server)
        self.put('options', options_of(case))
        if case.is_conductor_restarted:
            self.put('conductor', {})
            self.undo.append(self._restore_conductor)
        self._set_quotas(case)
        self._let_go_stale(case)
        self.down = sorted(name for name, host in case.hosts.items() if host.get('down'))
        self.undo.append(lambda: self._force_down(is_down=False))
        self._force_down()

    def _restore_conductor(self) -> None:
        self.put('options', {})
        self.put('conductor', {})

    def _force_down(self, *, is_down: bool = True) -> None:
        """Show the compute services of the hosts that are down as such, or as up."""
        for name in self.down:
            body = {'host': name, 'binary': 'nova-compute', 'forced_down': is_down}
            self.admin.call('PUT', '/os-services/force-down', body, '2.11')

    def delete(self, servers: list[str]) -> None:
        """Delete servers; while a service is down, Nova would not tell it."""
        self._force_down(is_down=False)
        self.admin.delete(servers)
        self._force_down()

    @contextlib.contextmanager
    def changes(self) -> Iterator[None]:
        """Undo all changes of the block at its end."""
        there = len(self.undo)
        yield
        while len(self.undo) > there:
            self.undo.pop()()

    def clear(self) -> None:
        """Remove the cloud of a case."""
        while self.undo:
            self.undo.pop()()
        waiting.until(lambda: not self.admin.servers(), 30, 'the servers are gone')

    def put(self, what: str, body: Any) -> None:
        """Change the sandbox through its control interface."""
        with requests.Session() as session:
            session.trust_env = False
            answer = session.put(f'{self.cloud.base_url}/_nova/{what}', json=body, timeout=60)
        assert answer.ok, answer.text

    def enable(self, wanted: set[str]) -> None:
        """Enable these hosts, and disable all others, each with its reason."""
        disabled = {name: self.reasons.get(name, '') for name in HOSTS if name not in wanted}
        for name in HOSTS:
            if disabled.get(name) == self._disabled.get(name):
                continue
            body = {'host': name, 'binary': 'nova-compute'}
            self.admin.call('PUT', '/os-services/enable', body)
            if disabled.get(name):
                body['disabled_reason'] = disabled[name]
                self.admin.call('PUT', '/os-services/disable-log-reason', body)
            elif name in disabled:
                self.admin.call('PUT', '/os-services/disable', body)
        self._disabled = disabled

    def _uuids(self) -> dict[str, str]:
        found = self.place('GET', '/resource_providers')['resource_providers']
        return {provider['name']: provider['uuid'] for provider in found}

    def place(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to Placement; return the body of the response."""
        answer = self._placement.request(path, method, json=body, **_V)
        assert answer.ok, f'{method} {path}: {answer.text}'
        return answer.json() if answer.content else {}

    def _make_aggregates(self, case: Case) -> None:
        wanted = {name: dict(body) for name, body in case.aggregates.items()}
        for name, host in case.hosts.items():
            zone = host.get('availability_zone')
            if zone is not None and zone != 'nova':
                empty = {'hosts': [], 'availability_zone': zone, 'metadata': {}}
                wanted.setdefault(zone, empty)['hosts'].append(name)
        self.aggregates: dict[str, str] = {}
        self._ids: dict[str, int] = {}
        for name, body in wanted.items():
            self._make_aggregate(name, body)

    def _make_aggregate(self, name: str, body: dict[str, Any]) -> None:
        new = {'name': name, 'availability_zone': body.get('availability_zone')}
        made = self.admin.call('POST', '/os-aggregates', {'aggregate': new}, '2.41')['aggregate']
        path = f'/os-aggregates/{made["id"]}'
        self.aggregates[name], self._ids[made['uuid']] = made['uuid'], made['id']
        self.undo.append(lambda: self.admin.call('DELETE', path))
        for host in body['hosts']:
            self.join(host, made['uuid'])
        projects = {name: PROJECTS[name].id for name in ('admin', 'demo')}
        known = body.get('metadata', {})
        metadata = {key: value.format(**projects) for key, value in known.items()}
        if metadata:
            change = {'set_metadata': {'metadata': metadata}}
            self.admin.call('POST', f'{path}/action', change)

    def join(self, host: str, aggregate: str) -> None:
        """Put a host into an aggregate, by its UUID."""
        path, body = f'/os-aggregates/{self._ids[aggregate]}/action', {'host': host}
        self.admin.call('POST', path, {'add_host': body})
        self.undo.append(lambda: self.admin.call('POST', path, {'remove_host': body}))

    def _set_traits(self, wanted: dict[str, tuple[str, ...]]) -> None:
        """Give the hosts' providers traits in addition to those that Nova sets."""
        for host, traits in wanted.items():
            self.add_traits(self.uuids[host], traits)

    def add_traits(self, provider: str, traits: Iterable[str]) -> None:
        """Give a provider these traits until the case is cleared."""
        path = f'/resource_providers/{provider}/traits'
        known = self.place('GET', path)
        for trait in traits:
            if trait.startswith('CUSTOM_'):
                self.place('PUT', f'/traits/{trait}')
        body = {**known, 'traits': sorted({*known['traits'], *traits})}
        if body['traits'] != sorted(known['traits']):
            self.place('PUT', path, body)
            self.undo.append(lambda: self._remove_traits(provider, set(traits)))

    def lose_trait(self, host: str, trait: str) -> None:
        """Take a trait from the provider of a host until the changes are undone."""
        self._remove_traits(self.uuids[host], {trait})
        self.undo.append(lambda: self._restore_trait(self.uuids[host], trait))

    def _remove_traits(self, provider: str, traits: set[str]) -> None:
        path = f'/resource_providers/{provider}/traits'
        known = self.place('GET', path)
        self.place('PUT', path, {**known, 'traits': sorted(set(known['traits']) - traits)})

    def _restore_trait(self, provider: str, trait: str) -> None:
        path = f'/resource_providers/{provider}/traits'
        known = self.place('GET', path)
        self.place('PUT', path, {**known, 'traits': sorted({*known['traits'], trait})})

    def flavor(self, name: str, body: dict[str, Any]) -> str:
        """Create a flavor; return its id."""
        specs = body.get('extra_specs', {})
        new = {'name': name, **{key: body[key] for key in ('vcpus', 'ram', 'disk')}}
        new['os-flavor-access:is_public'] = 'projects' not in body
        made = self.admin.call('POST', '/flavors', {'flavor': new})['flavor']['id']
        for project in body.get('projects', ()):
            access = {'addTenantAccess': {'tenant': PROJECTS[project].id}}
            self.admin.call('POST', f'/flavors/{made}/action', access)
        self.undo.append(lambda: self.admin.call('DELETE', f'/flavors/{made}'))
        if specs:
            self.admin.call('POST', f'/flavors/{made}/os-extra_specs', {'extra_specs': specs})
        return str(made)

    def image(self, name: str, body: dict[str, Any]) -> str:
        """Create an image; return its id."""
        answer = self.admin.connection.image.post(
            '/images', json={'name': f'{name}-{next(_numbers)}', **body}
        )
        return str(answer.json()['id'])

    def _make_provider(self, provider: Provider) -> None:
        made, name = str(uuid.uuid4()), f'provider-{next(_numbers)}'
        parent = None if provider.parent is None else self.uuids[provider.parent]
        more = {} if parent is None else {'parent_provider_uuid': parent}
        self.place('POST', '/resource_providers', {'name': name, 'uuid': made, **more})
        path = f'/resource_providers/{made}'
        if provider.orphaned:
            self._orphaned[provider.parent or ''][made] = provider.orphaned
        self.undo.append(lambda: self.place('DELETE', path))
        for item in provider.inventory:
            if item.startswith('CUSTOM_'):
                self.place('PUT', f'/resource_classes/{item}')
        inventories = {
            name: {'max_unit': values['total'], **values}
            for name, values in provider.inventory.items()
        }
        body = {'resource_provider_generation': 0, 'inventories': inventories}
        self.place('PUT', f'{path}/inventories', body)
        self.add_traits(made, provider.traits)
        if provider.aggregates:
            uuids = [self.aggregates[name] for name in provider.aggregates]
            self._set_aggregates(made, uuids)

    def _set_aggregates(self, provider: str, uuids: list[str]) -> None:
        path = f'/resource_providers/{provider}/aggregates'
        self.place('PUT', path, {**self.place('GET', path), 'aggregates': uuids})

    def _add_in_placement(self, provider: str, uuids: list[str]) -> None:
        known = self.place('GET', f'/resource_providers/{provider}/aggregates')['aggregates']
        self.undo.append(lambda: self._set_aggregates(provider, known))
        self._set_aggregates(provider, sorted({*known, *uuids}))

    def group(self, name: str, body: dict[str, Any]) -> str:
        """Create a server group; return its id."""
        rules = {'rules': body['rules']} if body.get('rules') else {}
        new = {'name': name, 'policy': body['policy'], **rules}
        owner = self.novas[body.get('user', 'admin')]
        made = owner.call('POST', '/os-server-groups', {'server_group': new}, '2.64')
        path = f'/os-server-groups/{made["server_group"]["id"]}'
        self.undo.append(lambda: owner.call('DELETE', path))
        return str(made['server_group']['id'])

    def _set_quotas(self, case: Case) -> None:
        for name, limits in case.quotas.items():
            self.limit(f'/os-quota-sets/{PROJECTS[name].id}', limits)
        for user, limits in case.user_quotas.items():
            query = f'user_id={self.user_id(user)}'
            self.limit(f'/os-quota-sets/{self.project_id(user)}?{query}', limits)

    def limit(self, path: str, limits: dict[str, int]) -> None:
        """Set limits of a project, or of a user in it."""
        before = self._limits.get(path, {})
        self.undo.append(lambda: self._limit(path, before))
        self._limit(path, {**before, **limits})

    def _limit(self, path: str, limits: dict[str, int]) -> None:
        self._limits[path] = limits
        self.admin.call('DELETE', path)
        if limits:
            self.admin.call('PUT', path, {'quota_set': {'force': True, **limits}}, '2.36')

    def _let_go_stale(self, case: Case) -> None:
        for host in case.stale.disabled:
            self.add_traits(self.uuids[host], [DISABLED])
        for host in case.stale.offered:
            self._remove_traits(self.uuids[host], {DISABLED})
            self.undo.append(lambda one=self.uuids[host]: self._restore_trait(one, DISABLED))
        if case.stale.renamed:
            self._rename(case.stale.renamed)
            self.undo.append(lambda: self._rename({host: host for host in case.stale.renamed}))
        for host in case.stale.unowned:
            self._remove_traits(self.uuids[host], {OWNER})
            self.undo.append(lambda one=self.uuids[host]: self._restore_trait(one, OWNER))
        for host in case.stale.unmirrored:
            self._set_aggregates(self.uuids[host], [])
        for host, names in case.stale.removed.items():
            self._add_in_placement(self.uuids[host], [self.aggregates[name] for name in names])
        self._consumers = {host: str(uuid.uuid4()) for host in self._orphaned}
        for host in self._orphaned:
            self._add_orphan(host)
            path = f'/allocations/{self._consumers[host]}'
            self.undo.append(lambda path=path: self.place('DELETE', path))

    def use(self, host: str, amounts: dict[str, int]) -> None:
        """Use resources of a host, without a server, until the changes are undone."""
        consumer = str(uuid.uuid4())
        self._allocate(consumer, {self.uuids[host]: amounts})
        self.undo.append(lambda: self.place('DELETE', f'/allocations/{consumer}'))

    def _add_orphan(self, host: str) -> None:
        """Allocate what a consumer that is no server has on the providers of a host."""
        self._allocate(self._consumers[host], self._orphaned[host])

    def _allocate(self, consumer: str, allocated: dict[str, dict[str, int]]) -> None:
        project = self.project_id('admin')
        body = {
            'allocations': {one: {'resources': amounts} for one, amounts in allocated.items()},
            'project_id': project,
            'user_id': project,
            'consumer_generation': None,
        }
        self.place('PUT', f'/allocations/{consumer}', body)

    def remove_orphan(self, host: str) -> None:
        """Remove these allocations until the changes are undone."""
        self.place('DELETE', f'/allocations/{self._consumers[host]}')
        self.undo.append(lambda: self._add_orphan(host))

    def boot(self, asked: Ask) -> tuple[str | None, str]:
        """Create one of the requested servers; return its id, and its final status."""
        return self.novas[asked.user].boot(
            self.flavors[asked.flavor],
            image=None if asked.image is None else self.images[asked.image],
            group=None if asked.group is None else self.groups[asked.group],
            zone=asked.zone,
            metadata=asked.metadata,
            hints=self.hints(asked.hints),
            host=asked.host,
        )

    def _rename(self, names: dict[str, str]) -> None:
        """Give the providers of these hosts other names, which may be those of each other."""
        for host in names:
            self.place('PUT', f'/resource_providers/{self.uuids[host]}', {'name': f'once {host}'})
        for host, name in names.items():
            self.place('PUT', f'/resource_providers/{self.uuids[host]}', {'name': name})

    def hints(self, hints: dict[str, Any]) -> dict[str, Any]:
        """Return scheduler hints with the ids of the case's servers."""
        ids = {f'server {number}': made for number, made in enumerate(self.servers)}
        return {
            key: [ids.get(each, each) for each in value]
            if isinstance(value, list)
            else ids.get(value, value)
            for key, value in hints.items()
        }

    def _logs(self) -> str:
        """Return the end of every log."""
        with contextlib.suppress(Exception):
            return self.cloud.logs()
        return ''
