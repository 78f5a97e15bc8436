"""What a snapshot's file holds: the fields of each thing, how they are read and written.

The fields are those of the classes in :mod:`senlin_affinity.core.objects`. Fields that few things
have (``max_unit``, ``is_nested``, ``pool``, ...) are written where they say something; what has no
order is sorted, so that the same snapshot is the same text.

Errors: InvalidSpec with the path inside of the file (``hosts[3].resources.VCPU.capacity``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from sys import intern
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import (
    Field,
    Table,
    Twice,
    amount,
    by_name,
    each,
    flag,
    text,
    wrong,
)
from senlin_affinity.core import quotas
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import all_spelt, spelt
from senlin_affinity.core.objects import Aggregate, CloudSnapshot, Flavor, Host, Quota, Resource
from senlin_affinity.core.server_group import Member, ServerGroup, check_policy, check_rules

NO_LIMIT = -1
#: The names of the quotas that a file may have.
QUOTAS = (
    quotas.INSTANCES,
    quotas.CORES,
    quotas.RAM,
    quotas.SERVER_GROUPS,
    quotas.SERVER_GROUP_MEMBERS,
)
_CLASS = re.compile('[A-Z0-9_]+')
_LIST_OF_TEXTS = 'must be a list of strings'
_stored_by_name = by_name('must be an object of strings', fields.stored, fields.stored)


def _sorted(mapping: Mapping[str, Any], write: Callable[[Any], Any] | None = None) -> Any:
    """The mapping in the order of its names."""
    return {
        name: mapping[name] if write is None else write(mapping[name]) for name in sorted(mapping)
    }


def _resource_class(name: str) -> str:
    if not _CLASS.fullmatch(name):
        raise InvalidSpec('is no resource class: write one such as VCPU, MEMORY_MB or CUSTOM_GPU')
    return name


_spelt = lru_cache(spelt)


def _zone(value: Any) -> str:
    return intern(text(value, 'must be a string, or null'))


def _kind(value: Any) -> str:
    return intern(text(value, 'must be a string, such as QEMU'))


def _limit(value: Any) -> int | None:
    if type(value) is not int or value < NO_LIMIT:
        raise wrong('must be an integer of 0 or more, or -1 for no limit', value)
    return None if value == NO_LIMIT else value


def _policy(value: Any) -> str:
    """One of Nova's policies; groups from before there were any have ''."""
    return '' if value == '' else check_policy(value, '')


def _rules(value: Any) -> Any:
    """As they are: they are checked with the policy."""
    if isinstance(value, Twice):
        raise wrong('', value)
    return value


RESOURCE = Table(
    Resource,
    Field('capacity', amount),
    Field('used', amount),
    Field('max_unit', fields.size, is_rare=True),
    Field('step_size', fields.size, is_rare=True),
    Field('is_sum', flag, is_rare=True),
    Field('pool', lambda value: _spelt(text(value)), is_rare=True),
)
#: A resource of a pool is no sum, and names no pool.
_OF_POOL = Table(Resource, *[*RESOURCE.fields.values()][:4])
AGGREGATE = Table(
    Aggregate,
    Field('uuid', text),
    Field('name', text),
    Field('availability_zone', text),
    Field('metadata', _stored_by_name, _sorted),
)
FLAVOR = Table(
    Flavor,
    Field('id', text),
    Field('name', text),
    Field('vcpus', amount),
    Field('ram', amount),
    Field('disk', amount),
    Field('ephemeral', amount),
    Field('swap', amount),
    Field('extra_specs', _stored_by_name, _sorted),
)
MEMBER = Table(
    Member,
    Field('server', text),
    Field('host', text),
    Field('user', text, is_rare=True),
    Field('host_id', text, is_rare=True),
    Field('zone', text, is_rare=True),
)
GROUP = Table(
    ServerGroup,
    Field('id', text),
    Field('name', text),
    Field('policy', _policy),
    Field('rules', _rules, _sorted),
    Field(
        'members',
        lambda items: each(items, MEMBER.read, 'server'),
        lambda members: [*map(MEMBER.write, members)],
    ),
    Field('project_id', text, is_rare=True),
)
QUOTA = Table(
    Quota,
    Field('limit', _limit, lambda limit: NO_LIMIT if limit is None else limit),
    Field('used', amount, is_rare=True),
)


def _server_group(item: Any) -> ServerGroup:
    group = GROUP.read(item)
    return dataclasses.replace(group, rules=check_rules(group.rules, group.policy, 'rules'))


def _quotas(item: Any) -> dict[str, Quota]:
    words = f'must be an object with {", ".join(QUOTAS)}'
    found = by_name(words, _quota_name, _quota)(item)
    return {name: quota for name, quota in found.items() if quota is not None}


def _quota(item: Any) -> Quota | None:
    return None if item is None else QUOTA.read(item)


def _quota_name(name: str) -> str:
    if name not in QUOTAS:
        raise InvalidSpec(fields.unknown_key([name], QUOTAS).message)
    return name


def _pools(item: Any) -> dict[str, dict[str, Resource]]:
    words = 'must be an object such as {{{}}}'.format
    resources = by_name(words('"DISK_GB": {...}'), _resource_class, _OF_POOL.read)
    return by_name(words('"<uuid>": {"DISK_GB": {...}}'), spelt, resources)(item)


def _resources_written(resources: Mapping[str, Resource] | None) -> Any:
    return resources and _sorted(resources, RESOURCE.write)


def _service_host(value: Any) -> str:
    words = 'must be the name of the compute service host'
    if value == '':
        raise wrong(words, value)
    return text(value, words)


class Hosts(Table[Host]):
    """Hosts: there are many, so what is equal in those that one table reads is one object."""

    def __init__(self) -> None:
        words = 'must be an object such as {"VCPU": {...}}, or null'
        resources = by_name(words, cache(_resource_class), RESOURCE.read)
        super().__init__(
            Host,
            Field('host', _service_host),
            Field('hypervisor_hostname', text),
            Field('hypervisor_type', _kind),
            Field('availability_zone', _zone),
            Field('enabled', flag),
            Field('up', flag),
            Field('aggregates', _texts(all_spelt)),
            Field('traits', _texts(frozenset)),
            Field('resources', resources, _resources_written),
            Field('is_nested', flag, is_rare=True),
            Field('is_partial', flag, is_rare=True),
        )

    def read(self, item: Any) -> Host:
        """One host, or what was one already."""
        if type(item) is Host:
            return item
        if type(item) is dict:
            if 'host' not in item:
                words = 'is missing: it must be the name of the compute service host'
                raise InvalidSpec(words, 'host')
            item.setdefault('hypervisor_hostname', item['host'])
        return super().read(item)


def _texts(gathered: Callable[[list[str]], frozenset[str]]) -> Callable[[Any], frozenset[str]]:
    """Reads lists of strings; equal ones become one object."""

    @cache
    def known(values: tuple[str, ...]) -> frozenset[str]:
        if not all(type(value) is str for value in values):
            raise wrong(_LIST_OF_TEXTS, [*values])
        return gathered(each([*values], text))

    def read(value: Any) -> frozenset[str]:
        if type(value) is not list:
            raise wrong(_LIST_OF_TEXTS, value)
        try:
            return known(tuple(value))
        except TypeError as error:  # a list or an object among the strings
            raise wrong(_LIST_OF_TEXTS, value) from error

    return read


class Snapshots(Table[CloudSnapshot]):
    """The parts of the file beside its format."""

    def __init__(self, hosts: Hosts) -> None:
        def part(key: str, read: Callable[[Any], Any], write: Any = None) -> Field:
            return Field(key, read, write, is_rare=True)

        def things(key: str, table: Table[Any], read: Callable[[Any], Any], *keys: str) -> Field:
            words = 'must be a list, or null' if table is hosts else 'must be a list'
            return part(
                key,
                lambda items: each(items, read, *keys, words=words),
                lambda things: map(table.write, things),
            )

        super().__init__(
            CloudSnapshot,
            part('taken_at', text),
            part('user_id', text),
            part('project_id', text),
            part('availability_zones', _zones),
            part('closed_zones', _zones),
            things('hosts', hosts, hosts.read, 'host', 'hypervisor_hostname'),
            things('aggregates', AGGREGATE, AGGREGATE.read, 'uuid'),
            things('flavors', FLAVOR, FLAVOR.read, 'id'),
            things('server_groups', GROUP, _server_group, 'id'),
            part('pools', _pools, _pools_written),
            part('quotas', _quotas, partial(_sorted, write=QUOTA.write)),
        )


def _zones(items: Any) -> frozenset[str]:
    return frozenset(each(items, text))


def _pools_written(pools: Mapping[str, Mapping[str, Resource]]) -> Any:
    return _sorted(pools, _resources_written)
