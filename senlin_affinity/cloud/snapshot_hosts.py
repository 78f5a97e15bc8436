"""Read and write the hosts of a snapshot file.

Equal values of the many hosts become one object. In a large file, msgspec decodes each host of the
usual form, and the slower Schema any other, with the path of a mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from operator import itemgetter
from sys import intern
from typing import Annotated, Any, get_type_hints

from msgspec import Meta, MsgspecError, Raw, Struct, defstruct, json
from msgspec.structs import asdict, astuple

from senlin_affinity.cloud import json_fields as fields
from senlin_affinity.cloud.json_fields import Field, Schema, alike, by_name, each, text, wrong
from senlin_affinity.cloud.snapshot_fields import (
    GRANT,
    RESOURCE,
    aggregate_uuid,
    list_of,
    resource_class,
    resources_written,
    short,
)
from senlin_affinity.model.errors import InvalidSpec
from senlin_affinity.model.host import Host, Resource
from senlin_affinity.model.member_of import CanonicalUuids

_Amount = Annotated[int, Meta(ge=0)]
_Size = Annotated[int, Meta(ge=1)]
_SERVICE_HOST = 'must be the name of the compute service host'
_TEXTS = ('host', 'hypervisor_hostname', 'hypervisor_type', 'availability_zone')
_texts = itemgetter(*_TEXTS)
#: Faster than the constructor, which checks the number of values.
_made: Callable[..., Resource] = tuple.__new__


class _Resource(Struct, forbid_unknown_fields=True, gc=False):
    capacity: _Amount
    used: _Amount
    max_unit: _Size | None = None
    step_size: _Size = 1
    is_sum: bool = False
    pool: str | None = None


_KINDS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, str),
    'availability_zone': str | None,
    **dict.fromkeys(('enabled', 'up', 'is_nested', 'is_partial'), bool),
    'resources': dict[str, _Resource] | None,
    'servers': _Amount | None,
}


def _decoder() -> json.Decoder[Any]:
    """Return msgspec's decoder of a host; fields that are not in ``_KINDS`` remain raw."""
    kinds = {**dict.fromkeys(get_type_hints(Host), Raw), **_KINDS}
    defaults = {key: [value] for key, value in fields.defaults_of(Host).items()}
    members = [(name, kind, *defaults.get(name, ())) for name, kind in kinds.items()]
    return json.Decoder(defstruct('_Host', members, forbid_unknown_fields=True, gc=False))


_HOST = _decoder()


class Hosts(Schema[Host]):
    """The fields of hosts; one instance makes equal values of hosts one object."""

    def __init__(self) -> None:
        words = 'must be an object such as {"VCPU": {...}}, or null'
        self._class = cache(resource_class)
        resources = by_name(words, self._class, RESOURCE.read)
        aggregates = fields.texts(CanonicalUuids, aggregate_uuid)
        one = cache(lambda grants: grants)
        texts = lru_cache(1024)(lambda values: f'[{", ".join(map(short, sorted(values)))}]')
        super().__init__(
            Host,
            Field('host', _service_host),
            Field('hypervisor_hostname', text),
            Field('hypervisor_type', _one_object('must be a string, such as QEMU'), short),
            Field('availability_zone', _one_object('must be a string, or null'), short),
            *alike(fields.flag, 'enabled', 'up', write=short),
            Field('aggregates', aggregates, texts),
            Field('traits', fields.texts(frozenset, text), texts),
            Field('resources', resources, resources_written),
            *alike(fields.flag, 'is_nested', 'is_partial', is_rare=True),
            Field(
                'grants',
                lambda items: one(tuple(map(one, each(items, GRANT.read, 'query')))),
                list_of(GRANT),
                is_rare=True,
            ),
            Field('servers', fields.amount, is_rare=True),
            *alike(aggregates, 'unmirrored', 'stale_aggregates', write=texts, is_rare=True),
            Field('disabled_reason', text, is_rare=True),
        )
        self._shared = [
            (key, _of_text(field.read, self.defaults[key]))
            for key, field in self.fields.items()
            if key not in _KINDS
        ]

    def read(self, item: Any) -> Host:
        """Convert decoded or raw JSON to a host; ``hypervisor_hostname`` defaults to ``host``."""
        if isinstance(item, Raw):
            try:
                return self._typed(asdict(_HOST.decode(item)))
            except (InvalidSpec, MsgspecError, ValueError, RecursionError):
                item = fields.decode(bytes(item).decode())
        if type(item) is dict:
            if 'host' not in item:
                raise InvalidSpec(
                    'is missing: it must be the name of the compute service host', 'host'
                )
            item = {'hypervisor_hostname': item['host'], **item}
        return super().read(item)

    def _typed(self, values: dict[str, Any]) -> Host:
        """Convert what ``_HOST`` decoded; raise InvalidSpec if it must be checked more closely."""
        texts = host, _name, kind, zone = _texts(values)
        if not host or not ''.join(filter(None, texts)).isprintable():
            raise InvalidSpec('is read with care')
        values['hypervisor_type'], values['availability_zone'] = intern(kind), zone and intern(zone)
        for key, read in self._shared:
            if type(values[key]) is Raw:
                values[key] = read(bytes(values[key]))
        if values['resources']:
            values['resources'] = {
                self._class(name): _made(Resource, astuple(has))
                if has.pool is None
                else _pooled(has)
                for name, has in values['resources'].items()
            }
        host = object.__new__(Host)
        object.__setattr__(host, '__dict__', values)
        return host


def _pooled(has: _Resource) -> Resource:
    """Convert a resource of a pool, whose UUID becomes canonical."""
    has.pool = aggregate_uuid(has.pool)
    return Resource(*astuple(has))


def _of_text(read: Callable[[Any], Any], default: Any) -> Callable[[bytes], Any]:
    """Return a function that converts JSON text by ``read``; equal texts become one object.

    It returns ``default`` (such as None for null) unchanged.
    """

    @cache
    def value_of(data: bytes) -> Any:
        value = json.decode(data)
        return value if value is default else read(value)

    return value_of


def _service_host(value: Any) -> str:
    """Return the value if it is valid text and not ''; otherwise, raise InvalidSpec."""
    if value == '':
        raise wrong(_SERVICE_HOST, value)
    return text(value, _SERVICE_HOST)


def _one_object(words: str) -> Callable[[Any], str]:
    """Return a function that checks a string, and makes equal ones one object."""
    return lambda value: intern(text(value, words))
