"""A snapshot as the text of its file: a line for each host, flavor and group.

What has no order is sorted: the same snapshot is the same text. Fields that few things have
(``max_unit``, ``is_nested``, ``pool``, ...) are written where they say something.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from senlin_affinity.core.objects import (
    Aggregate,
    CloudSnapshot,
    Flavor,
    Host,
    Quota,
    Resource,
)
from senlin_affinity.core.server_group import Member, ServerGroup

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
NO_LIMIT = -1


def text(snapshot: CloudSnapshot, file_format: int) -> Iterator[str]:
    """The file, piece by piece. A part that is not known is left out."""
    yield f'{{"format": {file_format}'
    for name in ('taken_at', 'user_id', 'project_id'):
        value = getattr(snapshot, name)
        if value is not None:
            yield f',\n "{name}": {_ENCODE(value)}'
    if snapshot.availability_zones is not None:
        yield f',\n "availability_zones": {_ENCODE(sorted(snapshot.availability_zones))}'
    parts: tuple[tuple[str, Iterable[Any] | None, Callable[[Any], dict[str, Any]]], ...] = (
        ('hosts', snapshot.hosts, _Hosts()),
        ('aggregates', snapshot.aggregates, _aggregate),
        ('flavors', snapshot.flavors, _flavor),
        ('server_groups', snapshot.server_groups, _server_group),
    )
    for name, things, as_dict in parts:
        if things is not None:
            yield f',\n "{name}": ['
            separator = '\n  '
            for thing in things:
                yield separator + _ENCODE(as_dict(thing))
                separator = ',\n  '
            yield ']'
    if snapshot.pools:
        pools = _by_name(snapshot.pools, lambda resources: _by_name(resources, _resource))
        yield f',\n "pools": {_ENCODE(pools)}'
    if snapshot.quotas is not None:
        yield f',\n "quotas": {_ENCODE(_by_name(snapshot.quotas, _quota))}'
    yield '}\n'


class _Hosts:
    """Hosts as dicts; sets that are equal are sorted once."""

    def __init__(self) -> None:
        self._sorted: dict[frozenset[str], list[str]] = {}

    def __call__(self, host: Host) -> dict[str, Any]:
        resources = host.resources
        return {
            'host': host.host,
            'hypervisor_hostname': host.hypervisor_hostname,
            'hypervisor_type': host.hypervisor_type,
            'availability_zone': host.availability_zone,
            'enabled': host.enabled,
            'up': host.up,
            'aggregates': self._in_order(host.aggregates),
            'traits': self._in_order(host.traits),
            'resources': None if resources is None else _by_name(resources, _resource),
            **({'is_nested': True} if host.is_nested else {}),
            **({'is_partial': True} if host.is_partial else {}),
        }

    def _in_order(self, values: frozenset[str]) -> list[str]:
        known = self._sorted.get(values)
        if known is None:
            known = self._sorted[values] = sorted(values)
        return known


def _resource(resource: Resource) -> dict[str, Any]:
    written: dict[str, Any] = {'capacity': resource.capacity, 'used': resource.used}
    if resource.max_unit is not None:
        written['max_unit'] = resource.max_unit
    if resource.step_size != 1:
        written['step_size'] = resource.step_size
    if resource.is_sum:
        written['is_sum'] = True
    if resource.pool is not None:
        written['pool'] = resource.pool
    return written


def _aggregate(aggregate: Aggregate) -> dict[str, Any]:
    return {
        'uuid': aggregate.uuid,
        'name': aggregate.name,
        'availability_zone': aggregate.availability_zone,
        'metadata': _by_name(aggregate.metadata),
    }


def _flavor(flavor: Flavor) -> dict[str, Any]:
    return {
        'id': flavor.id,
        'name': flavor.name,
        'vcpus': flavor.vcpus,
        'ram': flavor.ram,
        'disk': flavor.disk,
        'ephemeral': flavor.ephemeral,
        'swap': flavor.swap,
        'extra_specs': _by_name(flavor.extra_specs),
    }


def _server_group(group: ServerGroup) -> dict[str, Any]:
    return {
        'id': group.id,
        'name': group.name,
        'policy': group.policy,
        'rules': _by_name(group.rules),
        'members': [_member(member) for member in group.members],
        **({'project_id': group.project_id} if group.project_id is not None else {}),
    }


def _member(member: Member) -> dict[str, Any]:
    written = {'server': member.server, 'host': member.host}
    if member.user is not None:
        written['user'] = member.user
    if member.host_id is not None:
        written['host_id'] = member.host_id
    return written


def _quota(quota: Quota) -> dict[str, int]:
    written = {'limit': NO_LIMIT if quota.limit is None else quota.limit}
    if quota.used is not None:
        written['used'] = quota.used
    return written


def _by_name(
    mapping: Mapping[str, Any], as_json: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any]:
    return {name: as_json(mapping[name]) for name in sorted(mapping)}
