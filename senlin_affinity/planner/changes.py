"""Apply the changes of a remedy, which are plain data, to a resolved request.

Each key of a remedy's ``data`` is an action; several are applied together::

    {'server_group': {'name': 'web-2', 'policy': 'anti-affinity',
                      'rules': {'max_server_per_host': 2},             a new group, without servers
                      'project_id': '...'}}                            its owner, if known
    {'availability_zone': 'az-2'}   {'member_of': []}
    {'spread': [{'by': 'rack', 'max_skew': 2, 'mode': 'hard'}]}          all of them; [] is none
    {'enable_drs_extension': False}   {'flavor': {'id': '2', 'name': 'm1.small'}}
    {'removed_extra_specs': ['trait:CUSTOM_A']}, ``removed_image_properties`` beside it
    {'new_hosts': {'number': 2, 'name': 'cmp-1-new', 'amounts': {'VCPU': 64}, ...}}
    {'enabled_hosts': ['cmp-1'], 'started_hosts': ['cmp-2']}
    {'aggregate_hosts': {'aggregate': {'name': 'ssd', 'uuid': '...'}, 'hosts': ['cmp-1']}}
    {'host_traits': {'traits': ['CUSTOM_A'], 'hosts': ['cmp-1']}}
    {'quotas': {'project_id': '...', 'limits': {'instances': 7}}}    and user_id, user_limits
    {'options': {'most_per_rack': 3}}   {'given_up': ['fence']}          a waived constraint

Units: those of the snapshot. A zone of None drops the requested zone. New hosts are empty;
``units`` has the fields of their resource classes that differ from the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.proposal import Data, unused
from senlin_affinity.model.request import ResolvedRequest
from senlin_affinity.model.server_group import ServerGroup
from senlin_affinity.model.spread import read_all
from senlin_affinity.nova.alternatives import with_aggregate
from senlin_affinity.nova.host_status import enabled
from senlin_affinity.planner.resolution import member_of

_Action = Callable[[ResolvedRequest, Any], ResolvedRequest]


def carry_out(data: Data, resolved: ResolvedRequest) -> ResolvedRequest:
    """Return the request with each action of ``data`` applied in order."""
    for name, value in data.items():
        resolved = _ACTIONS[name](resolved, value)
    return resolved


def _started(host: Host) -> Host:
    return host.but(up=True)


def _with_hosts(resolved: ResolvedRequest, hosts: Iterable[Host]) -> ResolvedRequest:
    return replace(resolved, snapshot=replace(resolved.snapshot, hosts=tuple(hosts)))


def _each_host(
    resolved: ResolvedRequest, names: Iterable[str], change: Callable[[Host], Host]
) -> ResolvedRequest:
    """Return the request with the hosts of these services changed."""
    chosen, hosts = set(names), resolved.snapshot.hosts or ()
    return _with_hosts(resolved, (change(each) if each.host in chosen else each for each in hosts))


def _new_host(value: Data) -> Host:
    """Return one of the new hosts from its description (:mod:`new_hosts`)."""
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
    hosts, one = resolved.snapshot.hosts or (), _new_host(value)
    taken = [*resolved.snapshot.hosts_by_name, *resolved.members_on]
    names = islice(unused(one.host, taken, 1), value['number'])
    new = (one.but(host=name) for name in names)
    return _with_hosts(resolved, (*hosts, *new))


def _aggregate_hosts(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    aggregate = resolved.snapshot.aggregates_by_uuid[value['aggregate']['uuid']]
    return _each_host(resolved, value['hosts'], lambda host: with_aggregate(host, aggregate))


def _host_traits(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    given = frozenset(value['traits'])
    return _each_host(resolved, value['hosts'], lambda host: host.but(traits=host.traits | given))


def _flavor(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    known = resolved.snapshot.flavors or ()
    flavor = next(each for each in known if each.id == value['id'])
    return replace(resolved, request=replace(resolved.request, flavor=flavor.id), flavor=flavor)


def _server_group(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    old = resolved.server_group
    name, policy, rules = value['name'], value['policy'], value['rules']
    project = value.get('project_id', None if old is None else old.project_id)
    group = ServerGroup(name, name, policy, rules, project_id=project)
    request = replace(resolved.request, server_group=name)
    return replace(resolved, request=request, server_group=group)


def _quotas(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    known, limits = resolved.snapshot.quotas or {}, value['limits']
    raised = {**known, **{key: replace(known[key], limit=each) for key, each in limits.items()}}
    for name, limit in value.get('user_limits', {}).items():
        of_user = raised[name].of_user
        if of_user is not None:
            raised[name] = replace(raised[name], of_user=replace(of_user, limit=limit))
    return replace(resolved, snapshot=replace(resolved.snapshot, quotas=raised))


def _availability_zone(resolved: ResolvedRequest, value: str | None) -> ResolvedRequest:
    return replace(resolved, request=replace(resolved.request, availability_zone=value))


def _member_of(resolved: ResolvedRequest, value: list[str]) -> ResolvedRequest:
    expressions = tuple(value)
    asked = member_of(expressions, resolved.snapshot)
    request = replace(resolved.request, member_of=expressions)
    return replace(resolved, request=request, member_of=asked)


def _spread(resolved: ResolvedRequest, value: list[Data]) -> ResolvedRequest:
    request = replace(resolved.request, spread=read_all(value, 'spread'))
    return replace(resolved, request=request)


def _extra_specs(resolved: ResolvedRequest, value: Iterable[str]) -> ResolvedRequest:
    if resolved.flavor is None:
        return resolved
    left = _without(resolved.flavor.extra_specs, value)
    return replace(resolved, flavor=replace(resolved.flavor, id='', extra_specs=left))


def _image_properties(resolved: ResolvedRequest, value: Iterable[str]) -> ResolvedRequest:
    request, left = resolved.request, _without(resolved.image_properties or {}, value)
    image = None if request.image is None else replace(request.image, properties=left)
    return replace(resolved, request=replace(request, image=image, image_properties=left))


def _without(known: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    left = dict(known)
    for name in names:
        left.pop(name, None)
    return left


def _drs(resolved: ResolvedRequest, value: bool) -> ResolvedRequest:
    return replace(resolved, rules=replace(resolved.rules, is_drs_required=value))


def _options(resolved: ResolvedRequest, value: Data) -> ResolvedRequest:
    rules = resolved.rules
    return replace(resolved, rules=replace(rules, options={**rules.options, **value}))


def _given_up(resolved: ResolvedRequest, value: Iterable[str]) -> ResolvedRequest:
    given_up = resolved.rules.given_up.union(value)
    return replace(resolved, rules=replace(resolved.rules, given_up=given_up))


_ACTIONS: Mapping[str, _Action] = {
    'aggregate_hosts': _aggregate_hosts,
    'availability_zone': _availability_zone,
    'enable_drs_extension': _drs,
    'enabled_hosts': lambda resolved, names: _each_host(resolved, names, enabled),
    'flavor': _flavor,
    'given_up': _given_up,
    'host_traits': _host_traits,
    'member_of': _member_of,
    'new_hosts': _new_hosts,
    'options': _options,
    'quotas': _quotas,
    'removed_extra_specs': _extra_specs,
    'removed_image_properties': _image_properties,
    'server_group': _server_group,
    'spread': _spread,
    'started_hosts': lambda resolved, names: _each_host(
        resolved, names, lambda host: host.but(up=True)
    ),
}
