"""Reads the hosts of a snapshot's file: there are many, so each is checked in one go.

The way of the data: the parsed JSON of one host comes in, one frozen value goes out. Sets and names
that are equal in many hosts become one object, which is why a large file becomes a small snapshot.

Errors: InvalidSpec with the path inside of the host (``resources.VCPU.capacity``).
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import Field, wrong
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.member_of import all_spelt, spelt
from senlin_affinity.core.objects import Host, Resource

HOST_KEYS = (
    'host',
    'hypervisor_hostname',
    'hypervisor_type',
    'availability_zone',
    'enabled',
    'up',
    'aggregates',
    'traits',
    'resources',
    'is_nested',
    'is_partial',
)
RESOURCE = (
    Field('capacity', fields.AMOUNT),
    Field('used', fields.AMOUNT),
    Field('max_unit', partial(fields.or_null, fields.SIZE), None),
    Field('step_size', fields.SIZE, 1),
    Field('is_sum', fields.flag, False),
    Field('pool', partial(fields.or_null, lambda value: spelt(fields.text(value))), None),
)
_KNOWN_HOST_KEYS = frozenset(HOST_KEYS)
_KNOWN_RESOURCE_KEYS = frozenset(field.key for field in RESOURCE)
_LIST_OF_TEXTS = 'must be a list of strings'


_CLASS = re.compile('[A-Z0-9_]+')


def resource_class(name: str) -> str:
    """The name of a resource class."""
    if not _CLASS.fullmatch(name):
        raise InvalidSpec(
            'is no resource class: write one such as VCPU, MEMORY_MB or CUSTOM_GPU', name
        )
    return name


class Hosts:
    """Reads hosts one by one; what is equal in them becomes one object."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, ...], frozenset[str]] = {}
        self._texts: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        self._pools: dict[str, str] = {}

    def read(self, item: Any) -> Host:
        """One host."""
        if type(item) is not dict:
            raise wrong('must be an object with host, resources, ...', item)
        if not item.keys() <= _KNOWN_HOST_KEYS:
            raise fields.unknown_key(item, HOST_KEYS)
        get = item.get
        host = get('host')
        if type(host) is not str or not host:
            raise fields.missing_or('must be the name of the compute service host', item, 'host')
        name, kind = get('hypervisor_hostname', host), get('hypervisor_type', '')
        zone, enabled, up = get('availability_zone'), get('enabled', True), get('up', True)
        is_nested, is_partial = get('is_nested', False), get('is_partial', False)
        if type(name) is not str:
            raise wrong('must be a string', name, 'hypervisor_hostname')
        if type(kind) is not str:
            raise wrong('must be a string, such as QEMU', kind, 'hypervisor_type')
        if type(zone) is not str and zone is not None:
            raise wrong('must be a string, or null', zone, 'availability_zone')
        if type(enabled) is not bool:
            raise wrong('must be true or false', enabled, 'enabled')
        if type(up) is not bool:
            raise wrong('must be true or false', up, 'up')
        if type(is_nested) is not bool:
            raise wrong('must be true or false', is_nested, 'is_nested')
        if type(is_partial) is not bool:
            raise wrong('must be true or false', is_partial, 'is_partial')
        resources = get('resources')
        return Host(
            fields.shown(host, 'host'),
            host if name == host else fields.shown(name, 'hypervisor_hostname'),
            self._text(kind, 'hypervisor_type'),
            None if zone is None else self._text(zone, 'availability_zone'),
            enabled,
            up,
            self._set(get('aggregates', ()), 'aggregates'),
            self._set(get('traits', ()), 'traits'),
            None if resources is None else self._resources(resources),
            is_nested,
            is_partial,
        )

    def _text(self, value: str, path: str) -> str:
        known = self._texts.get(value)
        if known is None:
            known = self._texts[value] = fields.shown(value, path)
        return known

    def _pool(self, value: str, path: str) -> str:
        known = self._pools.get(value)
        if known is None:
            known = self._pools[value] = spelt(fields.shown(value, path))
        return known

    def _set(self, value: Any, path: str) -> frozenset[str]:
        if type(value) is not list and value != ():
            raise wrong(_LIST_OF_TEXTS, value, path)
        key = tuple(value)
        try:
            found = self._sets.get(key)
        except TypeError as error:  # a list or an object among the strings
            raise wrong(_LIST_OF_TEXTS, value, path) from error
        if found is None:
            if not all(type(text) is str for text in key):
                raise wrong(_LIST_OF_TEXTS, value, path)
            for number, text in enumerate(key):
                fields.shown(text, f'{path}[{number}]')
            found = all_spelt(key) if path == 'aggregates' else frozenset(key)
            self._sets[key] = found
        return found

    def _resources(self, item: Any) -> dict[str, Resource]:
        if type(item) is not dict:
            raise wrong('must be an object such as {"VCPU": {...}}, or null', item, 'resources')
        resources, classes = {}, self._classes
        for name, amount in item.items():
            shared = classes.get(name)
            if shared is None:
                try:
                    shared = classes[name] = resource_class(name)
                except InvalidSpec as error:
                    raise fields.below('resources', error) from error
            if type(amount) is not dict or not amount.keys() <= _KNOWN_RESOURCE_KEYS:
                raise _wrong_amount(amount, f'resources.{name}')
            capacity, used = amount.get('capacity'), amount.get('used')
            if type(capacity) is not int or type(used) is not int or capacity < 0 or used < 0:
                raise _wrong_amount(amount, f'resources.{name}')
            if len(amount) == 2:
                resources[shared] = Resource(capacity, used)
                continue
            largest, step = amount.get('max_unit'), amount.get('step_size', 1)
            is_sum, pool = amount.get('is_sum', False), amount.get('pool')
            if (
                (largest is not None and (type(largest) is not int or largest < 1))
                or type(step) is not int
                or step < 1
                or type(is_sum) is not bool
                or (pool is not None and type(pool) is not str)
            ):
                raise _wrong_amount(amount, f'resources.{name}')
            if pool is not None:
                pool = self._pool(pool, f'resources.{name}.pool')
            resources[shared] = Resource(capacity, used, largest, step, is_sum, pool)
        return resources


def _wrong_amount(amount: Any, path: str) -> InvalidSpec:
    """Which field of a resource is wrong."""
    try:
        fields.values(amount, RESOURCE)
    except InvalidSpec as error:
        return fields.below(path, error)
    raise AssertionError(f'{path} is not wrong: {amount!r}')
