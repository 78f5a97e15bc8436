"""What a snapshot's file holds: the fields of each thing, how they are read and written.

The fields are those of the classes in :mod:`senlin_affinity.core.objects`. Fields that few things
have (``max_unit``, ``is_nested``, ``pool``, ...) are written where they say something; what has no
order is sorted, so that the same snapshot is the same text.

Errors: InvalidSpec with the path inside of the file (``hosts[3].resources.VCPU.capacity``).
"""

from __future__ import annotations

import dataclasses
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from sys import intern
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import (
    Field,
    Rows,
    Table,
    Twice,
    alike,
    by_name,
    each,
    encode,
    text,
    wrong,
)
from senlin_affinity.core import quotas
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.grants import Grant
from senlin_affinity.core.host import Host, Resource
from senlin_affinity.core.member_of import Spelt, spelt
from senlin_affinity.core.objects import Aggregate, CloudSnapshot, Flavor, Quota
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


_short = lru_cache(1024)(encode)


def _sorted(mapping: Mapping[str, Any], write: Callable[[Any], str]) -> str:
    """The mapping as JSON, in the order of its names."""
    texts = [f'{_short(name)}: {write(mapping[name])}' for name in sorted(mapping)]
    return f'{{{", ".join(texts)}}}'


def _all(table: Table[Any]) -> Callable[[Iterable[Any]], str]:
    """Writes a list of things that belong to another one."""
    return lambda things: f'[{", ".join(map(table.write, things))}]'


def _resource_class(name: str) -> str:
    if not _CLASS.fullmatch(name):
        raise InvalidSpec('is no resource class: write one such as VCPU, MEMORY_MB or CUSTOM_GPU')
    return name


def _one_object(words: str) -> Callable[[Any], str]:
    """Reads a string that many hosts have."""
    return lambda value: intern(text(value, words))


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


def _uuid(value: Any) -> str:
    return spelt(text(value))


RESOURCE = Table(
    Resource,
    *alike(fields.amount, 'capacity', 'used', write=repr),
    *alike(fields.size, 'max_unit', 'step_size', write=repr, is_rare=True),
    Field('is_sum', fields.flag, is_rare=True),
    Field('pool', _uuid, is_rare=True),
)
#: A resource of a pool is no sum, and names no pool.
_OF_POOL = Table(Resource, *[*RESOURCE.fields.values()][:4])
GRANT = Table(Grant, Field('query', text), *alike(fields.amount, 'room', 'certain'))
AGGREGATE = Table(
    Aggregate,
    *alike(text, 'uuid', 'name', 'availability_zone'),
    Field('metadata', _stored_by_name),
)
FLAVOR = Table(
    Flavor,
    *alike(text, 'id', 'name'),
    *alike(fields.amount, 'vcpus', 'ram', 'disk', 'ephemeral', 'swap'),
    Field('extra_specs', _stored_by_name),
)
MEMBER = Table(
    Member,
    *alike(text, 'server', 'host'),
    *alike(text, 'user', 'host_id', 'zone', 'state', is_rare=True),
    Field('also_on', lambda items: each(items, text), is_rare=True),
    Field('project', text, is_rare=True),
)


class _Groups(Table[ServerGroup]):
    """Server groups, whose rules are checked with their policy."""

    def read(self, item: Any) -> ServerGroup:
        group = super().read(item)
        return dataclasses.replace(group, rules=check_rules(group.rules, group.policy, 'rules'))


GROUP = _Groups(
    ServerGroup,
    *alike(text, 'id', 'name'),
    Field('policy', _policy),
    Field('rules', _rules),
    Field(
        'members',
        lambda items: each(items, MEMBER.read, 'server'),
        _all(MEMBER),
    ),
    Field('project_id', text, is_rare=True),
)
_OF_USER = Table(
    Quota,
    Field('limit', _limit, lambda limit: encode(NO_LIMIT if limit is None else limit)),
    Field('used', fields.amount, is_rare=True),
)
QUOTA = Table(
    Quota,
    *_OF_USER.fields.values(),
    Field('of_user', _OF_USER.read, _OF_USER.write, is_rare=True),
)
_QUOTAS = Table(
    namedtuple('Quotas', QUOTAS, defaults=[None] * len(QUOTAS)), *alike(QUOTA.read, *QUOTAS)
)


def _quotas(item: Any) -> dict[str, Quota]:
    found = zip(QUOTAS, _QUOTAS.read(item), strict=True)
    return {name: quota for name, quota in found if quota is not None}


def _pools(item: Any) -> dict[str, dict[str, Resource]]:
    words = 'must be an object such as {{{}}}'.format
    resources = by_name(words('"DISK_GB": {...}'), _resource_class, _OF_POOL.read)
    return by_name(words('"<uuid>": {"DISK_GB": {...}}'), spelt, resources)(item)


def _resources_written(resources: Mapping[str, Resource] | None) -> str:
    return 'null' if resources is None else _sorted(resources, RESOURCE.write)


def _service_host(value: Any) -> str:
    words = 'must be the name of the compute service host'
    if value == '':
        raise wrong(words, value)
    return text(value, words)


class Hosts(Table[Host]):
    """Hosts: there are many, so what is equal in those that one table reads is one object."""

    def __init__(self) -> None:
        words = 'must be an object such as {"VCPU": {...}}, or null'
        #: The pools that their resources name.
        self.pools: set[str] = set()
        pool = Field('pool', self._pool)
        self.resource = Table(Resource, *{**RESOURCE.fields, pool.key: pool}.values())
        resources = by_name(words, cache(_resource_class), self.resource.read)
        texts = lru_cache(1024)(lambda values: f'[{", ".join(map(_short, sorted(values)))}]')
        super().__init__(
            Host,
            Field('host', _service_host),
            Field('hypervisor_hostname', text),
            Field('hypervisor_type', _one_object('must be a string, such as QEMU'), _short),
            Field('availability_zone', _one_object('must be a string, or null'), _short),
            *alike(fields.flag, 'enabled', 'up', write=_short),
            Field('aggregates', _texts(Spelt, _uuid), texts),
            Field('traits', _texts(frozenset, text), texts),
            Field('resources', resources, _resources_written),
            *alike(fields.flag, 'is_nested', 'is_partial', is_rare=True),
            Field('grants', _grants(), _all(GRANT), is_rare=True),
            Field('servers', fields.amount, is_rare=True),
            Field('unmirrored', _texts(Spelt, _uuid), texts, is_rare=True),
        )

    def _pool(self, value: Any) -> str:
        uuid = _uuid(value)
        self.pools.add(uuid)
        return uuid

    def _rows_of(self, keys: tuple[str, ...]) -> Rows:
        if 'host' not in keys:
            words = 'is missing: it must be the name of the compute service host'
            raise InvalidSpec(words, 'host')
        if 'hypervisor_hostname' in keys:
            return super()._rows_of(keys)
        rows, least = super()._rows_of((*keys, 'hypervisor_hostname'))
        rows[1] = rows[0]
        return rows, least


def _grants() -> Callable[[Any], tuple[Grant, ...]]:
    """Reads what Placement grants; equal grants become one object."""
    one = cache(lambda grants: grants)
    return lambda items: one(tuple(map(one, each(items, GRANT.read, 'query'))))


def _texts(
    gathered: Callable[[Iterable[str]], frozenset[str]], one: Callable[[Any], str]
) -> Callable[[Any], frozenset[str]]:
    """Reads lists of strings; equal ones become one object, and so do equal strings."""
    one = cache(one)

    @cache
    def known(values: tuple[str, ...]) -> frozenset[str]:
        if not all(type(value) is str for value in values):
            raise wrong(_LIST_OF_TEXTS, [*values])
        return gathered(each([*values], one))

    def read(value: Any) -> frozenset[str]:
        if type(value) is not list:
            raise wrong(_LIST_OF_TEXTS, value)
        try:
            return known(tuple(value))
        except TypeError as error:  # a list or an object among the strings
            raise wrong(_LIST_OF_TEXTS, value) from error

    return read


class Snapshots(Table[CloudSnapshot]):
    """The parts of the file beside its format; all of them may be left out."""

    def __init__(self, hosts: Hosts) -> None:
        super().__init__(
            CloudSnapshot,
            *alike(text, 'taken_at', 'user_id', 'project_id', is_rare=True),
            *alike(_names, 'availability_zones', 'closed_zones', 'answered', is_rare=True),
            _things('hosts', hosts, 'host', 'hypervisor_hostname', words=', or null'),
            _things('aggregates', AGGREGATE, 'uuid'),
            _things('flavors', FLAVOR, 'id'),
            _things('server_groups', GROUP, 'id'),
            _things('soft_deleted', MEMBER, 'server'),
            Field('pools', _pools, lambda pools: _sorted(pools, _resources_written), is_rare=True),
            Field('quotas', _quotas, lambda found: _sorted(found, QUOTA.write), is_rare=True),
        )


def _things(key: str, table: Table[Any], *keys: str, words: str = '') -> Field:
    """A list of things, which is written one by one; a tuple of them has been read before."""

    def read(items: Any) -> tuple[Any, ...]:
        if type(items) is tuple:
            return items
        return each(items, table.read, *keys, words=f'must be a list{words}')

    return Field(
        key,
        read,
        lambda things: map(table.write, things),
        is_rare=True,
    )


def _names(items: Any) -> frozenset[str]:
    return frozenset(each(items, text))
