"""Declare, parse and validate the properties of the policy's spec.

Senlin's schema and the reference page of the manual use the same declaration.

Example::

    {'type': 'senlin.policy.affinity', 'version': '1.1',
     'properties': {'servergroup': {'name': 'web', 'policies': 'anti-affinity',
                                    'rules': {'max_server_per_host': 3}},
                    'availability_zone': 'nova', 'enable_drs_extension': False,
                    'member_of': ['in:agg-a,agg-b', '!agg-licensed'],
                    'spread': [{'by': 'rack', 'max_skew': 1, 'mode': 'soft'}]}}

Raises: InvalidSpec with all mistakes, each with the path of its property.

Source: "Affinity Policy V1.0" in Senlin's manual; spec 1.1 is this project's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from senlin_affinity.model import member_of, spread, suggestion
from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.numbers import FALSE, TRUE
from senlin_affinity.model.server_group import (
    ANTI_AFFINITY,
    MAX_SERVER_PER_HOST,
    POLICIES,
    check_name,
    check_rules,
)
from senlin_affinity.model.spread import HARD, SOFT, ZONE, Spread

#: What a detach does with a server group that the policy created.
DELETE, KEEP = 'delete', 'keep'
#: The modes of a preflight, the strongest first.
PREFLIGHTS = ('enforce', 'warn', 'off')


@dataclass(frozen=True)
class Property:
    """The declaration of one key of a spec.

    ``kind`` is ``string``, ``integer``, ``boolean``, ``list`` (of strings; of maps if it has
    ``children``) or ``map``. ``since`` is the first version of the spec with the key. ``default``
    of None: a missing key has a meaning of its own.
    """

    name: str
    description: str
    kind: str = 'string'
    since: str = '1.0'
    default: Any = None
    allowed: tuple[str, ...] = ()
    children: tuple[Property, ...] = ()


_New = partial(Property, since='1.1')

_GROUP = (
    Property(
        'name',
        'Name or id of the server group. An existing group is inherited; a group with a new name '
        'is created.',
    ),
    Property(
        'policies', 'The policy of the server group.', default=ANTI_AFFINITY, allowed=POLICIES
    ),
    _New(
        'rules',
        'The rules of an anti-affinity group (compute microversion 2.64).',
        'map',
        children=(
            _New(
                MAX_SERVER_PER_HOST,
                'Maximum number of servers of the group on one host (default: 1).',
                'integer',
            ),
        ),
    ),
    _New(
        'on_detach',
        'Whether a detach deletes a server group that the policy created, or keeps it for the '
        'next policy of the cluster.',
        default=DELETE,
        allowed=(DELETE, KEEP),
    ),
)
_SPREAD = (
    _New(
        'by',
        'Criterion of the domains: availability_zone, or a metadata key of aggregates such as '
        'rack.',
    ),
    _New(
        'max_skew',
        'Maximum difference between the servers in a domain and those in the emptiest domain.',
        'integer',
        default=1,
    ),
    _New(
        'max_per_domain',
        'Maximum number of servers of the group in one domain (default: no limit).',
        'integer',
    ),
    _New(
        'mode',
        'Whether the spread rejects nodes that violate it (hard), or is only preferred (soft).',
        default=HARD,
        allowed=(HARD, SOFT),
    ),
)
DECLARED = (
    Property('servergroup', 'The server group that the nodes join.', 'map', children=_GROUP),
    Property('availability_zone', 'Name of the availability zone to place the nodes in.'),
    Property(
        'enable_drs_extension',
        'Place the nodes on a vSphere host with DRS (clusters owned by an administrator).',
        'boolean',
        default=False,
    ),
    _New(
        'extra_specs',
        "How the extra specs of the flavor of the cluster's profile are checked.",
        default='permissive',
        allowed=('strict', 'permissive', 'off'),
    ),
    _New(
        'preflight',
        'Whether nodes that do not fit are rejected before Nova receives a request, or only '
        'cause a warning.',
        default=PREFLIGHTS[0],
        allowed=PREFLIGHTS,
    ),
    _New(
        'member_of',
        'Aggregates that the hosts of the nodes must be in, or must not be in, by name or id, in '
        'the syntax of Placement (clusters owned by an administrator).',
        'list',
    ),
    _New(
        'pin_hosts',
        'Whether the policy chooses the host of every node (clusters owned by an administrator). '
        'Always true with member_of, or with a spread by a metadata key.',
        'boolean',
    ),
    _New(
        'spread',
        'Spreads of the nodes over zones (for everybody), or over other domains (clusters owned '
        'by an administrator).',
        'list',
        children=_SPREAD,
    ),
)


TYPE = 'senlin.policy.affinity'
VERSIONS = ('1.0', '1.1')
PROPERTIES = 'properties'


@dataclass(frozen=True)
class PolicySpec:
    """The properties of a valid spec.

    ``rules`` is None if the spec has none (an inherited group's own rules then apply), and ``{}``
    if they are empty. ``extra_specs`` (``strict``, ``permissive`` or ``off``) and ``preflight``
    (``enforce``, ``warn`` or ``off``) are ``off`` for a spec 1.0. ``member_of`` is unparsed, with
    names. ``pins_hosts``: the policy chooses the host of every node. ``on_detach`` is ``delete`` or
    ``keep``. ``spread`` has one spread for each criterion.
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

    def limited(self, preflight: str) -> PolicySpec:
        """Return the properties with the weaker of both modes of the preflight."""
        return replace(self, preflight=max(self.preflight, preflight, key=PREFLIGHTS.index))


def group_name(spec: Mapping[str, Any]) -> str | None:
    """Return the name of the server group in a spec; None without one, or if it is invalid."""
    try:
        return load(spec).server_group_name
    except InvalidSpec:
        return None


def load(spec: Mapping[str, Any]) -> PolicySpec:
    """Parse a spec: ``type``, ``version`` (a number or text), ``properties``, ``description``."""
    known = ('type', 'version', 'description', PROPERTIES)
    if not isinstance(spec, Mapping):
        raise InvalidSpec(f'a policy spec must be a mapping with {", ".join(known)}')
    mistakes, version = Mistakes(), VERSIONS[-1]
    for key in spec:
        with mistakes.collected():
            _check_key(key, known, str(key))
    needed = (('type', TYPE), ('version', f"'{version}'"), (PROPERTIES, 'a mapping, or {}'))
    for key, wanted in needed:
        if key not in spec and all(suggestion.nearest(str(each), known) != key for each in spec):
            mistakes.add(f'is missing: write {key}: {wanted}', key)
    if spec.get('type', TYPE) != TYPE:
        mistakes.add(f'must be {TYPE}, not {spec["type"]!r}', 'type')
        mistakes.check()  # the properties belong to another policy
    with mistakes.collected():
        version = _version(spec.get('version', version))
    values = _read_map(DECLARED, spec.get(PROPERTIES, {}), PROPERTIES, version, mistakes)
    path = f'{PROPERTIES}.servergroup'
    group = values.get('servergroup') or _read_map(_GROUP, {}, path, version, mistakes)
    policy, rules = group['policies'], group.get('rules')
    with mistakes.collected():
        rules = rules if rules is None else check_rules(rules, policy, f'{path}.rules')
    with mistakes.collected():
        if 'name' in group:
            check_name(group['name'], f'{path}.name')
    zone, is_drs_enabled = values.get('availability_zone'), values['enable_drs_extension']
    expression, spreads = values.get('member_of', ()), values.get('spread', ())
    with mistakes.collected():
        _check_zones(spreads, zone, is_drs_enabled)
    with mistakes.collected():
        pins_hosts = _pins_hosts(expression, spreads, values.get('pin_hosts'))
    mistakes.check()
    is_old = version == VERSIONS[0]
    return PolicySpec(
        version,
        group.get('name'),
        policy,
        rules,
        zone,
        is_drs_enabled,
        'off' if is_old else values['extra_specs'],
        expression,
        pins_hosts,
        'off' if is_old else values['preflight'],
        group['on_detach'],
        spreads,
    )


def as_in_tree(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Normalize a spec 1.0 as Senlin's own policy: drop empty strings, make numbers strings."""
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
    """Reject a zone with a host, and a spread over zones if another property sets the zone."""
    if zone is not None and ':' in zone:
        raise InvalidSpec(
            f'must be the name of a zone, without a host, not {zone!r}',
            f'{PROPERTIES}.availability_zone',
        )
    other = 'availability_zone' if zone else 'enable_drs_extension' if is_drs_enabled else None
    for number, item in enumerate(spreads):
        if item.by == ZONE and other is not None:
            raise InvalidSpec(
                f'must not be {ZONE} together with the property {other}, which determines the zone '
                'of every node: remove one of them',
                f'{PROPERTIES}.spread[{number}].by',
            )


def _pins_hosts(
    expression: tuple[str, ...], spreads: tuple[Spread, ...], is_given: bool | None
) -> bool:
    """Return whether the policy must choose the hosts: for ``member_of``, or a spread by a key."""
    needing = ['member_of'] if expression else []
    needing += [f'a spread by {item.by}' for item in spreads if item.by != ZONE]
    if needing and is_given is False:
        raise InvalidSpec(
            f'must not be false together with {needing[0]}, for which the policy must choose the '
            f'hosts: remove pin_hosts, or {needing[0]}',
            f'{PROPERTIES}.pin_hosts',
        )
    return bool(needing) or bool(is_given)


def _version(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | float) or str(value) not in VERSIONS:
        raise InvalidSpec(f'must be {" or ".join(VERSIONS)}, not {value!r}', 'version')
    return str(value)


def _read_map(
    declared: tuple[Property, ...], value: object, path: str, version: str, mistakes: Mistakes
) -> dict[str, Any]:
    """Return the valid values and the defaults of the declared keys."""
    if not isinstance(value, Mapping):
        mistakes.add(f'must be a mapping, not {value!r}; write {{}} for an empty mapping', path)
        value = {}
    known = {item.name: item for item in declared}
    read = {item.name: item.default for item in declared if item.default is not None}
    for key, each in value.items():
        with mistakes.collected():
            _check_key(key, known, f'{path}.{key}')
            read[key] = _read(known[key], each, f'{path}.{key}', version, mistakes)
    return read


def _read(item: Property, value: Any, path: str, version: str, mistakes: Mistakes) -> Any:
    """Return one value (the number of a rule unchecked).

    Raise InvalidSpec, but collect the mistakes inside a map.
    """
    if item.since > version:
        raise InvalidSpec(f"needs version {item.since} of the spec: write version: '1.1'", path)
    if value is None:
        raise InvalidSpec('must not be null: remove the key, or set a value', path)
    if item.kind == 'map':
        return _read_map(item.children, value, path, version, mistakes)
    if item.kind == 'list':
        return spread.read_all(value, path) if item.children else _read_expression(value, path)
    if item.kind == 'boolean':
        word = str(value).strip().lower()
        if word not in TRUE | FALSE:
            raise InvalidSpec(f'must be true or false, not {value!r}', path)
        return word in TRUE
    if value is False and 'off' in item.allowed:
        value = 'off'  # YAML parses an unquoted off as a boolean
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
        raise InvalidSpec('must not be empty: remove the key, or set a value', path)


def _read_expression(value: object, path: str) -> tuple[str, ...]:
    """Return a list in the grammar of Placement; the aggregates need not exist."""
    if not isinstance(value, list | tuple):
        raise InvalidSpec(f'must be a list, not {value!r}: write [{value!r}]', path)
    member_of.read(value, path, lambda part: part)
    return tuple(value)


def _check_key(key: object, known: Collection[str], path: str) -> None:
    if key not in known:
        raise InvalidSpec(f'unknown key: {suggestion.meant(str(key), known)}', path)
