"""Define the fields of a snapshot file: how each is checked, read and written.

Unordered values are sorted, so that equal snapshots have equal text.

Raises: InvalidSpec with the path inside of the file (``hosts[3].resources.VCPU.capacity``).
"""

from __future__ import annotations

import dataclasses
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import (
    DuplicateKey,
    Field,
    Schema,
    alike,
    by_name,
    each,
    encode,
    text,
    wrong,
)
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.candidate_capacity import CandidateCapacity
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.member_of import CanonicalUuids, spelt
from senlin_affinity.model.server_group import Member, ServerGroup, check_policy, check_rules
from senlin_affinity.model.snapshot import CloudSnapshot, Flavor, Quota
from senlin_affinity.nova import quotas

NO_LIMIT = -1
QUOTAS = (
    quotas.INSTANCES,
    quotas.CORES,
    quotas.RAM,
    quotas.SERVER_GROUPS,
    quotas.SERVER_GROUP_MEMBERS,
    quotas.METADATA_ITEMS,
)
_CLASS = re.compile('[A-Z0-9_]+')
_stored_by_name = by_name('must be an object with strings', fields.stored, fields.stored)


short = lru_cache(1024)(encode)


def _sorted(mapping: Mapping[str, Any], write: Callable[[Any], str]) -> str:
    """Return the JSON text of a mapping, sorted by name; ``write`` encodes its values."""
    texts = [f'{short(name)}: {write(mapping[name])}' for name in sorted(mapping)]
    return f'{{{", ".join(texts)}}}'


def list_of(table: Schema[Any]) -> Callable[[Iterable[Any]], str]:
    """Return a function that returns the JSON text of a list."""
    return lambda things: f'[{", ".join(map(table.write, things))}]'


def resource_class(name: str) -> str:
    """Return a name of A-Z, 0-9 and _ unchanged; raise InvalidSpec for any other, or ''."""
    if not _CLASS.fullmatch(name):
        raise InvalidSpec(
            'is not a resource class: write one such as VCPU, MEMORY_MB or CUSTOM_GPU'
        )
    return name


def _limit(value: Any) -> int | None:
    """Return an integer from 0, and None for -1 (no limit); otherwise, raise InvalidSpec."""
    if type(value) is not int or value < NO_LIMIT:
        raise wrong('must be an integer of 0 or more, or -1 for no limit', value)
    return None if value == NO_LIMIT else value


def _rules(value: Any) -> Any:
    """Return the value, which ``_Groups`` checks; raise InvalidSpec for a duplicate key."""
    if isinstance(value, DuplicateKey):
        raise wrong('', value)
    return value


def aggregate_uuid(value: Any) -> str:
    """Return a UUID in canonical form, other text unchanged; raise InvalidSpec if not text."""
    return spelt(text(value))


RESOURCE = Schema(
    Resource,
    *alike(fields.amount, 'capacity', 'used', write=repr),
    *alike(fields.size, 'max_unit', 'step_size', write=repr, is_rare=True),
    Field('is_sum', fields.flag, is_rare=True),
    Field('pool', aggregate_uuid, is_rare=True),
)
#: The resource of a pool has neither ``is_sum`` nor ``pool``.
_OF_POOL = Schema(Resource, *[*RESOURCE.fields.values()][:4])
GRANT = Schema(CandidateCapacity, Field('query', text), *alike(fields.amount, 'room', 'certain'))
AGGREGATE = Schema(
    Aggregate,
    *alike(text, 'uuid', 'name', 'availability_zone'),
    Field('metadata', _stored_by_name),
)


FLAVOR = Schema(
    Flavor,
    *alike(text, 'id', 'name'),
    *alike(fields.amount, 'vcpus', 'ram', 'disk', 'ephemeral', 'swap'),
    Field('extra_specs', _stored_by_name),
    Field('is_shared', lambda value: None if value is None else fields.flag(value), is_rare=True),
)
MEMBER = Schema(
    Member,
    *alike(text, 'server', 'host'),
    *alike(text, 'user', 'host_id', 'zone', 'state', is_rare=True),
    Field('also_on', lambda items: each(items, text), is_rare=True),
    Field('project', text, is_rare=True),
    Field(
        'left',
        by_name('must be an object such as {"cmp-1": 60}', text, fields.amount),
        is_rare=True,
    ),
)


class _Groups(Schema[ServerGroup]):
    """Server groups, whose rules are checked with their policy."""

    def read(self, item: Any) -> ServerGroup:
        """Convert a group; raise InvalidSpec for rules that its policy does not allow."""
        group = super().read(item)
        return dataclasses.replace(group, rules=check_rules(group.rules, group.policy, 'rules'))


GROUP = _Groups(
    ServerGroup,
    *alike(text, 'id', 'name'),
    # Very old groups have the policy ''.
    Field('policy', lambda value: value if value == '' else check_policy(value, '')),
    Field('rules', _rules),
    Field('members', lambda items: each(items, MEMBER.read, 'server'), list_of(MEMBER)),
    Field('project_id', text, is_rare=True),
)
_OF_USER = Schema(
    Quota,
    Field('limit', _limit, lambda limit: encode(NO_LIMIT if limit is None else limit)),
    Field('used', fields.amount, is_rare=True),
)
QUOTA = Schema(
    Quota,
    *_OF_USER.fields.values(),
    Field('of_user', _OF_USER.read, _OF_USER.write, is_rare=True),
)
_QUOTAS = Schema(
    namedtuple('Quotas', QUOTAS, defaults=[None] * len(QUOTAS)), *alike(QUOTA.read, *QUOTAS)
)


def _quotas(item: Any) -> dict[str, Quota]:
    """Convert an object of quotas by name, without those that are null."""
    found = zip(QUOTAS, _QUOTAS.read(item), strict=True)
    return {name: quota for name, quota in found if quota is not None}


def _pools(item: Any) -> dict[str, dict[str, Resource]]:
    """Convert an object of pools: UUID, resource class and resource."""
    words = 'must be an object such as {{{}}}'.format
    resources = by_name(words('"DISK_GB": {...}'), resource_class, _OF_POOL.read)
    return by_name(words('"<uuid>": {"DISK_GB": {...}}'), spelt, resources)(item)


def resources_written(resources: Mapping[str, Resource] | None) -> str:
    """Return the JSON text of a host's resources, sorted by class; "null" for None."""
    return 'null' if resources is None else _sorted(resources, RESOURCE.write)


class Snapshots(Schema[CloudSnapshot]):
    """The fields of the file without ``format``; each of them may be absent."""

    def __init__(self, hosts: Schema[Host]) -> None:
        super().__init__(
            CloudSnapshot,
            *alike(text, 'taken_at', 'user_id', 'project_id'),
            *alike(
                lambda items: frozenset(each(items, text)),
                *('availability_zones', 'closed_zones', 'answered', 'traits', 'resource_classes'),
            ),
            Field(
                'compared_aggregates',
                lambda items: frozenset(each(items, fields.texts(CanonicalUuids, aggregate_uuid))),
                lambda sets: encode(sorted(map(sorted, sets))),
            ),
            _things('hosts', hosts, 'host', 'hypervisor_hostname', words=', or null'),
            _things('aggregates', AGGREGATE, 'uuid'),
            _things('flavors', FLAVOR, 'id'),
            _things('server_groups', GROUP, 'id'),
            _things('soft_deleted', MEMBER, 'server'),
            _things('servers', MEMBER, 'server'),
            Field('pools', _pools, lambda pools: _sorted(pools, resources_written)),
            Field(
                'rejected',
                by_name('must be an object with strings', text, fields.stored),
                lambda found: _sorted(found, short),
            ),
            Field('quotas', _quotas, lambda found: _sorted(found, QUOTA.write)),
        )


def _things(key: str, table: Schema[Any], *keys: str, words: str = '') -> Field:
    """Return the field of a list; its ``write`` yields the JSON text of each item.

    :param keys: two items that agree in these are an error.
    """
    return Field(
        key,
        lambda items: each(items, table.read, *keys, words=f'must be a list{words}'),
        lambda things: map(table.write, things),
    )
