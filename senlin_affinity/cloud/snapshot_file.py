"""Write a snapshot to a JSON file, and read it again without the cloud.

The format is 2 if the file contains Placement's answer to a question, else 1. A part that is absent
or null is unknown, which is not the same as empty.

Example::

    {"format": 1,
     "hosts": [
      {"host": "cmp-1", "resources": {"VCPU": {"capacity": 64, "used": 2}}, ...},
    ...
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields, replace

from senlin_affinity.cloud import input_file, json_mistake
from senlin_affinity.cloud.json_mistake import wrong
from senlin_affinity.model import suggestion
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.cloud import NO_LIMIT, OF_FETCH, Cloud, Quota
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.member_of import spelt
from senlin_affinity.model.server import Server
from senlin_affinity.model.server_group import ServerGroup, check_policy, check_rules
from senlin_affinity.model.value import Decoding, Value
from senlin_affinity.nova import quotas

#: The format without Placement's answers, and with them.
FORMATS = 1, 2
QUOTAS = (
    quotas.INSTANCES,
    quotas.CORES,
    quotas.RAM,
    quotas.SERVER_GROUPS,
    quotas.SERVER_GROUP_MEMBERS,
    quotas.METADATA_ITEMS,
)
#: The first bytes of gzip, bzip2, xz, zstd and zip.
_COMPRESSED = (b'\x1f\x8b', b'BZh', b'\xfd7zXZ', b'(\xb5/\xfd', b'PK\x03\x04')
#: Larger files are not checked for duplicate keys: programs write them, not people.
_LARGE = 1 << 20
_CLASS = re.compile('[A-Z0-9_]+')
_SERVERS = 'servers_by_host'
_GRANTS, _RESOURCES, _POOL = map(attrgetter, ('grants', 'resources', 'pool'))


_PARTS = tuple(each for each in fields(Cloud) if each.name not in OF_FETCH)
_DEFAULTS = {each.name: getattr(Cloud(), each.name) for each in _PARTS}
_TYPES = {each.name: each.type for each in _PARTS} | {'quotas': Mapping[str, Quota | None]}
_CONTENT = (
    'The content of a file: the parts of a cloud, each of which may be null, as may each quota. A '
    'limit of -1 is no limit.'
)
SnapshotFile = msgspec.defstruct(
    'SnapshotFile',
    [*((name, kind | None, None) for name, kind in _TYPES.items()), ('format', int)],
    bases=(Value,),
    namespace={'__doc__': _CONTENT},
    frozen=True,
    kw_only=True,
)


def load(path: str | os.PathLike[str], largest: int = input_file.LARGEST) -> Cloud:
    """Read and check the snapshot in a file.

    Raise InvalidSpec if the file cannot be read, is larger than ``largest`` MiB, or is not valid.
    """
    try:
        text = decoded(input_file.read(path, largest))
    except OSError as error:
        raise InvalidSpec(f'{os.fspath(path)} cannot be read: {error.strerror}') from error
    return parse(text)


def decoded(data: bytes | bytearray) -> str:
    """Decode UTF-8, with or without BOM; raise InvalidSpec for compressed or other data."""
    if data.startswith(_COMPRESSED):
        raise InvalidSpec('is compressed: unpack it first')
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise InvalidSpec('is not UTF-8 text: write it with "snapshot save"') from error


def parse(text: str) -> Cloud:
    """Read and check the snapshot in a text; raise InvalidSpec if it is empty or invalid."""
    if not text or text.isspace():
        raise InvalidSpec('is empty: write it with "snapshot save"')
    try:
        if len(text) < _LARGE:
            _check_keys(text)
        file: Any = msgspec.json.decode(text, type=SnapshotFile, dec_hook=Decoding())
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        raise _mistake(text, error) from error
    _check_format(file.format)
    parts = {name: getattr(file, name) for name in _DEFAULTS}
    return _checked(Cloud(**{name: part for name, part in parts.items() if part is not None}))


def _check_keys(text: str) -> None:
    """Raise InvalidSpec for a duplicate key, unless the text is not JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        if error := json_mistake.duplicate_key(json_mistake.decode(text)):
            raise error


def _mistake(text: str, error: Exception) -> InvalidSpec:
    """Return the error for a text that msgspec rejected."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as found:
        where = f'line {found.lineno}, column {found.colno}: {found.msg}'
        is_at_end = found.pos >= len(text.rstrip()) or found.msg.startswith('Unterminated')
        message = f'is cut off, or not valid JSON ({where})'
        return InvalidSpec(message if is_at_end else f'is not valid JSON in {where}')
    except (ValueError, RecursionError) as found:
        # A number with too many digits, or too deep nesting.
        return InvalidSpec(f'is not valid JSON: {found}')
    if type(document) is not dict:
        return wrong('must be an object with format, hosts, ...', document)
    try:
        _check_format(document.get('format'))
    except InvalidSpec as found:
        return found
    mistake = json_mistake.mistake(document, SnapshotFile)
    return mistake or InvalidSpec(f'is not a valid snapshot: {error}')


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise the error of :func:`save` if it cannot create the file; leave no file behind."""
    target = _target(path)
    # As long as the temporary name in save().
    with tempfile.NamedTemporaryFile(prefix=f'.{target.name}.', dir=target.parent):
        pass


def save(snapshot: Cloud, path: str | os.PathLike[str]) -> None:
    """Write the snapshot atomically; only the owner of the file may read it.

    Raise InvalidSpec for an empty path or a directory; OSError if the file cannot be written.
    """
    target = _target(path)
    handle, name = tempfile.mkstemp(prefix=f'.{target.name}.', dir=target.parent)
    try:
        with open(handle, 'wb') as file:
            file.writelines(piece.encode() for piece in render(snapshot))
            file.flush()
            os.fsync(handle)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _target(path: str | os.PathLike[str]) -> Path:
    """Resolve links in the path; raise InvalidSpec for '', a folder or a device."""
    if not os.fspath(path):
        raise InvalidSpec('the name of the file is empty')
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InvalidSpec(f'{os.fspath(path)} must be a regular file')
    return target


def render(snapshot: Cloud) -> Iterator[str]:
    """Yield the text of the file in pieces, with a line for each item of a list."""
    yield f'{{"format": {FORMATS[bool(snapshot.queries)]}'
    limits = {name: _written(quota) for name, quota in (snapshot.quotas or {}).items()}
    for name, default in _DEFAULTS.items():
        if (value := getattr(snapshot, name)) == default:
            continue
        yield f',\n "{name}": '
        if isinstance(value, tuple):
            yield from _lines(value)
        elif name == _SERVERS:
            for number, (host, servers) in enumerate(value.items()):
                yield f'{"," if number else "{"}\n {_encoded(host)}: '
                yield from _lines(servers)
            yield '}'
        else:
            yield _encoded(limits if name == 'quotas' else value)
    yield '}\n'


def _lines(items: Iterable[Any]) -> Iterator[str]:
    """Yield the text of a list, with a line for each item."""
    separator = '['
    for item in items:
        yield f'{separator}\n  {_encoded(item)}'
        separator = ','
    yield ']' if separator == ',' else '[]'


def _encoded(value: Any) -> str:
    """Return the JSON text of a value in one line, with sorted sets and keys."""
    text = msgspec.json.encode(value, order='deterministic')
    return msgspec.json.format(text, indent=0).decode()


def _written(quota: Quota) -> Quota:
    """Return the quota with -1 for no limit, also for its user."""
    of_user = quota.of_user and _written(quota.of_user)
    limit = NO_LIMIT if quota.limit is None else quota.limit
    return replace(quota, limit=limit, of_user=of_user)


def _checked(snapshot: Cloud) -> Cloud:
    """Return the snapshot in its form in memory; raise InvalidSpec for parts that do not agree.

    In memory, no limit is None, UUIDs are in canonical form, and rules are numbers.
    """
    hosts = snapshot.hosts or ()
    _check_unique('hosts', hosts, 'host', 'hypervisor_hostname')
    _check_unique('aggregates', snapshot.aggregates or (), 'uuid')
    _check_unique('flavors', snapshot.flavors or (), 'id')
    _check_unique('server_groups', snapshot.server_groups or (), 'id')
    _check_unique('soft_deleted', snapshot.soft_deleted or (), 'server')
    _check_unique('servers', snapshot.servers or (), 'server')
    for number, grants in enumerate(map(_GRANTS, hosts)):
        if grants:
            _check_unique(f'hosts[{number}].grants', grants, 'query')
    _check_classes(hosts)
    _check_aggregates(hosts, snapshot.aggregates or ())
    pools = _pools(snapshot.pools)
    every = map(methodcaller('values'), filter(None, map(_RESOURCES, hosts)))
    if any(map(_POOL, chain.from_iterable(every))):
        hosts = _with_pools(hosts, pools)
    groups = snapshot.server_groups
    if groups is not None:
        groups = tuple(_group(group, number) for number, group in enumerate(groups))
    return replace(
        snapshot,
        hosts=None if snapshot.hosts is None else hosts,
        pools=pools,
        server_groups=groups,
        quotas=None if snapshot.quotas is None else _quotas(snapshot.quotas),
        servers_by_host=_servers(snapshot),
    )


def _check_unique(path: str, items: Sequence[Any], *names: str) -> None:
    """Raise InvalidSpec for an item that agrees with an earlier one in all of these fields."""
    keys = [*map(attrgetter(*names), items)]
    if len(set(keys)) == len(keys):
        return
    for number, key in enumerate(keys):
        if (first := keys.index(key)) != number:
            raise InvalidSpec(f'is the same as in item {first}', f'{path}[{number}].{names[0]}')


def _check_classes(hosts: Iterable[Host]) -> None:
    """Raise InvalidSpec for a resource of a host whose name is not that of a resource class."""
    names = {*chain.from_iterable(filter(None, map(_RESOURCES, hosts)))}
    if all(map(_CLASS.fullmatch, names)):
        return
    for number, host in enumerate(hosts):
        for name in host.resources or ():
            _check_class(name, f'hosts[{number}].resources.{name}')


def _check_class(name: str, path: str) -> None:
    if not _CLASS.fullmatch(name):
        words = 'is not a resource class: write one such as VCPU, MEMORY_MB or CUSTOM_GPU'
        raise InvalidSpec(words, path)


def _pools(pools: Mapping[str, Mapping[str, Resource]]) -> Mapping[str, Mapping[str, Resource]]:
    """Return the pools by canonical UUID; raise InvalidSpec for two spellings of one."""
    found: dict[str, Mapping[str, Resource]] = {}
    for name, resources in pools.items():
        uuid, path = spelt(name), f'pools.{name}'
        if uuid in found:
            raise InvalidSpec(f'is {uuid}, which occurs twice', path)
        for each, has in resources.items():
            _check_class(each, f'{path}.{each}')
            if has.is_sum or has.pool is not None:
                key = 'is_sum' if has.is_sum else 'pool'
                words = 'unknown key: choose from capacity, used, max_unit, step_size'
                raise InvalidSpec(words, f'{path}.{each}.{key}')
        found[uuid] = resources
    return found


def _with_pools(
    hosts: Sequence[Host], pools: Mapping[str, Mapping[str, Resource]]
) -> tuple[Host, ...]:
    """Return the hosts with canonical UUIDs of their pools.

    Raise InvalidSpec for a resource whose pool lacks its class, or is unknown.
    """
    found = []
    for number, host in enumerate(hosts):
        resources = dict(host.resources or {})
        for name, has in resources.items():
            if has.pool is None:
                continue
            resources[name] = has = replace(has, pool=spelt(has.pool))
            if name not in pools.get(str(has.pool), ()):
                raise InvalidSpec(
                    f'the pool {has.pool!r} has no {name}: add {name} to this pool in pools',
                    f'hosts[{number}].resources.{name}.pool',
                )
        found.append(host if host.resources is None else replace(host, resources=resources))
    return tuple(found)


def _group(group: ServerGroup, number: int) -> ServerGroup:
    """Return the group with numbers as rules; raise InvalidSpec for its policy or rules."""
    path = f'server_groups[{number}]'
    # Very old groups have the policy ''.
    policy = group.policy and check_policy(group.policy, f'{path}.policy')
    _check_unique(f'{path}.members', group.members, 'server')
    return replace(group, rules=check_rules(group.rules, policy, f'{path}.rules'))


def _servers(snapshot: Cloud) -> dict[str, tuple[Server, ...]]:
    """Return the servers of each host, with the name of the host.

    Raise InvalidSpec for an unknown host, for a server of another host, and for a duplicate id.
    """
    names = set(snapshot.host_names)
    found, known = {}, dict[str, str]()
    for host, servers in snapshot.servers_by_host.items():
        path = f'{_SERVERS}.{host}'
        if snapshot.hosts is not None and host not in names:
            raise InvalidSpec(f'there is no host {host!r}: {suggestion.meant(host, names)}', path)
        for number, server in enumerate(servers):
            if server.host not in (None, host):
                words = f'must be {host!r}, or be left out, not {server.host!r}'
                raise InvalidSpec(words, f'{path}[{number}].host')
            if server.id in known:
                words = f'is the same as in {known[server.id]}'
                raise InvalidSpec(words, f'{path}[{number}].id')
            known[server.id] = f'{path}[{number}]'
        found[host] = tuple(
            server if server.host is not None else replace(server, host=host) for server in servers
        )
    return found


def _quotas(found: Mapping[str, Quota | None]) -> dict[str, Quota]:
    """Return the known quotas, with None for no limit; raise InvalidSpec for other names."""
    for name in found:
        if name not in QUOTAS:
            path = f'quotas.{name}'
            raise InvalidSpec(f'unknown key: {suggestion.meant(name, QUOTAS)}', path)
    quotas = {name: quota for name, quota in found.items() if quota is not None}
    return {name: _read(quota, f'quotas.{name}') for name, quota in quotas.items()}


def _read(quota: Quota, path: str) -> Quota:
    """Return the quota with None for no limit, also for its user."""
    if quota.limit is None:
        raise InvalidSpec('must be an integer of 0 or more, or -1 for no limit', f'{path}.limit')
    of_user = quota.of_user and _read(quota.of_user, f'{path}.of_user')
    return replace(quota, limit=None if quota.limit == NO_LIMIT else quota.limit, of_user=of_user)


def _check_format(value: Any) -> None:
    """Raise InvalidSpec unless the value is 1 or 2."""
    oldest, newest = FORMATS
    if value is None:
        raise InvalidSpec(f'is missing: write "format": {oldest}', 'format')
    if type(value) is int and value > newest:
        words = f'upgrade senlin-affinity (this version reads {oldest} and {newest})'
        raise InvalidSpec(f'{value} was written by a newer version: {words}', 'format')
    if type(value) is not int or value not in FORMATS:
        raise wrong(f'must be {oldest} or {newest}', value, 'format')


def _check_aggregates(hosts: Sequence[Host], aggregates: Sequence[Aggregate]) -> None:
    """Raise InvalidSpec for a host that has the name of an aggregate instead of its UUID.

    Placement may have aggregates that Nova lacks, so any UUID is valid.
    """
    uuids = {aggregate.name: aggregate.uuid for aggregate in aggregates}
    named = uuids.keys() - set(uuids.values())
    for number, host in enumerate(hosts):
        if found := host.aggregates & named:
            name = min(found)
            raise InvalidSpec(
                f'{name!r} is the name of an aggregate: write its uuid, {uuids[name]!r}',
                f'hosts[{number}].aggregates',
            )
