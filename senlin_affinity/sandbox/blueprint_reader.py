"""Read the description of a cloud, in YAML or as arguments, into a :class:`Blueprint`.

Example (the file)::

    hosts: {cmp-1: {vcpus: 8, availability_zone: az1}, cmp-2: {}}     # also: 3, or [cmp-1, cmp-2]
    aggregates: {ssd: {hosts: [cmp-1], metadata: {ssd: 'true'}}}
    flavors: {m1.tiny: {vcpus: 1, ram: 64, disk: 1, extra_specs: {}}}
    images: {windows: {properties: {os_type: windows}}}
    quotas: {server_groups: 10}
    default_availability_zone: az1      # the zone of a server that requests none
    filters: [ComputeFilter]            # all that nova-scheduler enables
    available_filters: [senlin_affinity.plugins.nova.request_filter.install]
    api_filters: ['egg:senlin-affinity#extra_spec_validation']
    nova_options: {scheduler: {max_placement_results: 100}}
    senlin_options: {affinity: {preflight: warn}}

doc/source/reference/cloud-file.rst describes all keys (``KEYS``) and the limits of all numbers
(``LIMITS``), which are checked before anything is created from a number.

Raises: InvalidSpec with the path of a mistake (``hosts.cmp-1.vcpu``), also of an unknown key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from senlin_affinity.cloud import strict_yaml
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.suggestion import nearest
from senlin_affinity.sandbox.blueprint import (
    CIRROS,
    DEFAULT_FLAVORS,
    DEFAULT_QUOTAS,
    DEFAULT_ZONE,
    AggregateSpec,
    Blueprint,
    FlavorSpec,
    HostSpec,
    ImageSpec,
)


def _keys_of(made: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(made) if item.name != 'name')


#: The keys of the file (''), and of each item of a section.
KEYS: Mapping[str, tuple[str, ...]] = {
    '': (
        *('hosts', 'aggregates', 'flavors', 'images', 'quotas', 'default_availability_zone'),
        *('filters', 'available_filters', 'api_filters', 'nova_options', 'senlin_options'),
    ),
    'hosts': (*_keys_of(HostSpec), 'aggregates'),
    'inventory': (*('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio'),),
    'aggregates': _keys_of(AggregateSpec),
    'flavors': _keys_of(FlavorSpec),
    'images': _keys_of(ImageSpec),
    'quotas': tuple(DEFAULT_QUOTAS),
}
#: Each compute service takes memory and time.
MOST_HOSTS = 1000
#: The largest integer and float of Nova's and Placement's databases.
_INTEGER, _FLOAT = 0x7FFFFFFF, 3.40282e38
#: The smallest and the largest value of each number.
LIMITS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(('hosts.vcpus', 'hosts.memory_mb', 'hosts.disk_gb'), (0, _INTEGER)),
    **dict.fromkeys(('inventory.total', 'inventory.reserved'), (0, _INTEGER)),
    **dict.fromkeys(
        ('inventory.min_unit', 'inventory.max_unit', 'inventory.step_size'), (1, _INTEGER)
    ),
    **dict.fromkeys(('flavors.vcpus', 'flavors.ram'), (1, _INTEGER)),
    **dict.fromkeys(('flavors.disk', 'images.min_disk', 'images.min_ram'), (0, _INTEGER)),
    **dict.fromkeys((f'quotas.{name}' for name in DEFAULT_QUOTAS), (-1, _INTEGER)),
}
#: The classes whose total the size of the host sets.
_SIZES = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def read_file(path: str | Path) -> dict[str, Any]:
    """Read the top level of a cloud's YAML file, and check its keys only."""
    try:
        data = strict_yaml.load(path)
    except OSError as error:
        raise InvalidSpec(f'cannot be read: {error.strerror}', path=str(path)) from error
    if not isinstance(data, Mapping):
        raise InvalidSpec('must be a mapping with "hosts"', path=str(path))
    _refuse_unknown(data, KEYS[''], '')
    if 'hosts' not in data:
        raise InvalidSpec('is missing: give a number, a list of names or a mapping', path='hosts')
    return dict(data)


def read(
    hosts: Any,
    aggregates: Any = None,
    flavors: Any = None,
    images: Any = None,
    quotas: Any = None,
    **more: Any,
) -> Blueprint:
    """Return the blueprint; ``more`` are its other fields."""
    more = {
        key: _CHECKS.get(key, _text)(value, key) for key, value in more.items() if value is not None
    }
    specs, named = _hosts(hosts)
    aggregate_specs = _merge(named, _aggregates(aggregates, specs))
    blueprint = Blueprint(
        specs, aggregate_specs, _flavors(flavors), _images(images), _quotas(quotas), **more
    )
    _check(blueprint)
    return blueprint


def _hosts(hosts: Any) -> tuple[tuple[HostSpec, ...], tuple[AggregateSpec, ...]]:
    """Return the hosts, and the aggregates that they name."""
    is_number = isinstance(hosts, int) and not isinstance(hosts, bool)
    if not is_number and not isinstance(hosts, (list, tuple, Mapping)):
        raise InvalidSpec('must be a whole number, a list of names or a mapping', path='hosts')
    if not 1 <= (hosts if is_number else len(hosts)) <= MOST_HOSTS:
        raise InvalidSpec(f'there must be 1 to {MOST_HOSTS} hosts', path='hosts')
    if is_number:
        hosts = [f'cmp-{number}' for number in range(1, hosts + 1)]
    if not isinstance(hosts, Mapping):
        hosts = dict.fromkeys(_names(hosts, 'hosts'))
    specs: list[HostSpec] = []
    named: list[AggregateSpec] = []
    for name, path, values in _each(hosts, 'hosts'):
        for aggregate, wanted in values.pop('aggregates', {}).items():
            where = f'{path}.aggregates'
            metadata = _texts(wanted, f'{where}.{_name(aggregate, where)}')
            zone = metadata.pop('availability_zone', None)
            named.append(AggregateSpec(aggregate, (name,), zone, metadata))
        specs.append(HostSpec(name, **values))
    return tuple(specs), _merge(named, ())


def _aggregates(aggregates: Any, hosts: Iterable[HostSpec]) -> Iterator[AggregateSpec]:
    known = dict.fromkeys(host.name for host in hosts)
    for name, path, values in _each(aggregates, 'aggregates'):
        for member in values.get('hosts', ()):
            if member not in known:
                words = f'no host "{member}"{_hint(member, known)}'
                raise InvalidSpec(words, path=f'{path}.hosts')
        if 'availability_zone' in values.get('metadata', {}):
            words = 'set the key availability_zone of the aggregate instead'
            raise InvalidSpec(words, path=f'{path}.metadata.availability_zone')
        yield AggregateSpec(name, **values)


def _flavors(flavors: Any) -> tuple[FlavorSpec, ...]:
    if flavors is None:
        return DEFAULT_FLAVORS
    return tuple(FlavorSpec(name, **values) for name, _path, values in _each(flavors, 'flavors'))


def _images(images: Any) -> tuple[ImageSpec, ...]:
    specs = []
    for name, path, values in _each(images, 'images'):
        for key in values.get('properties', {}):
            if key in CIRROS:
                words = 'is an attribute of images, not a property'
                raise InvalidSpec(words, path=f'{path}.properties.{key}')
        specs.append(ImageSpec(name, **values))
    return tuple(specs)


def _quotas(quotas: Any) -> dict[str, int]:
    """Return the limits; a missing one is unlimited (-1)."""
    return {**DEFAULT_QUOTAS, **_values(quotas, 'quotas', 'quotas')}


def _merge(
    named: Iterable[AggregateSpec], given: Iterable[AggregateSpec]
) -> tuple[AggregateSpec, ...]:
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
    """Reject input that Nova would reject, and two hosts with one hypervisor name."""
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
                words = f'its aggregates are in two zones, "{zones[host]}" and "{zone}"'
                raise InvalidSpec(words, path=f'hosts.{host}.availability_zone')
    for spec in blueprint.hosts:
        if spec.availability_zone not in (None, zones.get(spec.name, DEFAULT_ZONE)):
            words = f'must be the zone of its aggregate, "{zones[spec.name]}"'
            raise InvalidSpec(words, path=f'hosts.{spec.name}.availability_zone')
    return zones


def _each(given: Any, section: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name, the path and the checked values of each item of a section."""
    for name, item in _mapping(given, section).items():
        where = f'{section}.{_name(name, section)}'
        yield name, where, _values(item, section, where)


def _values(given: Any, section: str, path: str) -> dict[str, Any]:
    """Return the checked values of a mapping with the keys of a section; omit None."""
    values = _mapping(given, path)
    _refuse_unknown(values, KEYS[section], path)
    checked = {}
    for key, value in values.items():
        limits, where = LIMITS.get(f'{section}.{key}'), f'{path}.{key}'
        if value is not None:
            checked[key] = (
                _integer(value, *limits, path=where)
                if limits
                else _CHECKS.get(key, _text)(value, where)
            )
    return checked


def _inventory(value: Any, path: str) -> dict[str, dict[str, Any]]:
    """Return Placement's fields by resource class."""
    found = {}
    for name, item in _mapping(value, path).items():
        where = f'{path}.{_name(name, path)}'
        found[name] = _values(item, 'inventory', where)
        if 'total' not in found[name] and name not in _SIZES:
            raise InvalidSpec('is missing', path=f'{where}.total')
    return found


def _mapping(value: Any, path: str) -> dict[str, Any]:
    """Return a copy of a mapping; None is empty."""
    if value is not None and not isinstance(value, Mapping):
        raise InvalidSpec('must be a mapping', path=path)
    return dict(value or {})


def _name(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'"{value}" is not a name: a string is required', path=path)
    return value


def _names(value: Any, path: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidSpec('must be a list of names', path=path)
    seen = set()
    for item in value:
        if _name(item, path) in seen:
            raise InvalidSpec(f'"{item}" occurs twice', path=path)
        seen.add(item)
    return tuple(value)


def _text(value: Any, path: str) -> str:
    """Return a non-empty string; reject YAML's unquoted true and 1."""
    if not isinstance(value, str) or not value:
        raise InvalidSpec(f'must be a string: write "{value}" in quotes', path=path)
    return value


def _texts(value: Any, path: str) -> dict[str, str]:
    values = _mapping(value, path)
    return {_name(key, path): _text(item, f'{path}.{key}') for key, item in values.items()}


def options(value: Any, path: str) -> dict[str, dict[str, Any]]:
    """Return the options of a configuration file by section."""
    sections = _mapping(value, path)
    return {name: _mapping(options, f'{path}.{name}') for name, options in sections.items()}


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidSpec('must be true or false', path=path)
    return value


def _integer(value: Any, smallest: int, largest: int, path: str) -> int:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or not smallest <= value <= largest:
        raise InvalidSpec(f'must be a whole number from {smallest} to {largest}', path=path)
    return int(value)


def _ratio(value: Any, path: str) -> float:
    """Return a number; NaN is in no range."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _FLOAT:
        raise InvalidSpec(f'must be a number from 0 to {_FLOAT:g}', path=path)
    return float(value)


#: The check for each key that is not in ``LIMITS``; any other key has a string.
_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(('metadata', 'extra_specs', 'properties'), _texts),
    'disabled': _flag,
    **dict.fromkeys(('hosts', 'filters', 'available_filters', 'api_filters'), _names),
    **dict.fromkeys(('nova_options', 'senlin_options'), options),
    'aggregates': _mapping,
    'inventory': _inventory,
    'allocation_ratio': _ratio,
}


def _refuse_unknown(values: Mapping[str, Any], known: Iterable[str], path: str) -> None:
    for key in values:
        if key not in known:
            where = f'{path}.{key}' if path else str(key)
            advice = _hint(key, known) or f'; choose from {", ".join(known)}'
            raise InvalidSpec(f'unknown key{advice}', path=where)


def _hint(word: Any, known: Iterable[str]) -> str:
    near = nearest(str(word), tuple(known))
    return f'; did you mean "{near}"?' if near else ''
