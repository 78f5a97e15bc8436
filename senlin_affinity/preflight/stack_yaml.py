"""Read a list of servers and server groups that is written for ``plan``.

Example::

    server_groups:
      web: {policy: anti-affinity, rules: {max_server_per_host: 2}}
    flavors:
      db.large: {vcpus: 8, ram: 32768, disk: 80, extra_specs: {'hw:cpu_policy': dedicated}}
    servers:
      - {name: web, count: 6, flavor: m1.small, image: debian-12, server_group: web}
      - {name: db, flavor: db.large, availability_zone: az-1, boot_from_volume: true}

Groups and flavors below ``server_groups`` and ``flavors`` are created with the servers. Any other
name is that of an existing one.

Units: ``ram`` and ``swap`` in MiB, ``disk`` and ``ephemeral`` in GiB.

Raises: InvalidSpec with the path of each mistake.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from senlin_affinity.model.errors import InvalidSpec, Mistakes
from senlin_affinity.model.flavor import Flavor
from senlin_affinity.model.image import NONE
from senlin_affinity.model.member_of import read as read_member_of
from senlin_affinity.model.numbers import whole
from senlin_affinity.model.server_group import ServerGroup, check_policy, check_rules
from senlin_affinity.model.suggestion import meant
from senlin_affinity.preflight.question import Question
from senlin_affinity.preflight.workload import Workload

_TOP = ('servers', 'server_groups', 'flavors')
_SERVER = """
    name count flavor image image_properties boot_from_volume server_group availability_zone hints
    member_of metadata_items
"""
_GROUP = ('policy', 'rules')
_SIZES = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
_NEEDED = ('vcpus', 'ram', 'disk')
#: The most servers of one request.
_MOST = 1_000_000


def read(document: object) -> Workload:
    """Return the requests of a parsed file."""
    mistakes = Mistakes()
    top = mapping_at(document, '', _TOP)
    groups: dict[str, ServerGroup] = {}
    flavors: dict[str, Flavor] = {}
    with mistakes.collected():
        for name, body in mapping_at(top.get('server_groups', {}), 'server_groups').items():
            with mistakes.collected():
                groups[name] = group_at(name, body, f'server_groups.{name}')
    with mistakes.collected():
        for name, body in mapping_at(top.get('flavors', {}), 'flavors').items():
            with mistakes.collected():
                flavors[name] = flavor_at(name, body, f'flavors.{name}')
    questions: list[Question] = []
    with mistakes.collected():
        for number, body in enumerate(list_at(top.get('servers'), 'servers')):
            with mistakes.collected():
                questions.append(_question(body, number, groups, flavors))
    names = [each.name for each in questions]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            mistakes.add(f'{name!r} is the name of several requests', 'servers')
    mistakes.check()
    return Workload(tuple(questions), (*groups.values(),))


def _question(
    body: object, number: int, groups: Mapping[str, ServerGroup], flavors: Mapping[str, Flavor]
) -> Question:
    """Return the request of one element of ``servers``."""
    path = f'servers[{number}]'
    given = mapping_at(body, path, _SERVER.split())
    mistakes = Mistakes()
    read: dict[str, Any] = {'count': 1, 'name': f'request {number + 1}'}
    for key, value in given.items():
        with mistakes.collected():
            read |= _field(key, value, f'{path}.{key}')
    if 'flavor' not in given:
        mistakes.add('is missing', f'{path}.flavor')
    mistakes.check()
    group, flavor = read.get('server_group'), read.get('flavor')
    read['server_group'] = groups.get(str(group), group)
    read['flavor'] = flavors.get(str(flavor), flavor)
    return Question(**read)


def _field(key: str, value: object, path: str) -> Mapping[str, Any]:
    """Return the fields of a question that one key of a server determines."""
    if key == 'count':
        return {'count': count_at(value, path)}
    if key == 'metadata_items':
        return {key: whole(value, path, 0)}
    if key == 'boot_from_volume':
        if not isinstance(value, bool):
            raise InvalidSpec(f'must be true or false, not {value!r}', path)
        return {'is_volume_booted': value}
    if key == 'image_properties':
        return {key: texts_at(value, path)}
    if key == 'hints':
        return {'scheduler_hints': mapping_at(value, path)}
    if key == 'member_of':
        expressions = tuple(text_at(each, path) for each in list_at(value, path))
        read_member_of(expressions, path, lambda part: part)
        return {key: expressions}
    text = text_at(value, path)
    return {key: NONE if (key, text) == ('image', 'none') else text}


def group_at(name: str, body: object, path: str) -> ServerGroup:
    """Return a server group that is created: ``{policy: ..., rules: {...}}``."""
    given = mapping_at(body, path, _GROUP)
    policy = check_policy(given.get('policy'), f'{path}.policy')
    rules = check_rules(given.get('rules', {}), policy, f'{path}.rules')
    return ServerGroup.planned(name, policy, rules)


def flavor_at(name: str, body: object, path: str) -> Flavor:
    """Return a flavor that is created: ``{vcpus: 1, ram: 512, disk: 10, extra_specs: {...}}``."""
    given = mapping_at(body, path, (*_SIZES, 'extra_specs'))
    for key in _NEEDED:
        if key not in given:
            raise InvalidSpec('is missing', f'{path}.{key}')
    return flavor_of(f'new flavor {name}', name, given, path)


def flavor_of(identity: str, name: str, given: Mapping[str, Any], path: str) -> Flavor:
    """Return a flavor with the sizes and extra specs of a mapping; a missing size is 0."""
    sizes = (whole(given.get(key) or 0, f'{path}.{key}', 0) for key in _SIZES)
    vcpus, ram, disk, ephemeral, swap = sizes
    specs = texts_at(given.get('extra_specs') or {}, f'{path}.extra_specs')
    return Flavor(identity, name, vcpus, ram, disk, ephemeral, swap, specs)


def count_at(value: object, path: str) -> int:
    """Return a number of servers."""
    number = whole(value, path, 0)
    if number > _MOST:
        raise InvalidSpec(f'must be at most {_MOST:,}, not {number:,}', path)
    return number


def mapping_at(value: object, path: str, keys: Collection[str] | None = None) -> Mapping[str, Any]:
    """Return a mapping with texts as keys.

    :param keys: all that it may have; None: any.
    """
    if not isinstance(value, Mapping):
        raise InvalidSpec(f'must be a mapping, not {reprlib.repr(value)}', path)
    for key in value:
        if not isinstance(key, str):
            raise InvalidSpec(f'must have texts as keys, not {key!r}: put it in quotes', path)
        if keys is not None and key not in keys:
            raise InvalidSpec(f'unknown key: {meant(key, keys)}', f'{path}.{key}' if path else key)
    return value


def list_at(value: object, path: str) -> Sequence[Any]:
    """Return a list."""
    if not isinstance(value, list | tuple):
        raise InvalidSpec(f'must be a list, not {reprlib.repr(value)}', path)
    return value


def text_at(value: object, path: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str):
        raise InvalidSpec(f'must be a string, not {value!r}: put it in quotes', path)
    if not value.strip():
        raise InvalidSpec('must not be empty: remove the key, or set a value', path)
    return value


def texts_at(value: object, path: str) -> Mapping[str, str]:
    """Return a mapping of texts; numbers and booleans become texts, as openstacksdk sends them."""
    return {key: _as_text(each, f'{path}.{key}') for key, each in mapping_at(value, path).items()}


def _as_text(value: object, path: str) -> str:
    if not isinstance(value, str | int | float):
        raise InvalidSpec(f'must be a string, not {reprlib.repr(value)}', path)
    return str(value)
