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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from senlin_affinity.cloud import input_file
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.suggestion import nearest
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


def read_file(path: str | Path) -> dict[str, Any]:
    """Read the top level of a cloud's YAML file; only its keys are looked at here."""
    try:
        data = yaml.safe_load(input_file.read(path, input_file.LARGEST_TEXT).decode())
    except OSError as error:
        raise InvalidSpec(f'cannot be read: {error.strerror}', path=str(path)) from error
    except InvalidSpec as error:
        raise InvalidSpec(str(error), path=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidSpec(f'is not YAML: {error}', path=str(path)) from error
    if not isinstance(data, Mapping):
        raise InvalidSpec('must be a mapping with "hosts"', path=str(path))
    _refuse_unknown(data, FILE_KEYS, '')
    if 'hosts' not in data:
        raise InvalidSpec('is missing: give a number, a list of names or a mapping', path='hosts')
    return dict(data)


def read(
    hosts: Any, aggregates: Any = None, flavors: Any = None, quotas: Any = None, **more: Any
) -> Blueprint:
    """Read what there is; ``more`` are other fields of the blueprint, as they are."""
    specs, named = _hosts(hosts)
    aggregate_specs = _merge(named, _aggregates(aggregates, specs))
    blueprint = Blueprint(specs, aggregate_specs, _flavors(flavors), _quotas(quotas), **more)
    _check(blueprint)
    return blueprint


def _hosts(hosts: Any) -> tuple[tuple[HostSpec, ...], tuple[AggregateSpec, ...]]:
    """Read the hosts in any of their three forms, with the aggregates that they name."""
    if isinstance(hosts, int) and not isinstance(hosts, bool):
        hosts = [f'cmp-{number}' for number in range(1, hosts + 1)]
    if isinstance(hosts, (list, tuple)):
        hosts = dict.fromkeys(_names(hosts, 'hosts'))
    if not isinstance(hosts, Mapping):
        raise InvalidSpec('must be a number, a list of names or a mapping', path='hosts')
    if not hosts:
        raise InvalidSpec('there must be at least one host', path='hosts')
    specs: list[HostSpec] = []
    named: tuple[AggregateSpec, ...] = ()
    for name, path, values in _each(hosts, 'hosts', HostSpec, 'aggregates'):
        for aggregate, wanted in values.pop('aggregates', {}).items():
            metadata = _texts(wanted, f'{path}.aggregates.{aggregate}')
            zone = metadata.pop('availability_zone', None)
            named = _merge([AggregateSpec(aggregate, (name,), zone, metadata)], named)
        specs.append(HostSpec(name, **values))
    return tuple(specs), named


def _aggregates(aggregates: Any, hosts: Iterable[HostSpec]) -> Iterator[AggregateSpec]:
    known = [host.name for host in hosts]
    for name, path, values in _each(aggregates, 'aggregates', AggregateSpec):
        for member in values.get('hosts', ()):
            if member not in known:
                words = f'no host "{member}"{_hint(member, known)}'
                raise InvalidSpec(words, path=f'{path}.hosts')
        if 'availability_zone' in values.get('metadata', {}):
            words = 'write it as the key availability_zone of the aggregate'
            raise InvalidSpec(words, path=f'{path}.metadata.availability_zone')
        yield AggregateSpec(name, **values)


def _flavors(flavors: Any) -> tuple[FlavorSpec, ...]:
    """Read the flavors; None is the one default flavor."""
    if flavors is None:
        return DEFAULT_FLAVORS
    found = _each(flavors, 'flavors', FlavorSpec)
    return tuple(FlavorSpec(name, **values) for name, _path, values in found)


def _quotas(quotas: Any) -> dict[str, int]:
    """Read the limits; one that is not written has none (-1)."""
    values = _mapping(quotas, 'quotas')
    _refuse_unknown(values, DEFAULT_QUOTAS, 'quotas')
    for name, value in values.items():
        _integer(-1, value, f'quotas.{name}')
    return {**DEFAULT_QUOTAS, **values}


def _merge(
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


def _check(blueprint: Blueprint) -> None:
    """Refuse what Nova would refuse, or what would end in two things with one name."""
    default_zone = blueprint.default_availability_zone
    known = {DEFAULT_ZONE, *_zones_of_hosts(blueprint).values()}
    if default_zone is not None and default_zone not in known:
        words = f'no host is in the zone "{default_zone}"{_hint(default_zone, sorted(known))}'
        raise InvalidSpec(words, path='default_availability_zone')
    hosts_by_hypervisor: dict[str, str] = {}
    for host in blueprint.hosts:
        hypervisor = host.hypervisor_hostname or host.name
        other = hosts_by_hypervisor.setdefault(hypervisor, host.name)
        if other != host.name:
            words = f'"{hypervisor}" is the hypervisor of {other} already'
            raise InvalidSpec(words, path=f'hosts.{host.name}.hypervisor_hostname')


def _zones_of_hosts(blueprint: Blueprint) -> dict[str, str]:
    zones: dict[str, str] = {}
    for aggregate in blueprint.all_aggregates():
        zone = aggregate.availability_zone
        if zone is None:
            continue
        for host in aggregate.hosts:
            if zones.setdefault(host, zone) != zone:
                words = f'it would be in two zones, "{zones[host]}" and "{zone}"'
                raise InvalidSpec(words, path=f'hosts.{host}.availability_zone')
    for spec in blueprint.hosts:
        if spec.availability_zone not in (None, zones.get(spec.name, DEFAULT_ZONE)):
            words = f'one of its aggregates is the zone "{zones[spec.name]}"'
            raise InvalidSpec(words, path=f'hosts.{spec.name}.availability_zone')
    return zones


def _each(
    given: Any, path: str, made: type, *more: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give the name, the path and the values of each thing; a None is left to its default."""
    known = (*(item.name for item in fields(made) if item.name != 'name'), *more)
    for name, item in _mapping(given, path).items():
        where = f'{path}.{_name(name, path)}'
        values = _mapping(item, where)
        _refuse_unknown(values, known, where)
        checked = {
            key: _CHECKS.get(key, _text)(value, f'{where}.{key}')
            for key, value in values.items()
            if value is not None
        }
        yield name, where, checked


def _mapping(value: Any, path: str) -> dict[str, Any]:
    """Take a mapping, as a copy; nothing written (None) is an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise InvalidSpec('must be a mapping', path=path)
    return dict(value or {})


def _name(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'"{value}" is no name: a text is wanted', path=path)
    return value


def _names(value: Any, path: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidSpec('must be a list of names', path=path)
    for index, item in enumerate(value):
        if _name(item, path) in value[:index]:
            raise InvalidSpec(f'"{item}" is there twice', path=path)
    return tuple(value)


def _text(value: Any, path: str) -> str:
    """Take a text: YAML's bare true and 1 would not be what was meant."""
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'must be a text: write "{value}" in quotes', path=path)
    return value


def _texts(value: Any, path: str) -> dict[str, str]:
    values = _mapping(value, path)
    return {_name(key, path): _text(item, f'{path}.{key}') for key, item in values.items()}


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidSpec('must be true or false', path=path)
    return value


def _integer(smallest: int, value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
        raise InvalidSpec(f'must be a whole number of {smallest} or more', path=path)
    return value


#: By the key; any other one is a text.
_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(('vcpus', 'memory_mb', 'ram'), partial(_integer, 1)),
    **dict.fromkeys(('disk_gb', 'disk'), partial(_integer, 0)),
    **dict.fromkeys(('metadata', 'extra_specs'), _texts),
    'disabled': _flag,
    'hosts': _names,
    **dict.fromkeys(('aggregates', 'inventory'), _mapping),
}


def _refuse_unknown(values: Mapping[str, Any], known: Iterable[str], path: str) -> None:
    for key in values:
        if key not in known:
            where = f'{path}.{key}' if path else str(key)
            advice = _hint(key, known) or f'; known are: {", ".join(known)}'
            raise InvalidSpec(f'unknown key{advice}', path=where)


def _hint(word: Any, known: Iterable[str]) -> str:
    near = nearest(str(word), tuple(known))
    return f'; did you mean "{near}"?' if near else ''
