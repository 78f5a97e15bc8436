"""Apply remedies to a real cloud: an operator's commands, and a user's changes of a request.

This module shares no code with the package: it parses a command like its client does, and sends an
API request.
"""

import contextlib
import re
import shlex

from openstack import exceptions as sdk

from senlin_affinity.model.spread import Spread
from tests.support import waiting
from tests.support.asked import NamedRequest
from tests.support.values import replace

ZONE_HAS_NO_HOST = 'requested availability zone is not available'
#: The command that removes a trait of a provider.
_TRAITS = re.compile(
    r'provider="\$\(openstack resource provider list --name (?P<name>\S+) -f value -c uuid\)" && '
    r'traits="\$\((openstack .* resource provider trait) list "\$provider" -f value -c name\)" && '
    r'\2 set \$\(echo "\$traits" \| sed \'/\^(?P<removed>\w+)\$/d; s/\./--trait &/\'\) "\$provider"'
)
#: The options without a value.
_FLAGS = (
    *('--enable', '--private', '--pinned-availability-zone', '--live-migration'),
    '--wait',
)
#: The fields of a request that a user may change.
_USER_FIELDS = ('availability_zone', 'member_of', 'spread')


class Operator:
    """An administrator of a sandbox, or another user of it."""

    def __init__(self, cloud, user='admin'):
        self.connection = cloud.connection(user)
        self.compute, self.placement = self.connection.compute, self.connection.placement
        self._image = cloud.image_id
        self._providers = {}

    def carry_out(self, remedy, request: NamedRequest) -> NamedRequest:
        """Make the change, and return the resulting request."""
        data = remedy.data
        for line in remedy.commands:
            self.run(line)
        for name in data.get('started_hosts', ()):
            self.set_down(name, False)
        self.change_hardware(data)
        asked = {name: data[name] for name in _USER_FIELDS if name in data}
        for name, value in asked.items():
            asked[name] = tuple(value) if isinstance(value, list) else value
        if 'spread' in asked:
            asked['spread'] = tuple(Spread(**each) for each in asked['spread'])
        if 'flavor' in data:
            asked['flavor'] = data['flavor']['id']
        if 'removed_extra_specs' in data:
            asked['flavor'] = self._newest
        if 'server_group' in data:
            asked['server_group'] = None if data['server_group'] is None else self._newest
        return replace(request, **asked)

    def run(self, line):
        """Run a command."""
        if line.startswith('provider='):
            found = _TRAITS.fullmatch(line)
            self.set_traits(found['name'], {*self.traits(found['name'])} - {found['removed']})
            return None
        client, *words = shlex.split(line)
        assert client == 'openstack'
        options = {}
        while words[0].startswith('--'):
            options[words[0]], words = words[1], words[2:]
        self._of_line = self.compute
        if '--os-project-id' in options:
            project = options['--os-project-id']
            self._of_line = self.connection.connect_as(project_id=project).compute
        for length in (4, 3, 2):
            action = getattr(self, f'_{"_".join(words[:length])}', None)
            if action is not None:
                return action(*_read(words[length:]))
        raise AssertionError(f'unknown command: {line}')

    def _compute_service_set(self, options, host, binary):
        (service,) = self.compute.services(host=host, binary=binary)
        assert options == {'enable': [True]}
        self.compute.enable_service(service, host, binary)

    def set_down(self, host, is_down):
        """Mark a service as down, or start it."""
        (service,) = self.compute.services(host=host, binary='nova-compute')
        self.compute.update_service_forced_down(service, host, 'nova-compute', forced=is_down)

    def _quota_set(self, options, project):
        body = {name.replace('-', '_'): int(value) for name, (value,) in options.items()}
        answer = self.compute.put(f'/os-quota-sets/{project}', json={'quota_set': body})
        sdk.raise_from_response(answer)

    def _server_group_create(self, options, name):
        rules = dict(each.split('=') for each in options.get('rule', ()))
        rules = {key: int(value) for key, value in rules.items()}
        more = {'rules': rules} if rules else {}
        (policy,) = options['policy']
        self._newest = self._of_line.create_server_group(name=name, policy=policy, **more).id

    def _flavor_create(self, options, name):
        specs = dict(each.split('=', 1) for each in options.pop('property', ()))
        projects = options.pop('project', ())
        assert options.pop('private', []) == [True for _project in projects]
        amounts = {key: int(value) for key, (value,) in options.items()}
        flavor = self.compute.create_flavor(name=name, is_public=not projects, **amounts)
        for project in projects:
            self.compute.flavor_add_tenant_access(flavor, project)
        if specs:
            self.compute.create_flavor_extra_specs(flavor, specs)
        self._newest = flavor.id

    def _server_unset(self, options, server):
        assert options == {'pinned-availability-zone': [True]}
        body = {'server': {'pinned_availability_zone': None}}
        answer = self.compute.put(f'/servers/{server}', json=body, microversion='2.104')
        sdk.raise_from_response(answer)

    def _server_migrate(self, options, server):
        """Migrate a server live, and wait for the end."""
        (host,) = options.pop('host')
        assert options == {'live-migration': [True], 'wait': [True]}
        body = {'os-migrateLive': {'host': host, 'block_migration': 'auto'}}
        answer = self.compute.post(f'/servers/{server}/action', json=body, microversion='2.30')
        sdk.raise_from_response(answer)

        def has_moved():
            found = self.compute.get_server(server)
            return (found.compute_host, found.status) == (host, 'ACTIVE')

        waiting.until(has_moved, 60, 'the live migration')

    def _server_delete(self, options, *servers):
        assert options == {}
        for server in servers:
            self.compute.delete_server(server)
        waiting.until(
            lambda: not {each.id for each in self.compute.servers()} & {*servers}, 60, 'the end'
        )

    def _trait_create(self, options, name):
        self.placement.put(f'/traits/{name}', microversion='1.6').raise_for_status()

    def change_hardware(self, data):
        """Do what no command of a remedy does: let hosts have traits, and aggregates hosts."""
        if (of_traits := data.get('host_traits')) is not None:
            for name in of_traits['traits']:
                self.placement.put(f'/traits/{name}', microversion='1.6').raise_for_status()
            for host in of_traits['hosts']:
                self.set_traits(host, {*self.traits(host), *of_traits['traits']})
        if (joined := data.get('aggregate_hosts')) is not None:
            aggregate = self.compute.find_aggregate(joined['aggregate']['name'])
            for host in joined['hosts']:
                self.compute.add_host_to_aggregate(aggregate, host)

    def set_traits(self, name, traits):
        """Replace the traits of a host's provider."""
        path, version = self._traits_of(name), {'microversion': '1.6'}
        body = self.placement.get(path, **version).json()
        if {*body['traits']} != {*traits}:
            body['traits'] = list(traits)
            self.placement.put(path, json=body, **version).raise_for_status()

    def traits(self, name):
        """Return the traits of a host's provider."""
        return self.placement.get(self._traits_of(name), microversion='1.6').json()['traits']

    def _traits_of(self, name):
        if name not in self._providers:
            known = self.placement.get('/resource_providers').json()['resource_providers']
            self._providers = {each['name']: each['uuid'] for each in known}
        return f'/resource_providers/{self._providers[name]}/traits'

    def place(self, request, zone=None):
        """Create one server, and return its id, or None if no host accepts it."""
        body = {'name': 'server', 'flavorRef': request.flavor, 'imageRef': self._image}
        zone = zone or request.availability_zone
        body |= {'networks': 'none'} | ({'availability_zone': zone} if zone else {})
        hints = {'group': request.server_group} if request.server_group else {}
        body = {'server': body, 'os:scheduler_hints': hints}
        answer = self.compute.post('/servers', json=body, microversion='2.37')
        if answer.status_code == 403 or ZONE_HAS_NO_HOST in answer.text:
            return None
        sdk.raise_from_response(answer)
        server = answer.json()['server']['id']

        def ended():
            found = self.compute.get_server(server)
            return found if found.status in ('ACTIVE', 'ERROR') else None

        return server if waiting.until(ended, 60, 'the server').status == 'ACTIVE' else None

    def remove_servers(self):
        """Delete all servers, and wait until nothing is allocated."""
        for server in list(self.compute.servers()):
            self.compute.delete_server(server, ignore_missing=True)
        waiting.until(lambda: not list(self.compute.servers()), 60, 'no server is left')
        waiting.until(lambda: not self._is_used(), 60, 'nothing is allocated')

    def _is_used(self):
        path = '/resource_providers'
        for each in self.placement.get(path).json()['resource_providers']:
            used = self.placement.get(f'{path}/{each["uuid"]}/usages').json()['usages']
            if any(used.values()):
                return True
        return False


@contextlib.contextmanager
def restored(cloud, hosts, disabled):
    """Yield an administrator, and restore the cloud after the block.

    :param disabled: the only host whose service is disabled.
    """
    operator = Operator(cloud)
    compute = operator.compute
    of_hosts = {each.name: list(each.hosts or ()) for each in compute.aggregates()}
    traits = {name: operator.traits(name) for name in hosts}
    try:
        yield operator
    finally:
        tenant = cloud.connection('demo')
        for server in list(tenant.compute.servers()):
            tenant.compute.delete_server(server, ignore_missing=True)
        waiting.until(lambda: not list(tenant.compute.servers()), 60, 'no server is left')
        operator.remove_servers()
        for project in (operator.connection.current_project_id, tenant.current_project_id):
            compute.delete(f'/os-quota-sets/{project}')
        for aggregate in compute.aggregates():
            for name in set(aggregate.hosts or ()) - set(of_hosts[aggregate.name]):
                compute.remove_host_from_aggregate(aggregate, name)
        (service,) = compute.services(host=disabled, binary='nova-compute')
        compute.disable_service(service, disabled, 'nova-compute')
        for name in hosts:
            operator.set_traits(name, traits[name])


def _read(words):
    """Return the options of a command with their values, and then the names."""
    options, names = {}, []
    words = iter(words)
    for word in words:
        if not word.startswith('--'):
            names.append(word)
        elif word in _FLAGS:
            options[word[2:]] = [True]
        else:
            options.setdefault(word[2:], []).append(next(words))
    return options, *names
