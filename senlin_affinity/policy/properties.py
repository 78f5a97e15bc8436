"""The properties of the policy's spec, read strictly.

Shapes (``schema`` says what each key may be)::

    {'type': 'senlin.policy.affinity', 'version': '1.1',
     'properties': {'servergroup': {'name': 'web', 'policies': 'anti-affinity',
                                    'rules': {'max_server_per_host': 3}},
                    'availability_zone': 'nova', 'enable_drs_extension': False,
                    'member_of': ['in:agg-a,agg-b', '!agg-licensed'],
                    'spread': [{'by': 'rack', 'max_skew': 1, 'mode': 'soft'}]}}

Errors: InvalidSpec, whose path is the property's.

Source: document 003; spec 1.1 is this project's. A version may be a number or a string.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from senlin_affinity.core import member_of, spread, suggestion
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.server_group import ANTI_AFFINITY, check_name, check_policy, check_rules
from senlin_affinity.core.spread import ZONE, Spread
from senlin_affinity.policy.schema import DECLARED, DELETE, PREFLIGHTS, Property

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

    def limited(self, preflight: str) -> Properties:
        """With no more of a preflight than this: a spec can ask for less."""
        return replace(self, preflight=max(self.preflight, preflight, key=PREFLIGHTS.index))


def load(spec: Mapping[str, Any]) -> Properties:
    """Read a whole spec: ``type``, ``version``, ``properties``, and perhaps ``description``."""
    known = ('type', 'version', 'description', PROPERTIES)
    if not isinstance(spec, Mapping):
        raise InvalidSpec(f'a policy spec must be a mapping with {", ".join(known)}')
    for key in spec:
        _check_key(key, known, str(key))
    newest = f"'{VERSIONS[-1]}'"
    for key, wanted in (('type', TYPE), ('version', newest), (PROPERTIES, 'a mapping, or {}')):
        if key not in spec:
            raise InvalidSpec(f'is missing: write {key}: {wanted}', key)
    if spec['type'] != TYPE:
        raise InvalidSpec(f'must be {TYPE}, not {spec["type"]!r}', 'type')
    version = _version(spec['version'])
    values = _read_map(DECLARED, spec[PROPERTIES], PROPERTIES, version)
    path = f'{PROPERTIES}.servergroup'
    group = values.get('servergroup') or _read_map(DECLARED[0].children, {}, path, version)
    policy = check_policy(group['policies'], f'{path}.policies')
    rules = group.get('rules')
    if rules is not None:
        rules = check_rules(rules, policy, f'{path}.rules')
    if 'name' in group:
        check_name(group['name'], f'{path}.name')
    zone, is_drs_enabled = values.get('availability_zone'), values['enable_drs_extension']
    if zone is not None and ':' in zone:
        raise InvalidSpec(
            f'must be the name of a zone, without a host, not {zone!r}',
            f'{PROPERTIES}.availability_zone',
        )
    expression, spreads = values.get('member_of', ()), values.get('spread', ())
    _check_zones(spreads, zone, is_drs_enabled)
    # A spec 1.0 is of a time before flavors and room were checked.
    is_old = version == VERSIONS[0]
    return Properties(
        version,
        group.get('name'),
        policy,
        rules,
        zone,
        is_drs_enabled,
        'off' if is_old else values['extra_specs'],
        expression,
        _pins_hosts(expression, spreads, values.get('pin_hosts')),
        'off' if is_old else values['preflight'],
        group['on_detach'],
        spreads,
    )


def as_in_tree(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A spec 1.0 as Senlin's own policy takes it: an empty text is none, a number is a text."""
    if PROPERTIES not in spec:
        return spec
    return {**spec, PROPERTIES: _as_in_tree(DECLARED, spec[PROPERTIES])}


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
    """The keys of a mapping that are declared: those that have a value, or a default."""
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping, not {value!r}; {{}} if there is nothing in it', path)
    since = {item.name: item.since for item in declared}
    for key in value:
        if since.get(key, version) > version:
            message = f"needs version {since[key]} of the spec: write version: '1.1'"
            raise InvalidSpec(message, f'{path}.{key}')
    for key in value:
        _check_key(key, since, f'{path}.{key}')
    return {
        item.name: _read(item, value[item.name], f'{path}.{item.name}', version)
        if item.name in value
        else item.default
        for item in declared
        if item.name in value or item.default is not None
    }


def _read(item: Property, value: Any, path: str, version: str) -> Any:
    """One value. A number of the rules is checked by ``core.server_group``."""
    if value is None:
        raise InvalidSpec('must not be null: leave the key out, or give it a value', path)
    if item.kind == 'map':
        return _read_map(item.children, value, path, version)
    if item.kind == 'list':
        return spread.read_all(value, path) if item.children else _read_expression(value, path)
    if item.kind == 'boolean':
        # Imported here: it compiles its patterns, which --help does without.
        from oslo_utils.strutils import bool_from_string

        try:
            return bool_from_string(value, strict=True)
        except ValueError as error:
            raise InvalidSpec(f'must be true or false, not {value!r}', path) from error
    if value is False and 'off' in item.allowed:
        value = 'off'  # a YAML reader makes a boolean of the bare word
    if item.kind == 'string':
        _check_string(value, path)
    if item.allowed and value not in item.allowed:
        raise InvalidSpec(f'must be one of {", ".join(item.allowed)}, not {value!r}', path)
    return value


def _check_string(value: object, path: str) -> None:
    if isinstance(value, list | tuple):
        raise InvalidSpec(f'must be one string, not a list: {value!r}', path)
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string, not {value!r}: put it in quotes', path)
    if not value.strip():
        raise InvalidSpec('must not be empty: leave the key out, or give it a value', path)


def _read_expression(value: object, path: str) -> tuple[str, ...]:
    """A list in the grammar of Placement; whether its aggregates exist is the cloud's to say."""
    if not isinstance(value, list | tuple):
        raise InvalidSpec(f'must be a list, not {value!r}: write [{value!r}]', path)
    member_of.read(value, path, lambda part: part)
    return tuple(value)


def _check_key(key: object, known: Collection[str], path: str) -> None:
    if key not in known:
        raise InvalidSpec(f'unknown key: {suggestion.meant(str(key), known)}', path)
