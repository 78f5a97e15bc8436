"""Reads what a person wrote about a cloud, in YAML or as arguments, for a :class:`Blueprint`.

Shapes (the file)::

    hosts: {cmp-1: {vcpus: 8, availability_zone: az1}, cmp-2: {}}     # also: 3, or [cmp-1, cmp-2]
    aggregates: {ssd: {hosts: [cmp-1], metadata: {ssd: 'true'}}}
    flavors: {m1.tiny: {vcpus: 1, ram: 64, disk: 1, extra_specs: {}}}
    quotas: {server_groups: 10}
    default_availability_zone: az1      # where a server goes that asks for no zone

Units: see :mod:`senlin_affinity.sandbox.blueprint`.

Errors: :class:`InvalidSpec` with the path of what is wrong (``hosts.cmp-1.vcpu``) and what to
write instead. Nothing is ignored: an unknown key is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.sandbox import written
from senlin_affinity.sandbox.blueprint import (
    DEFAULT_FLAVORS,
    DEFAULT_QUOTAS,
    DEFAULT_ZONE,
    AggregateSpec,
    Blueprint,
    FlavorSpec,
    HostSpec,
)

FILE_KEYS = ('hosts', 'aggregates', 'flavors', 'quotas', 'default_availability_zone')
_HOST_KEYS = (*(item.name for item in fields(HostSpec) if item.name != 'name'), 'aggregates')
_AGGREGATE_KEYS = ('hosts', 'availability_zone', 'metadata')
_FLAVOR_KEYS = tuple(item.name for item in fields(FlavorSpec) if item.name != 'name')
#: The smallest value of every number; what is not in it is a text or a truth value.
_SMALLEST = {'vcpus': 1, 'memory_mb': 1, 'disk_gb': 0, 'ram': 1, 'disk': 0}


def read_file(path: str | Path) -> dict[str, Any]:
    """Read the top level of a cloud's YAML file; only its keys are looked at here."""
    try:
        data = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise InvalidSpec(f'cannot be read: {error.strerror}', path=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidSpec(f'is not YAML: {error}', path=str(path)) from error
    if not isinstance(data, Mapping):
        raise InvalidSpec('must be a mapping with "hosts"', path=str(path))
    written.refuse_unknown(data, FILE_KEYS, '')
    if 'hosts' not in data:
        raise InvalidSpec('is missing: give a number, a list of names or a mapping', path='hosts')
    return dict(data)


def read_hosts(hosts: Any) -> tuple[tuple[HostSpec, ...], tuple[AggregateSpec, ...]]:
    """Read the hosts in any of their three forms, with the aggregates that they name."""
    specs: list[HostSpec] = []
    named: tuple[AggregateSpec, ...] = ()
    for name, given in _by_name(hosts).items():
        path = f'hosts.{written.name(name, "hosts")}'
        values = written.mapping(given, path)
        written.refuse_unknown(values, _HOST_KEYS, path)
        aggregates = written.mapping(values.pop('aggregates', None), f'{path}.aggregates')
        for aggregate, wanted in aggregates.items():
            metadata = written.texts(wanted, f'{path}.aggregates.{aggregate}')
            zone = metadata.pop('availability_zone', None)
            named = merge([AggregateSpec(aggregate, (name,), zone, metadata)], named)
        specs.append(HostSpec(name, **_typed(values, path)))
    return tuple(specs), named


def _by_name(hosts: Any) -> dict[str, Any]:
    if isinstance(hosts, int) and not isinstance(hosts, bool):
        hosts = [f'cmp-{number}' for number in range(1, hosts + 1)]
    if isinstance(hosts, (list, tuple)):
        hosts = dict.fromkeys(written.names(hosts, 'hosts'))
    if not isinstance(hosts, Mapping):
        raise InvalidSpec('must be a number, a list of names or a mapping', path='hosts')
    if not hosts:
        raise InvalidSpec('there must be at least one host', path='hosts')
    return dict(hosts)


def read_aggregates(aggregates: Any, hosts: Iterable[HostSpec]) -> tuple[AggregateSpec, ...]:
    """Read the aggregates; each of their hosts must be one of ``hosts``."""
    known = [host.name for host in hosts]
    result = []
    for name, given in written.mapping(aggregates, 'aggregates').items():
        path = f'aggregates.{written.name(name, "aggregates")}'
        values = written.mapping(given, path)
        written.refuse_unknown(values, _AGGREGATE_KEYS, path)
        members = written.names(values.get('hosts'), f'{path}.hosts')
        for member in members:
            if member not in known:
                advice = written.hint(member, known)
                raise InvalidSpec(f'no host "{member}"{advice}', path=f'{path}.hosts')
        metadata = written.texts(values.get('metadata'), f'{path}.metadata')
        if 'availability_zone' in metadata:
            raise InvalidSpec(
                'write it as the key availability_zone of the aggregate',
                path=f'{path}.metadata.availability_zone',
            )
        zone = _typed({'availability_zone': values.get('availability_zone')}, path)
        result.append(AggregateSpec(name, members, metadata=metadata, **zone))
    return tuple(result)


def read_flavors(flavors: Any) -> tuple[FlavorSpec, ...]:
    """Read the flavors; None is the one default flavor."""
    if flavors is None:
        return DEFAULT_FLAVORS
    result = []
    for name, given in written.mapping(flavors, 'flavors').items():
        path = f'flavors.{written.name(name, "flavors")}'
        values = written.mapping(given, path)
        written.refuse_unknown(values, _FLAVOR_KEYS, path)
        extra_specs = written.texts(values.pop('extra_specs', None), f'{path}.extra_specs')
        result.append(FlavorSpec(name, extra_specs=extra_specs, **_typed(values, path)))
    return tuple(result)


def read_quotas(quotas: Any) -> dict[str, int]:
    """Read the limits; one that is not written has none (-1)."""
    values = written.mapping(quotas, 'quotas')
    written.refuse_unknown(values, DEFAULT_QUOTAS, 'quotas')
    for name, value in values.items():
        written.integer(value, -1, f'quotas.{name}')
    return {**DEFAULT_QUOTAS, **values}


def merge(
    named: Iterable[AggregateSpec], given: Iterable[AggregateSpec]
) -> tuple[AggregateSpec, ...]:
    """Put the aggregates that the hosts name together with those that are there already."""
    merged = {item.name: item for item in given}
    for item in named:
        known = merged.get(item.name, AggregateSpec(item.name))
        merged[item.name] = AggregateSpec(
            item.name,
            tuple(dict.fromkeys((*known.hosts, *item.hosts))),
            item.availability_zone or known.availability_zone,
            {**known.metadata, **item.metadata},
        )
    return tuple(merged.values())


def check(blueprint: Blueprint) -> None:
    """Refuse what Nova would refuse, or what would end in two things with one name."""
    zones = _zones_of_hosts(blueprint)
    default_zone = blueprint.default_availability_zone
    known = {DEFAULT_ZONE, *zones.values()}
    if default_zone is not None and default_zone not in known:
        advice = written.hint(default_zone, sorted(known))
        raise InvalidSpec(
            f'no host is in the zone "{default_zone}"{advice}', path='default_availability_zone'
        )
    hosts_by_hypervisor: dict[str, str] = {}
    for host in blueprint.hosts:
        hypervisor = host.hypervisor_hostname or host.name
        other = hosts_by_hypervisor.setdefault(hypervisor, host.name)
        if other != host.name:
            raise InvalidSpec(
                f'"{hypervisor}" is the hypervisor of {other} already',
                path=f'hosts.{host.name}.hypervisor_hostname',
            )


def _zones_of_hosts(blueprint: Blueprint) -> dict[str, str]:
    """Give the zone of every host that is in one: a host can be in a single zone."""
    zones: dict[str, str] = {}
    for aggregate in blueprint.all_aggregates():
        zone = aggregate.availability_zone
        if zone is None:
            continue
        for host in aggregate.hosts:
            if zones.setdefault(host, zone) != zone:
                raise InvalidSpec(
                    f'it would be in two zones, "{zones[host]}" and "{zone}"',
                    path=f'hosts.{host}.availability_zone',
                )
    for spec in blueprint.hosts:
        if spec.availability_zone not in (None, zones.get(spec.name, DEFAULT_ZONE)):
            raise InvalidSpec(
                f'one of its aggregates is the zone "{zones[spec.name]}"',
                path=f'hosts.{spec.name}.availability_zone',
            )
    return zones


def _typed(values: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Check each value by its key; a None is left out, so that the default holds."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        where = f'{path}.{key}'
        if value is None:
            continue
        if key in _SMALLEST:
            result[key] = written.integer(value, _SMALLEST[key], where)
        elif key == 'disabled':
            result[key] = written.flag(value, where)
        else:
            result[key] = written.text(value, where)
    return result
