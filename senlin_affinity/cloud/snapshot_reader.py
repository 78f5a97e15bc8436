"""Reads what a snapshot's file holds beside the hosts: by tables of fields, strictly.

Errors: InvalidSpec with the path inside of the part (``[3].rules.max_server_per_host``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import Field
from senlin_affinity.cloud.snapshot_hosts import RESOURCE, resource_class
from senlin_affinity.cloud.snapshot_writer import NO_LIMIT
from senlin_affinity.core import quotas
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import spelt
from senlin_affinity.core.objects import Aggregate, Flavor, Quota, Resource
from senlin_affinity.core.server_group import Member, ServerGroup, check_policy, check_rules


def _limit(value: Any) -> int | None:
    if type(value) is not int or value < NO_LIMIT:
        raise fields.wrong('must be an integer of 0 or more, or -1 for no limit', value)
    return None if value == NO_LIMIT else value


def _policy(value: Any) -> str:
    """One of Nova's policies; groups from before there were any have ''."""
    return '' if value == '' else check_policy(value, '')


_TEXT_OR_NULL = partial(fields.or_null, fields.text)
AGGREGATE = (
    Field('uuid', fields.text),
    Field('name', fields.text),
    Field('availability_zone', _TEXT_OR_NULL, None),
    Field('metadata', fields.texts_by_name, {}),
)
FLAVOR = (
    Field('id', fields.text),
    Field('name', fields.text),
    Field('vcpus', fields.AMOUNT),
    Field('ram', fields.AMOUNT),
    Field('disk', fields.AMOUNT),
    Field('ephemeral', fields.AMOUNT, 0),
    Field('swap', fields.AMOUNT, 0),
    Field('extra_specs', fields.texts_by_name, {}),
)
MEMBER = (
    Field('server', fields.text),
    Field('host', _TEXT_OR_NULL, None),
    Field('user', _TEXT_OR_NULL, None),
    Field('host_id', _TEXT_OR_NULL, None),
)
GROUP = (
    Field('id', fields.text),
    Field('name', fields.text),
    Field('policy', _policy),
    Field('rules', lambda value: value, {}),
    Field('members', lambda value: fields.each(value, _member, 'server'), []),
    Field('project_id', _TEXT_OR_NULL, None),
)
#: A resource of a pool is no sum, and names no pool.
POOL = RESOURCE[:4]
QUOTA = (Field('limit', _limit), Field('used', partial(fields.or_null, fields.AMOUNT), None))
QUOTAS = tuple(
    Field(name, partial(fields.or_null, lambda value: Quota(*fields.values(value, QUOTA))), None)
    for name in (
        quotas.INSTANCES,
        quotas.CORES,
        quotas.RAM,
        quotas.SERVER_GROUPS,
        quotas.SERVER_GROUP_MEMBERS,
    )
)


def _aggregate(item: Any) -> Aggregate:
    return Aggregate(*fields.values(item, AGGREGATE))


def _flavor(item: Any) -> Flavor:
    return Flavor(*fields.values(item, FLAVOR))


def _member(item: Any) -> Member:
    return Member(*fields.values(item, MEMBER))


def _server_group(item: Any) -> ServerGroup:
    identity, name, policy, rules, members, project = fields.values(item, GROUP)
    rules = check_rules(rules, policy, 'rules')
    return ServerGroup(identity, name, policy, rules, members, project)


def _quotas(item: Any) -> dict[str, Quota]:
    found = fields.values(item, QUOTAS)
    return {
        field.key: quota for field, quota in zip(QUOTAS, found, strict=True) if quota is not None
    }


def _pools(item: Any) -> dict[str, dict[str, Resource]]:
    if type(item) is not dict:
        raise fields.wrong('must be an object such as {"<uuid>": {"DISK_GB": {...}}}', item)
    pools: dict[str, dict[str, Resource]] = {}
    for name, resources in item.items():
        uuid = spelt(name)
        if uuid in pools:
            raise InvalidSpec(f'is {uuid}, which is there already', name)
        try:
            pools[uuid] = _resources(resources)
        except InvalidSpec as error:
            raise fields.below(name, error) from error
    return pools


def _resources(item: Any) -> dict[str, Resource]:
    if type(item) is not dict:
        raise fields.wrong('must be an object such as {"DISK_GB": {...}}', item)
    resources = {}
    for name, amount in item.items():
        resource_class(name)
        try:
            resources[name] = Resource(*fields.values(amount, POOL))
        except InvalidSpec as error:
            raise fields.below(name, error) from error
    return resources


def _zones(item: Any) -> frozenset[str]:
    return frozenset(fields.each(item, fields.text, '__str__'))


#: How each part of the file is read; the hosts are not among them.
PARTS: Mapping[str, Callable[[Any], Any]] = {
    'taken_at': fields.text,
    'user_id': fields.text,
    'project_id': fields.text,
    'availability_zones': _zones,
    'aggregates': lambda items: fields.each(items, _aggregate, 'uuid'),
    'flavors': lambda items: fields.each(items, _flavor, 'id'),
    'server_groups': lambda items: fields.each(items, _server_group, 'id'),
    'quotas': _quotas,
    'pools': _pools,
}
