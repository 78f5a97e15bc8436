"""Apply the changes of a remedy, which are plain data, to a request and a scenario.

Each key of a remedy's ``data`` is an action of :data:`ACTIONS`, which says what it changes, and
which commands carry it out::

    {'server_group': {'name': 'web-2', 'policy': 'anti-affinity',
                      'rules': {'max_server_per_host': 2},             a new group, without servers
                      'project_id': '...'}}                            its owner, if known
    {'server_group': None}                                               no group
    {'availability_zone': 'az-2'}   {'member_of': []}   {'is_volume_booted': True}
    {'requested_host': None}                                             any host
    {'spread': [{'by': 'rack', 'max_skew': 2, 'mode': 'hard'}]}          all of them; [] is none
    {'enable_drs_extension': False}   {'flavor': {'id': '2', 'name': 'm1.small'}}
    {'removed_extra_specs': ['trait:CUSTOM_A']}, ``removed_image_properties`` beside it
    {'set_extra_specs': {'group_policy': 'none'}}   {'created_traits': ['CUSTOM_A']}
    {'new_hosts': {'number': 2, 'name': 'cmp-1-new', 'amounts': {'VCPU': 64}, ...}}
    {'enabled_hosts': ['cmp-1'], 'started_hosts': ['cmp-2']}   {'removed_consumers': ['cmp-1']}
    {'moved_servers': [{'id': '...', 'name': 'web-1', 'from': 'cmp-1', 'to': 'cmp-2',
                        'kind': 'live'}]}
    {'available_nodes': ['ironic-1']}                        whatever is reserved becomes available
    {'aggregate_hosts': {'aggregate': {'name': 'ssd', 'uuid': '...'}, 'hosts': ['cmp-1']}}
    {'aggregate_projects': {'aggregate': {'name': 'vip', 'uuid': '...'}, 'projects': ['...']}}
    {'host_traits': {'traits': ['CUSTOM_A'], 'hosts': ['cmp-1']}}
    {'quotas': {'project_id': '...', 'limits': {'instances': 7}}}    and user_id, user_limits
    {'options': {'most_per_rack': 3}}   {'given_up': ['fence']}          a waived constraint

A zone of None drops the requested zone. ``units`` of new hosts has the fields of their resource
classes that differ from the defaults.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from msgspec import structs

from senlin_affinity.engine import commands
from senlin_affinity.engine.resolution import resolve_member_of
from senlin_affinity.model.cloud import Cloud
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.proposal import Data, unused
from senlin_affinity.model.request import Request
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import read_all
from senlin_affinity.model.suggestion import meant
from senlin_affinity.nova import host_status, moves
from senlin_affinity.nova.alternatives import with_aggregate
from senlin_affinity.nova.queried_aggregates import TENANT
from senlin_affinity.scenario.scenario import Scenario


@dataclass(frozen=True)
class Action:
    """What an action does to the request and to the scenario, and the commands for it.

    Either function may be None. ``of_scenario`` gets the request before the action.
    ``needs_hardware``: somebody must add hosts, or devices to hosts.
    ``is_for_tenants``: a user without administrator rights can run the commands.
    """

    of_request: Callable[[Request, Cloud, Any], Request] | None = None
    of_scenario: Callable[[Scenario, Any, Request], Scenario] | None = None
    commands: commands.Commands | None = None
    needs_hardware: bool = False
    is_for_tenants: bool = False


def carry_out(data: Data, request: Request, scenario: Scenario) -> tuple[Request, Scenario]:
    """Return the request and the scenario with each action of ``data`` applied in order.

    Raise ValueError for an unknown action.
    """
    for name, value in data.items():
        if name not in ACTIONS:
            raise ValueError(f'data: there is no action {name!r}: {meant(name, ACTIONS)}')
        action, before = ACTIONS[name], request
        if action.of_request is not None:
            request = action.of_request(request, scenario.cloud, value)
        if action.of_scenario is not None:
            scenario = action.of_scenario(scenario, value, before)
    return request, scenario


def needs_hardware(data: Data) -> bool:
    """Check whether any action of ``data`` adds hosts, or devices to hosts."""
    return any(ACTIONS[name].needs_hardware for name in data)


def changes_cloud(name: str) -> bool:
    """Check whether an action changes the cloud, so that it also helps servers that exist."""
    return ACTIONS[name].of_scenario is not None


def commands_of(data: Data, request: Request, scenario: Scenario) -> tuple[str, ...]:
    """Return the command lines for ``data``, quoted for a shell.

    An action without a command adds none. Without hosts, the user is no administrator, and gets
    none that only an administrator may run.

    ``{'enabled_hosts': ['cmp-1']}`` gives
    ``('openstack compute service set --enable cmp-1 nova-compute',)``.
    """
    quoted = cache(shlex.quote)
    lines: list[str] = []
    for number, (name, value) in enumerate(data.items(), 1):
        action = ACTIONS[name]
        if action.commands and (scenario.cloud.hosts is not None or action.is_for_tenants):
            lines += (
                words if isinstance(words, str) else ' '.join(('openstack', *map(quoted, words)))
                for words in action.commands(request, scenario.cloud, value)
            )
        if number < len(data):
            request, scenario = carry_out({name: value}, request, scenario)
    return tuple(lines)


def _with_settings(request: Request, **fields: Any) -> Request:
    """Return the request with other settings."""
    return replace(request, settings=replace(request.settings, **fields))


def _new_host(value: Data) -> Host:
    """Return the host of a description (the example of :mod:`new_hosts`), unused and up."""
    units = value.get('units', {})
    return Host(
        value['name'],
        value['hypervisor_hostname'],
        value.get('hypervisor_type', ''),
        value['availability_zone'],
        aggregates=frozenset(each['uuid'] for each in value['aggregates']),
        traits=frozenset(value['traits']),
        resources={
            name: Resource(capacity, 0, **units.get(name, {}))
            for name, capacity in value['amounts'].items()
        },
        is_nested=value.get('is_nested', False),
        is_partial=value.get('is_partial', False),
        servers=0,
    )


def _new_hosts(scenario: Scenario, value: Data, request: Request) -> Scenario:
    """Append ``number`` copies of the described host, with ``host`` "<name>-1" and so on.

    Names of hosts that exist or have members are skipped; ``hypervisor_hostname`` repeats.
    """
    one = _new_host(value)
    taken = [*scenario.cloud.hosts_by_name, *scenario.members_on(request)]
    names = islice(unused(one.host, taken, 1), value['number'])
    return scenario.add_copies(one, names)


def _aggregate_hosts(scenario: Scenario, value: Data, _request: Request) -> Scenario:
    """Add the hosts to the aggregate, and to its zone if it has one."""
    aggregate = scenario.cloud.aggregates_by_uuid[value['aggregate']['uuid']]
    return scenario.change(value['hosts'], lambda host: with_aggregate(host, aggregate))


def _aggregate_projects(scenario: Scenario, value: Data, _request: Request) -> Scenario:
    """Add the projects to those of the aggregate, which reserves its hosts for them."""
    uuid, cloud = value['aggregate']['uuid'], scenario.cloud
    changed = cloud.aggregates_by_uuid[uuid]
    named = [*filter(None, [changed.metadata.get(TENANT)]), *value['projects']]
    changed = structs.replace(changed, metadata={**changed.metadata, TENANT: ','.join(named)})
    known = cloud.aggregates or ()
    return scenario.with_parts(
        aggregates=tuple(changed if each.uuid == uuid else each for each in known)
    )


def _host_traits(scenario: Scenario, value: Data, _request: Request) -> Scenario:
    """Add the traits to those of the hosts."""
    added = frozenset(value['traits'])
    return scenario.change(value['hosts'], lambda host: host.but(traits=host.traits | added))


def _flavor(request: Request, cloud: Cloud, value: Data) -> Request:
    """Replace the flavor with the cloud's flavor of this id."""
    flavor = next(each for each in cloud.flavors or () if each.id == value['id'])
    return replace(request, flavor=flavor)


def _server_group(request: Request, _cloud: Cloud, value: Data | None) -> Request:
    """Replace the server group with a new one without servers, whose id is its name; or with none.

    ``project_id`` defaults to that of the old group.
    """
    if value is None:
        return replace(request, server_group=None, unknown_group=None)
    old = request.server_group
    name, policy, rules = value['name'], value['policy'], value['rules']
    project = value.get('project_id', None if old is None else old.project_id)
    group = ServerGroup(name, name, policy, rules, project_id=project)
    return replace(request, server_group=group, unknown_group=None)


def _quotas(scenario: Scenario, value: Data, _request: Request) -> Scenario:
    """Set ``limits`` of quotas, and ``user_limits`` of those per user (ignored if not read)."""
    quotas, limits = scenario.cloud.quotas or {}, value['limits']
    raised = {
        **quotas,
        **{key: structs.replace(quotas[key], limit=each) for key, each in limits.items()},
    }
    for name, limit in value.get('user_limits', {}).items():
        of_user = raised[name].of_user
        if of_user is not None:
            raised[name] = structs.replace(
                raised[name], of_user=structs.replace(of_user, limit=limit)
            )
    return scenario.with_parts(quotas=raised)


def _extra_specs(request: Request, _cloud: Cloud, keys: Iterable[str]) -> Request:
    """Remove these extra specs from the flavor, whose id becomes ''; skip an unknown flavor."""
    if request.flavor is None:
        return request
    left = _without(request.flavor.extra_specs, keys)
    return replace(request, flavor=structs.replace(request.flavor, id='', extra_specs=left))


def _set_extra_specs(request: Request, _cloud: Cloud, specs: Mapping[str, str]) -> Request:
    """Set these extra specs of the flavor; skip an unknown flavor."""
    if request.flavor is None:
        return request
    changed = {**request.flavor.extra_specs, **specs}
    return replace(request, flavor=structs.replace(request.flavor, extra_specs=changed))


def _created_traits(scenario: Scenario, names: Iterable[str], _request: Request) -> Scenario:
    """Add the traits to those that exist, if these are known."""
    known = scenario.cloud.traits
    return scenario.with_parts(traits=None if known is None else known.union(names))


def _image_properties(request: Request, _cloud: Cloud, keys: Iterable[str]) -> Request:
    """Remove these properties from the image; unknown properties become {}."""
    image, left = request.image, _without(request.image_properties or {}, keys)
    image = None if image is None else replace(image, properties=left)
    return replace(request, image=image, image_properties=left)


def _without(values: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return a copy without these keys."""
    removed = {*keys}
    return {key: value for key, value in values.items() if key not in removed}


def _available(host: Host) -> Host:
    """Return the host with nothing reserved of classes that are reserved as a whole."""
    resources = {
        name: has if has.capacity else structs.replace(has, capacity=has.reserved, reserved=0)
        for name, has in (host.resources or {}).items()
    }
    return host.but(resources=resources)


def _moved_servers(
    scenario: Scenario, value: Iterable[Mapping[str, str]], request: Request
) -> Scenario:
    """Put each server on its new host, and free what it used on the old one."""
    indexes = scenario.columns.indexes_by_name
    for each in value:
        known = scenario.cloud.servers_by_host[each['from']]
        server = next(one for one in known if one.id == each['id'])
        moved = moves.request_of(server, scenario.cloud, request.settings)
        scenario = scenario.remove(moved, {indexes[each['from']][0]: 1})
        scenario = scenario.place(moved, {indexes[each['to']][0]: 1})
    return scenario


ACTIONS: Mapping[str, Action] = {
    'aggregate_hosts': Action(None, _aggregate_hosts, needs_hardware=True),
    'aggregate_projects': Action(None, _aggregate_projects),
    'availability_zone': Action(
        lambda request, _cloud, zone: replace(request, availability_zone=zone)
    ),
    'available_nodes': Action(
        None, lambda scenario, names, _request: scenario.change(names, _available)
    ),
    'created_traits': Action(None, _created_traits, commands.created_traits),
    'enable_drs_extension': Action(
        lambda request, _cloud, value: replace(request, is_drs_required=value)
    ),
    'enabled_hosts': Action(
        None,
        lambda scenario, names, _request: scenario.change(names, host_status.enabled),
        commands.enabled_hosts,
    ),
    'flavor': Action(_flavor),
    'given_up': Action(
        lambda request, _cloud, names: _with_settings(
            request, waived=request.settings.waived.union(names)
        )
    ),
    'host_traits': Action(None, _host_traits, needs_hardware=True),
    'is_volume_booted': Action(
        lambda request, _cloud, value: replace(request, is_volume_booted=value)
    ),
    'member_of': Action(
        lambda request, cloud, expressions: replace(
            request,
            member_of=resolve_member_of(tuple(expressions), cloud),
            member_of_text=tuple(expressions),
        )
    ),
    'moved_servers': Action(None, _moved_servers, commands.moved_servers),
    'new_hosts': Action(None, _new_hosts, needs_hardware=True),
    'options': Action(
        lambda request, _cloud, values: _with_settings(
            request, options={**request.settings.options, **values}
        )
    ),
    'quotas': Action(None, _quotas, commands.quotas),
    'removed_consumers': Action(
        None,
        lambda scenario, names, _request: scenario.change(names, host_status.without_orphans),
    ),
    'removed_extra_specs': Action(_extra_specs, None, commands.flavor_without),
    'removed_image_properties': Action(_image_properties),
    'requested_host': Action(
        lambda request, _cloud, _none: (
            request if request.elsewhere is None else request.elsewhere[0]
        ),
        lambda scenario, _none, request: (
            scenario if request.elsewhere is None else Scenario.of(request.elsewhere[1])
        ),
    ),
    'server_group': Action(_server_group, None, commands.server_group, is_for_tenants=True),
    'set_extra_specs': Action(_set_extra_specs, None, commands.set_extra_specs),
    'spread': Action(
        lambda request, _cloud, value: replace(request, spread=read_all(value, 'spread'))
    ),
    'started_hosts': Action(
        None,
        lambda scenario, names, _request: scenario.change(names, lambda host: host.but(up=True)),
    ),
}
