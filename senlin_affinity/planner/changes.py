"""Apply the changes of a remedy, which are plain data, to a resolved request.

Each key of a remedy's ``data`` is an action::

    {'server_group': {'name': 'web-2', 'policy': 'anti-affinity',
                      'rules': {'max_server_per_host': 2},             a new group, without servers
                      'project_id': '...'}}                            its owner, if known
    {'availability_zone': 'az-2'}   {'member_of': []}
    {'spread': [{'by': 'rack', 'max_skew': 2, 'mode': 'hard'}]}          all of them; [] is none
    {'enable_drs_extension': False}   {'flavor': {'id': '2', 'name': 'm1.small'}}
    {'removed_extra_specs': ['trait:CUSTOM_A']}, ``removed_image_properties`` beside it
    {'set_extra_specs': {'group_policy': 'none'}}   {'created_traits': ['CUSTOM_A']}
    {'new_hosts': {'number': 2, 'name': 'cmp-1-new', 'amounts': {'VCPU': 64}, ...}}
    {'enabled_hosts': ['cmp-1'], 'started_hosts': ['cmp-2']}
    {'aggregate_hosts': {'aggregate': {'name': 'ssd', 'uuid': '...'}, 'hosts': ['cmp-1']}}
    {'host_traits': {'traits': ['CUSTOM_A'], 'hosts': ['cmp-1']}}
    {'quotas': {'project_id': '...', 'limits': {'instances': 7}}}    and user_id, user_limits
    {'options': {'most_per_rack': 3}}   {'given_up': ['fence']}          a waived constraint

A zone of None drops the requested zone. ``units`` of new hosts has the fields of their resource
classes that differ from the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from msgspec import structs

from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.proposal import Data, unused
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import read_all
from senlin_affinity.model.suggestion import meant
from senlin_affinity.nova.alternatives import with_aggregate
from senlin_affinity.nova.host_status import enabled
from senlin_affinity.planner.resolution import member_of
from senlin_affinity.scenario.columns import Columns

_Action = Callable[[ResolvedRequest, Any], ResolvedRequest]


def carry_out(data: Data, resolved: ResolvedRequest) -> ResolvedRequest:
    """Return the request with each action of ``data`` applied in order.

    Raise ValueError for an unknown action.
    """
    for name, value in data.items():
        if name not in _ACTIONS:
            raise ValueError(f'data: there is no action {name!r}: {meant(name, _ACTIONS)}')
        resolved = _ACTIONS[name](resolved, value)
    return resolved


def _with_request(resolved: ResolvedRequest, **fields: Any) -> ResolvedRequest:
    """Return the request with other fields of ``PlacementRequest``."""
    return replace(resolved, request=replace(resolved.request, **fields))


def _with_rules(resolved: ResolvedRequest, **fields: Any) -> ResolvedRequest:
    """Return the request with other fields of ``Rules``."""
    return replace(resolved, rules=replace(resolved.rules, **fields))


def _with_hosts(
    resolved: ResolvedRequest, changed: Mapping[int, Host], **parts: Any
) -> ResolvedRequest:
    """Return the request with other hosts at these indexes, and other parts of the cloud.

    An index after the last appends.
    """
    columns = Columns.of(resolved.snapshot).with_hosts(changed, **parts)
    return replace(resolved, snapshot=columns.cloud)


def _each_host(
    resolved: ResolvedRequest, names: Iterable[str], change: Callable[[Host], Host]
) -> ResolvedRequest:
    """Return the request with ``change`` applied to each host of these service hosts."""
    columns = Columns.of(resolved.snapshot)
    indexes = (index for name in {*names} for index in columns.indexes_by_name.get(name, ()))
    return _with_hosts(resolved, {index: change(columns.hosts[index]) for index in sorted(indexes)})


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


def _new_hosts(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Append ``number`` copies of the described host, with ``host`` "<name>-1" and so on.

    Names of hosts that exist or have members are skipped; ``hypervisor_hostname`` repeats.
    """
    hosts, one = resolved.snapshot.hosts or (), _new_host(value)
    taken = [*resolved.snapshot.hosts_by_name, *resolved.members_on]
    names = islice(unused(one.host, taken, 1), value['number'])
    new = enumerate((one.but(host=name) for name in names), len(hosts))
    return _with_hosts(resolved, dict(new))


def _aggregate_hosts(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Add the hosts to the aggregate, and to its zone if it has one."""
    aggregate = resolved.snapshot.aggregates_by_uuid[value['aggregate']['uuid']]
    return _each_host(resolved, value['hosts'], lambda host: with_aggregate(host, aggregate))


def _host_traits(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Add the traits to those of the hosts."""
    added = frozenset(value['traits'])
    return _each_host(resolved, value['hosts'], lambda host: host.but(traits=host.traits | added))


def _flavor(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Replace the flavor with the snapshot's flavor of this id."""
    flavors = resolved.snapshot.flavors or ()
    flavor = next(each for each in flavors if each.id == value['id'])
    return replace(_with_request(resolved, flavor=flavor.id), flavor=flavor)


def _server_group(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Replace the server group with a new one without servers, whose id is its name.

    ``project_id`` defaults to that of the old group.
    """
    old = resolved.server_group
    name, policy, rules = value['name'], value['policy'], value['rules']
    project = value.get('project_id', None if old is None else old.project_id)
    group = ServerGroup(name, name, policy, rules, project_id=project)
    return replace(_with_request(resolved, server_group=name), server_group=group)


def _quotas(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    """Set ``limits`` of quotas, and ``user_limits`` of those per user (ignored if not read)."""
    quotas, limits = resolved.snapshot.quotas or {}, value['limits']
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
    return _with_hosts(resolved, {}, quotas=raised)


def _member_of(resolved: ResolvedRequest, expressions: list[str]) -> ResolvedRequest:
    """Replace the expressions, and resolve the names of their aggregates."""
    of_request = tuple(expressions)
    by_uuid = member_of(of_request, resolved.snapshot)
    return replace(_with_request(resolved, member_of=of_request), member_of=by_uuid)


def _extra_specs(resolved: ResolvedRequest, keys: Iterable[str]) -> ResolvedRequest:
    """Remove these extra specs from the flavor, whose id becomes ''; skip an unknown flavor."""
    if resolved.flavor is None:
        return resolved
    left = _without(resolved.flavor.extra_specs, keys)
    return replace(resolved, flavor=structs.replace(resolved.flavor, id='', extra_specs=left))


def _set_extra_specs(resolved: ResolvedRequest, specs: Mapping[str, str]) -> ResolvedRequest:
    """Set these extra specs of the flavor; skip an unknown flavor."""
    if resolved.flavor is None:
        return resolved
    changed = {**resolved.flavor.extra_specs, **specs}
    return replace(resolved, flavor=structs.replace(resolved.flavor, extra_specs=changed))


def _created_traits(resolved: ResolvedRequest, names: Iterable[str]) -> ResolvedRequest:
    """Add the traits to those that exist, if these are known."""
    known = resolved.snapshot.traits
    traits = None if known is None else known.union(names)
    return _with_hosts(resolved, {}, traits=traits)


def _image_properties(resolved: ResolvedRequest, keys: Iterable[str]) -> ResolvedRequest:
    """Remove these properties from the image; unknown properties become {}."""
    image, left = resolved.request.image, _without(resolved.image_properties or {}, keys)
    image = None if image is None else replace(image, properties=left)
    return _with_request(resolved, image=image, image_properties=left)


def _without(values: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return a copy without these keys."""
    removed = {*keys}
    return {key: value for key, value in values.items() if key not in removed}


_ACTIONS: Mapping[str, _Action] = {
    'aggregate_hosts': _aggregate_hosts,
    'availability_zone': lambda resolved, zone: _with_request(resolved, availability_zone=zone),
    'created_traits': _created_traits,
    'enable_drs_extension': lambda resolved, value: _with_rules(resolved, is_drs_required=value),
    'enabled_hosts': lambda resolved, names: _each_host(resolved, names, enabled),
    'flavor': _flavor,
    'given_up': lambda resolved, names: _with_rules(
        resolved, given_up=resolved.rules.given_up.union(names)
    ),
    'host_traits': _host_traits,
    'member_of': _member_of,
    'new_hosts': _new_hosts,
    'options': lambda resolved, values: _with_rules(
        resolved, options={**resolved.rules.options, **values}
    ),
    'quotas': _quotas,
    'removed_extra_specs': _extra_specs,
    'removed_image_properties': _image_properties,
    'server_group': _server_group,
    'set_extra_specs': _set_extra_specs,
    'spread': lambda resolved, value: _with_request(resolved, spread=read_all(value, 'spread')),
    'started_hosts': lambda resolved, names: _each_host(
        resolved, names, lambda host: host.but(up=True)
    ),
}
