"""The snapshot as a file: JSON, format 1, for a replay without the cloud.

The way of the data: :func:`save` writes a snapshot; :func:`load` reads it back, or what a person
wrote, and checks every value. ``load(save(x)) == x``. Hosts are read one by one, and what is equal
in them is one object afterwards: a large file becomes a small snapshot.

Shapes::

    {"format": 1,
     "taken_at": "2026-01-01T00:00:00Z",
     "hosts": [
    {"host": "cmp-1", "hypervisor_hostname": "cmp-1", "resources": {"VCPU": {"capacity": 64, ...}}},
    ...

Units: those of :mod:`senlin_affinity.core.objects`. A limit of -1 is "no limit". A part that is
absent or null is not known, which is not the same as empty.

Errors: InvalidSpec with the path of what is wrong (``hosts[3].resources.VCPU.capacity``), and for a
file that can not be read; OSError where one can not be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud import snapshot_reader as reader
from senlin_affinity.cloud import snapshot_writer as writer
from senlin_affinity.cloud.json_walk import TWICE, Walk
from senlin_affinity.cloud.snapshot_hosts import Hosts
from senlin_affinity.core.errors import InvalidSpec
from senlin_affinity.core.objects import Aggregate, CloudSnapshot, Host, Resource

FORMAT = 1
#: How files of gzip, bzip2, xz, zstd and zip begin.
_COMPRESSED = (b'\x1f\x8b', b'BZh', b'\xfd7zXZ', b'(\xb5/\xfd', b'PK\x03\x04')


def load(path: str | os.PathLike[str]) -> CloudSnapshot:
    """Read and check the snapshot in a file."""
    try:
        text = decoded(Path(path).read_bytes())
    except OSError as error:
        raise InvalidSpec(f'{os.fspath(path)} can not be read: {error.strerror}') from error
    return parse(text)


def decoded(data: bytes) -> str:
    """The text in the bytes of a file; a byte order mark before it is passed over."""
    if data.startswith(_COMPRESSED):
        raise InvalidSpec('is compressed: unpack it first')
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise InvalidSpec('is not UTF-8 text: write it with "snapshot save"') from error


def parse(text: str) -> CloudSnapshot:
    """Read and check the snapshot in a text."""
    if not text or text.isspace():
        raise InvalidSpec('is empty: write it with "snapshot save"')
    try:
        return _read(text)
    except json.JSONDecodeError as error:
        where = f'line {error.lineno}, column {error.colno}: {error.msg}'
        is_at_end = error.pos >= len(text.rstrip()) or error.msg.startswith('Unterminated')
        raise InvalidSpec(
            f'is cut off, or no JSON ({where})' if is_at_end else f'is no JSON in {where}'
        ) from error
    except (ValueError, RecursionError) as error:
        # What json lets through: a number that Python refuses to convert, a nest too deep.
        raise InvalidSpec(f'is no JSON that can be read: {error}') from error


def check_place(path: str | os.PathLike[str]) -> None:
    """Fail as :func:`save` would where no file can be, and leave nothing there."""
    target = _target(path)
    # Its name is as long as that of the file into which save() writes first.
    with tempfile.NamedTemporaryFile(prefix=f'.{target.name}.', dir=target.parent):
        pass


def save(snapshot: CloudSnapshot, path: str | os.PathLike[str]) -> None:
    """Write the snapshot, all of it or nothing; only its owner may read the file."""
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
    if not os.fspath(path):
        raise InvalidSpec('the name of the file is empty')
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InvalidSpec(f'{os.fspath(path)} is no regular file: name one')
    return target


def render(snapshot: CloudSnapshot) -> Iterator[str]:
    """The text of the snapshot, piece by piece."""
    return writer.text(snapshot, FORMAT)


def _read(text: str) -> CloudSnapshot:
    """The snapshot in a text: its parts one after the other, the hosts one by one."""
    walk = Walk(text)
    if walk.next != '{':
        raise fields.wrong('must be an object with format, hosts, ...', walk.value())
    known = ('format', 'hosts', *reader.PARTS)
    parts: dict[str, Any] = {}
    for name in walk.members():
        if name not in known:
            raise fields.unknown_key([name], known)
        if name in parts:
            raise InvalidSpec(TWICE, name)
        try:
            parts[name] = _part(name, walk)
        except InvalidSpec as error:
            raise fields.below(name, error) from error
    walk.end()
    if parts.pop('format', None) is None:
        raise InvalidSpec(f'is missing: write "format": {FORMAT}', 'format')
    _check_aggregates(parts.get('hosts') or (), parts.get('aggregates') or ())
    parts['pools'] = parts.get('pools') or {}
    _check_pools(parts.get('hosts') or (), parts['pools'])
    return CloudSnapshot(**parts)


def _check_aggregates(hosts: Sequence[Host], aggregates: Sequence[Aggregate]) -> None:
    """A host has its aggregates by their UUIDs; Placement may have some that Nova has not."""
    uuids = {aggregate.name: aggregate.uuid for aggregate in aggregates}
    every = frozenset().union(*{host.aggregates for host in hosts})
    named = (every & uuids.keys()) - set(uuids.values())
    if not named:
        return
    number = next(number for number, host in enumerate(hosts) if host.aggregates & named)
    name = min(hosts[number].aggregates & named)
    raise InvalidSpec(
        f'{name!r} is the name of an aggregate: write its uuid, {uuids[name]!r}',
        f'hosts[{number}].aggregates',
    )


def _check_pools(hosts: Sequence[Host], pools: Mapping[str, Mapping[str, Resource]]) -> None:
    """What a host has from a pool, that pool has."""
    for number, host in enumerate(hosts):
        for name, has in (host.resources or {}).items():
            if has.pool is not None and name not in pools.get(has.pool, ()):
                raise InvalidSpec(
                    f'{has.pool!r} has no {name}: write what it has below pools',
                    f'hosts[{number}].resources.{name}.pool',
                )


def _part(name: str, walk: Walk) -> Any:
    if name == 'hosts' and walk.next == '[':
        return _hosts(walk)
    value = walk.value()
    if name == 'format':
        return _check_format(value)
    if value is None:
        return None
    if name == 'hosts':
        raise fields.wrong('must be a list, or null', value)
    return reader.PARTS[name](value)


def _check_format(value: Any) -> int:
    if type(value) is int and value > FORMAT:
        raise InvalidSpec(
            f'{value} was written by a newer version: upgrade senlin-affinity, '
            f'this one reads {FORMAT}'
        )
    if type(value) is not int or value != FORMAT:
        raise fields.wrong(f'must be {FORMAT}', value)
    return FORMAT


def _hosts(walk: Walk) -> tuple[Host, ...]:
    read = Hosts().read
    made: list[Host] = []
    seen: dict[tuple[str, str], int] = {}
    for _ in walk.items():
        number = len(made)
        try:
            host = read(walk.value())
        except InvalidSpec as error:
            raise fields.below(f'[{number}]', error) from error
        first = seen.setdefault((host.host, host.hypervisor_hostname), number)
        if first != number:
            raise InvalidSpec(f'is that of number {first}, too', f'[{number}].host')
        made.append(host)
    return tuple(made)
