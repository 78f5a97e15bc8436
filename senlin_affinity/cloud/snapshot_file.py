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
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from senlin_affinity.cloud import input_file
from senlin_affinity.cloud.json_fields import below, decode, wrong
from senlin_affinity.cloud.snapshot_fields import Snapshots
from senlin_affinity.cloud.snapshot_hosts import Hosts
from senlin_affinity.model.aggregate import Aggregate
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.snapshot import CloudSnapshot

#: The format without Placement's answers, and with them.
FORMATS = 1, 2
#: The first bytes of gzip, bzip2, xz, zstd and zip.
_COMPRESSED = (b'\x1f\x8b', b'BZh', b'\xfd7zXZ', b'(\xb5/\xfd', b'PK\x03\x04')


#: From this size on, msgspec decodes the hosts, twice as fast. It does not detect duplicate keys in
#: a host, but programs write such files, not people.
_LARGE = 1 << 20
_PARTS, _HOSTS = Decoder(dict[str, Raw]), Decoder(list[Raw] | None)


def load(path: str | os.PathLike[str], largest: int = input_file.LARGEST) -> CloudSnapshot:
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


def parse(text: str) -> CloudSnapshot:
    """Read and check the snapshot in a text; raise InvalidSpec if it is empty or invalid."""
    if not text or text.isspace():
        raise InvalidSpec('is empty: write it with "snapshot save"')
    try:
        document = _decoded(text)
        if type(document) is not dict:
            raise wrong('must be an object with format, hosts, ...', document)
        _check_format(document.pop('format', None))
        parts = {name: value for name, value in document.items() if value is not None}
        snapshot = Snapshots(Hosts()).read(parts)
    except json.JSONDecodeError as error:
        where = f'line {error.lineno}, column {error.colno}: {error.msg}'
        is_at_end = error.pos >= len(text.rstrip()) or error.msg.startswith('Unterminated')
        message = f'is cut off, or not valid JSON ({where})'
        raise InvalidSpec(message if is_at_end else f'is not valid JSON in {where}') from error
    except (ValueError, RecursionError) as error:
        # A number with too many digits, or too deep nesting.
        raise InvalidSpec(f'is not valid JSON: {error}') from error
    _check_aggregates(snapshot.hosts or (), snapshot.aggregates or ())
    _check_pools(snapshot.hosts or (), snapshot.pools)
    return snapshot


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise the error of :func:`save` if it cannot create the file; leave no file behind."""
    target = _target(path)
    # As long as the temporary name in save().
    with tempfile.NamedTemporaryFile(prefix=f'.{target.name}.', dir=target.parent):
        pass


def save(snapshot: CloudSnapshot, path: str | os.PathLike[str]) -> None:
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


def render(snapshot: CloudSnapshot) -> Iterator[str]:
    """Yield the text of the file in pieces, with a line for each item of a list."""
    table = Snapshots(Hosts())
    yield f'{{"format": {FORMATS[bool(snapshot.queries)]}'
    for name, field in table.fields.items():
        value = getattr(snapshot, name)
        if value == table.defaults[name]:
            continue
        yield f',\n "{name}": '
        written = field.write(value)
        if isinstance(written, str):
            yield written
        else:
            separator = '[\n  '
            for text in written:
                yield separator + text
                separator = ',\n  '
            yield ']' if separator[0] == ',' else '[]'
    yield '}\n'


def _decoded(text: str) -> Any:
    """Decode the JSON; the hosts of a text from 1 MiB remain ``msgspec.Raw``."""
    if len(text) >= _LARGE:
        with contextlib.suppress(MsgspecError, ValueError, RecursionError):
            return {
                name: _HOSTS.decode(part) if name == 'hosts' else decode(bytes(part).decode())
                for name, part in _PARTS.decode(text).items()
            }
    return decode(text)


def _check_format(value: Any) -> None:
    """Raise InvalidSpec unless the value is 1 or 2."""
    oldest, newest = FORMATS
    if value is None:
        raise InvalidSpec(f'is missing: write "format": {oldest}', 'format')
    if type(value) is int and value > newest:
        words = f'upgrade senlin-affinity (this version reads {oldest} and {newest})'
        raise InvalidSpec(f'{value} was written by a newer version: {words}', 'format')
    if type(value) is not int or value not in FORMATS:
        raise below('format', wrong(f'must be {oldest} or {newest}', value))


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


def _check_pools(hosts: Sequence[Host], pools: Mapping[str, Mapping[str, Resource]]) -> None:
    """Raise InvalidSpec for a resource of a host whose pool lacks the class, or is unknown."""
    for number, host in enumerate(hosts):
        for name, has in (host.resources or {}).items():
            if has.pool is not None and name not in pools.get(has.pool, ()):
                raise InvalidSpec(
                    f'the pool {has.pool!r} has no {name}: add {name} to this pool in pools',
                    f'hosts[{number}].resources.{name}.pool',
                )
