"""The properties of the policy's spec, read strictly.

The way of the data: a spec (what a person wrote, as Senlin or a YAML reader gives it) comes in;
``declared`` says for each key its type, its default and the version that brought it; one frozen
:class:`Properties` goes out.

Shapes::

    {'type': 'senlin.policy.affinity', 'version': '1.1',
     'properties': {'servergroup': {'name': 'web', 'policies': 'anti-affinity',
                                    'rules': {'max_server_per_host': 3}},
                    'availability_zone': 'nova', 'enable_drs_extension': False,
                    'member_of': ['in:agg-a,agg-b', '!agg-licensed'],
                    'spread': [{'by': 'rack', 'max_skew': 1, 'mode': 'soft'}]}}

Errors: InvalidSpec, whose path is the property's.

Source: document 003 (R3-01 to R3-06); spec 1.1 is this project's. A version may be a number or a
string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oslo_utils import strutils

from senlin_affinity.core import member_of, spread, suggestion
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.server_group import (
    ANTI_AFFINITY,
    check_name,
    check_policy,
    check_rules,
)
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy.declared import (
    DECLARED,
    DELETE,
    EXTRA_SPECS,
    SERVERGROUP,
    SPREAD,
    Property,
)

TYPE = 'senlin.policy.affinity'
VERSIONS = ('1.0', '1.1')
PROPERTIES = 'properties'


@dataclass(frozen=True)
class Properties:
    """A spec that was read and found right.

    ``rules`` is None where the spec gives none (an inherited group's own rules are then taken
    over), and ``{}`` where it says that there are none. ``extra_specs`` is a mode of
    :mod:`senlin_affinity.extra_specs`. ``member_of`` is as it was written, names and all.
    ``pins_hosts`` says whether the policy chooses the host of every node. ``preflight`` is
    ``enforce``, ``warn`` or ``off``; a spec 1.0, which is older than the preflight, has ``off``.
    ``on_detach`` is ``delete`` or ``keep``. ``spread`` has one spread for each criterion.
    """

    version: str
    server_group_name: str | None = None
    policy: str = ANTI_AFFINITY
    rules: Mapping[str, int] | None = None
    availability_zone: str | None = None
    is_drs_enabled: bool = False
    extra_specs: str = 'off'
    member_of: tuple[str, ...] = ()
    pins_hosts: bool = False
    preflight: str = 'off'
    on_detach: str = DELETE
    spread: tuple[Spread, ...] = ()


def load(spec: Mapping[str, Any]) -> Properties:
    """Read a whole spec: ``type``, ``version``, ``properties``, and perhaps ``description``."""
    _check_keys(spec, '', ('type', 'version', 'description', PROPERTIES))
    newest = f"'{VERSIONS[-1]}'"
    for key, wanted in (('type', TYPE), ('version', newest), (PROPERTIES, 'a mapping, or {}')):
        if key not in spec:
            raise InvalidSpec(f'is missing: write {key}: {wanted}', key)
    if spec['type'] != TYPE:
        raise InvalidSpec(f'must be {TYPE}, not {spec["type"]!r}', 'type')
    version = _version(spec['version'])
    values = _read_map(DECLARED, spec[PROPERTIES], PROPERTIES, version)
    group = values['servergroup']
    path = f'{PROPERTIES}.servergroup'
    policy = check_policy(group['policies'], f'{path}.policies')
    rules = group['rules']
    if rules is not None:
        given = {key: value for key, value in rules.items() if value is not None}
        rules = check_rules(given, policy, f'{path}.rules')
    if group['name'] is not None:
        check_name(group['name'], f'{path}.name')
    zone, is_drs_enabled = values['availability_zone'], values['enable_drs_extension']
    if zone is not None and ':' in zone:
        raise InvalidSpec(
            f'must be the name of a zone, without a host, not {zone!r}',
            f'{PROPERTIES}.availability_zone',
        )
    # A spec 1.0 is of a time before flavors and room were checked.
    is_old = version < EXTRA_SPECS.since
    mode = 'off' if is_old else values['extra_specs']
    expression, spreads = values['member_of'] or (), values['spread'] or ()
    _check_zones(spreads, zone, is_drs_enabled)
    return Properties(
        version,
        group['name'],
        policy,
        rules,
        zone,
        is_drs_enabled,
        mode,
        expression,
        _pins_hosts(expression, spreads, values['pin_hosts']),
        'off' if is_old else values['preflight'],
        group['on_detach'],
        spreads,
    )


def as_in_tree(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A spec 1.0 as Senlin's own policy takes it: an empty text is none, a number is a text."""
    given = spec.get(PROPERTIES)
    return {**spec, PROPERTIES: _as_in_tree(DECLARED, given)} if PROPERTIES in spec else spec


def _as_in_tree(declared: tuple[Property, ...], value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    known = {item.name: item for item in declared}
    read = {}
    for key, each in value.items():
        item = known.get(key)
        if item is not None and item.kind == 'map':
            read[key] = _as_in_tree(item.children, each)
        elif item is None or item.kind != 'string':
            read[key] = each
        elif each != '':
            read[key] = str(each) if isinstance(each, int | float) else each
    return read


def _check_zones(spreads: tuple[Spread, ...], zone: str | None, is_drs_enabled: bool) -> None:
    """A spread over the zones beside a property that decides on the zone of every node."""
    other = 'availability_zone' if zone else 'enable_drs_extension' if is_drs_enabled else None
    for number, item in enumerate(spreads):
        if item.by == ZONE and other is not None:
            raise InvalidSpec(
                f'must not be {ZONE} beside the property {other}, which decides on the zone of '
                'every node: leave one of them out',
                f'{PROPERTIES}.spread[{number}].by',
            )


def _pins_hosts(
    expression: tuple[str, ...], spreads: tuple[Spread, ...], is_said: bool | None
) -> bool:
    """Nova keeps to member_of, and to a spread over anything but zones, by no other means."""
    needing = ['member_of'] if expression else []
    needing += [f'a spread by {item.by}' for item in spreads if item.by != ZONE]
    if needing and is_said is False:
        raise InvalidSpec(
            f'must not be false beside {needing[0]}, which Nova keeps to only where the policy '
            f'chooses the hosts: leave pin_hosts out, or {needing[0]}',
            f'{PROPERTIES}.pin_hosts',
        )
    return bool(needing) or bool(is_said)


def _version(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | float) or str(value) not in VERSIONS:
        raise InvalidSpec(f'must be {" or ".join(VERSIONS)}, not {value!r}', 'version')
    return str(value)


def _read_map(
    declared: tuple[Property, ...], value: object, path: str, version: str
) -> dict[str, Any]:
    """All declared keys, with their defaults where the value has none."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping, not {value!r}; {{}} if there is nothing in it', path)
    known = {item.name: item for item in declared}
    for key in value:
        if key in known and known[key].since > version:
            raise InvalidSpec(
                f"needs version {known[key].since} of the spec: write version: '1.1'",
                f'{path}.{key}',
            )
    _check_keys(value, path, tuple(known))
    return {
        name: _read(item, value[name], f'{path}.{name}', version)
        if name in value
        else _default(item)
        for name, item in known.items()
    }


def _default(item: Property) -> Any:
    if item is SERVERGROUP:
        return {child.name: child.default for child in item.children}
    return item.default


def _read(item: Property, value: object, path: str, version: str) -> Any:
    if value is None:
        raise InvalidSpec('must not be null: leave the key out, or give it a value', path)
    if item.kind == 'map':
        return _read_map(item.children, value, path, version)
    if value is False and 'off' in item.allowed:
        value = 'off'  # a YAML reader makes a boolean of the bare word
    value = (spread.read_all if item is SPREAD else _READERS[item.kind])(value, path)
    if item.allowed and value not in item.allowed:
        raise InvalidSpec(f'must be one of {", ".join(item.allowed)}, not {value!r}', path)
    return value


def _read_string(value: object, path: str) -> str:
    if isinstance(value, list | tuple):
        raise InvalidSpec(f'must be one string, not a list: {value!r}', path)
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string, not {value!r}: put it in quotes', path)
    if not value.strip():
        raise InvalidSpec('must not be empty: leave the key out, or give it a value', path)
    return value


def _read_boolean(value: object, path: str) -> bool:
    try:
        return bool(strutils.bool_from_string(value, strict=True))
    except ValueError as error:
        raise InvalidSpec(f'must be true or false, not {value!r}', path) from error


def _read_expression(value: object, path: str) -> tuple[str, ...]:
    """A list in the grammar of Placement; whether its aggregates exist is the cloud's to say."""
    if not isinstance(value, list | tuple):
        raise InvalidSpec(f'must be a list, not {value!r}: write [{value!r}]', path)
    member_of.read(value, path, lambda part: part)
    return tuple(value)


def _read_as_is(value: object, path: str) -> object:
    """A number of the rules: ``core.server_group`` checks it."""
    return value


_READERS: dict[str, Callable[[object, str], object]] = {
    'string': _read_string,
    'boolean': _read_boolean,
    'integer': _read_as_is,
    'list': _read_expression,
}


def _check_keys(value: object, path: str, known: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'a policy spec must be a mapping with {", ".join(known)}', path)
    for key in value:
        if key not in known:
            where = f'{path}.{key}' if path else str(key)
            raise InvalidSpec(f'unknown key: {suggestion.meant(str(key), known)}', where)
